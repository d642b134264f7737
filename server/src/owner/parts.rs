//! What owners do for each other: commands that came from another owner, parts of commands, and their answers.

use std::collections::VecDeque;

use ruvio_core::command::Args;
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Flow, Passport};
use ruvio_core::error;
use ruvio_core::exec::Now;
use ruvio_core::resp::Reply;

use super::Owner;
use super::connection::Hold;
use super::crossing::{Batch, Kind, Parked, Task, Ticket, Waiting};
use super::gate::Goal;

impl Owner {
    /// A command that waited here is answered: its client's next ones run.
    pub(super) fn go_on_after(&mut self, runner: ClientId, waiting: Waiting, now: Now) {
        if waiting.kind != Kind::Quiet {
            let db = self.engine.database_of(runner);
            self.finish_part(waiting.ticket, db, &waiting.bytes);
        }
        for parked in waiting.behind {
            let Parked {
                kind,
                ticket,
                passport,
                args,
            } = parked;
            self.run_part(runner, args.view(), (kind, ticket, passport), now);
        }
    }

    /// Takes in what other owners sent.
    pub(super) fn cross(&mut self, now: Now) {
        let batches = self.crossing.receive();
        // Whoever sent them may have begun to serve since the last look.
        self.end_loading();
        if !batches.is_empty() {
            self.look_at_leases();
        }
        for batch in batches {
            for done in &batch.dones {
                self.crossing.settle(batch.from, &done.ticket);
                self.take_answer(done.ticket, done.db, batch.answer(done));
            }
            for task in &batch.tasks {
                self.run_task(&batch, task, now);
            }
            self.crossing.give_back(batch);
        }
        self.release_answers();
        if !self.crossing.stuck.is_empty() && self.crossing.has_room() && self.links.has_room() {
            for index in std::mem::take(&mut self.crossing.stuck) {
                self.let_go_on(index);
            }
        }
    }

    /// There was no room for the connection's next command, and may be now.
    pub(super) fn let_go_on(&mut self, index: u32) {
        if let Some(connection) = self.connections.get_mut(index)
            && connection.hold == Hold::Full
        {
            connection.hold = Hold::None;
            self.list(index);
        }
    }

    fn run_task(&mut self, batch: &Batch, task: &Task, now: Now) {
        let client = task.ticket.client;
        if task.kind == Kind::Gone {
            self.forget_here(client);
            return;
        }
        if task.kind == Kind::Close {
            self.close_when_settled(client);
            return;
        }
        if task.kind == Kind::Errand {
            self.engine.world.take_errand(client, batch.args(task));
            self.finish_part(task.ticket, 0, b"");
            self.deliver_between(now);
            return;
        }
        let me = self.crossing.me;
        let mut ticket = task.ticket;
        if task.kind == Kind::Everywhere {
            for owner in (0..self.crossing.owners()).filter(|owner| *owner != me) {
                self.crossing.pass_on(owner, batch, task);
            }
            ticket.part = me as u16;
        }
        let args = batch.args(task);
        let is_mine = usize::from(ticket.home) == me;
        let is_here = is_mine && self.engine.is_connected(client);
        // Word that the client is gone may have overtaken what another owner passed on.
        let may_be_gone = batch.from != usize::from(ticket.home) && !self.engine.has_shadow(client);
        let runner = if is_here {
            client
        } else {
            self.engine.shadow_of(client, now)
        };
        self.run_part(runner, args, (task.kind, ticket, task.passport), now);
        let waits = self.crossing.waiting.contains_key(&runner);
        if !is_here && (is_mine || may_be_gone && !waits) {
            self.forget_here(client);
        }
        self.deliver_between(now);
    }

    /// Runs a command for a session of this owner and has its answer go where the ticket says.
    pub(super) fn run_part(
        &mut self,
        runner: ClientId,
        args: Args<'_>,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        now: Now,
    ) {
        if let Some(waiting) = self.crossing.waiting.get_mut(&runner) {
            waiting.behind.push_back(Parked {
                kind,
                ticket,
                passport,
                args: args.to_owned(),
            });
            return;
        }
        if self.engine.world.cluster.is_some() && self.take_away(runner, args, (kind, ticket, passport), now)
        {
            return;
        }
        self.run_part_here(runner, args, (kind, ticket, passport), now);
    }

    /// The same where the shard is led.
    pub(super) fn run_part_here(
        &mut self,
        runner: ClientId,
        args: Args<'_>,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        now: Now,
    ) {
        self.note_traffic(args, now);
        self.engine.dress(runner, &passport);
        if self.engine.is_refusing(runner, args) {
            if kind != Kind::Quiet {
                let told = format!("-{}\r\n", error::NOT_LED.text());
                self.hand_over_part(ticket, passport.db, told.as_bytes());
            }
            return;
        }
        let mut reply = Reply::with_buffer(
            std::mem::take(&mut self.part_buffer),
            self.engine.protocol_of(runner),
        );
        reply.clear();
        self.begin_part();
        let flow = self
            .engine
            .run_departed(runner, args, ticket.part, now, &mut reply);
        let db = self.engine.database_of(runner);
        let bytes = reply.take();
        match (kind, flow) {
            (_, Flow::Blocked) => {
                let waiting = Waiting {
                    ticket,
                    kind,
                    bytes: bytes.clone(),
                    behind: VecDeque::new(),
                };
                self.crossing.waiting.insert(runner, waiting);
            }
            (Kind::Quiet, _) => {}
            // It waits for what it named itself, whatever else this turn changed.
            _ => match self.wait_of_part() {
                Some(wait) => self.hold(Goal::Part(ticket, db), &bytes, wait),
                None => self.hand_over_part(ticket, db, &bytes),
            },
        }
        self.part_buffer = bytes;
    }

    /// What waited here is answered, possibly by another command of this turn; its answer goes where the ticket says,
    /// once it may.
    pub(super) fn finish_part(&mut self, ticket: Ticket, db: u16, bytes: &[u8]) {
        let wait = self
            .wait_of_last()
            .unwrap_or_default()
            .and(self.wait_of_message());
        if !wait.is_nothing() {
            self.hold(Goal::Part(ticket, db), bytes, wait);
        } else {
            self.hand_over_part(ticket, db, bytes);
        }
    }

    pub(super) fn hand_over_part(&mut self, ticket: Ticket, db: u16, bytes: &[u8]) {
        if usize::from(ticket.home) == self.crossing.me {
            self.take_answer(ticket, db, bytes);
        } else {
            self.crossing.answer(ticket, db, bytes);
        }
    }

    fn take_answer(&mut self, ticket: Ticket, db: u16, bytes: &[u8]) {
        let index = ticket.client.index() as u32;
        let random = self.engine.shard.random();
        let Some(connection) = self
            .connections
            .get_mut(index)
            .filter(|connection| connection.client == ticket.client)
        else {
            return;
        };
        if connection.hold == Hold::BlockedElsewhere {
            self.engine.count_answered(ticket.client);
        }
        if connection.answers.fill(ticket.number, ticket.part, bytes, random) {
            self.engine.take_database(ticket.client, db);
        }
        self.answered.push(index);
    }

    /// Queues for sending what is due to connections that were answered.
    pub(super) fn release_answers(&mut self) {
        let mut answered = std::mem::take(&mut self.answered);
        for index in answered.drain(..) {
            let Some(connection) = self.connections.get_mut(index) else {
                continue;
            };
            // What the gate holds of its replies comes before them.
            if connection.held() > 0 {
                continue;
            }
            connection.release_answers();
            if connection.answers.is_empty()
                && matches!(connection.hold, Hold::Answers | Hold::BlockedElsewhere)
            {
                connection.hold = Hold::None;
            }
            self.list(index);
        }
        if self.answered.is_empty() {
            self.answered = answered;
        }
    }
}

//! What a command or a tick had for others than its own client: messages, replies to those who waited, clients
//! to be closed or to go on.

use ruvio_core::engine::Wait;
use ruvio_core::engine::session::ClientId;
use ruvio_core::exec::Now;

use super::Owner;
use super::answers::Expected;
use super::connection::Hold;
use super::gate::Goal;
use super::turn::{Range, Turn};

impl Owner {
    /// Takes what the last command had for other clients.
    pub(super) fn deliver(&mut self, current: u32, turn: &mut Turn, now: Now) {
        let mut outbox = std::mem::take(&mut self.engine.world.outbox);
        let wait = self.wait_of_message();
        for parcel in outbox.drain(..) {
            let waiting = self.crossing.waiting.get_mut(&parcel.client);
            let is_unanswered = waiting.as_ref().is_some_and(|waiting| waiting.bytes.is_empty());
            if let Some(waiting) = waiting.filter(|_| parcel.is_answer) {
                waiting.bytes.extend_from_slice(&parcel.bytes);
                continue;
            }
            self.deliver_one(parcel.client, &parcel.bytes, is_unanswered, (current, wait), turn);
            self.hold_to_output_limit(parcel.client.index() as u32, now);
        }
        self.engine.world.outbox = outbox;
        let mut gone = std::mem::take(&mut self.engine.world.closing);
        for client in gone.drain(..) {
            match self.engine.home_of(client) {
                Some(home) => self.close_at_home(home),
                None => self.close_when_settled(client),
            }
        }
        self.engine.world.closing = gone;
        let mut free = std::mem::take(&mut self.engine.world.unblocked);
        let mut answered = Vec::new();
        for client in free.drain(..) {
            if let Some(waiting) = self.crossing.waiting.remove(&client) {
                answered.push((client, waiting));
                continue;
            }
            let index = client.index() as u32;
            if let Some(connection) = self.connections.get_mut(index).filter(|c| c.client == client) {
                connection.hold = Hold::None;
                self.list(index);
            }
        }
        self.engine.world.unblocked = free;
        if !self.engine.world.errands.is_empty() {
            self.run_errands();
        }
        for (client, waiting) in answered {
            self.go_on_after(client, waiting, now);
            if self.engine.world.has_news() {
                self.deliver(current, turn, now);
            }
        }
    }

    /// A message to one client: behind its replies of this turn, if there are any, and never before the
    /// change that it tells of is committed (`wait`).
    fn deliver_one(
        &mut self,
        client: ClientId,
        bytes: &[u8],
        is_unanswered: bool,
        (current, wait): (u32, Wait),
        turn: &mut Turn,
    ) {
        let index = client.index() as u32;
        let Some(connection) = self.connections.of(client) else {
            return;
        };
        let waits = connection.hold == Hold::BlockedElsewhere || is_unanswered;
        if waits && !connection.answers.is_empty() {
            // A wait may last for ever, and what is pushed does not wait for it.
            if !wait.is_nothing() {
                self.hold(Goal::Message(client), bytes, wait);
            } else {
                connection.answers.push_before_last(bytes);
                self.answered.push(index);
            }
        } else if !connection.answers.is_empty() {
            if !wait.is_nothing() {
                let number = connection.answers.expect(Expected::whole(false));
                self.hold(Goal::Reply(client, number), bytes, wait);
            } else {
                connection.answers.push(bytes);
            }
        } else if index == current || connection.has_range || self.gate.is_on() {
            let start = turn.reply.len();
            turn.reply.raw(bytes);
            connection.has_range = true;
            turn.ranges.push(Range {
                connection: index,
                start,
                end: turn.reply.len(),
                wait,
            });
        } else {
            connection.keep(bytes);
            self.list(index);
        }
    }

    /// Closes the client's connection, if it is here, once it has been sent what it is owed.
    pub(super) fn close_when_settled(&mut self, client: ClientId) {
        let index = client.index() as u32;
        if let Some(connection) = self.connections.get_mut(index).filter(|c| c.client == client) {
            connection.closing = true;
            self.list(index);
        }
    }

    /// Carries out what came of work outside a command (`tick`).
    pub(super) fn deliver_news(&mut self, now: Now) {
        self.deliver_between(now);
        if self.is_spread() {
            self.release_answers();
        }
        self.serve_listed(now);
        self.settle_gate();
        if self.is_spread() {
            self.crossing.flush();
        }
    }

    /// Carries out what came of work while nothing stands in the turn's buffer.
    pub(super) fn deliver_between(&mut self, now: Now) {
        if self.engine.world.has_news() {
            let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
            self.deliver(u32::MAX, &mut turn, now);
            self.send_ranges(&mut turn);
            self.turn = turn;
        }
    }
}

//! Commands of a keyspace that is spread over owners: run here, sent to where their keys are, or both.
//!
//! Invariants: a client's commands for one owner reach it in their order, and its answers go out in theirs.
//! Commands that concern every owner, wait for keys, or make up a transaction are answered before the
//! client's next command is looked at. Answers are taken out of their queue only between turns, when nothing
//! of the connection's stands in the turn's buffer.

use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::course::{Course, Part, Then};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Ahead, Departure, Door, Flow, Passport};
use ruvio_core::error;
use ruvio_core::exec::Now;
use ruvio_core::resp::Reply;

use super::Owner;
use super::answers::Expected;
use super::connection::{Connection, Hold};
use super::crossing::{Kind, Ticket};
use super::gate::Goal;

/// What came of one command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Routed {
    /// It ran here.
    Ran(Flow),
    /// Its answer will come.
    Sent,
    /// The same, and what follows waits for it. `blocking`: it may take for ever.
    Awaited { blocking: bool },
    /// There is no room for it now: nothing was done.
    Full,
    /// `CLIENT PAUSE` keeps it: nothing was done.
    Paused,
}

/// A command on its way, with what goes along.
#[derive(Clone, Copy)]
pub(super) struct Trip<'a> {
    pub client: ClientId,
    pub index: u32,
    pub args: Args<'a>,
    pub ahead: Ahead,
    pub now: Now,
}

impl Owner {
    /// Executes one command of a spread keyspace. The flow says what of the connection's further commands; `true`
    /// beside it: this one has to be kept, too.
    pub(super) fn execute_spread(
        &mut self,
        index: u32,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> (Flow, bool) {
        let start = reply.len();
        let trip = Trip {
            client,
            index,
            args,
            ahead,
            now,
        };
        // Then its reply will wait among answers, and for its own changes alone.
        let queues = self.connections.get(index).is_some_and(|c| !c.answers.is_empty());
        if queues {
            self.begin_part();
        }
        let routed = self.route(trip, reply);
        self.queue_behind(index, start, reply, queues);
        let Some(connection) = self.connections.get_mut(index) else {
            return (Flow::Close, false);
        };
        match routed {
            Routed::Ran(Flow::Continue) | Routed::Sent if connection.answers.is_long() => {
                connection.hold = Hold::Answers;
                (Flow::Blocked, false)
            }
            Routed::Ran(flow) => (flow, false),
            Routed::Sent => (Flow::Continue, false),
            Routed::Awaited { blocking } => {
                connection.hold = if blocking {
                    Hold::BlockedElsewhere
                } else {
                    Hold::Answers
                };
                (Flow::Blocked, false)
            }
            Routed::Full => {
                connection.hold = Hold::Full;
                self.crossing.stuck.push(index);
                (Flow::Blocked, true)
            }
            Routed::Paused => {
                connection.hold = Hold::Full;
                self.paused.push(index);
                (Flow::Blocked, true)
            }
        }
    }

    /// Replies from `start` on wait for those of other owners that come before them. `is_part`: they are of what was
    /// executed since `begin_part`.
    pub(super) fn queue_behind(&mut self, index: u32, start: usize, reply: &mut Reply, is_part: bool) {
        let waits_for_others = |c: &Connection| !c.answers.is_empty();
        if reply.len() == start || !self.connections.get(index).is_some_and(waits_for_others) {
            return;
        }
        let wait = if is_part {
            self.wait_of_part()
        } else {
            self.wait_of_last()
        };
        if let Some(connection) = self.connections.get_mut(index) {
            let bytes = &reply.as_slice()[start..];
            if let Some(wait) = wait {
                let number = connection.answers.expect(Expected::whole(false));
                let goal = Goal::Reply(connection.client, number);
                self.hold(goal, bytes, wait);
            } else {
                connection.answers.push(bytes);
            }
            reply.truncate(start);
        }
    }

    pub(super) fn is_spread(&self) -> bool {
        self.routes
    }

    fn route(&mut self, trip: Trip<'_>, reply: &mut Reply) -> Routed {
        let Trip {
            client,
            args,
            ahead,
            now,
            ..
        } = trip;
        if self.links.watches(client)
            && let Some(routed) = self.route_pinned(trip, reply)
        {
            return routed;
        }
        let course = self.engine.course(client, args, &ahead);
        if course != Course::Here && self.engine.must_stay(client, args, now) {
            return Routed::Paused;
        }
        match course {
            Course::Here if self.engine.is_refusing(client, args) => {
                let error = error::NOT_LED;
                Routed::Ran(self.engine.refuse_course(client, args, &ahead, error, now, reply))
            }
            Course::Here => Routed::Ran(self.engine.run_here_ahead(client, args, ahead, now, reply)),
            Course::Refuse(error) => {
                Routed::Ran(self.engine.refuse_course(client, args, &ahead, error, now, reply))
            }
            Course::There { owner, then } => self.send_whole(trip, usize::from(owner), then, reply),
            Course::Split { parts } => self.send_parts(trip, parts, reply),
            Course::Everywhere { ordered } => self.send_everywhere(trip, ordered, reply),
            Course::Transaction { owner } => self.send_transaction(trip, usize::from(owner), reply),
            Course::Unwatch { owner } => {
                let passport = self.engine.passport(client);
                let flow = self.engine.run_here_ahead(client, args, ahead, now, reply);
                self.tell(usize::from(owner), passport, &[b"UNWATCH"]);
                Routed::Ran(flow)
            }
            Course::Away { then, .. } => self.send_away(trip, then, reply),
            Course::Shards => self.send_shards(trip, reply),
            Course::Link => Routed::Ran(self.hear_link(trip, reply)),
            Course::Forget => {
                let flow = self.engine.run_here_ahead(client, args, ahead, now, reply);
                self.forget_elsewhere(client);
                Routed::Ran(flow)
            }
        }
    }

    fn send_whole(&mut self, trip: Trip<'_>, owner: usize, then: Then, reply: &mut Reply) -> Routed {
        if self.crossing.is_full(owner) {
            return Routed::Full;
        }
        let (passport, silent) = match self.depart(trip, reply) {
            Ok(departed) => departed,
            Err(flow) => return Routed::Ran(flow),
        };
        let mut ticket = self.expect(trip, Expected::whole(silent));
        // Those who wait are counted by their connections.
        ticket.cost = u32::from(then == Then::GoOn);
        self.send(owner, Kind::Run, ticket, passport, trip.args.iter());
        match then {
            Then::GoOn => Routed::Sent,
            Then::Wait => Routed::Awaited {
                blocking: trip.ahead.is_blocking(),
            },
        }
    }

    fn send_parts(&mut self, trip: Trip<'_>, parts: Vec<Part>, reply: &mut Reply) -> Routed {
        let me = self.crossing.me;
        let full = |part: &Part| match usize::from(part.owner) {
            owner if owner == me => self.links.is_full() && !self.engine.is_open(part.shard),
            owner => self.crossing.is_full(owner),
        };
        if parts.iter().any(full) {
            return Routed::Full;
        }
        let (passport, silent) = match self.depart(trip, reply) {
            Ok(departed) => departed,
            Err(flow) => return Routed::Ran(flow),
        };
        let mut order: Vec<(usize, u16)> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            order.extend(part.keys.iter().map(|at| (*at, number as u16)));
        }
        order.sort_unstable();
        let mut ticket = self.expect(
            trip,
            Expected {
                how: trip.ahead.how(trip.args),
                parts: parts.len() as u16,
                order: order.into_iter().map(|(_, part)| part).collect(),
                silent,
                takes_database: false,
            },
        );
        let (args, client) = (trip.args, trip.client);
        for (number, part) in parts.iter().enumerate() {
            ticket.part = number as u16;
            let of_key = |at: &usize| args.iter_from(*at).take(part.step);
            let words = std::iter::once(args.get(0)).chain(part.keys.iter().flat_map(of_key));
            if usize::from(part.owner) == me {
                ticket.cost = 0;
                let words = OwnedArgs::from_words(words);
                let runner = self.engine.shadow_of(client, trip.now);
                self.run_part(runner, words.view(), (Kind::Run, ticket, passport), trip.now);
            } else {
                ticket.cost = 1;
                self.send(part.owner.into(), Kind::Run, ticket, passport, words);
            }
        }
        Routed::Sent
    }

    fn send_everywhere(&mut self, trip: Trip<'_>, ordered: bool, reply: &mut Reply) -> Routed {
        let (passport, silent) = match self.depart(trip, reply) {
            Ok(departed) => departed,
            Err(flow) => return Routed::Ran(flow),
        };
        if trip.ahead.is_message() && passport.entrance.door != Door::Peer {
            self.tell_nodes(trip.args);
        }
        let (me, owners) = (self.crossing.me, self.crossing.owners());
        let mut ticket = self.expect(
            trip,
            Expected {
                how: trip.ahead.how(trip.args),
                parts: owners as u16,
                order: Vec::new(),
                silent,
                takes_database: false,
            },
        );
        if ordered && me != 0 {
            self.send(0, Kind::Everywhere, ticket, passport, trip.args.iter());
        } else {
            for owner in (0..owners).filter(|owner| *owner != me) {
                ticket.part = owner as u16;
                self.send(owner, Kind::Run, ticket, passport, trip.args.iter());
            }
            ticket.part = me as u16;
            self.run_part(trip.client, trip.args, (Kind::Run, ticket, passport), trip.now);
        }
        Routed::Awaited {
            blocking: trip.ahead.is_blocking(),
        }
    }

    /// What `MULTI` took in, whole, to the owner of its keys, where it is one transaction again.
    pub(super) fn send_transaction(&mut self, trip: Trip<'_>, owner: usize, reply: &mut Reply) -> Routed {
        let (client, now) = (trip.client, trip.now);
        let passport = self.engine.passport(client);
        let queue = self.engine.take_transaction(client);
        let Some(queue) = queue else {
            // It says itself why it does not run.
            let flow = self
                .engine
                .run_here_ahead(client, trip.args, trip.ahead, now, reply);
            self.unwatch_at(owner, passport);
            return Routed::Ran(flow);
        };
        for args in &queue {
            self.engine.show_departed(client, args.view(), now);
        }
        let silent = match self.depart(trip, reply) {
            Ok((_, silent)) => silent,
            Err(flow) => {
                self.unwatch_at(owner, passport);
                return Routed::Ran(flow);
            }
        };
        let ticket = self.expect(
            trip,
            Expected {
                takes_database: true,
                ..Expected::whole(silent)
            },
        );
        if owner == self.crossing.me {
            let parcel = self.transaction((Kind::Run, ticket, passport), queue);
            self.forward(parcel);
            return Routed::Awaited { blocking: false };
        }
        self.tell(owner, passport, &[b"MULTI"]);
        for args in &queue {
            self.send(owner, Kind::Quiet, ticket, passport, args.view().iter());
        }
        self.send(owner, Kind::Run, ticket, passport, trip.args.iter());
        Routed::Awaited { blocking: false }
    }

    pub(super) fn depart(&mut self, trip: Trip<'_>, reply: &mut Reply) -> Result<(Passport, bool), Flow> {
        match self
            .engine
            .depart(trip.client, trip.args, &trip.ahead, trip.now, reply)
        {
            Departure::Go { passport, silent } => {
                self.engine.show_departed(trip.client, trip.args, trip.now);
                Ok((passport, silent))
            }
            Departure::Stay(flow) => Err(flow),
        }
    }

    pub(super) fn expect(&mut self, trip: Trip<'_>, expected: Expected) -> Ticket {
        let connection = self.connections.get_mut(trip.index);
        let number = connection.map_or(0, |connection| connection.answers.expect(expected));
        Ticket {
            home: self.crossing.me as u16,
            client: trip.client,
            number,
            part: 0,
            cost: 0,
        }
    }

    pub(super) fn send<'w>(
        &mut self,
        owner: usize,
        kind: Kind,
        ticket: Ticket,
        passport: Passport,
        words: impl Iterator<Item = &'w [u8]>,
    ) {
        if let Some(connection) = self.connections.get_mut(ticket.client.index() as u32) {
            connection.travelled = true;
        }
        self.crossing.send(owner, kind, ticket, passport, words);
    }

    /// Has a command run on another owner, whatever its answer.
    pub(super) fn tell(&mut self, owner: usize, passport: Passport, words: &[&[u8]]) {
        let ticket = self.nobody(passport.client);
        self.send(owner, Kind::Quiet, ticket, passport, words.iter().copied());
    }

    pub(super) fn nobody(&self, client: ClientId) -> Ticket {
        Ticket {
            home: self.crossing.me as u16,
            client,
            number: 0,
            part: 0,
            cost: 0,
        }
    }

    /// Has a client closed by its owner, once it is answered, because its shadow here is to be closed.
    pub(super) fn close_at_home(&mut self, client: ClientId) {
        let owner = self.engine.world.topology.owner_of_client(client);
        if usize::from(owner) == self.crossing.me {
            self.close_when_settled(client);
            return;
        }
        let (passport, ticket) = (self.engine.passport(client), self.nobody(client));
        self.crossing
            .send(owner.into(), Kind::Close, ticket, passport, std::iter::empty());
    }

    /// The client is gone: its shadows go, too.
    pub(super) fn forget_elsewhere(&mut self, client: ClientId) {
        let (passport, ticket) = (self.engine.passport(client), self.nobody(client));
        let me = self.crossing.me;
        for owner in (0..self.crossing.owners()).filter(|owner| *owner != me) {
            self.crossing
                .send(owner, Kind::Gone, ticket, passport, std::iter::empty());
        }
        self.forget_here(client);
    }

    pub(super) fn forget_here(&mut self, client: ClientId) {
        self.forget_away(client);
        let shadow = self.engine.forget_shadow(client);
        for session in [Some(client), shadow].into_iter().flatten() {
            let Some(waiting) = self.crossing.waiting.remove(&session) else {
                continue;
            };
            // Nobody hears of it, but the window has room again.
            self.finish_part(waiting.ticket, 0, b"");
            for parked in waiting.behind {
                self.finish_part(parked.ticket, 0, b"");
            }
        }
    }
}

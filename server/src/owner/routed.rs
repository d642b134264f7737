//! What clients of the routed port, and links from other nodes, need beside the ways between owners.

use ruvio_core::engine::course::Then;
use ruvio_core::engine::{Displaced, Flow, Passport};
use ruvio_core::resp::Reply;

use super::Owner;
use super::answers::Expected;
use super::connection::Hold;
use super::crossing::{Kind, Ticket};
use super::route::{Routed, Trip};

impl Owner {
    /// This owner has the shard, which is led elsewhere, or by nobody yet.
    pub(super) fn send_away(&mut self, trip: Trip<'_>, then: Then, reply: &mut Reply) -> Routed {
        if self.links.is_full() {
            return Routed::Full;
        }
        let (passport, silent) = match self.depart(trip, reply) {
            Ok(departed) => departed,
            Err(flow) => return Routed::Ran(flow),
        };
        let Some(away) = self.engine.describe_away(trip.args, passport.entrance) else {
            return Routed::Ran(Flow::Close);
        };
        let ticket = self.expect(trip, Expected::whole(silent));
        let parcel = self.parcel((Kind::Run, ticket, passport), away, vec![trip.args.to_owned()]);
        if let Some(connection) = self.connections.get_mut(trip.index) {
            connection.travelled = true;
        }
        self.forward(parcel);
        match then {
            Then::GoOn => Routed::Sent,
            Then::Wait => Routed::Awaited {
                blocking: trip.ahead.is_blocking(),
            },
        }
    }

    /// Has every shard do its part, by the owner that has it.
    pub(super) fn send_shards(&mut self, trip: Trip<'_>, reply: &mut Reply) -> Routed {
        let (passport, silent) = match self.depart(trip, reply) {
            Ok(departed) => departed,
            Err(flow) => return Routed::Ran(flow),
        };
        let topology = self.engine.world.topology;
        let mut ticket = self.expect(
            trip,
            Expected {
                how: trip.ahead.how(trip.args),
                parts: topology.shards,
                order: Vec::new(),
                silent,
                takes_database: false,
            },
        );
        if let Some(connection) = self.connections.get_mut(trip.index) {
            connection.travelled = true;
        }
        for shard in 0..topology.shards {
            let mut passport = passport;
            passport.entrance.only = Some(shard);
            ticket.part = shard;
            let owner = topology.owner_of(shard);
            if owner == topology.me {
                let runner = self.engine.shadow_of(trip.client, trip.now);
                self.run_part(runner, trip.args, (Kind::Run, ticket, passport), trip.now);
            } else {
                self.send(owner.into(), Kind::Run, ticket, passport, trip.args.iter());
            }
        }
        Routed::Awaited { blocking: false }
    }

    /// What waited here for a key goes on waiting where the shard is led next. Its time begins anew.
    pub(super) fn wait_elsewhere(&mut self, displaced: Displaced) {
        let Displaced {
            session,
            mut passport,
            args,
            silent,
        } = displaced;
        let (kind, ticket) = match self.crossing.waiting.remove(&session) {
            Some(waiting) => (waiting.kind, waiting.ticket),
            None => {
                let Some(connection) = self.connections.of(session) else {
                    return;
                };
                connection.hold = Hold::BlockedElsewhere;
                connection.travelled = true;
                let number = connection.answers.expect(Expected::whole(silent));
                let ticket = Ticket {
                    number,
                    ..self.nobody(session)
                };
                (Kind::Run, ticket)
            }
        };
        passport.client = ticket.client;
        match self.engine.describe_away(args.view(), passport.entrance) {
            Some(away) => {
                let parcel = self.parcel((kind, ticket, passport), away, vec![args]);
                self.forward(parcel);
            }
            None => self.hand_over_part(ticket, passport.db, b"-UNBLOCKED the shard is led elsewhere\r\n"),
        }
    }

    /// Commands around a transaction of a client that has a link of its own. `None`: nothing is special about it.
    pub(super) fn route_pinned(&mut self, trip: Trip<'_>, reply: &mut Reply) -> Option<Routed> {
        let word = trip.args.get(0);
        let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        let in_multi = self
            .engine
            .world
            .sessions
            .get(trip.client)
            .is_some_and(|s| s.in_multi());
        if is("exec") && in_multi {
            return Some(self.send_transaction(trip, self.crossing.me, reply));
        }
        if is("discard") && in_multi || is("reset") || is("unwatch") && !in_multi {
            self.unpin(trip.client);
        }
        None
    }

    pub(super) fn unwatch_at(&mut self, owner: usize, passport: Passport) {
        if owner == self.crossing.me {
            self.unpin(passport.client);
        } else {
            self.tell(owner, passport, &[b"UNWATCH"]);
        }
    }

    /// Another node's link says something for itself.
    pub(super) fn hear_link(&mut self, trip: Trip<'_>, reply: &mut Reply) -> Flow {
        let mut nonce = [0; 16];
        let drawn = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty());
        if drawn != Ok(nonce.len()) {
            return Flow::Close;
        }
        self.engine.hear_link(trip.client, trip.args, nonce, reply);
        let session = self.engine.world.sessions.get(trip.client);
        match session.is_some_and(|session| !session.closing) {
            true => Flow::Continue,
            false => Flow::Close,
        }
    }
}

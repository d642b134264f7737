//! Errands: what a command brings up for other owners, beside its answer.

use ruvio_core::command::Args;
use ruvio_core::engine::errand::{Errand, To};
use ruvio_core::engine::session::ClientId;

use super::Owner;
use super::crossing::{Kind, Ticket};

impl Owner {
    /// Tells the other owners what came up here.
    pub(super) fn run_errands(&mut self) {
        let mut urgent = false;
        // Those for this owner itself may bring up others, once.
        while !self.engine.world.errands.is_empty() {
            for Errand { to, words } in std::mem::take(&mut self.engine.world.errands) {
                urgent |= matches!(to, To::First | To::Home(_));
                self.run_errand(to, words.view());
            }
        }
        if urgent {
            // Whoever has the answer, and asks another owner for the log, finds it there.
            self.crossing.flush();
        }
    }

    /// Has the other owners run a command.
    pub(super) fn tell_others(&mut self, words: Args<'_>) {
        let passport = self.engine.passport(ClientId::NONE);
        let ticket = self.nobody(ClientId::NONE);
        let me = self.crossing.me;
        for owner in (0..self.crossing.owners()).filter(|owner| *owner != me) {
            self.crossing
                .send(owner, Kind::Quiet, ticket, passport, words.iter());
        }
    }

    fn run_errand(&mut self, to: To, words: Args<'_>) {
        let passport = self.engine.passport(ClientId::NONE);
        let me = self.crossing.me;
        let owner_of = |client| usize::from(self.engine.world.topology.owner_of_client(client));
        let (owner, client) = match to {
            // Others must not tell of a change before it is committed.
            To::Others | To::Nodes if !self.wait_of_message().is_nothing() => {
                let wait = self.wait_of_message();
                self.hold_for_others(words, wait, to == To::Nodes);
                return;
            }
            To::Others => {
                self.tell_others(words);
                return;
            }
            To::Nodes => {
                self.tell_nodes(words);
                return;
            }
            To::First => (0, ClientId::NONE),
            To::Home(client) | To::Monitor(client) => (owner_of(client), client),
        };
        if owner == me {
            self.engine.world.take_errand(client, words);
        } else if !self.crossing.is_full(owner) {
            let ticket = Ticket {
                cost: 1,
                ..self.nobody(client)
            };
            self.crossing
                .send(owner, Kind::Errand, ticket, passport, words.iter());
        } else if to == To::Monitor(client) {
            // As one that does not read what it is sent. Entries of logs are let go.
            self.close_at_home(client);
        }
    }
}

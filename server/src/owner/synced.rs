//! Clients that wait for what was executed to be durable, whatever the durability of replies.

use std::collections::VecDeque;

use ruvio_core::engine::Wish;
use ruvio_core::exec::Now;
use ruvio_server::wal::Ticket;

use super::{Owner, now};

/// Wishes with the last entry that they are about, in order.
#[derive(Default)]
pub(super) struct SyncWaits(VecDeque<(Ticket, Wish)>);

impl Owner {
    /// Takes in what was wished for, and answers those whose wishes have come true.
    pub(super) fn attend_syncs(&mut self) {
        let Some((durable, last)) = self.gate.extent() else {
            return;
        };
        self.engine.world.wishes.is_synced = durable >= last;
        if self.engine.world.has_wishes() {
            self.gate.hasten();
            let wishes = self.engine.world.take_wishes();
            self.sync_waits
                .0
                .extend(wishes.into_iter().map(|wish| (last, wish)));
        }
        if self
            .sync_waits
            .0
            .front()
            .is_some_and(|(ticket, _)| *ticket <= durable)
        {
            self.fulfil(durable, now());
        }
    }

    fn fulfil(&mut self, durable: Ticket, now: Now) {
        while let Some((ticket, wish)) = self.sync_waits.0.front().copied()
            && ticket <= durable
        {
            self.sync_waits.0.pop_front();
            self.engine.fulfil(wish, now);
        }
        self.deliver_news(now);
    }
}

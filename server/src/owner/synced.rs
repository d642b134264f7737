//! Clients that wait for what was executed to be durable, whatever the durability of replies, and for the image to
//! hold it.

use std::collections::VecDeque;

use ruvio_core::engine::{ImageRuns, Wish};
use ruvio_server::wal::Ticket;

use super::{Owner, now};

#[derive(Default)]
pub(super) struct SyncWaits {
    /// Wishes with the last entry that they are about, in order.
    for_log: VecDeque<(Ticket, Wish)>,
    /// Wishes with the run of the image that they wait for, in order.
    for_image: VecDeque<(u64, Wish)>,
    /// The log's end when changes were last noted as handed over, until it is durable.
    noted: Option<Ticket>,
    /// Runs of the image, as last looked at.
    runs: ImageRuns,
}

impl Owner {
    /// Takes in what was wished for, and answers those whose wishes have come true.
    pub(super) fn attend_syncs(&mut self) {
        let Some((durable, last)) = self.gate.extent() else {
            return;
        };
        // In this order: a run that has not begun by now will take in what is durable by now.
        self.watch_runs(durable);
        self.engine.world.wishes.is_synced = durable >= last && self.gate.extent_is_durable();
        if self.engine.world.has_wishes() {
            self.gate.hasten();
            self.note_logged(last);
            self.note_durable(durable);
            let wishes = self.engine.world.take_wishes();
            let waits = wishes.into_iter().map(|wish| (last, wish));
            self.sync_waits.for_log.extend(waits);
        }
        let first = self.sync_waits.for_log.front();
        if first.is_some_and(|(ticket, _)| *ticket <= durable) {
            self.fulfil(durable);
        }
    }

    /// Now and then: how many changes stand in the log, so that it is known how many a run took in.
    pub(super) fn note_changes(&mut self) {
        if self.sync_waits.noted.is_none()
            && !self.engine.has_effects()
            && let Some((durable, last)) = self.gate.extent()
            && durable < last
        {
            self.note_logged(last);
        }
    }

    fn note_logged(&mut self, last: Ticket) {
        self.engine.note_logged();
        self.sync_waits.noted = Some(last);
    }

    fn note_durable(&mut self, durable: Ticket) {
        if self.sync_waits.noted.is_some_and(|last| last <= durable) {
            self.sync_waits.noted = None;
            self.engine.note_durable();
        }
    }

    fn watch_runs(&mut self, durable: Ticket) {
        let runs = self.engine.world.host.image_runs();
        let seen = std::mem::replace(&mut self.sync_waits.runs, runs);
        // One that was not seen yet began after the last look.
        if runs.ended > seen.begun {
            self.engine.begin_image_run();
        }
        if runs.ended > seen.ended {
            let has_failed = runs.succeeded < runs.ended;
            let succeeded = runs.succeeded > seen.succeeded;
            self.engine.end_image_run(has_failed, succeeded, now());
        }
        if runs.begun > seen.begun {
            self.engine.begin_image_run();
        }
        self.note_durable(durable);
        let mut any = false;
        while let Some((run, wish)) = self.sync_waits.for_image.front().copied()
            && run <= runs.ended
        {
            self.sync_waits.for_image.pop_front();
            self.engine.fulfil(wish, now());
            any = true;
        }
        if any {
            self.deliver_news(now());
        }
    }

    fn fulfil(&mut self, durable: Ticket) {
        while let Some((ticket, wish)) = self.sync_waits.for_log.front().copied()
            && ticket <= durable
        {
            self.sync_waits.for_log.pop_front();
            if wish.for_image {
                let run = self.engine.world.host.make_image(wish.is_urgent());
                self.sync_waits.for_image.push_back((run, wish));
            } else if self.gate.extent_is_durable() {
                self.engine.fulfil(wish, now());
            }
            // Else nobody can say so, and it ends with its time.
        }
        self.deliver_news(now());
    }
}

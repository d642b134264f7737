//! The end of an owner: it takes no more commands, waits until the log has what it executed, and sends what that
//! held back. Owners end together, since one may wait for the answer of another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::connection::Hold;
use super::poll::{Poller, Ready};
use super::{Owner, now};

/// What the owners of a node share about their end.
pub struct Stop {
    asked: AtomicBool,
    /// Owners that still have something to do.
    busy: AtomicUsize,
}

/// A log that does not answer for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nor, for so long, is a client that does not read.
const READERS_PATIENCE: Duration = Duration::from_secs(1);
/// Between two looks at what others did.
const LOOK: Duration = Duration::from_millis(2);

impl Stop {
    pub fn new(owners: usize) -> Self {
        Self {
            asked: AtomicBool::new(false),
            busy: AtomicUsize::new(owners),
        }
    }

    pub fn ask(&self) {
        self.asked.store(true, Ordering::Release);
    }

    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// An owner has nothing more to do, once each.
    pub fn note_settled(&self) {
        self.busy.fetch_sub(1, Ordering::AcqRel);
    }

    fn all_settled(&self) -> bool {
        self.busy.load(Ordering::Acquire) == 0
    }
}

impl Owner {
    /// Executes nothing more for its own clients and ends when all owners have settled.
    pub(super) fn wind_up(&mut self, stop: &Stop, poller: &mut Poller) {
        // Who connects now is refused by the system.
        self.listeners.clear();
        let began = Instant::now();
        let mut settled = false;
        let mut events: Vec<Ready> = Vec::new();
        loop {
            self.engine.begin_turn();
            self.cross(now());
            self.settle_gate();
            self.crossing.flush();
            self.engine.end_turn();
            // A log that has ended commits nothing more.
            let ended = self.heed_ports().and_then(|()| self.open_gate()).is_err();
            self.release_answers();
            self.crossing.flush();
            let waits_for_readers = self.flush_all() && began.elapsed() < READERS_PATIENCE;
            if !settled && (ended || !waits_for_readers && self.owes_nothing()) {
                settled = true;
                stop.note_settled();
            }
            if stop.all_settled() || began.elapsed() > PATIENCE {
                break;
            }
            if poller.poll(&mut events, LOOK).is_err() {
                break;
            }
        }
        if !settled {
            tracing::warn!("the log did not take all changes in time: what waited for it is not answered");
            stop.note_settled();
        }
    }

    /// Sends what sockets take; whether some did not take all.
    fn flush_all(&mut self) -> bool {
        let mut unsent = false;
        for index in self.connections.places() {
            if let Some(connection) = self.connections.get_mut(index) {
                if !connection.flush() {
                    connection.drop_pending();
                }
                unsent |= connection.unsent() > 0;
            }
        }
        unsent
    }

    /// Nothing waits for the log, and no client for another owner's answer (but for those who wait for keys).
    fn owes_nothing(&self) -> bool {
        let waits = |index: &u32| {
            self.connections
                .get(*index)
                .is_some_and(|c| !c.answers.is_empty() && c.hold != Hold::BlockedElsewhere)
        };
        self.gate.is_idle() && !self.connections.places().iter().any(waits)
    }
}

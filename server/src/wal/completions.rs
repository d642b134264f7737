//! Completions: what is to happen when a record is as safe as it has to be, for an owner that is no loop which can
//! be woken and look for itself.
//!
//! Invariant: each is called once: when its record is safe, or when the log has ended without that. None is left
//! waiting behind a log that has ended.
//! Invariant: what waits is bounded by the lane: somebody waits for a record of it, or for its next room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::ids::Ticket;
use super::lane::{Lane, Wake};

/// How safe a record has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Safe {
    /// It survives the end of the process.
    Written,
    /// It survives a power cut.
    Durable,
}

/// The log has ended, and nobody can tell whether the record is in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the log has ended")]
pub struct Ended;

/// Called by the log's thread or by the caller of `after`: it must not wait.
pub type Done = Box<dyn FnOnce(Result<(), Ended>) + Send>;

#[derive(Default)]
struct Waiting {
    /// By ticket.
    written: VecDeque<(Ticket, Done)>,
    durable: VecDeque<(Ticket, Done)>,
    ended: bool,
}

/// The completions of one lane: its seating's `wake`. See the module.
#[derive(Default)]
pub struct Completions {
    lane: OnceLock<Arc<Lane>>,
    waiting: Mutex<Waiting>,
}

impl Completions {
    /// Its lane, before anything is handed to it.
    pub fn attach(&self, lane: Arc<Lane>) {
        // The log made one for this seating.
        let _ = self.lane.set(lane);
    }

    /// Calls `done` once all records up to `ticket` are safe; at once, if they are.
    pub fn after(&self, ticket: Ticket, safe: Safe, done: Done) {
        let mut waiting = self.lock();
        let result = if ticket <= self.mark(safe) {
            Ok(())
        } else if waiting.ended {
            Err(Ended)
        } else {
            let queue = match safe {
                Safe::Written => &mut waiting.written,
                Safe::Durable => &mut waiting.durable,
            };
            // Nearly always the last.
            let place = queue.partition_point(|(before, _)| *before <= ticket);
            queue.insert(place, (ticket, done));
            return;
        };
        drop(waiting);
        done(result);
    }

    fn mark(&self, safe: Safe) -> Ticket {
        match (self.lane.get(), safe) {
            (None, _) => Ticket(0),
            (Some(lane), Safe::Written) => lane.written().0,
            (Some(lane), Safe::Durable) => lane.durable().0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes off what is complete.
fn take(queue: &mut VecDeque<(Ticket, Done)>, mark: Ticket, due: &mut Vec<Done>) {
    while queue.front().is_some_and(|(ticket, _)| *ticket <= mark) {
        due.extend(queue.pop_front().map(|(_, done)| done));
    }
}

impl Wake for Completions {
    fn wake(&self) {
        let mut due = Vec::new();
        let mut waiting = self.lock();
        // Read under the lock: whoever comes after it sees at least these.
        take(&mut waiting.written, self.mark(Safe::Written), &mut due);
        take(&mut waiting.durable, self.mark(Safe::Durable), &mut due);
        drop(waiting);
        for done in due {
            done(Ok(()));
        }
    }

    fn ended(&self) {
        self.wake();
        let mut waiting = self.lock();
        waiting.ended = true;
        let left: Vec<_> = std::mem::take(&mut waiting.written)
            .into_iter()
            .chain(std::mem::take(&mut waiting.durable))
            .collect();
        drop(waiting);
        for (_, done) in left {
            done(Err(Ended));
        }
    }
}

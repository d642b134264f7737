//! How an owner comes by its keyspace: the shards that another thread filled, and the log that goes on behind
//! them. Until all owners have theirs each answers that it is loading: what a client was told by one holds
//! for the others, and a command of several owners runs on all of them or on none.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use ruvio_core::engine::Obstacle;
use ruvio_core::keyspace::Shard;

use super::Owner;
use super::gate::{Gate, Log};
use super::seats::{Rebuilt, Replicas};

/// An owner's shards, in order.
pub struct Filled {
    pub shards: Vec<Shard>,
    /// What the thread that filled them took from the allocator for them.
    pub allocated: usize,
    /// The way into the log, for an owner that has none.
    pub log: Option<Log>,
    /// Where its shards are replicated.
    pub replicas: Option<Replicas>,
    /// Owners that have yet to take theirs over, shared by all.
    pub left: Arc<AtomicUsize>,
}

/// What was said about an owner's keyspace and not done.
const NOTHING: u8 = 0;
/// It is to be taken anew: execute nothing more that changes it, and hand over what was.
const REST: u8 = 1;
const AT_REST: u8 = 2;
const FILLED: u8 = 3;
/// It is taken over, and others have yet to do that.
const TAKEN: u8 = 4;

#[derive(Default)]
pub(super) struct Handover {
    state: AtomicU8,
    filled: Mutex<Option<Filled>>,
    left: Mutex<Arc<AtomicUsize>>,
    /// Single shards that were made anew.
    rebuilt: Mutex<Vec<Rebuilt>>,
    has_rebuilt: AtomicBool,
}

impl Handover {
    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Release);
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    pub(super) fn ask_for_rest(&self) {
        self.set(REST);
    }

    /// Nothing was said that is not done.
    pub(super) fn is_settled(&self) -> bool {
        self.state() == NOTHING
    }

    pub(super) fn is_at_rest(&self) -> bool {
        self.state() == AT_REST
    }

    pub(super) fn put(&self, filled: Filled) {
        *self.filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(filled);
        self.set(FILLED);
    }

    pub(super) fn put_rebuilt(&self, rebuilt: Rebuilt) {
        let mut list = self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(rebuilt);
        self.has_rebuilt.store(true, Ordering::Release);
    }

    pub(super) fn take_rebuilt(&self) -> Vec<Rebuilt> {
        if !self.has_rebuilt.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        std::mem::take(&mut *self.rebuilt.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> Option<Filled> {
        let filled = self
            .filled
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()?;
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&filled.left);
        self.set(TAKEN);
        Some(filled)
    }

    /// Whether all owners have theirs, once.
    fn is_complete(&self) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = left.load(Ordering::Acquire) == 0;
        // Unless it is to be taken anew already.
        complete
            && self
                .state
                .compare_exchange(TAKEN, NOTHING, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }
}

impl Owner {
    /// Does what was said about the keyspace.
    pub(super) fn heed_handover(&mut self) {
        match self.crossing.handover().state() {
            REST => {
                self.reload_number = self.engine.last_wait();
                self.engine.world.obstacles.set(Obstacle::Loading, true);
                self.settle_gate();
                // What the log had no room for is handed over when it has.
                if !self.gate.is_refused() {
                    self.crossing.handover().set(AT_REST);
                }
            }
            FILLED => {
                if let Some(filled) = self.crossing.handover().take() {
                    self.take_over(filled);
                }
            }
            _ => {}
        }
        self.end_loading();
        if self.engine.world.has_news() {
            self.deliver_news(super::now());
        }
    }

    /// Serves from the keyspace once every owner has its own.
    pub(super) fn end_loading(&mut self) {
        let handover = self.crossing.handover();
        if handover.state() == TAKEN && handover.is_complete() {
            self.engine.world.obstacles.set(Obstacle::Loading, false);
            let number = std::mem::take(&mut self.reload_number);
            if number > 0 {
                self.engine.end_reload(number, super::now());
            }
        }
    }

    fn take_over(&mut self, filled: Filled) {
        self.engine.world.host.adopt(filled.allocated);
        let left = filled.left;
        if let Some(log) = filled.log {
            self.gate = Gate::new(Some(log));
            self.engine.take_shards(filled.shards);
            self.engine.log_changes();
            self.engine.begin_logged_turn(1);
            self.take_seats(filled.replicas);
        } else {
            self.engine.take_shards(filled.shards);
            self.engine.begin_logged_turn(self.gate.turn());
        }
        self.engine.world.obstacles.set(Obstacle::Loading, true);
        if left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.crossing.ring_all();
        }
    }
}

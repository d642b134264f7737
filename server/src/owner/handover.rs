//! How an owner comes by its keyspace: the shards that another thread filled, and the log that goes on behind
//! them. Until then it answers that it is loading.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU8, Ordering};

use ruvio_core::engine::Obstacle;
use ruvio_core::keyspace::Shard;

use super::Owner;
use super::gate::{Gate, Log};

/// An owner's shards, in order.
pub struct Filled {
    pub shards: Vec<Shard>,
    /// What the thread that filled them took from the allocator for them.
    pub allocated: usize,
    /// The way into the log, for an owner that has none.
    pub log: Option<Log>,
}

/// What was said about an owner's keyspace and not done.
const NOTHING: u8 = 0;
/// It is to be taken anew: execute nothing more that changes it, and hand over what was.
const REST: u8 = 1;
const AT_REST: u8 = 2;
const FILLED: u8 = 3;

#[derive(Default)]
pub(super) struct Handover {
    state: AtomicU8,
    filled: Mutex<Option<Filled>>,
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

    pub(super) fn is_at_rest(&self) -> bool {
        self.state() == AT_REST
    }

    pub(super) fn put(&self, filled: Filled) {
        *self.filled.lock().unwrap_or_else(PoisonError::into_inner) = Some(filled);
        self.set(FILLED);
    }

    fn take(&self) -> Option<Filled> {
        let filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.set(NOTHING);
        filled
    }
}

impl Owner {
    /// Does what was said about the keyspace.
    pub(super) fn heed_handover(&mut self) {
        match self.crossing.handover().state() {
            REST => {
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
    }

    fn take_over(&mut self, filled: Filled) {
        self.engine.world.host.adopt(filled.allocated);
        if let Some(log) = filled.log {
            self.gate = Gate::new(Some(log));
            self.engine.take_shards(filled.shards);
            self.engine.log_changes();
            self.engine.begin_logged_turn(1);
        } else {
            self.engine.take_shards(filled.shards);
            self.engine.begin_logged_turn(self.gate.turn());
        }
    }
}

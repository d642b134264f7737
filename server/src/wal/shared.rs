//! What the threads of the log share: the lanes, the catalog, the counters, and whether it all has failed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::catalog::Catalog;
use super::counters::Counters;
use super::failure::Fatal;
use super::lane::{Lane, Wake};
use super::writer::SyncMode;

/// A lane and who is to be told.
pub(super) struct Seat {
    pub lane: Arc<Lane>,
    pub wake: Arc<dyn Wake>,
}

pub(super) struct Shared {
    pub lanes: Vec<Seat>,
    pub counters: Arc<Counters>,
    catalog: Arc<Mutex<Catalog>>,
    failure: OnceLock<Fatal>,
    stop: AtomicBool,
    /// Every write is synced before it is completed.
    syncs_always: AtomicBool,
}

impl Shared {
    pub fn new(lanes: Vec<Seat>, counters: Arc<Counters>, catalog: Catalog, sync: SyncMode) -> Self {
        Self {
            lanes,
            counters,
            catalog: Arc::new(Mutex::new(catalog)),
            failure: OnceLock::new(),
            stop: AtomicBool::new(false),
            syncs_always: AtomicBool::new(sync == SyncMode::Always),
        }
    }

    pub fn catalog(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn catalog_handle(&self) -> &Arc<Mutex<Catalog>> {
        &self.catalog
    }

    /// Takes the first failure, refuses everything from now on, and tells every owner.
    pub fn fail(&self, fatal: Fatal) {
        // The first one is the one to tell.
        let _ = self.failure.set(fatal);
        self.refuse();
        for seat in &self.lanes {
            seat.lane.ring();
        }
        self.tell_ended();
    }

    /// Nothing more is completed.
    pub fn tell_ended(&self) {
        for seat in &self.lanes {
            seat.wake.ended();
        }
    }

    /// Lanes take nothing more.
    pub fn refuse(&self) {
        for seat in &self.lanes {
            seat.lane.end();
        }
    }

    pub fn failure(&self) -> Option<&Fatal> {
        self.failure.get()
    }

    pub fn into_failure(self) -> Option<Fatal> {
        self.failure.into_inner()
    }

    pub fn has_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    pub fn sync_mode(&self) -> SyncMode {
        match self.syncs_always.load(Ordering::Acquire) {
            true => SyncMode::Always,
            false => SyncMode::EverySecond,
        }
    }

    /// From the next turn on.
    pub fn set_sync_mode(&self, mode: SyncMode) {
        self.syncs_always
            .store(mode == SyncMode::Always, Ordering::Release);
        for seat in &self.lanes {
            seat.lane.ring();
        }
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        for seat in &self.lanes {
            seat.lane.ring();
        }
    }

    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

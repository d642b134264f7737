//! How far a load is, told by the threads that load and shown by INFO.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use ruvio_core::engine::LoadingFigures;

/// Of the load that is under way. All zero: none is.
#[derive(Default)]
pub struct Loading {
    began_seconds: AtomicU64,
    total_bytes: AtomicU64,
    done_bytes: AtomicU64,
}

impl Loading {
    pub fn begin(&self, total_bytes: u64) {
        self.total_bytes.store(total_bytes, Relaxed);
        self.done_bytes.store(0, Relaxed);
        self.began_seconds.store(seconds().max(1), Relaxed);
    }

    /// One of the threads has read so much; all read the same.
    pub fn note(&self, bytes: u64) {
        self.done_bytes.fetch_max(bytes, Relaxed);
    }

    pub fn end(&self) {
        self.began_seconds.store(0, Relaxed);
    }

    pub fn figures(&self) -> LoadingFigures {
        let began_seconds = self.began_seconds.load(Relaxed);
        LoadingFigures {
            began_seconds,
            took_seconds: seconds().saturating_sub(began_seconds),
            total_bytes: self.total_bytes.load(Relaxed),
            done_bytes: self.done_bytes.load(Relaxed),
        }
    }
}

fn seconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

//! What the log counts, for INFO and the metrics. Each is written by one thread and read by any.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        #[derive(Default)]
        pub struct Counters {
            $($(#[$doc])* pub(super) $name: AtomicU64,)+
        }

        /// All counters at one moment.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Counters {
            pub fn read(&self) -> Counts {
                Counts { $($name: self.$name.load(Relaxed),)+ }
            }
        }
    };
}

counters! {
    /// Writes to segments, each with all that waited.
    writes,
    /// Syncs of segments that were written.
    syncs,
    /// Records written, those that restate a shard's state included.
    records,
    /// Entries among them.
    entries,
    /// Bytes of records written.
    bytes,
    /// Time spent in syncs, and the longest.
    sync_us,
    sync_us_max,
    /// Steps of zeros written ahead.
    fills,
    /// Times that the writer was ahead of the filler and took its room itself.
    overtaken,
    /// Segments begun, files reused for them, and files deleted.
    segments,
    recycled,
    deleted,
    /// Times that the disk was found full.
    filled_up,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Relaxed);
    }

    pub(super) fn synced(&self, us: u64) {
        Self::add(&self.syncs, 1);
        Self::add(&self.sync_us, us);
        self.sync_us_max.fetch_max(us, Relaxed);
    }
}

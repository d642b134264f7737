//! In the steady state the log allocates nothing, neither on the owner's thread nor on its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;

use ruvio_server::wal::disk::Folder;
use ruvio_server::wal::{ClusterId, LogId, Recovery, Seating, Settings, ShardId, SyncMode, Wake};
use tikv_jemalloc_ctl::thread::allocatedp;

use crate::threads::Scratch;

/// Bytes that this thread ever took.
fn allocated() -> u64 {
    allocatedp::read().expect("the allocator counts by thread").get()
}

/// Called by the log's thread: looks at what that one took.
struct Owner {
    thread: Thread,
    log_allocated: AtomicU64,
}

impl Wake for Owner {
    fn wake(&self) {
        self.log_allocated.store(allocated(), Ordering::Release);
        self.thread.unpark();
    }
}

#[test]
fn entries_go_round_without_allocating() {
    let scratch = Scratch::new("allocations");
    let cluster = ClusterId([1; 16]);
    let owner = Arc::new(Owner {
        thread: std::thread::current(),
        log_allocated: AtomicU64::new(0),
    });
    let recovery = Recovery::read(Arc::new(Folder::new(&scratch.0)), cluster).expect("it is empty");
    let seating = Seating {
        shards: vec![ShardId(0)],
        wake: Arc::clone(&owner) as Arc<dyn Wake>,
    };
    let wal = recovery
        .start(&Settings::new(SyncMode::Always, 1), vec![seating])
        .expect("it starts");
    let lane = wal.lane(0);
    let durable = || lane.progress(ShardId(0)).expect("it is ours").durable.0.0;
    let mut handed = 0;
    let mut round = |entries: u64| {
        for _ in 0..entries {
            handed += 1;
            let mut payload = lane.buffer();
            payload.resize(200, 1);
            lane.append(ShardId(0), LogId::new(1, 1, handed), payload)
                .expect("there is room");
        }
        while durable() < handed {
            std::thread::park();
        }
    };
    for entries in (1..=16).rev() {
        round(entries);
    }
    let before = (allocated(), owner.log_allocated.load(Ordering::Acquire));
    for i in 0..100 {
        round(1 + i % 16);
    }
    let after = (allocated(), owner.log_allocated.load(Ordering::Acquire));
    assert_eq!(after.0 - before.0, 0, "bytes that the owner's thread took");
    assert_eq!(after.1 - before.1, 0, "bytes that the log's thread took");
}

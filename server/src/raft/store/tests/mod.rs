//! The store over a log with its threads: the library's own suite, what a start finds again, and what memory keeps.

mod restarts;
mod room;
mod suite;

use std::sync::Arc;

use openraft::EntryPayload;
use openraft::RaftLogReader;
use openraft::alias::{CommittedLeaderIdOf, EntryOf, LogIdOf};
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::type_config::TypeConfigExt;
use openraft::vote::RaftLeaderId;

use super::{Store, open};
use crate::raft::types::{Batch, C};
use crate::wal::disk::Disk;
use crate::wal::disk::simulated::Simulated;
use crate::wal::{Bounds, ClusterId, Recovery, Settings, ShardId, SyncMode, Wal};

const CLUSTER: ClusterId = ClusterId([3; 16]);
const SHARDS: [ShardId; 2] = [ShardId(0), ShardId(1)];

fn settings(sync: SyncMode) -> Settings {
    Settings {
        sync,
        segment_bytes: 64 << 10,
        ahead_bytes: 16 << 10,
        reserve_bytes: 64 << 10,
        bounds: Bounds {
            records: 1000,
            bytes: 256 << 10,
        },
    }
}

struct Node {
    wal: Wal,
    stores: Vec<Store>,
}

impl Node {
    fn on(disk: Arc<dyn Disk>, settings: &Settings, recent_bytes: usize) -> Self {
        let recovery = Recovery::read(disk, CLUSTER).expect("the log is in order");
        let (wal, stores) = open(recovery, settings, &SHARDS, recent_bytes).expect("it starts");
        Self { wal, stores }
    }

    fn start(disk: &Simulated, sync: SyncMode, recent_bytes: usize) -> Self {
        Self::on(Arc::new(disk.clone()), &settings(sync), recent_bytes)
    }

    fn stop(self) {
        self.wal.stop().expect("it ends well");
    }
}

fn id(term: u64, index: u64) -> LogIdOf<C> {
    LogIdOf::<C>::new(CommittedLeaderIdOf::<C>::new(term, 1), index)
}

fn entry(term: u64, index: u64, bytes: impl Into<Vec<u8>>) -> EntryOf<C> {
    EntryOf::<C> {
        log_id: id(term, index),
        payload: EntryPayload::Normal(Batch(bytes.into().into())),
    }
}

/// Appends, and waits until it is as safe as the node's durability wants.
async fn append(store: &mut Store, entries: Vec<EntryOf<C>>) -> std::io::Result<()> {
    let (tell, told) = C::oneshot();
    store.append(entries, IOFlushed::signal(tell)).await?;
    told.await.expect("it is told")
}

async fn all(store: &mut Store) -> Vec<EntryOf<C>> {
    store.try_get_log_entries(..).await.expect("the log is readable")
}

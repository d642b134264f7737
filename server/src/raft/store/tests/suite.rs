//! The suite that the consensus library has for log stores, over a real folder and over a disk in memory.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{Stream, StreamExt};
use openraft::alias::{LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf};
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::testing::log::{StoreBuilder, Suite};
use openraft::type_config::TypeConfigExt;
use openraft::{EntryPayload, RaftSnapshotBuilder, Snapshot, SnapshotMeta, StorageError};

use super::{Node, settings};
use crate::raft::store::Store;
use crate::raft::types::C;
use crate::wal::disk::simulated::Simulated;
use crate::wal::disk::{Disk, Folder};
use crate::wal::{SyncMode, Wal};

/// Applies nothing, and remembers how far it got: all that the suite asks of a machine.
#[derive(Clone, Default)]
struct Counter {
    applied: Option<LogIdOf<C>>,
    membership: StoredMembershipOf<C>,
    snapshot: Option<SnapshotMetaOf<C>>,
}

impl RaftSnapshotBuilder<C> for Counter {
    type SnapshotData = ();

    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<C, ()>> {
        Ok(Snapshot {
            meta: SnapshotMeta {
                last_log_id: self.applied,
                last_membership: self.membership.clone(),
            },
            snapshot: (),
        })
    }
}

impl RaftStateMachine<C> for Counter {
    type SnapshotData = ();
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> io::Result<(Option<LogIdOf<C>>, StoredMembershipOf<C>)> {
        Ok((self.applied, self.membership.clone()))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<C>>> + Unpin + Send,
    {
        while let Some(item) = entries.next().await {
            let (entry, responder) = item?;
            self.applied = Some(entry.log_id);
            if let EntryPayload::Membership(membership) = entry.payload {
                self.membership = StoredMembershipOf::<C>::new(Some(entry.log_id), membership);
            }
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.snapshot = Some(SnapshotMeta {
            last_log_id: self.applied,
            last_membership: self.membership.clone(),
        });
        self.clone()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMetaOf<C>, (): ()) -> io::Result<()> {
        self.applied = meta.last_log_id;
        self.membership = meta.last_membership.clone();
        self.snapshot = Some(meta.clone());
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotOf<C, ()>>> {
        Ok(self.snapshot.clone().map(|meta| Snapshot { meta, snapshot: () }))
    }
}

/// Goes with its log.
struct Guard {
    _wal: Wal,
    folder: Option<PathBuf>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // The log still ends in it; nothing of it is needed.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

struct Builder {
    sync: SyncMode,
    real: bool,
    recent_bytes: usize,
}

impl StoreBuilder<C, Store, Counter, Guard> for Builder {
    async fn build(&self) -> Result<(Guard, Store, Counter), StorageError<C>> {
        static NTH: AtomicU64 = AtomicU64::new(0);
        let folder = self.real.then(|| {
            let nth = NTH.fetch_add(1, Ordering::Relaxed);
            std::env::temp_dir().join(format!("ruvio-store-{}-{nth}", std::process::id()))
        });
        let disk: Arc<dyn Disk> = match &folder {
            Some(folder) => {
                std::fs::create_dir_all(folder).map_err(|e| StorageError::write(C::err_from_error(&e)))?;
                Arc::new(Folder::new(folder.clone()))
            }
            None => Arc::new(Simulated::default()),
        };
        let mut node = Node::on(disk, &settings(self.sync), self.recent_bytes);
        let guard = Guard {
            _wal: node.wal,
            folder,
        };
        Ok((guard, node.stores.remove(0), Counter::default()))
    }
}

async fn passes(sync: SyncMode, real: bool, recent_bytes: usize) {
    let builder = Builder {
        sync,
        real,
        recent_bytes,
    };
    Suite::<C, Store, Counter, Builder, Guard>::test_all(builder)
        .await
        .expect("the suite passes");
}

#[tokio::test]
async fn the_librarys_suite_passes_on_a_real_disk() {
    passes(SyncMode::Always, true, 1 << 20).await;
}

#[tokio::test]
async fn the_librarys_suite_passes_where_memory_keeps_nothing() {
    passes(SyncMode::EverySecond, false, 0).await;
}

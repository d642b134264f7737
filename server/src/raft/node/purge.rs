//! When a group's log forgets what the image holds.
//!
//! At once, whoever is away: who comes back too late gets the image. But not while a replica that answers is on its way
//! to where the image is, by entries or by a snapshot: it would have to be sent another one at its end, and so on. That
//! wait has a bound in bytes, which is for the caller to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::{Instant as _, ServerState};
use tokio::runtime::Handle;

use crate::raft::group::Shard;
use crate::raft::snapshot::Images;
use crate::raft::wire;
use crate::wal::ShardId;

/// Who has not answered for so long is away.
const AWAY: Duration = Duration::from_secs(3);
/// Between two looks whether all have come so far.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct Purge {
    images: Arc<dyn Images>,
    /// Somebody looks, so nobody else has to.
    is_pending: AtomicBool,
    may_wait: AtomicBool,
}

impl Purge {
    pub fn new(images: Arc<dyn Images>) -> Self {
        Self {
            images,
            is_pending: AtomicBool::new(false),
            may_wait: AtomicBool::new(true),
        }
    }

    /// The image has moved on.
    pub fn note(self: Arc<Self>, runtime: &Handle, raft: Shard, shard: ShardId, may_wait: bool) {
        self.may_wait.store(may_wait, Ordering::Release);
        if self.is_pending.swap(true, Ordering::AcqRel) {
            return;
        }
        runtime.spawn(async move {
            while self.may_wait.load(Ordering::Acquire) && self.is_needed(&raft, shard) {
                tokio::time::sleep(LOOK).await;
            }
            self.is_pending.store(false, Ordering::Release);
            // It fails where the group has ended, and that is told elsewhere.
            let _ = raft.trigger().snapshot().await;
        });
    }

    /// A replica that answers is behind the image.
    fn is_needed(&self, raft: &Shard, shard: ShardId) -> bool {
        let Some(held) = self.images.held(shard) else {
            return false;
        };
        let metrics = raft.metrics();
        let seen = metrics.borrow_watched();
        if seen.state != ServerState::Leader {
            return false;
        }
        let (Some(replication), Some(heard)) = (&seen.replication, &seen.heartbeat) else {
            return false;
        };
        replication.iter().any(|(node, matched)| {
            let answers = heard.get(node).copied().flatten();
            let answers = answers.is_some_and(|at| at.into_inner().elapsed() < AWAY);
            let has = matched.map_or(0, |id| wire::wal_id(&id).index.0);
            *node != seen.id && answers && has < held.at.index.0
        })
    }
}

//! A shard's group as it stands: it is ended and built anew where the shard's log is changed from outside.

use tokio::sync::watch;
use tokio::time::Instant;

use super::group::Shard;

#[derive(Clone)]
pub(super) struct Built {
    pub raft: Shard,
    /// Until then no vote is granted: it may have been asked for one by a leader whose lease it forgot.
    pub muted_until: Option<Instant>,
}

/// Shows whoever needs the group the one that is at work.
#[derive(Clone)]
pub(super) struct Current(watch::Receiver<Built>);

impl Current {
    pub fn new(built: Built) -> (watch::Sender<Built>, Self) {
        let (sender, receiver) = watch::channel(built);
        (sender, Self(receiver))
    }

    pub fn raft(&self) -> Shard {
        self.0.borrow().raft.clone()
    }

    pub fn muted_until(&self) -> Option<Instant> {
        self.0.borrow().muted_until
    }

    /// Waits for another one than was there when this one was last looked at so. False: there will be none.
    pub async fn replaced(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

//! A group's state machine: committed entries go to the shard's port, in order, and the image stands for a
//! snapshot. Nothing is evaluated here, and no keyspace is touched.

use std::io;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use openraft::alias::{LogIdOf, SnapshotMetaOf, SnapshotOf, StoredMembershipOf};
use openraft::storage::{EntryResponder, RaftStateMachine};
use openraft::{EntryPayload, RaftSnapshotBuilder};

use super::snapshot::{Held, Images, Snapshot};
use super::store::Store;
use super::types::C;
use super::wire;
use crate::replica::Port;
use crate::wal::{LogId, LogIndex};

/// Memberships that are remembered, so that the image's can be told. A shard sees few.
const REMEMBERED: usize = 64;

#[derive(Clone)]
pub struct Machine {
    port: Arc<Port>,
    images: Arc<dyn Images>,
    store: Store,
    applied: Option<LogIdOf<C>>,
    /// Applied ones, oldest first; the first is that of the start.
    memberships: Vec<StoredMembershipOf<C>>,
    /// Shared by all clones.
    life: Arc<()>,
}

impl Machine {
    /// `applied`: what the shard's keyspace holds at the start.
    pub fn new(port: Arc<Port>, images: Arc<dyn Images>, store: Store, applied: LogId) -> Self {
        let membership = store.membership().unwrap_or_default();
        Self {
            port,
            images,
            store,
            applied: wire::library_id(applied),
            memberships: vec![membership],
            life: Arc::default(),
        }
    }

    /// Gone when all clones are.
    pub fn life(&self) -> Weak<()> {
        Arc::downgrade(&self.life)
    }

    /// The log restates it, so that it outlives its entry.
    async fn note_membership(&mut self, membership: StoredMembershipOf<C>) -> io::Result<()> {
        // What is applied again after a start is known already.
        let known = self.memberships.last().and_then(|last| *last.log_id());
        if known >= *membership.log_id() {
            return Ok(());
        }
        self.store.save_membership(membership.clone()).await?;
        if self.memberships.len() == REMEMBERED {
            self.memberships.remove(0);
        }
        self.memberships.push(membership);
        Ok(())
    }

    /// The last membership that an image of this index has seen.
    fn membership_at(&self, index: LogIndex) -> StoredMembershipOf<C> {
        let seen = |membership: &&StoredMembershipOf<C>| {
            let at = membership.log_id().as_ref();
            at.is_none_or(|id| wire::wal_id(id).index <= index)
        };
        let last = self.memberships.iter().rev().find(seen);
        last.or(self.memberships.first()).cloned().unwrap_or_default()
    }

    fn meta_of(&self, held: &Held) -> SnapshotMetaOf<C> {
        SnapshotMetaOf::<C> {
            last_log_id: wire::library_id(held.at),
            last_membership: self.membership_at(held.at.index),
        }
    }

    fn snapshot(&self) -> Option<SnapshotOf<C, Snapshot>> {
        let held = self.images.held(self.port.shard())?;
        Some(SnapshotOf::<C, Snapshot> {
            meta: self.meta_of(&held),
            snapshot: Snapshot::Kept(held),
        })
    }
}

impl RaftStateMachine<C> for Machine {
    type SnapshotData = Snapshot;
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> io::Result<(Option<LogIdOf<C>>, StoredMembershipOf<C>)> {
        let last = self.memberships.last().cloned().unwrap_or_default();
        Ok((self.applied, last))
    }

    async fn apply<S>(&mut self, mut entries: S) -> io::Result<()>
    where
        S: Stream<Item = io::Result<EntryResponder<C>>> + Unpin + Send,
    {
        static NOTHING: Bytes = Bytes::new();
        while let Some(item) = entries.next().await {
            let (entry, responder) = item?;
            let id = entry.log_id;
            let payload = match &entry.payload {
                EntryPayload::Normal(batch) => &batch.0,
                EntryPayload::Blank => &NOTHING,
                EntryPayload::Membership(membership) => {
                    let membership = StoredMembershipOf::<C>::new(Some(id), membership.clone());
                    self.note_membership(membership).await?;
                    &NOTHING
                }
            };
            self.port.give(wire::wal_id(&id), payload).await;
            self.applied = Some(id);
            if let Some(responder) = responder {
                responder.send(());
            }
        }
        Ok(())
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn install_snapshot(&mut self, meta: &SnapshotMetaOf<C>, snapshot: Snapshot) -> io::Result<()> {
        let Some(id) = meta.last_log_id else {
            return Ok(());
        };
        let at = wire::wal_id(&id);
        if let Snapshot::Received(received) = snapshot {
            self.images.install(self.port.shard(), received).await?;
        }
        self.applied = Some(id);
        self.store.save_membership(meta.last_membership.clone()).await?;
        self.memberships = vec![meta.last_membership.clone()];
        self.port.replace(at);
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> io::Result<Option<SnapshotOf<C, Snapshot>>> {
        Ok(self.snapshot())
    }
}

impl RaftSnapshotBuilder<C> for Machine {
    type SnapshotData = Snapshot;

    /// Takes note of what the image holds: nothing is copied.
    async fn build_snapshot(&mut self) -> io::Result<SnapshotOf<C, Snapshot>> {
        self.snapshot()
            .ok_or_else(|| io::Error::other("the shard has no image yet"))
    }
}

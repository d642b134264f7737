//! A shard's part of the node's log, as its group sees it.
//!
//! Effects stand in the log exactly as a node without replicas writes them; entries of the group's own are of
//! another kind. So the image, a start and a dump read either log, and the log knows nothing of groups: what is to
//! happen when a record is safe goes to it as a closure.
//!
//! Invariant: a vote is durable before it is told, whatever the durability of entries is.
//! Invariant: records are handed over in the order of the calls, and the log keeps that order.

mod open;
mod read;
mod recent;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use openraft::alias::{EntryOf, LogIdOf, StoredMembershipOf, VoteOf};
use openraft::storage::{IOFlushed, RaftLogStorage};
use openraft::{EntryPayload, LogState};
use tokio::sync::oneshot;

use super::types::C;
use super::wire;
use crate::wal::{
    self, Completions, Lane, LogId, LogIndex, NodeId, Reader, Refused, Safe, ShardId, ShardState, Term,
    Ticket, Why,
};
pub use open::{OpenError, open};
use recent::Recent;

/// The leader of no entry: the log begins behind this place, and nothing was ever before it.
const NOBODY: NodeId = NodeId(u64::MAX);

/// What a shard's store is made of.
pub struct Parts {
    pub shard: ShardId,
    /// Of all replicas of the node, and its completions.
    pub lane: Arc<Lane>,
    pub completions: Arc<Completions>,
    pub reader: Reader,
    /// When an entry counts as stored.
    pub safe: Safe,
    /// Entries that are kept in memory.
    pub recent_bytes: usize,
    /// What the log knew of the shard at the start: its state, and the id of its last living entry.
    pub state: ShardState,
    pub last: Option<LogId>,
}

/// The log store of one shard's group; clones are the same store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    shard: ShardId,
    lane: Arc<Lane>,
    completions: Arc<Completions>,
    reader: Reader,
    safe: Safe,
    log: Mutex<Log>,
}

/// As handed over, not as written.
struct Log {
    vote: wal::Vote,
    /// Nothing can be read up to here: it was purged, or never there.
    floor: u64,
    purged: Option<LogIdOf<C>>,
    last: Option<LogIdOf<C>>,
    committed: Option<LogIdOf<C>>,
    /// It waits for the next record: it is not worth a write of its own.
    committed_unsaved: bool,
    membership: Option<StoredMembershipOf<C>>,
    recent: Recent,
}

impl Store {
    /// Errs on a membership that does not decode.
    pub fn new(parts: Parts) -> io::Result<Self> {
        let Parts { state, .. } = &parts;
        let began = state.purged.node == NOBODY && state.purged.term == Term(0);
        let purged = (!began).then(|| wire::library_id(state.purged)).flatten();
        let membership = match &state.membership {
            Some((id, payload)) => {
                let membership = wire::membership_of_payload(payload).map_err(invalid)?;
                Some(StoredMembershipOf::<C>::new(wire::library_id(*id), membership))
            }
            None => None,
        };
        let log = Log {
            vote: state.vote,
            floor: state.purged.index.0,
            purged,
            last: parts.last.and_then(wire::library_id).or(purged),
            committed: wire::library_id(state.committed),
            committed_unsaved: false,
            membership,
            recent: Recent::new(parts.recent_bytes),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                shard: parts.shard,
                lane: parts.lane,
                completions: parts.completions,
                reader: parts.reader,
                safe: parts.safe,
                log: Mutex::new(log),
            }),
        })
    }

    /// The membership that was saved last.
    pub fn membership(&self) -> Option<StoredMembershipOf<C>> {
        self.log().membership.clone()
    }

    /// Keeps a membership whose entry was applied. To be called before that entry is purged; it is safe when what
    /// is handed over after it is.
    pub async fn save_membership(&self, membership: StoredMembershipOf<C>) -> io::Result<()> {
        let Some(id) = membership.log_id().as_ref().map(wire::wal_id) else {
            return Ok(());
        };
        let payload = wire::membership_payload(membership.membership().clone());
        let send = |lane: &Lane, shard, payload| lane.save_membership(shard, id, payload);
        self.put(payload, send).await?;
        self.log().membership = Some(membership);
        Ok(())
    }

    /// For whom the shard has voted.
    pub fn vote(&self) -> wal::Vote {
        self.log().vote
    }

    /// Adds an entry behind all others, durably. No group is at work on it.
    pub async fn add(&self, entry: EntryOf<C>) -> io::Result<()> {
        let ticket = self.put_entry(entry).await?;
        self.inner.lane.hasten();
        self.safe_at(ticket, Safe::Durable).await
    }

    /// Voids all of the shard but its vote, durably. `image_goes`: its image is yet to go, and a start removes it; said
    /// again without it when that is done. No group is at work on it.
    pub async fn leave(&self, image_goes: bool) -> io::Result<()> {
        let send = |lane: &Lane, shard, _| lane.leave(shard, image_goes);
        let ticket = self.put(Vec::new(), send).await?;
        {
            let mut log = self.log();
            log.recent.truncate(0);
            (log.floor, log.purged, log.last) = (0, None, None);
            (log.committed, log.committed_unsaved, log.membership) = (None, false, None);
        }
        self.inner.lane.hasten();
        self.safe_at(ticket, Safe::Durable).await
    }

    /// Bytes of entries that are kept in memory.
    pub fn recent_bytes(&self) -> usize {
        self.log().recent.bytes()
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.inner.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a record over, and waits for room where there is none.
    async fn put(
        &self,
        mut payload: Vec<u8>,
        send: impl Fn(&Lane, ShardId, Vec<u8>) -> Result<Ticket, Refused>,
    ) -> io::Result<Ticket> {
        let lane = &*self.inner.lane;
        loop {
            // Before the try: then a full lane still has the record to wait for.
            let written = lane.written().0;
            let refused = match send(lane, self.inner.shard, payload) {
                Ok(ticket) => return Ok(ticket),
                Err(refused) => refused,
            };
            if refused.why != Why::Full {
                return Err(io::Error::other(refused.why));
            }
            payload = refused.payload;
            self.safe_at(Ticket(written.0 + 1), Safe::Written).await?;
        }
    }

    async fn safe_at(&self, ticket: Ticket, safe: Safe) -> io::Result<()> {
        let (tell, told) = oneshot::channel();
        let done = move |result| {
            // Whoever asked may be gone.
            let _ = tell.send(result);
        };
        self.inner.completions.after(ticket, safe, Box::new(done));
        told.await
            .map_err(|_| io::Error::other(wal::Ended))?
            .map_err(io::Error::other)
    }

    /// What is known to be committed goes along with another record.
    fn put_committed(&self) {
        let mut log = self.log();
        if let Some(committed) = log.committed.filter(|_| log.committed_unsaved) {
            let saved = self
                .inner
                .lane
                .save_committed(self.inner.shard, wire::wal_id(&committed));
            // Where there is no room it goes with the next one.
            log.committed_unsaved = saved.is_err();
        }
    }

    async fn put_entry(&self, entry: EntryOf<C>) -> io::Result<Ticket> {
        let id = wire::wal_id(&entry.log_id);
        let ticket = match &entry.payload {
            EntryPayload::Normal(batch) => {
                let mut payload = self.inner.lane.buffer();
                payload.extend_from_slice(&batch.0);
                self.put(payload, |lane, shard, payload| lane.append(shard, id, payload))
                    .await?
            }
            own => {
                let payload = match own {
                    EntryPayload::Membership(membership) => wire::membership_payload(membership.clone()),
                    _ => Vec::new(),
                };
                self.put(payload, |lane, shard, payload| {
                    lane.append_raft(shard, id, payload)
                })
                .await?
            }
        };
        let written = self.inner.lane.progress(self.inner.shard);
        let mut log = self.log();
        log.last = Some(entry.log_id);
        log.recent.push(entry);
        log.recent
            .trim(written.map_or(0, |progress| progress.written.0.0));
        Ok(ticket)
    }

    /// A log may begin anywhere: says so, if it does not begin with the first entry.
    async fn begin_at(&self, first: u64) -> io::Result<()> {
        let log_is_new = {
            let log = self.log();
            log.last.is_none() && log.floor == 0
        };
        if !log_is_new || first <= 1 {
            return Ok(());
        }
        let before = LogId::new(0, NOBODY.0, first - 1);
        self.put(Vec::new(), |lane, shard, _| lane.purge(shard, before))
            .await?;
        self.log().floor = before.index.0;
        Ok(())
    }
}

fn invalid(why: wire::Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl RaftLogStorage<C> for Store {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> io::Result<LogState<C>> {
        let log = self.log();
        Ok(LogState {
            last_purged_log_id: log.purged,
            last_log_id: log.last,
        })
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &VoteOf<C>) -> io::Result<()> {
        let vote = wire::wal_vote(vote);
        self.put_committed();
        let ticket = self
            .put(Vec::new(), |lane, shard, _| lane.save_vote(shard, vote))
            .await?;
        self.log().vote = vote;
        self.inner.lane.hasten();
        self.safe_at(ticket, Safe::Durable).await
    }

    async fn save_committed(&mut self, committed: Option<LogIdOf<C>>) -> io::Result<()> {
        let mut log = self.log();
        log.committed_unsaved |= committed.is_some() && committed != log.committed;
        log.committed = committed.or(log.committed);
        Ok(())
    }

    /// A torn tail may have taken the entry that was known to be committed.
    async fn read_committed(&mut self) -> io::Result<Option<LogIdOf<C>>> {
        let log = self.log();
        let held = log
            .committed
            .filter(|id| log.last.is_some_and(|last| id.index <= last.index));
        Ok(held.or(log.committed.and(log.last)))
    }

    async fn append<I>(&mut self, entries: I, callback: IOFlushed<C>) -> io::Result<()>
    where
        I: IntoIterator<Item = EntryOf<C>> + Send,
        I::IntoIter: Send,
    {
        let mut ticket = None;
        self.put_committed();
        for entry in entries {
            if ticket.is_none() {
                self.begin_at(wire::index(entry.log_id.index)).await?;
            }
            ticket = Some(self.put_entry(entry).await?);
        }
        let done =
            move |result: Result<(), wal::Ended>| callback.io_completed(result.map_err(io::Error::other));
        match ticket {
            Some(ticket) => {
                let Inner {
                    completions, safe, ..
                } = &*self.inner;
                completions.after(ticket, *safe, Box::new(done));
            }
            None => done(Ok(())),
        }
        Ok(())
    }

    async fn truncate_after(&mut self, last: Option<LogIdOf<C>>) -> io::Result<()> {
        let from = {
            let log = self.log();
            let end = log.last.map_or(0, |last| wire::index(last.index));
            let from = last.map_or(log.floor, |last| wire::index(last.index)) + 1;
            if from > end {
                return Ok(());
            }
            from
        };
        self.put(Vec::new(), |lane, shard, _| lane.truncate(shard, LogIndex(from)))
            .await?;
        let mut log = self.log();
        log.recent.truncate(from);
        log.last = last.or(log.purged);
        Ok(())
    }

    /// What the image holds durably, by the word of the caller.
    async fn purge(&mut self, up_to: LogIdOf<C>) -> io::Result<()> {
        let id = wire::wal_id(&up_to);
        if self
            .log()
            .purged
            .is_some_and(|purged| purged.index >= up_to.index)
        {
            return Ok(());
        }
        self.put(Vec::new(), |lane, shard, _| lane.purge(shard, id))
            .await?;
        let mut log = self.log();
        log.purged = Some(up_to);
        log.floor = id.index.0;
        log.recent.purge(id.index.0);
        if log.last.is_none_or(|last| last.index < up_to.index) {
            log.last = Some(up_to);
        }
        Ok(())
    }
}

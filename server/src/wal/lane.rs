//! A lane: one owner's way into the log. The owner hands over entries, and learns from marks how far they
//! are written and durable.
//!
//! Invariant: a lane is bounded in records and bytes; a full one gives the entry back.
//! Invariant: a lane belongs to one owner, so its lock is never shared between shards of different owners.
//! Invariant: in the steady state nothing is allocated: buffers and queues go round.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use super::ids::{Durable, LogId, LogIndex, ShardId, Ticket, Vote, Written};
use super::record::{Kind, MEMBERSHIP_MAX, PAYLOAD_MAX, Record, voids};
use super::state::{LEAVE_ID, OutOfOrder, ShardState};

/// Buffers that wait for their next entry, and the largest worth keeping.
const SPARE_BUFFERS: usize = 32;
const SPARE_BYTES_MAX: usize = 256 << 10;

/// How the log tells an owner that something was completed or that the log has ended. Called by the log's
/// thread: it must not wait.
pub trait Wake: Send + Sync {
    fn wake(&self);

    /// The log has ended, by itself or because it was stopped: nothing more is completed.
    fn ended(&self) {
        self.wake();
    }
}

/// Why a record was not taken; its buffer comes back.
#[derive(Debug)]
pub struct Refused {
    pub why: Why,
    pub payload: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Why {
    #[error("the log's queue is full")]
    Full,
    #[error("the log has ended")]
    Ended,
    #[error("the record is too large")]
    TooLarge,
    #[error("shard {} is not of this lane", .0.0)]
    Shard(ShardId),
    #[error("{0}")]
    Order(OutOfOrder),
}

/// How far a shard's entries are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    pub written: Written<LogIndex>,
    pub durable: Durable<LogIndex>,
    /// The last durable entry that is there with all its parts.
    pub whole: LogIndex,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    pub records: usize,
    pub bytes: usize,
}

pub(super) struct Item {
    /// The shard's place in its lane.
    pub place: u16,
    pub kind: Kind,
    pub id: LogId,
    pub payload: Vec<u8>,
}

struct Track {
    /// Enqueued order: what may come next.
    state: ShardState,
    /// Truncations on their way, and the highest index that all of them leave.
    truncations: u32,
    cap: u64,
}

struct Queue {
    items: Vec<Item>,
    /// Of payloads that are not yet written, fetched or not.
    bytes: usize,
    tracks: Vec<Track>,
    spares: Vec<Vec<u8>>,
    handed: u64,
}

#[derive(Default)]
struct Mark {
    written: AtomicU64,
    durable: AtomicU64,
    whole: AtomicU64,
}

pub struct Lane {
    bounds: Bounds,
    shards: Vec<ShardId>,
    queue: Mutex<Queue>,
    marks: Vec<Mark>,
    written: AtomicU64,
    durable: AtomicU64,
    ended: AtomicBool,
    /// Somebody waits for what was handed over to be durable.
    urgent: AtomicBool,
    writer: OnceLock<Thread>,
}

impl Lane {
    /// `shards` with what the log knows of them.
    pub(super) fn new(bounds: Bounds, shards: Vec<(ShardId, ShardState)>) -> Self {
        let marks = shards
            .iter()
            .map(|(_, state)| Mark {
                written: AtomicU64::new(state.last.0),
                durable: AtomicU64::new(state.last.0),
                whole: AtomicU64::new(state.whole().0),
            })
            .collect();
        let ids = shards.iter().map(|(shard, _)| *shard).collect();
        let track = |(_, state)| Track {
            state,
            truncations: 0,
            cap: u64::MAX,
        };
        Self {
            bounds,
            shards: ids,
            queue: Mutex::new(Queue {
                items: Vec::new(),
                bytes: 0,
                tracks: shards.into_iter().map(track).collect(),
                spares: Vec::new(),
                handed: 0,
            }),
            marks,
            written: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            urgent: AtomicBool::new(false),
            writer: OnceLock::new(),
        }
    }

    /// An empty buffer, one that was used before if there is one.
    pub fn buffer(&self) -> Vec<u8> {
        self.lock().spares.pop().unwrap_or_default()
    }

    /// Hands over an entry: the effects of a turn. Its index follows on the shard's last one.
    pub fn append(&self, shard: ShardId, id: LogId, payload: Vec<u8>) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Entry, id, payload)
    }

    /// Hands over a part of an entry. It has an index of its own, and counts when the entry that ends it is there; until
    /// then only other parts may follow on it.
    pub fn append_part(&self, shard: ShardId, id: LogId, payload: Vec<u8>) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Part, id, payload)
    }

    /// Hands over an entry of the consensus layer itself.
    pub fn append_raft(&self, shard: ShardId, id: LogId, payload: Vec<u8>) -> Result<Ticket, Refused> {
        self.put(shard, Kind::RaftEntry, id, payload)
    }

    pub fn save_vote(&self, shard: ShardId, vote: Vote) -> Result<Ticket, Refused> {
        let id = LogId {
            term: vote.term,
            node: vote.node,
            index: LogIndex(0),
        };
        self.put(shard, Kind::Vote, id, vec![u8::from(vote.committed)])
    }

    /// Voids the entries from this index on.
    pub fn truncate(&self, shard: ShardId, from: LogIndex) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Truncate, LogId::new(0, 0, from.0), Vec::new())
    }

    /// The image durably holds the entries up to this one.
    pub fn purge(&self, shard: ShardId, up_to: LogId) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Purge, up_to, Vec::new())
    }

    pub fn save_committed(&self, shard: ShardId, committed: LogId) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Committed, committed, Vec::new())
    }

    pub fn save_membership(&self, shard: ShardId, id: LogId, membership: Vec<u8>) -> Result<Ticket, Refused> {
        self.put(shard, Kind::Membership, id, membership)
    }

    /// Voids all of a shard but its vote. `image_goes`: its image has yet to go, and a start removes it first; said again
    /// without it when that is done.
    pub fn leave(&self, shard: ShardId, image_goes: bool) -> Result<Ticket, Refused> {
        let id = if image_goes { LEAVE_ID } else { LogId::default() };
        self.put(shard, Kind::Leave, id, vec![u8::from(image_goes)])
    }

    /// How far a shard's entries are.
    pub fn progress(&self, shard: ShardId) -> Option<Progress> {
        let mark = &self.marks[self.place(shard)?];
        Some(Progress {
            written: Written(LogIndex(mark.written.load(Ordering::Acquire))),
            durable: Durable(LogIndex(mark.durable.load(Ordering::Acquire))),
            whole: LogIndex(mark.whole.load(Ordering::Acquire)),
        })
    }

    /// All records up to this ticket are written.
    pub fn written(&self) -> Written<Ticket> {
        Written(Ticket(self.written.load(Ordering::Acquire)))
    }

    /// All records up to this ticket are durable.
    pub fn durable(&self) -> Durable<Ticket> {
        Durable(Ticket(self.durable.load(Ordering::Acquire)))
    }

    /// Has what was handed over so far made durable without delay.
    pub fn hasten(&self) {
        self.urgent.store(true, Ordering::Release);
        self.ring();
    }

    /// Whether somebody wants that; asked before what waits is taken, so that it is part of it.
    pub(super) fn take_urgent(&self) -> bool {
        self.urgent.load(Ordering::Relaxed) && self.urgent.swap(false, Ordering::AcqRel)
    }

    /// All that was handed over is written.
    pub fn is_written(&self) -> bool {
        let queue = self.lock();
        queue.handed == self.written.load(Ordering::Acquire)
    }

    /// The log takes nothing more and completes nothing more.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub fn shards(&self) -> &[ShardId] {
        &self.shards
    }

    fn place(&self, shard: ShardId) -> Option<usize> {
        self.shards.binary_search(&shard).ok()
    }

    fn put(&self, shard: ShardId, kind: Kind, id: LogId, payload: Vec<u8>) -> Result<Ticket, Refused> {
        let refuse = |why, payload| Err(Refused { why, payload });
        let Some(place) = self.place(shard) else {
            return refuse(Why::Shard(shard), payload);
        };
        let max = if kind == Kind::Membership {
            MEMBERSHIP_MAX
        } else {
            PAYLOAD_MAX
        };
        if payload.len() > max {
            return refuse(Why::TooLarge, payload);
        }
        let mut queue = self.lock();
        // Under the lock, so that nothing is taken that nobody will fetch.
        if self.ended() {
            return refuse(Why::Ended, payload);
        }
        // One that is larger than the bound passes when it is alone.
        let waiting = queue.handed - self.written.load(Ordering::Relaxed);
        let crowded = waiting >= self.bounds.records as u64
            || (queue.bytes > 0 && queue.bytes + payload.len() > self.bounds.bytes);
        if crowded {
            return refuse(Why::Full, payload);
        }
        let track = &mut queue.tracks[place];
        let record = Record {
            kind,
            shard,
            id,
            lag: 0,
            payload: if kind == Kind::Membership { &[] } else { &payload },
        };
        if let Err(why) = track.state.apply(&record) {
            return refuse(Why::Order(why), payload);
        }
        if voids(kind, id.index) {
            let left = id.index.0.saturating_sub(1);
            track.truncations += 1;
            track.cap = track.cap.min(left);
            self.marks[place].written.fetch_min(left, Ordering::AcqRel);
            self.marks[place].durable.fetch_min(left, Ordering::AcqRel);
            self.marks[place].whole.fetch_min(left, Ordering::AcqRel);
        }
        queue.bytes += payload.len();
        queue.items.push(Item {
            place: place as u16,
            kind,
            id,
            payload,
        });
        queue.handed += 1;
        let ticket = Ticket(queue.handed);
        drop(queue);
        self.ring();
        Ok(ticket)
    }

    /// Wakes the log's thread, if it sleeps.
    pub(super) fn ring(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    pub(super) fn set_writer(&self, thread: Thread) {
        // Set once, when the thread starts.
        let _ = self.writer.set(thread);
    }

    /// Exchanges the queue for an empty one; the ticket of its last record.
    pub(super) fn take(&self, items: &mut Vec<Item>) -> Ticket {
        debug_assert!(items.is_empty());
        let mut queue = self.lock();
        std::mem::swap(&mut queue.items, items);
        Ticket(queue.handed)
    }

    /// Records up to `ticket` are written, `items` the last of them; `states` are by place.
    pub(super) fn complete_written(&self, ticket: Ticket, items: &mut Vec<Item>, states: &[ShardState]) {
        let mut queue = self.lock();
        for item in items.iter().filter(|item| voids(item.kind, item.id.index)) {
            let track = &mut queue.tracks[usize::from(item.place)];
            track.truncations -= 1;
            if track.truncations == 0 {
                track.cap = u64::MAX;
            }
        }
        for item in items.drain(..) {
            let place = usize::from(item.place);
            let last = states[place].last.0.min(queue.tracks[place].cap);
            self.marks[place].written.store(last, Ordering::Release);
            queue.bytes -= item.payload.len();
            recycle(&mut queue.spares, item.payload);
        }
        self.written.store(ticket.0, Ordering::Release);
    }

    /// All that is written is durable. Whether that is news.
    pub(super) fn complete_durable(&self, states: &[ShardState]) -> bool {
        let queue = self.lock();
        for (place, state) in states.iter().enumerate() {
            let last = state.last.0.min(queue.tracks[place].cap);
            self.marks[place].durable.store(last, Ordering::Release);
            let whole = state.whole().0.min(queue.tracks[place].cap);
            self.marks[place].whole.store(whole, Ordering::Release);
        }
        let written = self.written.load(Ordering::Relaxed);
        self.durable.swap(written, Ordering::AcqRel) != written
    }

    pub(super) fn end(&self) {
        let _queue = self.lock();
        self.ended.store(true, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a buffer for the next entry, within bounds.
fn recycle(spares: &mut Vec<Vec<u8>>, mut buffer: Vec<u8>) {
    let fits = (1..=SPARE_BYTES_MAX).contains(&buffer.capacity());
    if fits && spares.len() < SPARE_BUFFERS {
        buffer.clear();
        spares.push(buffer);
    }
}

//! A port: where one shard's owner thread and its consensus group meet.
//!
//! The owner executes at once and proposes what came of it; the group says what is committed, and hands over
//! what other leaders committed. Both ends of an epoch go through one lock, so that each entry is either
//! executed here or given to be applied, never both and never neither.
//!
//! Invariants: entries are given in the order of the log. What is given is committed, and is in this node's own log.
//! Queues are bounded: a group whose owner is slow waits with what is committed; an owner keeps few proposals
//! under way.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, mpsc, oneshot};

use super::clock::Instant;
use crate::wal::{LogId, ShardId, Wake};

/// A leadership: no two nodes have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch {
    pub term: u64,
    pub node: u64,
}

impl Epoch {
    pub fn of(id: LogId) -> Self {
        Self {
            term: id.term.0,
            node: id.node.0,
        }
    }
}

/// A time during which the owner executes, without a break; only grows. An epoch can have several: a leader that lost
/// its lease begins anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Stint(pub u64);

/// What happens to a shard, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Another leader's effects, committed. Without any it only moves the index.
    Entry { id: LogId, payload: Bytes },
    /// This node leads; all that was committed before was given.
    Lead(Stint),
    /// It leads no longer. The last entry that was committed and given.
    Follow { given: LogId },
    /// The image holds more than was ever given here: the keyspace is made anew from it.
    Replace { at: LogId },
}

/// What a replica holds as of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest {
    pub index: u64,
    pub digest: [u8; 20],
    pub keys: u64,
}

/// What an owner wants in the log.
#[derive(Debug)]
pub struct Proposal {
    pub stint: Stint,
    /// Of this port; only grows, over stints too.
    pub number: u64,
    pub payload: Bytes,
}

/// What became of a proposal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As the entry of that index.
    Committed(u64),
    /// It is in no log, or nobody can say: the keyspace is ahead of the log either way.
    Lost,
}

/// Why a proposal was not taken. It comes back.
#[derive(Debug)]
pub enum Refused {
    Full(Bytes),
    /// The stint is over, or the node ends.
    Over(Bytes),
}

/// What `Port::give` did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// The owner executed it.
    Executed,
    Queued,
}

/// Bytes of events that wait for the owner. One larger entry passes alone.
const EVENT_BYTES: usize = 16 << 20;
/// What an event counts beside its bytes.
const EVENT_COST: usize = 64;

#[derive(Default)]
struct State {
    leads: Option<(Epoch, Stint)>,
    /// The last that began.
    stint: Stint,
    /// No stint begins in this epoch or an earlier one.
    closed: Epoch,
    /// The last entry that was given or executed, committed either way.
    given: LogId,
    events: VecDeque<Event>,
    bytes: usize,
}

pub struct Port {
    shard: ShardId,
    owner: Arc<dyn Wake>,
    proposals: mpsc::Sender<Proposal>,
    state: Mutex<State>,
    has_events: AtomicBool,
    /// The number of the last committed proposal, and its entry's index, which is never behind it.
    committed: AtomicU64,
    committed_index: AtomicU64,
    /// The last stint of which a proposal was lost.
    lost: AtomicU64,
    /// The stint that is under way; zero: none.
    current: AtomicU64,
    /// The index up to which the owner's keyspace has everything.
    applied: AtomicU64,
    /// Of the owner's keyspace.
    keys: AtomicU64,
    memory_bytes: AtomicU64,
    /// Until when no other node can lead, as an `Instant`.
    lease: AtomicU64,
    /// How many want nothing to be executed though there may be a lease.
    holds: AtomicUsize,
    /// The owner executes nothing, and all that it executed is committed.
    drained: AtomicBool,
    /// When the leader was last heard of, as an `Instant`.
    heard: AtomicU64,
    /// Who wants to know what the keyspace holds.
    questions: Mutex<Vec<oneshot::Sender<Digest>>>,
    room: Notify,
    /// A stint has ended.
    over: Notify,
}

impl Port {
    /// `given`: what the keyspace that the owner starts from holds. `proposals` leads to the group.
    pub fn new(
        shard: ShardId,
        owner: Arc<dyn Wake>,
        proposals: mpsc::Sender<Proposal>,
        given: LogId,
    ) -> Self {
        Self {
            shard,
            owner,
            proposals,
            state: Mutex::new(State {
                given,
                ..State::default()
            }),
            has_events: AtomicBool::new(false),
            committed: AtomicU64::new(0),
            committed_index: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            current: AtomicU64::new(0),
            applied: AtomicU64::new(given.index.0),
            keys: AtomicU64::new(0),
            memory_bytes: AtomicU64::new(0),
            lease: AtomicU64::new(0),
            holds: AtomicUsize::new(0),
            drained: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            questions: Mutex::default(),
            room: Notify::new(),
            over: Notify::new(),
        }
    }

    pub fn shard(&self) -> ShardId {
        self.shard
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner's side.
impl Port {
    /// Proposes an entry. The owner keeps the order.
    pub fn propose(&self, stint: Stint, number: u64, payload: Bytes) -> Result<(), Refused> {
        let proposal = Proposal {
            stint,
            number,
            payload,
        };
        self.proposals
            .try_send(proposal)
            .map_err(|refused| match refused {
                mpsc::error::TrySendError::Full(proposal) => Refused::Full(proposal.payload),
                mpsc::error::TrySendError::Closed(proposal) => Refused::Over(proposal.payload),
            })
    }

    /// The number of the last proposal that is committed, as all before it are.
    pub fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// The index of that proposal's entry or of a later one's.
    pub fn committed_index(&self) -> u64 {
        self.committed_index.load(Ordering::Acquire)
    }

    /// Whether a stint's owner may execute: nobody wants it to rest, and no other node leads. The end of a stint
    /// counts before its owner has heard of it: a leadership that is moved ends before its lease does.
    pub fn has_lease(&self, stint: Stint, now: Instant) -> bool {
        // In this order: whoever takes a hold back may have ended the stint before.
        self.holds.load(Ordering::Acquire) == 0
            && self.current.load(Ordering::Acquire) == stint.0
            && now.0 < self.lease.load(Ordering::Acquire)
    }

    /// It does not execute for want of a lease, and all that it executed is committed.
    pub fn note_drained(&self) {
        self.drained.store(true, Ordering::Release);
    }

    /// Since when there has been no lease, if there is none now.
    pub fn lease_end(&self) -> Instant {
        Instant(self.lease.load(Ordering::Acquire))
    }

    /// When the leader was last heard of.
    pub fn heard(&self) -> Instant {
        Instant(self.heard.load(Ordering::Acquire))
    }

    #[inline]
    pub fn has_events(&self) -> bool {
        self.has_events.load(Ordering::Acquire)
    }

    /// Takes what has happened, in order.
    pub fn take(&self, into: &mut VecDeque<Event>) {
        let mut state = self.lock();
        into.append(&mut state.events);
        state.bytes = 0;
        self.has_events.store(false, Ordering::Release);
        drop(state);
        self.room.notify_waiters();
    }

    /// Those who ask what the keyspace holds, to be answered once it holds what is committed and nothing else.
    pub fn take_questions(&self) -> Vec<oneshot::Sender<Digest>> {
        std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keys of the keyspace, and what it takes of memory.
    pub fn note_size(&self, keys: u64, memory_bytes: u64) {
        self.keys.store(keys, Ordering::Relaxed);
        self.memory_bytes.store(memory_bytes, Ordering::Relaxed);
    }

    /// The owner's keyspace has everything up to here.
    pub fn note_applied(&self, index: u64) {
        self.applied.store(index, Ordering::Release);
    }
}

/// The group's side.
impl Port {
    /// Asks what the keyspace holds. Whoever waits for the answer drops it after a while.
    pub fn ask(&self) -> oneshot::Receiver<Digest> {
        let (answer, question) = oneshot::channel();
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|asked| !asked.is_closed());
        questions.push(answer);
        drop(questions);
        self.has_events.store(true, Ordering::Release);
        self.owner.wake();
        question
    }

    /// Tells what became of a proposal. They become committed in their order; a lost one ends its stint, and what was
    /// proposed behind it counts as lost too, also if it is committed: to be told of it would be to be told of all before it.
    pub fn settle(&self, stint: Stint, number: u64, outcome: Outcome) {
        match outcome {
            Outcome::Committed(_) if self.lost.load(Ordering::Acquire) >= stint.0 => {}
            Outcome::Committed(index) => {
                self.committed_index.fetch_max(index, Ordering::AcqRel);
                self.committed.fetch_max(number, Ordering::AcqRel);
                self.owner.wake();
            }
            Outcome::Lost => {
                self.lost.fetch_max(stint.0, Ordering::AcqRel);
                self.end(stint);
            }
        }
    }

    /// Hands over the next committed entry. Waits while the owner is behind.
    pub async fn give(&self, id: LogId, payload: &Bytes) -> Given {
        loop {
            // Before the look, so that no room is missed.
            let room = self.room.notified();
            {
                let mut state = self.lock();
                match state.leads {
                    Some((epoch, _)) if epoch == Epoch::of(id) => {
                        state.given = id;
                        return Given::Executed;
                    }
                    // All that came before the stint was given: another leads since, and the group has yet to see it.
                    Some(_) => self.follow(&mut state),
                    None => {}
                }
                if state.bytes == 0 || state.bytes + payload.len() + EVENT_COST <= EVENT_BYTES {
                    state.given = id;
                    state.bytes += payload.len() + EVENT_COST;
                    let payload = payload.clone();
                    self.push(&mut state, Event::Entry { id, payload });
                    return Given::Queued;
                }
            }
            room.await;
        }
    }

    /// All that was committed so far was given, and nothing else of the epoch is under way: the owner executes from
    /// here on. Only proposals of this stint may be appended in its name. `None`: the epoch is closed.
    pub fn lead(&self, epoch: Epoch) -> Option<Stint> {
        let mut state = self.lock();
        if epoch <= state.closed {
            return None;
        }
        self.follow(&mut state);
        state.stint.0 += 1;
        let stint = state.stint;
        state.leads = Some((epoch, stint));
        self.current.store(stint.0, Ordering::Release);
        self.push(&mut state, Event::Lead(stint));
        Some(stint)
    }

    /// A leadership that was given away does not come back, whether or not somebody took it: its lease proves nothing
    /// any more.
    pub fn close(&self, epoch: Epoch) {
        let mut state = self.lock();
        state.closed = state.closed.max(epoch);
        if state.leads.is_some_and(|(current, _)| current <= epoch) {
            self.follow(&mut state);
        }
    }

    pub fn is_closed(&self, epoch: Epoch) -> bool {
        epoch <= self.lock().closed
    }

    /// The stint is over, if it was not before.
    pub fn end(&self, stint: Stint) {
        let mut state = self.lock();
        if state.leads.is_some_and(|(_, current)| current == stint) {
            self.follow(&mut state);
        }
    }

    /// The image was replaced by another node's: nothing given before counts.
    pub fn replace(&self, at: LogId) {
        let mut state = self.lock();
        self.follow(&mut state);
        state.events.clear();
        state.bytes = 0;
        state.given = at;
        self.push(&mut state, Event::Replace { at });
    }

    /// The shard's log was voided: its entries count from the first one on again, and the keyspace is made anew from
    /// nothing. No group is at work.
    pub fn restart(&self) {
        self.replace(LogId::default());
        self.committed_index.store(0, Ordering::Release);
        self.heard.store(0, Ordering::Release);
    }

    /// Done when a stint ends, asked for before one looks whether it has.
    pub fn ended(&self) -> tokio::sync::futures::Notified<'_> {
        self.over.notified()
    }

    /// What the owner executes under.
    pub fn leads(&self) -> Option<(Epoch, Stint)> {
        self.lock().leads
    }

    /// The last entry that was given.
    pub fn given(&self) -> LogId {
        self.lock().given
    }

    /// The index up to which the owner's keyspace has everything that it was given.
    pub fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Keys of the owner's keyspace, and what it takes of memory, as of its last look.
    pub fn size(&self) -> (u64, u64) {
        let keys = self.keys.load(Ordering::Relaxed);
        (keys, self.memory_bytes.load(Ordering::Relaxed))
    }

    /// No other node leads before then. It only moves on.
    pub fn note_lease(&self, until: Instant) {
        self.lease.fetch_max(until.0, Ordering::AcqRel);
    }

    /// Before a leadership is handed over nothing more is to be executed: the lease counts for nothing until `release`. What
    /// was executed goes on to be proposed.
    pub fn hold(&self) {
        self.drained.store(false, Ordering::Release);
        self.holds.fetch_add(1, Ordering::AcqRel);
        self.owner.wake();
    }

    /// Takes a `hold` back.
    pub fn release(&self) {
        self.holds.fetch_sub(1, Ordering::AcqRel);
        self.owner.wake();
    }

    /// Whether the owner has come to rest since. It is asked to look again.
    pub fn is_drained(&self) -> bool {
        self.owner.wake();
        self.drained.load(Ordering::Acquire)
    }

    /// The leader was heard of.
    pub fn note_heard(&self, at: Instant) {
        self.heard.fetch_max(at.0, Ordering::AcqRel);
    }

    fn follow(&self, state: &mut State) {
        if state.leads.take().is_some() {
            self.current.store(0, Ordering::Release);
            let given = state.given;
            self.push(state, Event::Follow { given });
            self.over.notify_waiters();
        }
    }

    fn push(&self, state: &mut State, event: Event) {
        let sleeps = state.events.is_empty();
        state.events.push_back(event);
        self.has_events.store(true, Ordering::Release);
        if sleeps {
            self.owner.wake();
        }
    }
}

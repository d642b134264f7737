//! The gate: holds replies back until what they depend on is committed.
//!
//! Changes are logged a turn at a time: `seal` hands a turn's effects to the log, one entry a shard, and gives
//! the turn a number. A reply that depends on a turn which is not committed stays in the turn's own buffer,
//! which is put aside whole; when the log has the turn, the buffer is sent as it is. Everything else passes
//! at once, but never before what its connection is already owed.
//!
//! Without a log there is no gate: every question here is one test.

mod held;
mod lost;
mod way;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use ruvio_core::command::Args;
use ruvio_core::engine::Wait;
use ruvio_core::resp::{Protocol, Reply};
use ruvio_server::wal::{Reserve, Room, Ticket as LogTicket, Why};

use super::Owner;
use super::turn::Turn;
pub(super) use held::Goal;
use held::{Held, HeldPart, HeldRange, HeldWord};
pub use way::Way;
use way::{Commit, Track};

/// An owner's way into the log.
pub struct Log {
    /// Of each shard, in the order of the owner's places.
    pub ways: Vec<Way>,
    /// Says whether there is room for more.
    pub reserve: Arc<Reserve>,
}

#[derive(Default)]
pub(super) struct Gate {
    reserve: Option<Arc<Reserve>>,
    tracks: Vec<Track>,
    /// When changes count as committed, as of the last look.
    commit: Commit,
    /// Why nothing can be logged any more: the keyspace is ahead of the log, so the node has to end.
    broken: Option<Why>,
    /// What waits for one shard does not hold back what waits for another: they commit each by itself.
    passes_over: bool,
    /// The last turn that was sealed.
    sealed: u64,
    /// All changes of turns before this one are committed.
    floor: u64,
    held: VecDeque<Held>,
    /// Parts that wait for the turn that is being executed.
    parts: Vec<HeldPart>,
    for_others: Vec<HeldWord>,
    /// What the replies since the last range depend on, as far as it was asked for.
    wait: Wait,
    held_bytes: usize,
    spare: Vec<Reply>,
    spare_ranges: Vec<Vec<HeldRange>>,
}

/// Buffers kept for the next turns.
const SPARES: usize = 4;
const SPARE_BYTES: usize = 1024 * 1024;
/// Replies that may wait for the log; with more nothing is executed until it has caught up.
const HELD_BYTES: usize = 64 * 1024 * 1024;
/// The same of changes that wait for those before them.
const OPEN_BYTES: usize = 16 * 1024 * 1024;

impl Gate {
    pub fn new(log: Option<Log>) -> Self {
        let (ways, reserve) = log.map_or((Vec::new(), None), |log| (log.ways, Some(log.reserve)));
        let replicated = |way: &Way| matches!(way, Way::Replicated { .. });
        Self {
            passes_over: ways.len() > 1 && ways.iter().any(replicated),
            reserve,
            tracks: ways.into_iter().map(Track::new).collect(),
            floor: u64::MAX,
            ..Self::default()
        }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.reserve.is_some()
    }

    /// The log is behind: nothing more may be executed until it has caught up.
    pub fn is_stuck(&self) -> bool {
        self.is_refused() || self.held_bytes > HELD_BYTES
    }

    /// Something that was executed is in no queue of the log.
    pub fn is_refused(&self) -> bool {
        self.tracks.iter().any(Track::is_refused)
    }

    /// Nothing waits for the log.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && !self.is_refused()
    }

    /// Of this owner's part of the node's own log: what is durable, and its end; where shards are replicated: the turns that
    /// are committed, and the last one. `None` where there is no log, or where it lacks something that was executed.
    pub fn extent(&self) -> Option<(LogTicket, LogTicket)> {
        if self.is_refused() {
            return None;
        }
        let extents = self.tracks.iter().map(|track| match &track.way {
            Way::Alone { lane, ticket, .. } => (lane.durable().0, *ticket),
            Way::Replicated { .. } => {
                let committed = self.sealed.min(self.floor.saturating_sub(1));
                (LogTicket(committed), LogTicket(self.sealed))
            }
        });
        extents.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
    }

    /// Whether what `extent` says is durable is: a majority may have agreed in its page caches alone.
    pub fn extent_is_durable(&self) -> bool {
        let is_replicated = |track: &Track| matches!(track.way, Way::Replicated { .. });
        self.commit == Commit::Durable || !self.tracks.iter().any(is_replicated)
    }

    /// Has the log made durable without delay.
    pub fn hasten(&self) {
        for track in &self.tracks {
            if let Way::Alone { lane, .. } = &track.way {
                // All of an owner's shards share it.
                lane.hasten();
                return;
            }
        }
    }

    /// Where the entries of the shard at a place go.
    pub fn way(&mut self, place: usize) -> Option<&mut Way> {
        self.tracks.get_mut(place).map(|track| &mut track.way)
    }

    /// The number of the turn that is being executed.
    pub fn turn(&self) -> u64 {
        self.sealed + 1
    }

    #[inline]
    pub fn is_committed(&self, wait: Wait) -> bool {
        wait.turn < self.floor || !self.tracks.is_empty() && self.is_committed_everywhere(wait)
    }

    /// The same while a turn is executed: its own changes are in no log yet.
    fn must_wait(&self, wait: Wait) -> bool {
        wait.turn > self.sealed || !self.is_committed(wait)
    }

    fn is_committed_everywhere(&self, wait: Wait) -> bool {
        let mut tracks = self.tracks.iter().enumerate();
        tracks.all(|(place, track)| {
            wait.places & Wait::bit(place) == 0 || wait.turn < track.first_uncommitted()
        })
    }

    fn has_parts(&self) -> bool {
        !(self.parts.is_empty() && self.for_others.is_empty())
    }

    fn spare(&mut self) -> Reply {
        self.spare.pop().unwrap_or_else(|| Reply::new(Protocol::Resp2))
    }

    fn recycle(&mut self, held: Held) {
        let Held {
            mut reply,
            mut ranges,
            ..
        } = held;
        if self.spare.len() < SPARES && reply.capacity() <= SPARE_BYTES {
            reply.clear();
            self.spare.push(reply);
        }
        if self.spare_ranges.len() < SPARES {
            ranges.clear();
            self.spare_ranges.push(ranges);
        }
    }

    /// The node's own log has.
    fn has_ended(&self) -> bool {
        self.tracks.iter().any(|track| match &track.way {
            Way::Alone { lane, .. } => lane.ended(),
            Way::Replicated { .. } => false,
        })
    }

    fn note_broken(&mut self, result: Result<(), Why>) {
        if let Err(why) = result {
            tracing::error!(%why, "the log refused what a turn changed");
            self.broken = Some(why);
        }
    }

    /// Learns how far the log is.
    fn look(&mut self) {
        let mut floor = u64::MAX;
        for place in 0..self.tracks.len() {
            let retried = self.tracks[place].retry();
            self.note_broken(retried);
            floor = floor.min(self.tracks[place].look(self.commit));
        }
        self.floor = floor;
    }

    /// Puts a buffer aside.
    fn put_aside(&mut self, reply: Reply, ranges: Vec<HeldRange>) {
        let parts = std::mem::take(&mut self.parts);
        let for_others = std::mem::take(&mut self.for_others);
        let held = Held {
            left: ranges.len() + parts.len() + for_others.len(),
            reply,
            ranges,
            parts,
            for_others,
        };
        self.held_bytes += held.bytes();
        self.held.push_back(held);
    }
}

impl Owner {
    /// Ends the turn's changes: they become entries, or will with those before them.
    fn seal(&mut self) {
        if !self.engine.has_effects() {
            return;
        }
        let turn = self.gate.turn();
        for place in 0..self.engine.shard_count() {
            if !self.engine.has_effects_at(place) {
                continue;
            }
            let Some(track) = self.gate.tracks.get_mut(place) else {
                break;
            };
            self.gate.floor = self.gate.floor.min(turn);
            if track.note(turn) {
                self.hand_over_effects(place);
            }
        }
        self.gate.sealed = turn;
        self.engine.begin_logged_turn(turn + 1);
    }

    fn hand_over_effects(&mut self, place: usize) {
        let track = &mut self.gate.tracks[place];
        let way = &track.way;
        if let Some(taken) = self.engine.take_effects(place, || way.buffer()) {
            let handed = track.hand_over(taken);
            self.gate.note_broken(handed);
        }
    }

    /// What waited for the entries before it becomes an entry.
    fn seal_due(&mut self) {
        for place in 0..self.gate.tracks.len() {
            if self.gate.tracks[place].is_due() {
                self.hand_over_effects(place);
            }
        }
    }

    /// So much waits to become entries that nothing more should be executed.
    pub(super) fn is_behind(&self) -> bool {
        self.gate.is_stuck() || self.gate.floor != u64::MAX && self.engine.effects_len() > OPEN_BYTES
    }

    /// Sends the turn's replies, or puts the buffer aside with those that have to wait.
    pub(super) fn pass_or_hold(&mut self, turn: &mut Turn) {
        self.seal();
        let mut waiting = self.gate.spare_ranges.pop().unwrap_or_default();
        for range in turn.ranges.drain(..) {
            let Some(connection) = self.connections.get_mut(range.connection) else {
                continue;
            };
            connection.has_range = false;
            if connection.held() > 0 || !self.gate.is_committed(range.wait) {
                waiting.push(HeldRange {
                    client: connection.client,
                    start: range.start,
                    end: range.end,
                    wait: range.wait,
                    number: connection.number_held(),
                    is_out: false,
                    instead: None,
                });
                continue;
            }
            connection.send_or_drop(&turn.reply.as_slice()[range.start..range.end]);
            if connection.unsent() > 0 || connection.closing {
                self.list(range.connection);
            }
        }
        self.gate.wait = Wait::NOTHING;
        if waiting.is_empty() && !self.gate.has_parts() {
            self.gate.spare_ranges.push(waiting);
            turn.reply.clear();
            return;
        }
        let spare = self.gate.spare();
        let reply = std::mem::replace(&mut turn.reply, spare);
        self.gate.put_aside(reply, waiting);
    }

    /// Seals what was changed outside of a turn's replies.
    pub(super) fn settle_gate(&mut self) {
        if self.gate.is_on() && (self.engine.has_effects() || self.gate.has_parts()) {
            let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
            self.pass_or_hold(&mut turn);
            self.turn = turn;
        }
    }

    /// Sends what was held back for changes that are committed now. An error: the log has ended, and nothing
    /// that waits will ever be committed.
    pub(super) fn open_gate(&mut self) -> io::Result<()> {
        let Some(reserve) = &self.gate.reserve else {
            return Ok(());
        };
        let is_full = reserve.room() == Room::Full;
        if self.gate.has_ended() {
            return Err(io::Error::other("the log has ended"));
        }
        if let Some(why) = self.gate.broken {
            let why = format!(
                "what one turn changed cannot be logged ({why}): the node ends, since its memory is ahead of its log"
            );
            return Err(io::Error::other(why));
        }
        self.engine.note_log_room(is_full);
        self.gate.commit = self.engine.world.options.durability().into();
        self.gate.look();
        self.seal_due();
        self.let_out();
        Ok(())
    }

    /// Sends what may go out, in the order in which it was held back; what another shard holds back is passed over.
    fn let_out(&mut self) {
        let mut at = 0;
        while at < self.gate.held.len() {
            let held = std::mem::replace(&mut self.gate.held[at], Held::nothing());
            let left = self.let_out_of(held, at);
            if left == 0 && at == 0 {
                if let Some(held) = self.gate.held.pop_front() {
                    self.gate.held_bytes -= held.bytes();
                    self.gate.recycle(held);
                }
                continue;
            }
            if !self.gate.passes_over {
                return;
            }
            at += 1;
        }
    }

    /// The same of one buffer, which is put back to its place. How much of it is left.
    fn let_out_of(&mut self, mut held: Held, at: usize) -> usize {
        for range in &mut held.ranges {
            if range.is_out || range.instead.is_none() && !self.gate.is_committed(range.wait) {
                continue;
            }
            if let Some(connection) = self.connections.of(range.client) {
                // Behind its own replies that still wait.
                if !connection.is_next(range.number) {
                    continue;
                }
                let bytes = match &range.instead {
                    Some(bytes) => bytes,
                    None => &held.reply.as_slice()[range.start..range.end],
                };
                connection.send_or_drop(bytes);
                let index = range.client.index() as u32;
                if connection.held() == 0 && !connection.answers.is_empty() {
                    self.answered.push(index);
                }
                if connection.unsent() > 0 || connection.closing {
                    self.list(index);
                }
            }
            range.is_out = true;
            held.left -= 1;
        }
        for part in &mut held.parts {
            if !part.is_out && self.gate.is_committed(part.wait) {
                self.hand_over(part.goal, &part.bytes);
                part.is_out = true;
                held.left -= 1;
            }
        }
        for word in &mut held.for_others {
            if !word.is_out && self.gate.is_committed(word.wait) {
                match word.is_for_nodes {
                    true => self.tell_nodes(word.words.view()),
                    false => self.tell_others(word.words.view()),
                }
                word.is_out = true;
                held.left -= 1;
            }
        }
        let left = held.left;
        self.gate.held[at] = held;
        left
    }

    /// What a range which ends here depends on.
    pub(super) fn take_wait(&mut self) -> Wait {
        if !self.gate.is_on() {
            return Wait::NOTHING;
        }
        std::mem::take(&mut self.gate.wait).and(self.engine.take_wait())
    }

    /// What was written for the last command may have to wait for the log; whatever stands in the turn's
    /// buffer before it then does, too.
    pub(super) fn wait_of_last(&mut self) -> Option<Wait> {
        if !self.gate.is_on() {
            return None;
        }
        self.gate.wait = self.gate.wait.and(self.engine.take_wait());
        Some(self.gate.wait).filter(|wait| self.gate.must_wait(*wait))
    }

    /// What comes next stands in a buffer of its own: what was executed before keeps its own wait.
    pub(super) fn begin_part(&mut self) {
        if self.gate.is_on() {
            self.gate.wait = self.gate.wait.and(self.engine.take_wait());
        }
    }

    /// What was executed since `begin_part` has to wait for, if for anything.
    pub(super) fn wait_of_part(&mut self) -> Option<Wait> {
        if !self.gate.is_on() {
            return None;
        }
        Some(self.engine.take_wait()).filter(|wait| self.gate.must_wait(*wait))
    }

    /// What a message depends on which came up now.
    pub(super) fn wait_of_message(&self) -> Wait {
        if self.gate.is_on() && self.engine.has_effects() {
            Wait {
                turn: self.gate.turn(),
                places: self.engine.places_with_effects(),
            }
        } else {
            Wait::NOTHING
        }
    }

    /// Keeps bytes until what they wait for is committed.
    pub(super) fn hold(&mut self, goal: Goal, bytes: &[u8], wait: Wait) {
        self.gate.parts.push(HeldPart {
            goal,
            bytes: bytes.to_vec(),
            wait,
            is_out: false,
        });
    }

    pub(super) fn hold_for_others(&mut self, words: Args<'_>, wait: Wait, is_for_nodes: bool) {
        self.gate.for_others.push(HeldWord {
            words: words.to_owned(),
            is_for_nodes,
            wait,
            is_out: false,
        });
    }

    fn hand_over(&mut self, goal: Goal, bytes: &[u8]) {
        match goal {
            Goal::Part(ticket, db) => self.hand_over_part(ticket, db, bytes),
            Goal::Reply(client, number) => {
                if let Some(connection) = self.connections.of(client) {
                    connection.answers.fill(number, 0, bytes, 0);
                    self.answered.push(client.index() as u32);
                }
            }
            Goal::Message(client) => {
                if let Some(connection) = self.connections.of(client) {
                    connection.answers.push_before_last(bytes);
                    self.answered.push(client.index() as u32);
                }
            }
        }
    }
}

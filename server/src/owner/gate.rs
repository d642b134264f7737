//! The gate: holds replies back until what they depend on is committed.
//!
//! Changes are logged a turn at a time: `seal` hands a turn's effects to the log, one entry a shard, and gives
//! the turn a number. A reply that depends on a turn which is not committed stays in the turn's own buffer,
//! which is put aside whole; when the log has the turn, the buffer is sent as it is. Everything else passes
//! at once, but never before what its connection is already owed.
//!
//! Without a log there is no gate: every question here is one test.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::session::ClientId;
use ruvio_core::resp::{Protocol, Reply};
use ruvio_server::wal::{Lane, LogId, Reserve, Room, ShardId, Ticket as LogTicket, Why};

use super::Owner;
use super::crossing::Ticket;
use super::turn::Turn;

/// When a change counts as committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commit {
    /// In the page cache: it survives the process.
    Written,
    /// On stable storage: it survives the machine.
    Durable,
}

/// An owner's way into the log.
pub struct Log {
    pub lane: Arc<Lane>,
    pub commit: Commit,
    /// Says whether there is room for more.
    pub reserve: Arc<Reserve>,
    /// Of each shard, in the order of the owner's places: its number and its last entry.
    pub shards: Vec<(ShardId, u64)>,
    /// Why nothing can be logged any more: the keyspace is ahead of the log, so the node has to end.
    pub broken: Option<Why>,
}

/// Replies of one connection in a buffer that was put aside.
pub(super) struct HeldRange {
    pub client: ClientId,
    pub start: usize,
    pub end: usize,
}

/// Where bytes that stand in no buffer of a turn go.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// The answer to a command that another owner sent, or that is part of one.
    Part(Ticket, u16),
    /// A reply among answers of others: that of this number.
    Reply(ClientId, u64),
    /// A message to a client that waits elsewhere.
    Message(ClientId),
}

pub(super) struct HeldPart {
    goal: Goal,
    bytes: Vec<u8>,
}

struct Held {
    turn: u64,
    reply: Reply,
    ranges: Vec<HeldRange>,
    parts: Vec<HeldPart>,
    for_others: Vec<OwnedArgs>,
}

impl Held {
    fn bytes(&self) -> usize {
        self.reply.capacity() + self.parts.iter().map(|part| part.bytes.len()).sum::<usize>()
    }
}

/// An entry that the log had no room for.
struct Refused {
    turn: u64,
    place: usize,
    payload: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Gate {
    log: Option<Log>,
    /// The last turn that was sealed, and the last that is committed.
    sealed: u64,
    done: u64,
    /// Of the last entry that the log took.
    last: LogTicket,
    /// The log's tickets of turns that are not committed.
    under_way: VecDeque<(u64, LogTicket)>,
    held: VecDeque<Held>,
    /// Parts that wait for the turn that is being executed.
    parts: Vec<HeldPart>,
    /// Commands for all other owners that wait likewise.
    for_others: Vec<OwnedArgs>,
    refused: VecDeque<Refused>,
    /// What the replies since the last range depend on, as far as it was asked for.
    wait: u64,
    held_bytes: usize,
    spare: Vec<Reply>,
}

/// Buffers kept for the next turns.
const SPARES: usize = 4;
const SPARE_BYTES: usize = 1024 * 1024;
/// Replies that may wait for the log; with more nothing is executed until it has caught up.
const HELD_BYTES: usize = 64 * 1024 * 1024;

impl Gate {
    pub fn new(log: Option<Log>) -> Self {
        Self {
            log,
            ..Self::default()
        }
    }

    #[inline]
    pub fn is_on(&self) -> bool {
        self.log.is_some()
    }

    /// The log is behind: nothing more may be executed until it has caught up.
    pub fn is_stuck(&self) -> bool {
        !self.refused.is_empty() || self.held_bytes > HELD_BYTES
    }

    /// Something that was executed is in no queue of the log.
    pub fn is_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Nothing waits for the log.
    pub fn is_idle(&self) -> bool {
        self.refused.is_empty() && self.held.is_empty()
    }

    /// Of this owner's part of the log: what is durable, and its end. `None` where there is no log, or where it lacks
    /// something that was executed.
    pub fn extent(&self) -> Option<(LogTicket, LogTicket)> {
        let log = self.log.as_ref().filter(|_| !self.is_refused())?;
        Some((log.lane.durable().0, self.last))
    }

    /// Has the log made durable without delay.
    pub fn hasten(&self) {
        if let Some(log) = &self.log {
            log.lane.hasten();
        }
    }

    /// The number of the turn that is being executed.
    pub fn turn(&self) -> u64 {
        self.sealed + 1
    }

    pub fn is_committed(&self, turn: u64) -> bool {
        turn <= self.done
    }

    fn has_parts(&self) -> bool {
        !(self.parts.is_empty() && self.for_others.is_empty())
    }

    fn spare(&mut self) -> Reply {
        self.spare.pop().unwrap_or_else(|| Reply::new(Protocol::Resp2))
    }

    fn recycle(&mut self, mut reply: Reply) {
        if self.spare.len() < SPARES && reply.capacity() <= SPARE_BYTES {
            reply.clear();
            self.spare.push(reply);
        }
    }

    /// Hands over what the log had no room for. What follows is numbered behind it.
    fn retry(&mut self) {
        let Some(log) = &mut self.log else { return };
        while let Some(Refused { turn, place, payload }) = self.refused.pop_front() {
            match append(log, place, payload) {
                Ok(ticket) => {
                    self.last = ticket;
                    self.under_way.push_back((turn, ticket));
                }
                Err(payload) => {
                    self.refused.push_front(Refused { turn, place, payload });
                    return;
                }
            }
        }
    }

    /// Learns how far the log is. The turns up to `done` are committed.
    fn look(&mut self) {
        self.retry();
        let Some(log) = &self.log else { return };
        let committed = match log.commit {
            Commit::Written => log.lane.written().0,
            Commit::Durable => log.lane.durable().0,
        };
        while let Some((_, ticket)) = self.under_way.front()
            && *ticket <= committed
        {
            self.under_way.pop_front();
        }
        // A turn of several entries is committed with its last.
        let waiting = self.under_way.front().map(|(turn, _)| *turn);
        let first = waiting.or(self.refused.front().map(|refused| refused.turn));
        self.done = first.map_or(self.sealed, |turn| turn - 1);
    }
}

/// Hands an entry to the log; gives it back where there is no room.
fn append(log: &mut Log, place: usize, payload: Vec<u8>) -> Result<LogTicket, Vec<u8>> {
    let (shard, last) = &mut log.shards[place];
    // One node, so one leader, in one term.
    match log.lane.append(*shard, LogId::new(1, 0, *last + 1), payload) {
        Ok(ticket) => {
            *last += 1;
            Ok(ticket)
        }
        Err(refused) => {
            match refused.why {
                Why::Full => {}
                // The process is about to end, and no reply goes out any more.
                Why::Ended => {}
                other => {
                    tracing::error!(%other, "the log refused what a turn changed");
                    log.broken = Some(other);
                }
            }
            Err(refused.payload)
        }
    }
}

impl Owner {
    /// Ends the turn's changes: they become entries. The turn that all replies so far can wait for.
    fn seal(&mut self) -> u64 {
        if !self.engine.has_effects() {
            return self.gate.sealed;
        }
        let turn = self.gate.turn();
        for place in 0..self.engine.shard_count() {
            let Some(log) = &mut self.gate.log else { break };
            let lane = &log.lane;
            let Some(payload) = self.engine.take_effects(place, || lane.buffer()) else {
                continue;
            };
            // In order: behind a refused one nothing passes.
            let refused = if self.gate.refused.is_empty() {
                append(log, place, payload)
                    .map(|ticket| {
                        self.gate.last = ticket;
                        self.gate.under_way.push_back((turn, ticket));
                    })
                    .err()
            } else {
                Some(payload)
            };
            if let Some(payload) = refused {
                self.gate.refused.push_back(Refused { turn, place, payload });
            }
        }
        self.gate.sealed = turn;
        self.engine.begin_logged_turn(turn + 1);
        turn
    }

    /// Sends the turn's replies, or puts the buffer aside with those that have to wait.
    pub(super) fn pass_or_hold(&mut self, turn: &mut Turn) {
        let sealed = self.seal();
        let mut waiting = Vec::new();
        for range in turn.ranges.drain(..) {
            let Some(connection) = self.connections.get_mut(range.connection) else {
                continue;
            };
            connection.has_range = false;
            if connection.held > 0 || !self.gate.is_committed(range.wait) {
                connection.held += 1;
                waiting.push(HeldRange {
                    client: connection.client,
                    start: range.start,
                    end: range.end,
                });
                continue;
            }
            connection.send_or_drop(&turn.reply.as_slice()[range.start..range.end]);
            if connection.unsent() > 0 || connection.closing {
                self.list(range.connection);
            }
        }
        let parts = std::mem::take(&mut self.gate.parts);
        let for_others = std::mem::take(&mut self.gate.for_others);
        self.gate.wait = 0;
        if waiting.is_empty() && parts.is_empty() && for_others.is_empty() {
            turn.reply.clear();
            return;
        }
        let spare = self.gate.spare();
        let held = Held {
            turn: sealed,
            reply: std::mem::replace(&mut turn.reply, spare),
            ranges: waiting,
            parts,
            for_others,
        };
        self.gate.held_bytes += held.bytes();
        self.gate.held.push_back(held);
    }

    /// Seals what was changed outside of a turn's replies.
    pub(super) fn settle_gate(&mut self) {
        if self.gate.is_on() && (self.engine.has_effects() || self.gate.has_parts()) {
            let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
            self.pass_or_hold(&mut turn);
            self.turn = turn;
        }
    }

    /// Sends what was held back for turns that are committed now. An error: the log has ended, and nothing
    /// that waits will ever be committed.
    pub(super) fn open_gate(&mut self) -> io::Result<()> {
        let Some(log) = &self.gate.log else {
            return Ok(());
        };
        if log.lane.ended() {
            return Err(io::Error::other("the log has ended"));
        }
        if let Some(why) = log.broken {
            let why = format!(
                "what one turn changed cannot be logged ({why}): the node ends, since its memory is ahead of its log. \
                 Changes of more than a gibibyte at once (a COPY, an EXEC) have to be made in parts"
            );
            return Err(io::Error::other(why));
        }
        self.engine.note_log_room(log.reserve.room() == Room::Full);
        self.gate.look();
        while let Some(held) = self.gate.held.front()
            && self.gate.is_committed(held.turn)
            && let Some(held) = self.gate.held.pop_front()
        {
            self.gate.held_bytes -= held.bytes();
            for range in &held.ranges {
                let index = range.client.index() as u32;
                let Some(connection) = self.connections.of(range.client) else {
                    continue;
                };
                connection.held -= 1;
                connection.send_or_drop(&held.reply.as_slice()[range.start..range.end]);
                if connection.held == 0 && !connection.answers.is_empty() {
                    self.answered.push(index);
                }
                if connection.unsent() > 0 || connection.closing {
                    self.list(index);
                }
            }
            for part in &held.parts {
                self.hand_over(part.goal, &part.bytes);
            }
            for words in &held.for_others {
                self.tell_others(words.view());
            }
            self.gate.recycle(held.reply);
        }
        Ok(())
    }

    /// The turn that a range which ends here depends on.
    pub(super) fn take_wait(&mut self) -> u64 {
        if !self.gate.is_on() {
            return 0;
        }
        std::mem::take(&mut self.gate.wait).max(self.engine.take_wait())
    }

    /// Whether what was written for the last command has to wait for the log. Whatever stands in the turn's
    /// buffer before it then does, too.
    pub(super) fn must_wait(&mut self) -> bool {
        if !self.gate.is_on() {
            return false;
        }
        self.gate.wait = self.gate.wait.max(self.engine.take_wait());
        !self.gate.is_committed(self.gate.wait)
    }

    /// What comes next stands in a buffer of its own: what was executed before keeps its own wait.
    pub(super) fn begin_part(&mut self) {
        if self.gate.is_on() {
            self.gate.wait = self.gate.wait.max(self.engine.take_wait());
        }
    }

    /// Whether what was executed since `begin_part` has to wait for the log.
    pub(super) fn must_part_wait(&mut self) -> bool {
        self.gate.is_on() && !self.gate.is_committed(self.engine.take_wait())
    }

    /// The turn that a message depends on which came up now.
    pub(super) fn wait_of_message(&self) -> u64 {
        if self.gate.is_on() && self.engine.has_effects() {
            self.gate.turn()
        } else {
            0
        }
    }

    /// Keeps bytes until the turn at hand is committed.
    pub(super) fn hold(&mut self, goal: Goal, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.gate.parts.push(HeldPart { goal, bytes });
    }

    pub(super) fn hold_for_others(&mut self, words: Args<'_>) {
        self.gate.for_others.push(words.to_owned());
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

//! The gathered turn: what all ready connections sent is received into one arena, parsed, its keys
//! prefetched, executed, and answered from one buffer with one send a connection.
//!
//! Gathering is what makes a command cheap: system calls and cache misses are shared by all that is ready.
//! Connections that do not fit the common case (a request larger than a read, input left over from a
//! blocked command, a client that has yet to authenticate or to finish a handshake) are served one by one from
//! their own `input`.

use ruvio_core::command::Args;
use ruvio_core::engine::{Ahead, Flow, Wait};
use ruvio_core::exec::Now;
use ruvio_core::resp::{Decoded, Limits, Protocol, ProtocolError, Reply, Span};

use super::Owner;
use super::connection::{Connection, Hold, Received, is_large};

/// One command of a turn.
struct Parsed {
    connection: u32,
    /// Its first span.
    first: u32,
    argc: u32,
    ahead: Ahead,
}
// A turn has thousands of them: one to a cache line.
const _: () = assert!(size_of::<Parsed>() <= 64);

/// What one connection sent, in the arena.
struct Arrival {
    connection: u32,
    start: usize,
    end: usize,
}

/// Replies of one connection, in the turn's buffer.
pub(super) struct Range {
    pub(super) connection: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    /// What has to be committed before it goes out.
    pub(super) wait: Wait,
}

/// Buffers of a turn, kept from one to the next.
pub struct Turn {
    arena: Vec<u8>,
    arrivals: Vec<Arrival>,
    spans: Vec<Span>,
    commands: Vec<Parsed>,
    pub(super) reply: Reply,
    pub(super) ranges: Vec<Range>,
}

const ARENA: usize = 512 * 1024;
/// One read of one connection; a full one leaves the rest to the next turn, so that none starves.
const READ: usize = 16 * 1024;
/// Commands by which an entry's prefetch runs ahead of its execution.
const LOOK_AHEAD: usize = 6;
/// Replies gathered before they are sent early.
const REPLIES: usize = 256 * 1024;
/// Unsent replies above which a client that has yet to authenticate is closed.
const STALL_UNAUTHENTICATED: usize = 16 * 1024;
/// Handshakes of TLS that are taken a step further in one turn: a flood of them does not keep clients waiting.
const HANDSHAKES: usize = 4;
/// Replies of one turn above which the buffer is given back afterwards.
const REPLY_KEPT: usize = 1024 * 1024;

impl Turn {
    pub fn new() -> Self {
        Self {
            arena: vec![0; ARENA],
            ..Self::empty()
        }
    }

    /// Stands in while the real one is borrowed: allocates nothing.
    pub(super) fn empty() -> Self {
        Self {
            arena: Vec::new(),
            arrivals: Vec::new(),
            spans: Vec::new(),
            commands: Vec::new(),
            reply: Reply::new(Protocol::Resp2),
            ranges: Vec::new(),
        }
    }
}

impl Owner {
    /// Serves the connections in `ready` (their places), in turns of one arena each.
    pub(super) fn serve(&mut self, ready: &mut Vec<u32>, now: Now) {
        self.engine.begin_turn();
        let spread = self.is_spread();
        if self.links.is_busy() {
            self.look_at_leases();
            self.pump(now);
        }
        let mut taken = 0;
        while taken < ready.len() {
            taken += self.gather(&ready[taken..]);
            self.look_at_leases();
            if spread {
                // What others sent before these requests were sent is taken in before they run.
                self.cross(now);
                self.parse::<true>();
                self.execute::<true>(now);
                self.release();
                self.release_answers();
            } else {
                self.parse::<false>();
                self.execute::<false>(now);
                self.release();
            }
        }
        ready.clear();
        if spread {
            self.cross(now);
        }
        self.serve_listed(now);
        self.pump(now);
        self.settle_gate();
        if spread {
            self.crossing.flush();
        }
        self.engine.end_turn();
    }

    /// Receives into the arena as long as a read fits; returns how many connections were seen to.
    fn gather(&mut self, ready: &[u32]) -> usize {
        let mut at = 0;
        self.turn.arrivals.clear();
        for (seen, &index) in ready.iter().enumerate() {
            if at + READ > ARENA {
                return seen;
            }
            let authenticated = self.is_authenticated(index);
            let Some(connection) = self.connections.get_mut(index) else {
                continue;
            };
            if connection.closing || connection.hold != Hold::None || connection.fault.is_some() {
                continue;
            }
            let is_special = connection.sends_large || !authenticated || connection.is_handshaking();
            if is_special || !connection.input.is_empty() {
                self.list(index);
                continue;
            }
            match connection.receive(&mut self.turn.arena[at..at + READ]) {
                Received::Bytes(count) => {
                    self.turn.arrivals.push(Arrival {
                        connection: index,
                        start: at,
                        end: at + count,
                    });
                    at += count;
                }
                // By TLS there may be more all the same.
                Received::Empty => {}
                Received::Closed => connection.closing = true,
            }
            if connection.readable || connection.closing {
                self.list(index);
            }
        }
        ready.len()
    }

    /// Cuts the arrivals into commands, looks each up, and asks memory for the keys' buckets.
    fn parse<const SPREAD: bool>(&mut self) {
        let Self {
            turn,
            connections,
            engine,
            listed,
            ..
        } = self;
        turn.spans.clear();
        turn.commands.clear();
        let limits = Limits {
            authenticated: true,
            max_bulk_len: engine.max_bulk_len(),
        };
        for arrival in &turn.arrivals {
            let Some(connection) = connections.get_mut(arrival.connection) else {
                continue;
            };
            // A guess where a SELECT is on its way: it is only memory's hint.
            let db = engine.database_of(connection.client);
            let (mut at, mut lacking) = (arrival.start, 0);
            loop {
                let first = turn.spans.len() as u32;
                match connection
                    .decoder
                    .decode(&mut turn.arena, at, arrival.end, &mut turn.spans, &limits)
                {
                    Decoded::Command { argc, next } => {
                        let args = Args::new(&turn.arena, &turn.spans[first as usize..]);
                        let ahead = if SPREAD {
                            engine.look_ahead_spread(db, args)
                        } else {
                            engine.look_ahead(db, args)
                        };
                        turn.commands.push(Parsed {
                            connection: arrival.connection,
                            first,
                            argc,
                            ahead,
                        });
                        at = next;
                    }
                    Decoded::Skip { next } => at = next,
                    Decoded::Incomplete { need } => {
                        lacking = need;
                        break;
                    }
                    // Told once the commands before it have run.
                    Decoded::Fail(error) => {
                        connection.fault = Some(fault_reply(&error));
                        at = arrival.end;
                        list(connection, arrival.connection, listed);
                    }
                    Decoded::Close => {
                        connection.fault = Some(Vec::new());
                        at = arrival.end;
                        list(connection, arrival.connection, listed);
                    }
                }
                if at == arrival.end {
                    break;
                }
            }
            if at < arrival.end {
                connection.keep_input(&turn.arena[at..arrival.end], lacking);
                list(connection, arrival.connection, listed);
            }
        }
    }

    /// Executes the turn's commands in order.
    fn execute<const SPREAD: bool>(&mut self, now: Now) {
        let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
        let mut index = 0;
        while index < turn.commands.len() {
            let connection = turn.commands[index].connection;
            let after = turn.commands[index..]
                .iter()
                .position(|c| c.connection != connection);
            let group = index..after.map_or(turn.commands.len(), |count| index + count);
            let Some(client) = self.connections.get(connection).map(|c| c.client) else {
                index = group.end;
                continue;
            };
            let mut range_start = turn.reply.len();
            for at in group.clone() {
                if let Some(next) = turn.commands.get(at + LOOK_AHEAD) {
                    if SPREAD {
                        self.engine.prefetch_entry_spread(&next.ahead);
                    } else {
                        self.engine.prefetch_entry(&next.ahead);
                    }
                }
                let parsed = &turn.commands[at];
                let spans = &turn.spans[parsed.first as usize..(parsed.first + parsed.argc) as usize];
                let args = Args::new(&turn.arena, spans);
                let (ahead, reply) = (parsed.ahead, &mut turn.reply);
                if ahead.shows_traffic() {
                    self.note_traffic(args, now);
                }
                let (flow, again) = if SPREAD {
                    self.execute_spread(connection, client, args, ahead, now, reply)
                } else {
                    (self.engine.execute_ahead(client, args, ahead, now, reply), false)
                };
                if self.engine.world.has_news() {
                    self.end_range(connection, &mut range_start, &mut turn);
                    self.deliver(connection, &mut turn, now);
                    range_start = turn.reply.len();
                }
                if flow != Flow::Continue || turn.reply.len() > REPLIES {
                    self.end_range(connection, &mut range_start, &mut turn);
                    if !self.go_on(connection, flow, &mut turn, now) {
                        let next = at + usize::from(!again);
                        self.put_back(connection, &turn, next..group.end, flow);
                        break;
                    }
                    range_start = turn.reply.len();
                }
            }
            self.end_range(connection, &mut range_start, &mut turn);
            if turn.reply.len() > REPLIES {
                self.send_ranges(&mut turn);
            }
            index = group.end;
        }
        self.turn = turn;
    }

    /// Whether the connection's next command may run now; large replies are sent first.
    fn go_on(&mut self, index: u32, flow: Flow, turn: &mut Turn, now: Now) -> bool {
        match flow {
            Flow::Continue => {
                self.send_ranges(turn);
                if self.is_behind() {
                    // It goes on when the log has caught up.
                    self.list(index);
                    return false;
                }
                self.hold_to_output_limit(index, now)
            }
            Flow::Blocked => {
                if let Some(connection) = self.connections.get_mut(index)
                    && connection.hold == Hold::None
                {
                    connection.hold = Hold::Blocked;
                }
                false
            }
            Flow::Close => {
                if let Some(connection) = self.connections.get_mut(index) {
                    connection.closing = true;
                }
                self.list(index);
                false
            }
        }
    }

    /// Keeps commands that must not run yet in front of what is left of the input. They are written anew,
    /// since quotes of inline commands are already resolved.
    fn put_back(&mut self, index: u32, turn: &Turn, commands: std::ops::Range<usize>, flow: Flow) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if flow == Flow::Close || commands.is_empty() {
            return;
        }
        let mut words: Vec<u8> = Vec::new();
        for parsed in &turn.commands[commands] {
            let spans = &turn.spans[parsed.first as usize..(parsed.first + parsed.argc) as usize];
            words.extend(encode(spans.iter().map(|span| span.of(&turn.arena))));
        }
        // The decoder may stand within a partial command behind these: it starts again from here.
        connection.decoder = Default::default();
        connection.input.splice(0..0, words);
    }

    /// Sends the turn's replies.
    fn release(&mut self) {
        let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
        self.send_ranges(&mut turn);
        if turn.reply.capacity() > REPLY_KEPT {
            turn.reply = Reply::new(Protocol::Resp2);
        }
        self.turn = turn;
    }

    pub(super) fn send_ranges(&mut self, turn: &mut Turn) {
        if self.gate.is_on() {
            self.pass_or_hold(turn);
            return;
        }
        for range in turn.ranges.drain(..) {
            let Some(connection) = self.connections.get_mut(range.connection) else {
                continue;
            };
            connection.has_range = false;
            connection.send_or_drop(&turn.reply.as_slice()[range.start..range.end]);
            if connection.unsent() > 0 {
                let now = self.engine.shard.now();
                self.list(range.connection);
                self.hold_to_output_limit(range.connection, now);
            } else if connection.closing {
                self.list(range.connection);
            }
        }
        turn.reply.clear();
    }

    /// Ends a range of replies at the buffer's end and starts the next there.
    fn end_range(&mut self, connection: u32, start: &mut usize, turn: &mut Turn) {
        let end = turn.reply.len();
        // Taken in any case: the next range is another's.
        let wait = self.take_wait();
        if end > *start {
            turn.ranges.push(Range {
                connection,
                start: *start,
                end,
                wait,
            });
            if let Some(connection) = self.connections.get_mut(connection) {
                connection.has_range = true;
            }
        }
        *start = end;
    }

    /// Serves, one by one, the connections that need more than the common case, until none is listed. While the log is
    /// behind they stay as they are.
    pub(super) fn serve_listed(&mut self, now: Now) {
        let mut rounds = std::mem::take(&mut self.listed);
        let mut handshakes = 0;
        for index in rounds.drain(..) {
            let greets = self
                .connections
                .get(index)
                .is_some_and(Connection::is_handshaking);
            handshakes += usize::from(greets);
            if self.is_behind() || greets && handshakes > HANDSHAKES {
                self.listed.push(index);
                continue;
            }
            if let Some(connection) = self.connections.get_mut(index) {
                connection.listed = false;
                if !connection.flush() {
                    connection.closing = true;
                    connection.drop_pending();
                }
                self.serve_one(index, now);
            }
        }
        if self.listed.is_empty() {
            self.listed = rounds;
        }
    }

    /// Reads and executes from the connection's own input.
    fn serve_one(&mut self, index: u32, now: Now) {
        let mut turn = std::mem::replace(&mut self.turn, Turn::empty());
        let mut read = false;
        loop {
            self.execute_input(index, now, &mut turn);
            self.tell_fault(index, &mut turn);
            self.send_ranges(&mut turn);
            if self.is_spread() {
                self.release_answers();
            }
            let Some(connection) = self.connections.get_mut(index) else {
                break;
            };
            let rests = connection.hold != Hold::None || connection.fault.is_some();
            if connection.closing || rests || !connection.readable || read {
                break;
            }
            // One read a turn.
            match connection.receive_input() {
                Received::Bytes(_) => read = true,
                Received::Empty => break,
                Received::Closed => connection.closing = true,
            }
            self.look_at_leases();
        }
        self.turn = turn;
        self.after_input(index);
    }

    /// Executes whole commands of `input`.
    fn execute_input(&mut self, index: u32, now: Now, turn: &mut Turn) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.hold != Hold::None || connection.input.is_empty() {
            return;
        }
        let mut input = std::mem::take(&mut connection.input);
        let mut decoder = std::mem::take(&mut connection.decoder);
        let client = connection.client;
        let (mut at, mut lacking, mut largest) = (0, 0, 0);
        let mut spans: Vec<Span> = Vec::new();
        let mut range_start = turn.reply.len();
        while at < input.len() {
            spans.clear();
            let limits = Limits {
                authenticated: self.is_authenticated(index),
                max_bulk_len: self.engine.max_bulk_len(),
            };
            let (begun, end) = (at, input.len());
            let mut again = false;
            let flow = match decoder.decode(&mut input, at, end, &mut spans, &limits) {
                Decoded::Command { next, .. } => {
                    largest = largest.max(next - begun);
                    if next - begun > self.engine.world.options.query_buffer_max() {
                        // It is unfinished no longer, but was too large all the same.
                        break;
                    }
                    at = next;
                    let args = Args::new(&input, &spans);
                    let reply = &mut turn.reply;
                    self.note_traffic(args, now);
                    if self.is_spread() {
                        let ahead = self
                            .engine
                            .look_ahead_spread(self.engine.database_of(client), args);
                        let flow;
                        (flow, again) = self.execute_spread(index, client, args, ahead, now, reply);
                        flow
                    } else {
                        self.engine.execute(client, args, now, reply)
                    }
                }
                Decoded::Skip { next } => {
                    at = next;
                    continue;
                }
                Decoded::Incomplete { need } => {
                    lacking = need;
                    break;
                }
                Decoded::Fail(error) => {
                    turn.reply.raw(&fault_reply(&error));
                    at = input.len();
                    Flow::Close
                }
                Decoded::Close => {
                    at = input.len();
                    Flow::Close
                }
            };
            if again {
                // Written anew, since quotes of inline commands are resolved in place.
                let words = encode(spans.iter().map(|span| span.of(&input)));
                input.splice(begun..at, words);
                at = begun;
            }
            self.queue_behind(index, range_start, &mut turn.reply, false);
            self.end_range(index, &mut range_start, turn);
            if self.engine.world.has_news() {
                self.deliver(index, turn, now);
            }
            let pauses = flow != Flow::Continue || turn.reply.len() > REPLIES;
            if pauses && !self.go_on(index, flow, turn, now) {
                break;
            }
            range_start = turn.reply.len();
        }
        if let Some(connection) = self.connections.get_mut(index) {
            input.drain(..at);
            connection.input = input;
            connection.decoder = decoder;
            connection.lacking = lacking;
            connection.sends_large = is_large(largest.max(lacking));
        }
    }

    /// The last word to a client whose bytes are no requests, once what it sent before them has run.
    fn tell_fault(&mut self, index: u32, turn: &mut Turn) {
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.hold == Hold::None
            && connection.input.is_empty()
            && connection.answers.is_empty()
            && let Some(fault) = connection.fault.take()
        {
            connection.closing = true;
            let mut start = turn.reply.len();
            turn.reply.raw(&fault);
            self.end_range(index, &mut start, turn);
        }
    }

    /// Closes what is to be closed and keeps listed what can go on at once.
    fn after_input(&mut self, index: u32) {
        let authenticated = self.is_authenticated(index);
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        let stalls = !authenticated && !connection.closing && connection.unsent() > STALL_UNAUTHENTICATED;
        if stalls || connection.waits_for_nobody() {
            connection.closing = true;
            connection.drop_pending();
        }
        if self.is_over_input_limit(index) {
            tracing::warn!("a client's unfinished request is too large (client-query-buffer-limit)");
            self.engine.world.stats.query_limit_disconnections += 1;
            self.close(index);
            return;
        }
        let Some(connection) = self.connections.get_mut(index) else {
            return;
        };
        if connection.closing && connection.is_settled() {
            self.close(index);
        } else if connection.readable
            && !connection.closing
            && connection.hold == Hold::None
            && connection.fault.is_none()
        {
            self.list(index);
        }
    }
}

fn fault_reply(error: &ProtocolError) -> Vec<u8> {
    let mut reply = Reply::default();
    reply.error([b"ERR ".as_slice(), &error.text()].concat());
    reply.take()
}

pub(super) fn list(connection: &mut Connection, index: u32, listed: &mut Vec<u32>) {
    if !connection.listed {
        connection.listed = true;
        listed.push(index);
    }
}

/// A command as clients send it.
fn encode<'w>(words: impl ExactSizeIterator<Item = &'w [u8]>) -> Vec<u8> {
    let mut request = Reply::new(Protocol::Resp2);
    request.array(words.len());
    words.for_each(|word| request.bulk(word));
    request.take()
}

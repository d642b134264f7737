//! One client's socket: bytes in, bytes out, and how much of either is waiting.
//!
//! Invariants: what is received is either executed in its turn or kept in `input`; what could not be sent
//! is kept in `pending`, in order. Both are counted in real bytes. Knows nothing of commands. By TLS the bytes are the
//! same; what stands between them and the socket is `tls`.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use ruvio_core::engine::session::{ClientId, Moved, Traffic};
use ruvio_core::resp::Decoder;
use ruvio_server::tls::Session;

use super::answers::Answers;

/// Why input is not taken on at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    None,
    /// The client's command waits for a key.
    Blocked,
    /// The same on another owner.
    BlockedElsewhere,
    /// Answers of other owners have to come first.
    Answers,
    /// Another owner has enough to do.
    Full,
}

pub struct Connection {
    pub fd: OwnedFd,
    pub client: ClientId,
    /// Received and not yet executed: the start of a command, or what follows a blocked one.
    pub input: Vec<u8>,
    pub decoder: Decoder,
    /// Bytes that a partial request still lacks, as far as it said.
    pub lacking: usize,
    /// It sent a large request just now: the next one is read to where it will stand, not into the turn's arena.
    pub sends_large: bool,
    pending: Vec<u8>,
    /// How much of `pending` is sent.
    sent: usize,
    tls: Option<Box<Session>>,
    /// By TLS, what was sent as far as `pending` knows, and the socket has not taken. As it is sent.
    backlog: usize,
    /// What is told, before closing, about bytes that are no request; empty: nothing.
    pub fault: Option<Vec<u8>>,
    pub hold: Hold,
    /// The socket may have more to read (edge-triggered: it will not say so again).
    pub readable: bool,
    /// The peer will send no more: read until the end, since no further edge will come.
    pub peer_done: bool,
    /// Close when `pending` is sent; nothing more is read.
    pub closing: bool,
    /// Those that wait for other owners, and what stands behind them.
    pub answers: Answers,
    /// Other owners may know the client.
    pub travelled: bool,
    /// Listed to be served at the end of the turn.
    pub listed: bool,
    /// Part of this turn's replies is in the turn's buffer.
    pub has_range: bool,
    /// Ranges of replies that the gate held back, and those of them that went out.
    held_back: u64,
    let_out: u64,
    /// Since when `pending` is above the soft limit.
    pub over_soft_since_ms: Option<u64>,
    moved: Moved,
}

/// What a read gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    Bytes(usize),
    /// Nothing for now.
    Empty,
    /// The peer is done, or broken.
    Closed,
}

impl Connection {
    pub fn new(fd: OwnedFd, client: ClientId, tls: Option<Session>) -> Self {
        Self {
            fd,
            client,
            tls: tls.map(Box::new),
            backlog: 0,
            input: Vec::new(),
            decoder: Decoder::new(),
            lacking: 0,
            sends_large: false,
            pending: Vec::new(),
            sent: 0,
            fault: None,
            hold: Hold::None,
            readable: false,
            peer_done: false,
            closing: false,
            answers: Answers::default(),
            travelled: false,
            listed: false,
            has_range: false,
            held_back: 0,
            let_out: 0,
            over_soft_since_ms: None,
            moved: Moved::default(),
        }
    }

    /// One read. A short one has drained the socket: the edge will come again.
    pub fn receive(&mut self, into: &mut [u8]) -> Received {
        if self.tls.is_some() {
            return self.receive_by_tls(into);
        }
        let wanted = into.len();
        let got = rustix::net::recv(&self.fd, into, RecvFlags::empty());
        self.note_read(got.map(|(count, _)| count), wanted)
    }

    fn note_read(&mut self, got: Result<usize, Errno>, wanted: usize) -> Received {
        self.moved.reads += 1;
        match got {
            Ok(0) => Received::Closed,
            Ok(count) => {
                self.moved.bytes_in += count as u64;
                self.readable = count == wanted || self.peer_done;
                Received::Bytes(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.readable = false;
                Received::Empty
            }
            Err(_) => Received::Closed,
        }
    }

    /// One read behind what `input` holds, of what the partial request still lacks. What a client says costs no
    /// more than a few times what it has sent.
    pub fn receive_input(&mut self) -> Received {
        let room = self.room(self.input.len());
        if self.tls.is_some() {
            let held = self.input.len();
            self.input.resize(held + room, 0);
            let mut input = std::mem::take(&mut self.input);
            let received = self.receive_by_tls(&mut input[held..]);
            let count = match received {
                Received::Bytes(count) => count,
                Received::Empty | Received::Closed => 0,
            };
            input.truncate(held + count);
            self.input = input;
            return received;
        }
        if self.lacking == room {
            // Exactly, so that nothing behind the request is read with it and has to be moved to the front.
            self.input.reserve_exact(room);
        } else {
            self.input.reserve(room);
        }
        let wanted = self.input.capacity() - self.input.len();
        // Into memory that nobody has filled with zeros before.
        let spare = rustix::buffer::spare_capacity(&mut self.input);
        let got = rustix::net::recv(&self.fd, spare, RecvFlags::empty());
        self.note_read(got.map(|(count, _)| count), wanted)
    }

    #[cold]
    #[inline(never)]
    fn receive_by_tls(&mut self, into: &mut [u8]) -> Received {
        let Some(tls) = &mut self.tls else {
            return Received::Closed;
        };
        let got = tls.receive(&self.fd, into);
        self.backlog = tls.backlog();
        self.moved.reads += 1;
        match got {
            Ok(got) if got.ended => Received::Closed,
            Ok(got) => {
                self.moved.bytes_in += got.bytes as u64;
                self.readable = got.more || self.peer_done;
                match got.bytes {
                    0 => Received::Empty,
                    count => Received::Bytes(count),
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a connection by TLS ends");
                Received::Closed
            }
        }
    }

    /// Keeps the start of a request that was read elsewhere, with room for the rest of it.
    pub fn keep_input(&mut self, bytes: &[u8], lacking: usize) {
        self.lacking = lacking;
        self.sends_large = is_large(lacking);
        if self.sends_large {
            self.input.reserve_exact(bytes.len() + self.room(bytes.len()));
        }
        self.input.extend_from_slice(bytes);
    }

    fn room(&self, sent: usize) -> usize {
        self.lacking.clamp(READ_MIN, READ_MIN.max(4 * sent)).min(READ_MAX)
    }

    /// Forgets replies that nobody will read.
    pub fn drop_pending(&mut self) {
        self.answers.forget();
        self.pending = Vec::new();
        self.sent = 0;
        // It cannot be taken back, but nobody waits for it.
        self.backlog = 0;
    }

    /// Sends, or keeps what the socket does not take now. `false`: the peer is gone.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        if self.unsent() > 0 {
            self.pending.extend_from_slice(bytes);
            return self.flush();
        }
        match self.write(bytes) {
            Some(count) => {
                if count < bytes.len() {
                    self.pending.clear();
                    self.sent = 0;
                    self.pending.extend_from_slice(&bytes[count..]);
                }
                true
            }
            None => false,
        }
    }

    /// Sends, and gives up on a peer that is gone.
    pub fn send_or_drop(&mut self, bytes: &[u8]) {
        if !self.send(bytes) {
            self.closing = true;
            self.drop_pending();
        }
    }

    /// Keeps bytes to be sent by the next `flush`.
    pub fn keep(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Sends what is pending, as far as it goes. `false`: the peer is gone.
    pub fn flush(&mut self) -> bool {
        if self.backlog > 0 && self.write(&[]).is_none() {
            return false;
        }
        while self.sent < self.pending.len() {
            let pending = std::mem::take(&mut self.pending);
            let result = self.write(&pending[self.sent..]);
            self.pending = pending;
            match result {
                None => return false,
                Some(0) => break,
                Some(count) => self.sent += count,
            }
        }
        if self.sent == self.pending.len() {
            self.sent = 0;
            self.pending.clear();
            if self.pending.capacity() > KEPT_CAPACITY {
                self.pending = Vec::new();
            }
        } else if self.sent > KEPT_CAPACITY && self.sent > self.pending.len() / 2 {
            self.pending.drain(..self.sent);
            self.sent = 0;
        }
        true
    }

    fn write(&mut self, bytes: &[u8]) -> Option<usize> {
        self.moved.writes += 1;
        if self.tls.is_some() {
            return self.write_by_tls(bytes);
        }
        match rustix::net::send(&self.fd, bytes, SendFlags::NOSIGNAL) {
            Ok(count) => {
                self.moved.bytes_out += count as u64;
                Some(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Some(0),
            Err(_) => None,
        }
    }

    #[cold]
    #[inline(never)]
    fn write_by_tls(&mut self, bytes: &[u8]) -> Option<usize> {
        let tls = self.tls.as_mut()?;
        let sent = tls.send(&self.fd, bytes);
        self.backlog = tls.backlog();
        let count = sent.ok()?;
        self.moved.bytes_out += count as u64;
        Some(count)
    }

    /// Nothing that it says is understood yet, and taking it in costs more than many commands.
    #[inline]
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// It takes too long to show who it is.
    pub fn is_late(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_late())
    }

    /// Before it is closed: by TLS the client is told so, and can tell that from a cut.
    pub fn part(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.end(&self.fd);
        }
    }

    /// Puts answers that are due behind what is pending.
    pub fn release_answers(&mut self) {
        let pending = &mut self.pending;
        self.answers.take_due(|bytes| pending.extend_from_slice(bytes));
    }

    /// It waits, and there is no one to take what it would get: the wait must end before it takes that from
    /// others. An end of the stream that came with the command itself is not told once more.
    pub fn waits_for_nobody(&self) -> bool {
        matches!(self.hold, Hold::Blocked | Hold::BlockedElsewhere) && (self.closing || self.peer_done)
    }

    /// Ranges of replies that the gate holds back.
    #[inline]
    pub fn held(&self) -> u64 {
        self.held_back - self.let_out
    }

    /// One more is held back; its number.
    pub fn number_held(&mut self) -> u64 {
        self.held_back += 1;
        self.held_back
    }

    /// Whether the range of that number may go out before all others. Then it is taken to go.
    pub fn is_next(&mut self, number: u64) -> bool {
        let is_next = number == self.let_out + 1;
        self.let_out += u64::from(is_next);
        is_next
    }

    /// Nothing is owed to the client any longer.
    pub fn is_settled(&self) -> bool {
        self.unsent() == 0 && self.answers.is_empty() && self.held() == 0
    }

    /// Bytes of replies that the socket has not taken.
    pub fn unsent(&self) -> usize {
        self.pending.len() - self.sent + self.backlog
    }

    /// Bytes that unread replies really take, with those that wait for others before them.
    pub fn output_memory(&self) -> usize {
        let pending = match self.unsent() {
            0 => 0,
            _ => self.pending.capacity() + self.backlog,
        };
        pending + self.answers.held()
    }

    pub fn traffic(&self) -> Traffic {
        Traffic {
            query_buffer: self.input.len(),
            query_buffer_free: self.input.capacity() - self.input.len(),
            output_pending: self.output_memory(),
            moved: self.moved,
        }
    }

    /// Gives back the room of large requests, in a pause between them.
    pub fn shrink_input(&mut self) {
        if self.input.is_empty() && self.input.capacity() > KEPT_CAPACITY {
            self.input = Vec::new();
        }
    }
}

/// Whether a request, or what it lacks, is more than one read of the turn takes.
pub fn is_large(bytes: usize) -> bool {
    bytes > READ_MIN
}

/// Bytes of one read of a request in parts.
const READ_MIN: usize = 16 * 1024;
const READ_MAX: usize = 512 * 1024;
/// Room a quiet connection may keep.
const KEPT_CAPACITY: usize = 16 * 1024;

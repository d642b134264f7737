//! One connection's TLS in an owner's loop: what a socket gives becomes plain bytes, and the other way round.
//! Nothing here waits.
//!
//! Invariant: what is held is bounded: one read of the socket and one record of it, and one chunk of output. The peer
//! makes it no more, whatever it sends.
//! Invariant: no bytes from the socket cause a panic; those that make no sense end the connection, with an alert.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use super::fault;

pub struct Session {
    connection: rustls::Connection,
    /// As it came from the socket; up to `taken` it was taken in.
    input: Vec<u8>,
    taken: usize,
    /// As it goes to the socket; up to `sent` it went.
    pub(super) output: Vec<u8>,
    sent: usize,
    pub(super) since: Instant,
    /// The peer sends no more.
    has_ended: bool,
}

/// What came of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Got {
    /// Plain ones, that were put where they were wanted.
    pub bytes: usize,
    /// There may be more, of which no edge will tell.
    pub more: bool,
    /// Nothing more will come.
    pub ended: bool,
}

/// One read of the socket.
const READ_MIN: usize = 4 << 10;
const READ_MAX: usize = 64 << 10;
/// What a record has beside its content, and more.
const RECORD_EXTRA: usize = 512;
/// Reads of the socket in a row.
const READS: usize = 64;
/// Plain bytes that are made ciphertext at once: unless the socket takes them no more follow.
const CHUNK: usize = 64 << 10;
/// Ciphertext that nobody takes, beside which nothing more is taken in: the peer asks and does not read.
const OUTPUT_MAX: usize = 4 * CHUNK;
/// Whoever takes longer for the handshake is let go.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

impl Session {
    pub(super) fn new(connection: rustls::Connection) -> Self {
        let mut session = Self {
            connection,
            input: Vec::new(),
            taken: 0,
            output: Vec::new(),
            sent: 0,
            since: Instant::now(),
            has_ended: false,
        };
        // Of a client there is something to say at once.
        session.collect();
        session
    }

    /// Fills `into` with what came, as far as it is there. An error ends the connection; the peer was told, if it reads.
    pub fn receive(&mut self, socket: impl AsFd, into: &mut [u8]) -> io::Result<Got> {
        let got = self.read_socket(&socket, into);
        // What there is to answer, or what was wrong.
        let flushed = self.flush(&socket);
        if self.taken == self.input.len() {
            self.input = Vec::new();
            self.taken = 0;
        }
        let got = got?;
        flushed?;
        Ok(got)
    }

    fn read_socket(&mut self, socket: impl AsFd, into: &mut [u8]) -> io::Result<Got> {
        let (mut bytes, mut reads, mut is_dry) = (0, 0, false);
        loop {
            bytes += self.read_plain(&mut into[bytes..])?;
            if bytes == into.len() || self.has_ended {
                break;
            }
            if self.take_in()? {
                continue;
            }
            if is_dry || reads == READS || self.has_ended {
                break;
            }
            reads += 1;
            let wanted = (into.len() - bytes + RECORD_EXTRA).clamp(READ_MIN, READ_MAX);
            self.input = Vec::with_capacity(wanted);
            self.taken = 0;
            let spare = rustix::buffer::spare_capacity(&mut self.input);
            match rustix::net::recv(&socket, spare, RecvFlags::empty()) {
                Ok((0, _)) => self.has_ended = true,
                Ok((count, _)) => is_dry = count < wanted,
                Err(Errno::AGAIN | Errno::INTR) => is_dry = true,
                Err(Errno::NOTCONN) if self.is_handshaking() => is_dry = true,
                Err(error) => return Err(error.into()),
            }
        }
        let is_full = bytes == into.len();
        Ok(Got {
            bytes,
            more: is_full || !is_dry,
            ended: self.has_ended && bytes == 0,
        })
    }

    fn read_plain(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = 0;
        while bytes < into.len() {
            match self.connection.reader().read(&mut into[bytes..]) {
                Ok(0) => {
                    self.has_ended = true;
                    break;
                }
                Ok(count) => bytes += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(bytes)
    }

    /// Takes in a part of what came, all plain bytes before it having been fetched. `false`: nothing is left.
    fn take_in(&mut self) -> io::Result<bool> {
        let mut rest = &self.input[self.taken..];
        if rest.is_empty() {
            return Ok(false);
        }
        if self.backlog() > OUTPUT_MAX {
            return Err(io::Error::other("it asks for more than it takes"));
        }
        let count = self.connection.read_tls(&mut rest)?;
        self.taken += count;
        if count == 0 {
            // It has said that nothing follows.
            self.taken = self.input.len();
            return Ok(false);
        }
        let taken = self.connection.process_new_packets();
        self.collect();
        match taken {
            Ok(_) => Ok(true),
            Err(error) => Err(io::Error::other(fault::sentence(&error))),
        }
    }

    /// Puts what is to be sent behind what waits to be.
    fn collect(&mut self) {
        while self.connection.wants_write() {
            // A vector takes all of it.
            if self.connection.write_tls(&mut self.output).is_err() {
                return;
            }
        }
    }

    /// Sends plain bytes; how many were taken. None are before the handshake is done, nor while the socket is full.
    pub fn send(&mut self, socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while self.flush(&socket)? && taken < bytes.len() && !self.is_handshaking() {
            let end = bytes.len().min(taken + CHUNK);
            let count = self.connection.writer().write(&bytes[taken..end])?;
            self.collect();
            if count == 0 {
                break;
            }
            taken += count;
        }
        Ok(taken)
    }

    /// Sends what waits, as far as it goes. Whether that is all.
    pub fn flush(&mut self, socket: impl AsFd) -> io::Result<bool> {
        while self.sent < self.output.len() {
            match rustix::net::send(&socket, &self.output[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(false),
                // It is not connected yet.
                Err(Errno::NOTCONN) if self.is_handshaking() => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        if self.output.capacity() > 0 {
            self.output = Vec::new();
            self.sent = 0;
        }
        Ok(true)
    }

    /// Ciphertext that the socket has not taken.
    pub fn backlog(&self) -> usize {
        self.output.len() - self.sent
    }

    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The handshake takes longer than anybody honest needs.
    pub fn is_late(&self) -> bool {
        self.is_handshaking() && self.since.elapsed() > HANDSHAKE_MAX
    }

    /// Tells the peer that nothing follows, if the socket takes that.
    pub fn end(&mut self, socket: impl AsFd) {
        self.connection.send_close_notify();
        self.collect();
        // Whoever does not read is not told.
        let _ = self.flush(socket);
    }
}

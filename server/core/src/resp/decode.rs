//! Requests: from bytes to argument ranges, without copying an argument.
//!
//! Invariants:
//! - what is decoded does not depend on how the bytes were cut into reads;
//! - every byte is looked at once, however small the pieces (a command of a million arguments that arrives in
//!   a thousand reads is not parsed a thousand times);
//! - nothing is allocated ahead of data: what a client *announces* never costs memory, only what it sent.
//!
//! Positions kept between calls count from the command's first byte, so the caller may move a partial
//! command, as long as it hands it back from its first byte on. Does not know what a command means, with one
//! exception: the first words of HTTP requests, which end the connection.

use super::inline;
use super::protocol_error::ProtocolError;
use super::short;
use crate::text::number::parse_i64;

/// The longest line (inline request, count or length) that is waited for.
pub const LINE_MAX: usize = 64 * 1024;
/// Arguments a client may send in a command before it has authenticated.
const UNAUTHENTICATED_ARGUMENTS: i64 = 10;
/// Bytes an argument may have before the client has authenticated.
const UNAUTHENTICATED_BULK: i64 = 16384;
/// Room kept in a decoder for partial commands; more is given back when the command is complete.
const PARTIAL_KEPT: usize = 64;

/// An argument: a range of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: u32,
    pub len: u32,
}

impl Span {
    /// The bytes it stands for. Panics if it is not of this arena.
    #[inline]
    pub fn of(self, arena: &[u8]) -> &[u8] {
        &arena[self.start as usize..self.start as usize + self.len as usize]
    }
}

/// What a client may send.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Clients that have yet to authenticate are held to 10 arguments of 16 KiB.
    pub authenticated: bool,
    /// `proto-max-bulk-len`.
    pub max_bulk_len: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            authenticated: true,
            max_bulk_len: 512 * 1024 * 1024,
        }
    }
}

/// What the bytes from `start` on are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// A command of `argc` (never 0) arguments, which are the last `argc` spans; `next` is after it.
    Command { argc: u32, next: usize },
    /// Nothing to do (an empty line, `*0`): go on at `next`.
    Skip { next: usize },
    /// The start of a command. At least `need` more bytes are wanted: a hint, which the client controls.
    Incomplete { need: usize },
    /// Answer the error, then close.
    Fail(ProtocolError),
    /// Close without an answer: HTTP (a browser made to talk to us), or a command beyond 4 GiB.
    Close,
}

/// Where a connection's partial command stands.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The next byte to look at, from the command's first.
    at: usize,
    /// How many bytes from `at` on are known to hold no line end.
    scanned: usize,
    /// Arguments to come; 0 until the command's first line is read.
    missing: u32,
    /// The length of the argument at `at`, once its line is read.
    bulk: Option<u32>,
    /// The arguments so far, from the command's first byte.
    partial: Vec<Span>,
}

impl Decoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether no command is begun, as far as the decoder has seen bytes.
    pub fn is_idle(&self) -> bool {
        self.at == 0 && self.scanned == 0
    }

    /// Bytes on the heap, for the connection's accounting.
    pub fn heap_len(&self) -> usize {
        self.partial.capacity() * size_of::<Span>()
    }

    /// Decodes what begins at `arena[start]`; bytes from `end` on are not part of it, whatever they are (with
    /// eight of them there, the last command of a read is decoded as fast as the others). After `Incomplete`
    /// call again with the same bytes and more. The arena is written to only where quotes of an inline request
    /// are resolved, on the call that completes it. Whatever comes out, `spans` grows by the spans of a
    /// `Command` and by nothing else. `max_bulk_len` below 99 is taken as 99.
    #[inline]
    pub fn decode(
        &mut self,
        arena: &mut [u8],
        start: usize,
        end: usize,
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Decoded {
        let mark = spans.len();
        if self.is_idle()
            && let Some((argc, next)) = short::command(arena, start, end, spans, limits)
        {
            return if is_http(arena, spans[mark]) {
                spans.truncate(mark);
                Decoded::Close
            } else {
                Decoded::Command { argc, next }
            };
        }
        spans.truncate(mark);
        self.decode_any(arena, start, end, spans, limits)
    }

    #[inline(never)]
    fn decode_any(
        &mut self,
        arena: &mut [u8],
        start: usize,
        end: usize,
        spans: &mut Vec<Span>,
        limits: &Limits,
    ) -> Decoded {
        if u32::try_from(end).is_err() {
            return Decoded::Close;
        }
        let mark = spans.len();
        let mut decoded = match arena[start..end].first() {
            None => return Decoded::Incomplete { need: 1 },
            Some(b'*') => match self.multibulk(&arena[start..end], limits) {
                Err(other) => other,
                Ok(length) => self.complete(start, length, spans),
            },
            Some(_) => self.inline(&mut arena[start..end], start, spans),
        };
        if let Decoded::Command { .. } = decoded
            && is_http(arena, spans[mark])
        {
            decoded = Decoded::Close;
        }
        match decoded {
            Decoded::Incomplete { .. } => return decoded,
            Decoded::Skip { next } => decoded = Decoded::Skip { next: start + next },
            Decoded::Command { .. } => {}
            Decoded::Fail(_) | Decoded::Close => spans.truncate(mark),
        }
        self.reset();
        decoded
    }

    /// Forgets the partial command.
    pub fn reset(&mut self) {
        self.at = 0;
        self.scanned = 0;
        self.missing = 0;
        self.bulk = None;
        self.partial.clear();
        self.partial.shrink_to(PARTIAL_KEPT);
    }

    /// Hands the arguments over. `length` is that of the whole command.
    fn complete(&mut self, start: usize, length: usize, spans: &mut Vec<Span>) -> Decoded {
        let moved = |span: &Span| Span {
            start: span.start + start as u32,
            ..*span
        };
        spans.extend(self.partial.iter().map(moved));
        Decoded::Command {
            argc: self.partial.len() as u32,
            next: start + length,
        }
    }

    /// Takes arguments of the command at `bytes[0]` as far as they are there; gives its length when all are.
    fn multibulk(&mut self, bytes: &[u8], limits: &Limits) -> Result<usize, Decoded> {
        if self.missing == 0 {
            let (line, next) = self.line(bytes, ProtocolError::TooBigMultibulkCount, None)?;
            let count = parse_i64(line)
                .filter(|count| *count <= i64::from(i32::MAX))
                .ok_or(Decoded::Fail(ProtocolError::InvalidMultibulkLength))?;
            if !limits.authenticated && count > UNAUTHENTICATED_ARGUMENTS {
                return Err(Decoded::Fail(ProtocolError::UnauthenticatedMultibulk));
            }
            if count <= 0 {
                return Err(Decoded::Skip { next });
            }
            self.advance(next);
            self.missing = count as u32;
        }
        while self.missing > 0 {
            let len = match self.bulk {
                Some(len) => len,
                None => self.bulk_len(bytes, limits)?,
            };
            let stop = self.at + len as usize;
            match bytes.get(stop..stop + 2) {
                None => {
                    return Err(Decoded::Incomplete {
                        need: stop + 2 - bytes.len(),
                    });
                }
                Some(b"\r\n") => {}
                Some(_) => return Err(Decoded::Fail(ProtocolError::InvalidCrlf)),
            }
            self.partial.push(Span {
                start: self.at as u32,
                len,
            });
            self.bulk = None;
            self.missing -= 1;
            self.advance(stop + 2);
        }
        Ok(self.at)
    }

    /// Reads an argument's length and goes on to its bytes.
    fn bulk_len(&mut self, bytes: &[u8], limits: &Limits) -> Result<u32, Decoded> {
        let (line, next) = self.line(bytes, ProtocolError::TooBigBulkCount, Some(b'$'))?;
        let len = parse_i64(line)
            .filter(|len| u64::try_from(*len).is_ok_and(|len| len <= limits.max_bulk_len))
            .ok_or(Decoded::Fail(ProtocolError::InvalidBulkLength))?;
        if !limits.authenticated && len > UNAUTHENTICATED_BULK {
            return Err(Decoded::Fail(ProtocolError::UnauthenticatedBulk));
        }
        let addressable = (next as u64)
            .checked_add(len as u64 + 2)
            .is_some_and(|stop| stop <= u64::from(u32::MAX));
        if !addressable {
            return Err(Decoded::Close);
        }
        self.advance(next);
        self.bulk = Some(len as u32);
        Ok(len as u32)
    }

    /// The line at `at` without its first byte and its end, and the position after it. Errors come in the
    /// order in which Valkey finds them: no end in sight, the wrong first byte, a CR without LF.
    fn line<'b>(
        &mut self,
        bytes: &'b [u8],
        too_big: ProtocolError,
        first: Option<u8>,
    ) -> Result<(&'b [u8], usize), Decoded> {
        let cr = self.find(bytes, b'\r', too_big)?;
        let Some(after) = bytes.get(cr + 1) else {
            return Err(Decoded::Incomplete { need: 1 });
        };
        if let Some(first) = first
            && bytes[self.at] != first
        {
            return Err(Decoded::Fail(ProtocolError::ExpectedDollar(bytes[self.at])));
        }
        if *after != b'\n' {
            return Err(Decoded::Fail(ProtocolError::InvalidCrlf));
        }
        Ok((&bytes[self.at + 1..cr], cr + 2))
    }

    /// The first `wanted` from `at` on, no more than [`LINE_MAX`] away.
    fn find(&mut self, bytes: &[u8], wanted: u8, too_big: ProtocolError) -> Result<usize, Decoded> {
        let window = &bytes[self.at..];
        let found = window[self.scanned..].iter().position(|byte| *byte == wanted);
        self.scanned += found.unwrap_or(window.len() - self.scanned);
        if self.scanned > LINE_MAX {
            return Err(Decoded::Fail(too_big));
        }
        match found {
            Some(_) => Ok(self.at + self.scanned),
            None => Err(Decoded::Incomplete { need: 1 }),
        }
    }

    fn advance(&mut self, at: usize) {
        self.at = at;
        self.scanned = 0;
    }

    /// `Skip` counts from the command's first byte, as in [`Self::multibulk`].
    fn inline(&mut self, bytes: &mut [u8], start: usize, spans: &mut Vec<Span>) -> Decoded {
        let newline = match self.find(bytes, b'\n', ProtocolError::TooBigInline) {
            Ok(newline) => newline,
            Err(other) => return other,
        };
        let line = &mut bytes[..newline];
        let stop = line.strip_suffix(b"\r").map_or(newline, <[u8]>::len);
        match inline::split(&mut line[..stop], start as u32, spans) {
            Err(inline::Unbalanced) => Decoded::Fail(ProtocolError::UnbalancedQuotes),
            Ok(0) => Decoded::Skip { next: newline + 1 },
            Ok(argc) => Decoded::Command {
                argc,
                next: start + newline + 1,
            },
        }
    }
}

/// `POST` and `Host:` are how a browser that was made to send us commands across protocols begins; Valkey
/// closes on both wherever they stand as a command.
#[inline]
fn is_http(arena: &[u8], name: Span) -> bool {
    matches!(name.len, 4 | 5) && {
        let name = name.of(arena);
        matches!(name[0] | 0x20, b'p' | b'h')
            && (name.eq_ignore_ascii_case(b"post") || name.eq_ignore_ascii_case(b"host:"))
    }
}

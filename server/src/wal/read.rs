//! Reads the records of one segment in order, a mebibyte at a time.
//!
//! What it meets that is no record is for the caller to judge: the end, a torn tail or corruption.

use std::io;
use std::sync::Arc;

use super::disk::File;
use super::ids::{LogId, ShardId};
use super::record::{self, Bad, HEAD_BYTES, Kind, Record};
use super::segment::Segment;
use super::sums::Sums;

/// One read; a longer record is read whole.
pub const READ_BYTES: usize = 1 << 20;

/// A record that was found, without its payload.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub offset: u64,
    /// Where the next one begins.
    pub end: u64,
    pub kind: Kind,
    pub shard: ShardId,
    pub id: LogId,
    pub lag: u64,
    payload_len: usize,
}

/// What stands at a place of a segment.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    Record(Head),
    /// The limit was reached exactly.
    End,
    Bad(u64, Bad),
}

pub struct SegmentReader {
    file: Arc<dyn File>,
    seed: u32,
    at: u64,
    limit: u64,
    buffer: Vec<u8>,
    /// Where in the file the buffer begins, and how much of it is filled.
    start: u64,
    filled: usize,
}

impl SegmentReader {
    /// Reads from `from`, where a record has to begin, up to `limit` or the end of the file.
    pub fn new(segment: &Segment, from: u64, limit: u64) -> io::Result<Self> {
        let file = Arc::clone(&segment.file);
        let limit = limit.min(file.len()?);
        Ok(Self {
            file,
            seed: segment.seed,
            at: from,
            limit,
            buffer: Vec::new(),
            start: from,
            filled: 0,
        })
    }

    /// Where the next record begins.
    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Checksums of parts that lie behind a place.
    pub(super) fn sums(&self, from: u64) -> io::Result<Sums> {
        Sums::new(Arc::clone(&self.file), self.seed, from, self.limit)
    }

    /// Goes on at `at`, which may lie anywhere.
    pub fn seek(&mut self, at: u64) {
        self.at = at;
    }

    /// The next record. After one that is bad the place stays where it is.
    pub fn next(&mut self) -> io::Result<Found> {
        let offset = self.at;
        if offset >= self.limit {
            return Ok(Found::End);
        }
        let rest = self.limit - offset;
        if rest < HEAD_BYTES as u64 {
            let why = if self.bytes(rest as usize)?.iter().all(|b| *b == 0) {
                Bad::Empty
            } else {
                Bad::Length(0)
            };
            return Ok(Found::Bad(offset, why));
        }
        let mut head = [0; HEAD_BYTES];
        head.copy_from_slice(self.bytes(HEAD_BYTES)?);
        let len = match record::length(&head, rest - HEAD_BYTES as u64) {
            Ok(len) => HEAD_BYTES + len,
            Err(why) => return Ok(Found::Bad(offset, why)),
        };
        let end = offset + len as u64;
        self.fill(len)?;
        let from = (offset - self.start) as usize;
        match record::decode(&self.buffer[from..from + len], self.seed) {
            Ok(record) => {
                let head = Head {
                    offset,
                    end,
                    kind: record.kind,
                    shard: record.shard,
                    id: record.id,
                    lag: record.lag,
                    payload_len: record.payload.len(),
                };
                self.at = end;
                Ok(Found::Record(head))
            }
            Err(why) => Ok(Found::Bad(offset, why)),
        }
    }

    /// The record that was found last.
    pub fn record(&self, head: &Head) -> Record<'_> {
        let end = (head.end - self.start) as usize;
        Record {
            kind: head.kind,
            shard: head.shard,
            id: head.id,
            lag: head.lag,
            payload: &self.buffer[end - head.payload_len..end],
        }
    }

    /// The next `len` bytes, which lie within the limit; the place stays where it is.
    pub fn bytes(&mut self, len: usize) -> io::Result<&[u8]> {
        self.fill(len)?;
        let from = (self.at - self.start) as usize;
        Ok(&self.buffer[from..from + len])
    }

    /// As many of the next bytes as are at hand, at least one while the limit is not reached.
    pub fn some_bytes(&mut self) -> io::Result<&[u8]> {
        self.fill(1)?;
        let from = (self.at - self.start) as usize;
        Ok(&self.buffer[from..self.filled])
    }

    /// Reads again from the place on, however much is still at hand.
    pub fn refill(&mut self) -> io::Result<()> {
        self.filled = 0;
        self.fill(1)
    }

    fn fill(&mut self, len: usize) -> io::Result<()> {
        let held = self.start <= self.at && self.at + len as u64 <= self.start + self.filled as u64;
        if held {
            return Ok(());
        }
        let room = (self.limit - self.at).min(READ_BYTES.max(len) as u64) as usize;
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        } else if self.buffer.len() > READ_BYTES && room <= READ_BYTES {
            self.buffer.truncate(READ_BYTES);
            self.buffer.shrink_to_fit();
        }
        // What is held already is read again: it is short, and in the page cache.
        let read = self.file.read_at(&mut self.buffer[..room], self.at)?;
        self.start = self.at;
        self.filled = read;
        if read < len {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file became shorter while it was read",
            ));
        }
        Ok(())
    }
}

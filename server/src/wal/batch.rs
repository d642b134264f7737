//! The records that one write takes: heads and small payloads copied together, large payloads where they are.

use std::io::IoSlice;

use super::disk::SLICES_MAX;
use super::failure::Fatal;
use super::files::write_whole;
use super::ids::{LogIndex, ShardId};
use super::lane::Item;
use super::record::{self, Kind, Record};
use super::segment::Segment;

/// Payloads up to this are copied: cheaper than a slice of their own.
const COPIED_MAX: usize = 4 << 10;
/// A write is made when so much is gathered, though more waits.
const GATHERED_MAX: u64 = 4 << 20;
/// Zeros behind each write, where the next one begins: a reader meets them instead of what a recycled
/// file held.
pub(super) const END_BYTES: u64 = 8;
pub(super) const END: [u8; END_BYTES as usize] = [0; END_BYTES as usize];

/// Part of the write.
enum Piece {
    Gathered { from: usize, to: usize },
    Payload { lane: usize, item: usize },
}

/// What the catalog has to learn of a record once it is written.
pub(super) struct Placed {
    pub kind: Kind,
    pub shard: ShardId,
    pub index: LogIndex,
    pub offset: u64,
    pub end: u64,
}

#[derive(Default)]
pub(super) struct Batch {
    gathered: Vec<u8>,
    pieces: Vec<Piece>,
    pub placed: Vec<Placed>,
    len: u64,
    pub records: u64,
}

impl Batch {
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_full(&self) -> bool {
        self.len >= GATHERED_MAX || self.pieces.len() + 3 >= SLICES_MAX
    }

    /// Adds a record that will stand at `offset`. `source` is where its payload can be found again.
    pub fn add(&mut self, seed: u32, offset: u64, record: &Record<'_>, source: Option<(usize, usize)>) {
        let from = self.gathered.len();
        record::encode(&mut self.gathered, seed, record);
        let mut len = self.gathered.len() - from;
        let apart = source.filter(|_| record.payload.len() > COPIED_MAX);
        if apart.is_none() {
            self.gathered.extend_from_slice(record.payload);
        }
        len += record.payload.len();
        match self.pieces.last_mut() {
            Some(Piece::Gathered { to, .. }) => *to = self.gathered.len(),
            _ => self.pieces.push(Piece::Gathered {
                from,
                to: self.gathered.len(),
            }),
        }
        if let Some((lane, item)) = apart {
            self.pieces.push(Piece::Payload { lane, item });
        }
        self.len += len as u64;
        self.records += 1;
        self.placed.push(Placed {
            kind: record.kind,
            shard: record.shard,
            index: record.id.index,
            offset,
            end: offset + len as u64,
        });
    }

    /// Writes all at `offset`, and the end mark behind it, in one call.
    pub fn write(&self, segment: &Segment, offset: u64, items: &[Vec<Item>]) -> Result<(), Fatal> {
        let mut slices = [IoSlice::new(&[]); SLICES_MAX];
        let mut count = 0;
        for piece in &self.pieces {
            slices[count] = IoSlice::new(match *piece {
                Piece::Gathered { from, to } => &self.gathered[from..to],
                Piece::Payload { lane, item } => &items[lane][item].payload,
            });
            count += 1;
        }
        slices[count] = IoSlice::new(&END);
        write_whole(&*segment.file, &segment.name, &slices[..=count], offset)
    }

    pub fn clear(&mut self) {
        self.gathered.clear();
        // One batch of many small records must not hold its room for ever.
        self.gathered.shrink_to(GATHERED_MAX as usize);
        self.pieces.clear();
        self.placed.clear();
        self.len = 0;
        self.records = 0;
    }
}

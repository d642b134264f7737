//! A shard's image as a stream of bytes for another node: its rows as of one moment, while the painter goes on.
//!
//! The stream is eight bytes that say what it is, and then each row as the length of its key, the length of its
//! value, key and value; lengths in groups of seven bits, the lowest first. The first row is the meta row: so the index and
//! the seed of the shard's hash travel along, and rows come in the order in which a load wants them.
//!
//! Invariant: equal ids mean equal bytes. So a stream that was cut short goes on where it was; whether what came of it
//! is the same is checked all the same, by reading its beginning again.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use rocksdb::{DBRawIteratorWithThreadMode, ReadOptions};
use ruvio_core::image::Meta;

use super::error::ImageError;
use super::families::{DB, Families};
use super::load::READ_AHEAD_BYTES;
use crate::wal::ShardId;

/// What a stream begins with.
pub(super) const MAGIC: &[u8; 8] = b"RUVIOS\x00\x01";
/// Of a part's data.
pub const PART_BYTES_MAX: usize = 256 << 10;

/// What is about to be sent.
#[derive(Clone, Debug)]
pub struct Outline {
    pub shard: ShardId,
    pub meta: Meta,
    /// Of the bytes of the stream.
    pub id: String,
    /// About how many bytes the stream has.
    pub bytes_about: u64,
}

/// A beginning of a stream, or all of it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    pub bytes: u64,
    pub crc32c: u32,
}

/// Bytes of a stream, behind `offset` others.
#[derive(Clone, Debug)]
pub struct Part {
    pub offset: u64,
    pub data: Bytes,
    pub crc32c: u32,
}

/// Takes a stream. An error ends it.
pub trait Recipient {
    /// What it has of this stream.
    fn progress(&mut self, outline: &Outline) -> io::Result<Progress>;
    /// Parts follow, the first of them at this offset: where the progress ends, or 0 if that is of another stream.
    fn begin(&mut self, outline: &Outline, offset: u64) -> io::Result<()>;
    fn part(&mut self, part: Part) -> io::Result<()>;
}

/// The images of a node, to be read.
#[derive(Clone)]
pub struct Exports {
    families: Arc<Families>,
}

type Rows<'f> = DBRawIteratorWithThreadMode<'f, DB>;

impl Exports {
    pub(super) fn new(families: Arc<Families>) -> Self {
        Self { families }
    }

    /// Sends a shard's image and tells what was sent in all; none if there is no image. The rows that are read
    /// stay on the disk meanwhile, whatever takes their place.
    pub fn export(
        &self,
        shard: ShardId,
        recipient: &mut dyn Recipient,
    ) -> Result<Option<Progress>, ImageError> {
        let family = self.families.family(shard)?;
        let mut reading = ReadOptions::default();
        reading.set_readahead_size(READ_AHEAD_BYTES);
        reading.fill_cache(false);
        // It sees what there is now.
        let mut rows = self.families.db.raw_iterator_cf_opt(&family, reading);
        rows.seek_to_first();
        let Some((_, value)) = rows.item() else {
            rows.status()?;
            return Ok(None);
        };
        let meta = Meta::decode(value).map_err(|source| ImageError::Meta {
            shard: shard.0,
            source,
        })?;
        let outline = Outline {
            shard,
            id: id_of(&meta),
            meta,
            bytes_about: self.families.bytes(shard)?,
        };
        let stopped = |source| ImageError::Export {
            shard: shard.0,
            source,
        };
        let had = recipient.progress(&outline).map_err(stopped)?;
        let is_continued = had.bytes > 0 && {
            let beginning = Cutter::new(had.bytes, |part: Part| {
                Ok(part.offset + (part.data.len() as u64) < had.bytes)
            });
            let same = beginning.walk(&mut rows).map_err(stopped)? == had;
            rows.status()?;
            rows.seek_to_first();
            same
        };
        let from = if is_continued { had.bytes } else { 0 };
        recipient.begin(&outline, from).map_err(stopped)?;
        let rest = Cutter::new(from, |part: Part| {
            if part.offset >= from {
                recipient.part(part)?;
            }
            Ok(true)
        });
        let sent = rest.walk(&mut rows).map_err(stopped)?;
        rows.status()?;
        Ok(Some(sent))
    }
}

/// The index, and a checksum of all else that the image says of itself: above all its seed, which no other image has.
fn id_of(meta: &Meta) -> String {
    let at = meta.at;
    let sum = crc32c::crc32c(&meta.encode());
    format!("{}-{}-{}-{sum:08x}", at.term, at.node, at.index)
}

/// Cuts a stream into parts, one of which ends at `edge`.
struct Cutter<F> {
    edge: u64,
    before: Progress,
    buffer: BytesMut,
    /// Takes a part, and says whether more are wanted.
    take: F,
    goes_on: bool,
}

impl<F: FnMut(Part) -> io::Result<bool>> Cutter<F> {
    fn new(edge: u64, take: F) -> Self {
        Self {
            edge,
            before: Progress::default(),
            buffer: BytesMut::with_capacity(PART_BYTES_MAX),
            take,
            goes_on: true,
        }
    }

    /// All rows, or as many as are wanted; what was cut.
    fn walk(mut self, rows: &mut Rows<'_>) -> io::Result<Progress> {
        self.put(MAGIC)?;
        while self.goes_on
            && let Some((key, value)) = rows.item()
        {
            self.put(Lengths::of(key.len(), value.len()).bytes())?;
            self.put(key)?;
            self.put(value)?;
            rows.next();
        }
        if !self.buffer.is_empty() {
            self.cut()?;
        }
        Ok(self.before)
    }

    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.goes_on && !bytes.is_empty() {
            let to_edge = self.edge.checked_sub(self.before.bytes).filter(|left| *left > 0);
            let size = to_edge.map_or(PART_BYTES_MAX, |left| left.min(PART_BYTES_MAX as u64) as usize);
            let (now, later) = bytes.split_at(bytes.len().min(size - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == size {
                self.cut()?;
            }
        }
        Ok(())
    }

    fn cut(&mut self) -> io::Result<()> {
        let data = self.buffer.split().freeze();
        self.buffer.reserve(PART_BYTES_MAX);
        let part = Part {
            offset: self.before.bytes,
            crc32c: crc32c::crc32c(&data),
            data,
        };
        self.before.add(&part);
        self.goes_on = (self.take)(part)?;
        if !self.goes_on {
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Progress {
    /// With the next part behind it.
    pub fn add(&mut self, part: &Part) {
        self.bytes += part.data.len() as u64;
        self.crc32c = crc32c::crc32c_combine(self.crc32c, part.crc32c, part.data.len());
    }
}

/// The lengths of a row's key and value, seven bits a byte, the lowest first.
#[derive(Default)]
struct Lengths {
    bytes: [u8; 20],
    count: usize,
}

impl Lengths {
    fn of(key: usize, value: usize) -> Self {
        let mut lengths = Self::default();
        for mut left in [key, value] {
            while left >= 0x80 {
                lengths.push(left as u8 | 0x80);
                left >>= 7;
            }
            lengths.push(left as u8);
        }
        lengths
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.count] = byte;
        self.count += 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.count]
    }
}

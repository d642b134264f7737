//! A segment: a file of the log, named by its number, that opens with a page saying what it is.
//!
//! Invariant: the epoch of a file is larger than that of every file that was there when it was made, and
//! seeds the checksums of its records, so that what a recycled file held before never parses.
//! Invariant: a file has its segment's name only once its header is durable.

use std::io;
use std::sync::Arc;

use super::disk::{Disk, File};
use super::ids::ClusterId;

/// Records begin here, so that they never share a page with the header.
pub const HEADER_BYTES: u64 = 4096;
/// The version of everything in a segment.
pub const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"RUVIOWAL";
const SUFFIX: &str = ".wal";
/// Bytes of the header that are not padding.
const FACTS_BYTES: usize = 52;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub cluster: ClusterId,
    pub sequence: u64,
    pub epoch: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadHeader {
    #[error("it is not a segment of a log")]
    Foreign,
    #[error("it was written by a newer version (format {0}, this one knows {VERSION})")]
    Newer(u32),
    #[error("its header is damaged")]
    Damaged,
}

impl Header {
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(HEADER_BYTES as u32).to_le_bytes());
        bytes.extend_from_slice(&self.cluster.0);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.resize(HEADER_BYTES as usize, 0);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, BadHeader> {
        let facts = bytes.get(..FACTS_BYTES).ok_or(BadHeader::Damaged)?;
        if facts[..8] != MAGIC {
            return Err(BadHeader::Foreign);
        }
        let number = |at: usize| u32::from_le_bytes([facts[at], facts[at + 1], facts[at + 2], facts[at + 3]]);
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        // A newer version may have another layout behind this.
        if number(8) > VERSION {
            return Err(BadHeader::Newer(number(8)));
        }
        let sound = number(48) == crc32c::crc32c(&facts[..48]) && number(12) == HEADER_BYTES as u32;
        if number(8) == 0 || !sound {
            return Err(BadHeader::Damaged);
        }
        let mut cluster = ClusterId::default();
        cluster.0.copy_from_slice(&facts[16..32]);
        Ok(Self {
            cluster,
            sequence: long(32),
            epoch: long(40),
        })
    }

    pub fn read(file: &dyn File) -> io::Result<Result<Self, BadHeader>> {
        let mut bytes = [0; FACTS_BYTES];
        let len = file.read_at(&mut bytes, 0)?;
        Ok(Self::decode(&bytes[..len]))
    }
}

/// The checksum that a segment's records start from.
pub fn seed(cluster: ClusterId, epoch: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&cluster.0), &epoch.to_le_bytes())
}

/// A segment that is open.
pub struct Segment {
    pub name: String,
    pub sequence: u64,
    pub epoch: u64,
    pub seed: u32,
    pub file: Arc<dyn File>,
}

impl Segment {
    pub fn new(header: &Header, file: Arc<dyn File>) -> Self {
        Self {
            name: name(header.sequence),
            sequence: header.sequence,
            epoch: header.epoch,
            seed: seed(header.cluster, header.epoch),
            file,
        }
    }

    pub fn open(disk: &dyn Disk, cluster: ClusterId, sequence: u64, epoch: u64) -> io::Result<Self> {
        let header = Header {
            cluster,
            sequence,
            epoch,
        };
        Ok(Self::new(&header, disk.open(&name(sequence))?))
    }
}

pub fn name(sequence: u64) -> String {
    format!("{sequence:016}{SUFFIX}")
}

/// The number in a segment's name.
pub fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(SUFFIX)?;
    let plain = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

pub fn is_segment(name: &str) -> bool {
    sequence_of(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header = Header {
        cluster: ClusterId([3; 16]),
        sequence: 7,
        epoch: 9,
    };

    #[test]
    fn a_header_is_read_back_and_damage_to_it_is_seen() {
        let bytes = HEADER.encode();
        assert_eq!(bytes.len() as u64, HEADER_BYTES);
        assert_eq!(Header::decode(&bytes), Ok(HEADER));
        for bit in 0..FACTS_BYTES * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&broken).is_err(), "bit {bit}");
        }
        let mut newer = bytes;
        newer[8] = 2;
        assert_eq!(Header::decode(&newer), Err(BadHeader::Newer(2)));
    }

    #[test]
    fn a_name_is_its_number() {
        assert_eq!(name(12), "0000000000000012.wal");
        assert_eq!(sequence_of(&name(12)), Some(12));
        for other in [
            "12.wal",
            "reserve",
            "0000000000000012.wal.tmp",
            "+000000000000012.wal",
        ] {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }
}

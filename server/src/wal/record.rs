//! A record as bytes, version 1: `crc u32, length u32, kind u8, shard, term, node, index, lag, payload`.
//!
//! The first two are little-endian, the others LEB128 varints; `length` counts what follows it, `crc` is the
//! CRC-32C of all behind itself, seeded with the segment's epoch. `lag` is how far before this record
//! the bytes end that were durable when it was written: by it a torn tail is told from corruption.
//!
//! Invariant: nothing is allocated for a length that was not checked against the segment and the maximum.

use super::ids::{LogId, LogIndex, NodeId, ShardId, Term, Vote};

/// `crc` and `length`.
pub const HEAD_BYTES: usize = 8;
/// The fields behind the head, at most: kind, and varints of 16, 64, 64, 64 and 64 bits.
pub const FIELDS_MAX: usize = 1 + 3 + 4 * 10;
/// A payload, at most: more than a part of an entry and its last effect, which is a key, a field and a value; below what
/// one write moves.
pub const PAYLOAD_MAX: usize = 7 << 28;
/// A membership is restated in every segment for every shard, so it is small.
pub const MEMBERSHIP_MAX: usize = 16 << 10;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The first of a segment; the payload says where the segment before it ends.
    Open = 1,
    /// The effects of one turn of one shard, or the last part of them.
    Entry = 2,
    /// An entry of the consensus layer itself: a blank, a change of membership.
    RaftEntry = 3,
    Vote = 4,
    /// Entries from this index on are void.
    Truncate = 5,
    /// Entries up to this id are in the image.
    Purge = 6,
    Committed = 7,
    /// The membership as of this id.
    Membership = 8,
    /// All before it is durable: written at a clean stop, so that damage to the last entries is seen.
    Mark = 9,
    /// A part of an entry: it counts when the `Entry` that follows on it and its like is there.
    Part = 10,
    /// The node holds the shard no longer. With an index all of it is void but its vote; with a payload of 1 its image has
    /// yet to go, which is said again until it has.
    Leave = 11,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        const ALL: [Kind; 11] = [
            Kind::Open,
            Kind::Entry,
            Kind::RaftEntry,
            Kind::Vote,
            Kind::Truncate,
            Kind::Purge,
            Kind::Committed,
            Kind::Membership,
            Kind::Mark,
            Kind::Part,
            Kind::Leave,
        ];
        ALL.get(usize::from(byte).wrapping_sub(1)).copied()
    }

    /// Whether it takes a place in its shard's log.
    pub fn is_entry(self) -> bool {
        matches!(self, Self::Entry | Self::RaftEntry | Self::Part)
    }
}

/// A record as read; the payload stays where it was read to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    pub kind: Kind,
    pub shard: ShardId,
    pub id: LogId,
    pub lag: u64,
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// Whether it takes back entries that were there.
    pub fn voids(&self) -> bool {
        voids(self.kind, self.id.index)
    }

    /// Whether the image of a `Leave` record's shard has yet to go.
    pub fn is_leaving(&self) -> bool {
        self.payload == [1]
    }

    /// The vote of a `Vote` record.
    pub fn vote(&self) -> Vote {
        Vote {
            term: self.id.term,
            node: self.id.node,
            committed: self.payload == [1],
        }
    }

    /// Where the segment before this `Open` record's ends; 0 without one.
    pub fn previous_end(&self) -> u64 {
        self.payload
            .first_chunk()
            .map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }
}

/// Whether a record takes entries back.
pub fn voids(kind: Kind, index: LogIndex) -> bool {
    kind == Kind::Truncate || kind == Kind::Leave && index.0 > 0
}

/// Why bytes are not a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Bad {
    #[error("nothing is written here")]
    Empty,
    #[error("a length of {0} bytes leads out of the segment")]
    Length(u64),
    #[error("the checksum does not match")]
    Checksum,
    #[error("the fields make no sense")]
    Fields,
}

/// Appends the record without its payload to `out`; the payload is to follow it in the file.
pub fn encode(out: &mut Vec<u8>, seed: u32, record: &Record<'_>) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    out.push(record.kind as u8);
    varint(out, u64::from(record.shard.0));
    varint(out, record.id.term.0);
    varint(out, record.id.node.0);
    varint(out, record.id.index.0);
    varint(out, record.lag);
    let length = out.len() - start - HEAD_BYTES + record.payload.len();
    // Payloads are bounded by PAYLOAD_MAX where they are handed over.
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    let crc = crc32c::crc32c_append(seed, &out[start + 4..]);
    let crc = crc32c::crc32c_append(crc, record.payload);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// How many bytes follow a head, if its length can be one in a segment with `rest` bytes behind the head.
pub fn length(head: &[u8; HEAD_BYTES], rest: u64) -> Result<usize, Bad> {
    let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    if length == 0 && head[..4] == [0; 4] {
        return Err(Bad::Empty);
    }
    let fits = length >= 6 && u64::from(length) <= rest && length as usize <= PAYLOAD_MAX + FIELDS_MAX;
    if fits {
        Ok(length as usize)
    } else {
        Err(Bad::Length(u64::from(length)))
    }
}

/// Decodes a whole record: the head and exactly the bytes of its length.
pub fn decode(bytes: &[u8], seed: u32) -> Result<Record<'_>, Bad> {
    let record = fields(bytes)?;
    let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if crc32c::crc32c_append(seed, &bytes[4..]) != stored {
        return Err(Bad::Checksum);
    }
    Ok(record)
}

/// The record's fields, whatever its checksum says: a cheap first look.
pub fn fields(bytes: &[u8]) -> Result<Record<'_>, Bad> {
    let mut rest = bytes.get(HEAD_BYTES..).ok_or(Bad::Fields)?;
    let (&kind, after) = rest.split_first().ok_or(Bad::Fields)?;
    rest = after;
    let kind = Kind::from_byte(kind).ok_or(Bad::Fields)?;
    let shard = u16::try_from(take_varint(&mut rest)?).map_err(|_| Bad::Fields)?;
    let id = LogId {
        term: Term(take_varint(&mut rest)?),
        node: NodeId(take_varint(&mut rest)?),
        index: LogIndex(take_varint(&mut rest)?),
    };
    let lag = take_varint(&mut rest)?;
    Ok(Record {
        kind,
        shard: ShardId(shard),
        id,
        lag,
        payload: rest,
    })
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, Bad> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Bad::Fields)?;
        *bytes = rest;
        let part = u64::from(byte & 0x7F);
        if shift == 63 && part > 1 {
            return Err(Bad::Fields);
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(Bad::Fields)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(record: &Record<'_>, seed: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&mut bytes, seed, record);
        bytes.extend_from_slice(record.payload);
        bytes
    }

    fn entry(index: u64, payload: &[u8]) -> Record<'_> {
        Record {
            kind: Kind::Entry,
            shard: ShardId(5),
            id: LogId::new(3, 2, index),
            lag: 300,
            payload,
        }
    }

    #[test]
    fn a_set_of_32_bytes_takes_60_bytes_of_log_at_most() {
        use ruvio_core::effect::{Effect, Effects};
        let mut effects = Effects::default();
        let put = Effect::Put {
            key: &[b'k'; 16],
            kind: 0,
            value: &[b'v'; 16],
            expire_at: None,
            created: true,
        };
        effects.push(0, &put);
        // The ten-billionth entry of the last shard, in the thousandth term.
        let record = Record {
            kind: Kind::Entry,
            shard: ShardId(1023),
            id: LogId::new(1000, 3, 10_000_000_000),
            lag: 0,
            payload: effects.bytes(),
        };
        let bytes = whole(&record, 1).len();
        assert!(bytes <= 60, "{bytes} bytes");
    }

    #[test]
    fn another_epoch_or_any_flipped_bit_does_not_parse() {
        let bytes = whole(&entry(7, b"payload"), 11);
        assert_eq!(decode(&bytes, 11), Ok(entry(7, b"payload")));
        assert_eq!(decode(&bytes, 12), Err(Bad::Checksum));
        for at in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[at / 8] ^= 1 << (at % 8);
            assert!(decode(&broken, 11).is_err(), "bit {at}");
        }
    }

    #[test]
    fn a_length_is_checked_before_it_is_believed() {
        let head = |length: u32| {
            let mut head = [7u8; HEAD_BYTES];
            head[4..].copy_from_slice(&length.to_le_bytes());
            head
        };
        assert_eq!(length(&[0; HEAD_BYTES], 100), Err(Bad::Empty));
        assert_eq!(length(&head(0), 100), Err(Bad::Length(0)));
        assert_eq!(length(&head(100), 100), Ok(100));
        assert_eq!(length(&head(101), 100), Err(Bad::Length(101)));
        assert!(
            length(&head(u32::MAX), u64::MAX).is_err(),
            "longer than any payload"
        );
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(
            shard in any::<u16>(), term in any::<u64>(), node in any::<u64>(), index in any::<u64>(),
            lag in any::<u64>(), seed in any::<u32>(), payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let record = Record {
                kind: Kind::Vote, shard: ShardId(shard), id: LogId::new(term, node, index), lag, payload: &payload,
            };
            let bytes = whole(&record, seed);
            prop_assert!(bytes.len() <= HEAD_BYTES + FIELDS_MAX + payload.len());
            prop_assert_eq!(decode(&bytes, seed), Ok(record));
        }

        #[test]
        fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode_any(&bytes);
        }
    }

    fn decode_any(bytes: &[u8]) -> Result<Record<'_>, Bad> {
        if bytes.len() < HEAD_BYTES {
            return fields(bytes);
        }
        decode(bytes, 0)
    }
}

//! How a row looks. Numbers in keys are big endian, so that their order is that of the bytes; numbers in
//! values are little endian.

use super::Unreadable;
use crate::effect::ListPosition;
use crate::memory::EXPIRE_AT_MS_MAX;

pub const META: u8 = 0;
pub const KEY: u8 = 1;
pub const ELEMENT: u8 = 2;

/// The key of the meta row, the first of all.
pub const META_KEY: [u8; 1] = [META];

/// Which rows belong together: those of one database between two times that it was emptied.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DatabaseId(pub u32);

/// Set in the kind byte of a value that is followed by an expiry.
const HAS_EXPIRY: u8 = 0x80;
/// An expiry takes this much, as in memory.
const EXPIRY_BYTES: usize = 6;

/// Writes the key of the row of a key.
pub fn key_of_key(out: &mut Vec<u8>, database: DatabaseId, hash: u64, key: &[u8]) {
    out.clear();
    out.push(KEY);
    out.extend_from_slice(&database.0.to_be_bytes());
    out.extend_from_slice(&hash.to_be_bytes());
    out.extend_from_slice(key);
}

/// Writes the key of the row of an element: `rest` is the field or member, or a list position's fraction.
pub fn key_of_element(out: &mut Vec<u8>, database: DatabaseId, generation: u64, order: u64, rest: &[u8]) {
    out.clear();
    out.push(ELEMENT);
    out.extend_from_slice(&database.0.to_be_bytes());
    out.extend_from_slice(&generation.to_be_bytes());
    out.extend_from_slice(&order.to_be_bytes());
    out.extend_from_slice(rest);
}

/// The rows of a collection: from its first key to before the second.
pub fn range_of_generations(database: DatabaseId, first: u64, after: u64) -> ([u8; 13], [u8; 13]) {
    let edge = |generation: u64| {
        let mut key = [ELEMENT; 13];
        key[1..5].copy_from_slice(&database.0.to_be_bytes());
        key[5..].copy_from_slice(&generation.to_be_bytes());
        key
    };
    (edge(first), edge(after))
}

/// The rows of one sort of a database.
pub fn range_of_database(sort: u8, database: DatabaseId) -> ([u8; 5], [u8; 5]) {
    let edge = |number: u32| {
        let mut key = [sort; 5];
        key[1..].copy_from_slice(&number.to_be_bytes());
        key
    };
    // The server gives no number beyond this.
    (edge(database.0), edge(database.0.saturating_add(1)))
}

/// A row's key taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKey<'a> {
    Meta,
    Key {
        database: DatabaseId,
        hash: u64,
        key: &'a [u8],
    },
    Element {
        database: DatabaseId,
        generation: u64,
        order: u64,
        rest: &'a [u8],
    },
}

impl<'a> RowKey<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let mut bytes = Bytes(bytes);
        match bytes.byte()? {
            META => Ok(Self::Meta),
            KEY => Ok(Self::Key {
                database: DatabaseId(u32::from_be_bytes(bytes.array()?)),
                hash: u64::from_be_bytes(bytes.array()?),
                key: bytes.0,
            }),
            ELEMENT => Ok(Self::Element {
                database: DatabaseId(u32::from_be_bytes(bytes.array()?)),
                generation: u64::from_be_bytes(bytes.array()?),
                order: u64::from_be_bytes(bytes.array()?),
                rest: bytes.0,
            }),
            sort => Err(Unreadable::Sort(sort)),
        }
    }
}

/// A list position from `order` and `rest` of its row.
pub fn position(order: u64, rest: &[u8]) -> Result<ListPosition, Unreadable> {
    let fraction = if rest.is_empty() {
        0
    } else {
        u64::from_be_bytes(Bytes(rest).array()?)
    };
    Ok(ListPosition {
        whole: order,
        fraction,
    })
}

/// The value of a key's row: `body` is the value's bytes, or the generation of a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyValue<'a> {
    pub kind: u8,
    pub expire_at: Option<u64>,
    pub body: &'a [u8],
}

impl<'a> KeyValue<'a> {
    pub fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        match self.expire_at {
            None => out.push(self.kind),
            Some(at) => {
                out.push(self.kind | HAS_EXPIRY);
                push_expiry(out, at);
            }
        }
        out.extend_from_slice(self.body);
    }

    pub fn parse(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let mut bytes = Bytes(bytes);
        let head = bytes.byte()?;
        let expire_at = match head & HAS_EXPIRY {
            0 => None,
            _ => Some(bytes.expiry()?),
        };
        Ok(Self {
            kind: head & !HAS_EXPIRY,
            expire_at,
            body: bytes.0,
        })
    }

    /// The generation, where it is a collection's.
    pub fn generation(&self) -> Result<u64, Unreadable> {
        Ok(u64::from_le_bytes(Bytes(self.body).array()?))
    }
}

/// Writes the value of a hash field's row.
pub fn write_field(out: &mut Vec<u8>, value: &[u8], expire_at: Option<u64>) {
    let body = value;
    KeyValue {
        kind: 0,
        expire_at,
        body,
    }
    .write(out);
}

pub(super) fn push_expiry(out: &mut Vec<u8>, at: u64) {
    // Later times are cut to this in memory as well.
    let at = at.min(EXPIRE_AT_MS_MAX);
    out.extend_from_slice(&at.to_le_bytes()[..EXPIRY_BYTES]);
}

/// Bytes that are read from the front.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn byte(&mut self) -> Result<u8, Unreadable> {
        let (first, rest) = self.0.split_first().ok_or(Unreadable::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (first, rest) = self.0.split_first_chunk::<N>().ok_or(Unreadable::Short)?;
        self.0 = rest;
        Ok(*first)
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], Unreadable> {
        let (first, rest) = self.0.split_at_checked(len).ok_or(Unreadable::Short)?;
        self.0 = rest;
        Ok(first)
    }

    pub(super) fn expiry(&mut self) -> Result<u64, Unreadable> {
        let mut eight = [0; 8];
        eight[..EXPIRY_BYTES].copy_from_slice(&self.array::<EXPIRY_BYTES>()?);
        Ok(u64::from_le_bytes(eight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_their_parts_do() {
        let mut rows = Vec::new();
        let mut out = Vec::new();
        rows.push(META_KEY.to_vec());
        for (database, hash, key) in [(0, 7, "b"), (0, 7, "ba"), (0, 256, ""), (1, 0, "a")] {
            key_of_key(&mut out, DatabaseId(database), hash, key.as_bytes());
            rows.push(out.clone());
        }
        for (generation, order, rest) in [(1, 9, ""), (1, 9, "\0"), (1, 10, ""), (2, 0, "")] {
            key_of_element(&mut out, DatabaseId(0), generation, order, rest.as_bytes());
            rows.push(out.clone());
        }
        assert!(rows.is_sorted(), "{rows:?}");
        let (start, end) = range_of_generations(DatabaseId(0), 1, 2);
        let inside = rows
            .iter()
            .filter(|row| start.as_slice() <= row && row.as_slice() < end.as_slice());
        assert_eq!(inside.count(), 3, "the elements of generation 1");
        let (start, end) = range_of_database(KEY, DatabaseId(0));
        let inside = rows
            .iter()
            .filter(|row| start.as_slice() <= row && row.as_slice() < end.as_slice());
        assert_eq!(inside.count(), 3, "the keys of database 0");
    }

    #[test]
    fn values_are_read_as_they_were_written() {
        let mut out = Vec::new();
        for expire_at in [None, Some(0), Some(1_900_000_000_000)] {
            let body = b"\x80value";
            let value = KeyValue {
                kind: 9,
                expire_at,
                body,
            };
            value.write(&mut out);
            assert_eq!(KeyValue::parse(&out), Ok(value));
        }
        let late = KeyValue {
            kind: 0,
            expire_at: Some(u64::MAX),
            body: b"",
        };
        late.write(&mut out);
        let read = KeyValue::parse(&out).map(|value| value.expire_at);
        assert_eq!(read, Ok(Some(EXPIRE_AT_MS_MAX)));
        assert_eq!(KeyValue::parse(&out[..3]), Err(Unreadable::Short));
        assert_eq!(RowKey::parse(b"\x01\0\0"), Err(Unreadable::Short));
        assert_eq!(RowKey::parse(b"\x7F"), Err(Unreadable::Sort(0x7F)));
    }
}

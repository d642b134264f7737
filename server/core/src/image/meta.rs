//! What the image knows of itself: the index that it holds, and what of a shard stands in no row of its own.

use super::Unreadable;
use super::row::{Bytes, DatabaseId};
use crate::keyspace::DATABASES;

/// Format of all rows. A build reads its own and all before it.
const FORMAT: u8 = 1;

/// The entry that the image holds, and all before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct At {
    pub term: u64,
    pub node: u64,
    pub index: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meta {
    pub at: At,
    /// Of the shard's hash.
    pub seed: u64,
    pub fence: u64,
    /// The last generation given to a collection.
    pub generation: u64,
    /// By the number that a client selects.
    pub databases: [Database; DATABASES],
    /// The next database that is emptied gets this one.
    pub next_database: DatabaseId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Database {
    /// What its rows begin with.
    pub id: DatabaseId,
    /// Its keys: exact, so that a load can tell that none is missing.
    pub keys: u64,
}

impl Meta {
    /// Of an empty shard.
    pub fn new(seed: u64) -> Self {
        Self {
            at: At::default(),
            seed,
            fence: 0,
            generation: 0,
            databases: std::array::from_fn(|number| Database {
                id: DatabaseId(number as u32),
                keys: 0,
            }),
            next_database: DatabaseId(DATABASES as u32),
        }
    }

    /// Gives an emptied database its next rows; what its rows began with until now.
    pub fn empty(&mut self, number: u16) -> DatabaseId {
        let next = self.next_database;
        self.next_database = DatabaseId(next.0.saturating_add(1));
        let emptied = std::mem::replace(
            &mut self.databases[number as usize],
            Database { id: next, keys: 0 },
        );
        emptied.id
    }

    pub fn exchange(&mut self, one: u16, other: u16) {
        self.databases.swap(one as usize, other as usize);
    }

    /// The number that a client selects for these rows.
    pub fn number_of(&self, id: DatabaseId) -> Option<u16> {
        let found = self.databases.iter().position(|database| database.id == id);
        found.map(|number| number as u16)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        for number in [
            self.at.term,
            self.at.node,
            self.at.index,
            self.seed,
            self.fence,
            self.generation,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.next_database.0.to_le_bytes());
        out.push(DATABASES as u8);
        for database in self.databases {
            out.extend_from_slice(&database.id.0.to_le_bytes());
            out.extend_from_slice(&database.keys.to_le_bytes());
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Unreadable> {
        let mut bytes = Bytes(bytes);
        match bytes.byte()? {
            FORMAT => {}
            other => return Err(Unreadable::Newer(other)),
        }
        let mut number = || bytes.array().map(u64::from_le_bytes);
        let (term, node, index) = (number()?, number()?, number()?);
        let mut meta = Self::new(number()?);
        meta.at = At { term, node, index };
        meta.fence = number()?;
        meta.generation = number()?;
        meta.next_database = DatabaseId(u32::from_le_bytes(bytes.array()?));
        if usize::from(bytes.byte()?) != DATABASES {
            return Err(Unreadable::Short);
        }
        for database in &mut meta.databases {
            database.id = DatabaseId(u32::from_le_bytes(bytes.array()?));
            database.keys = u64::from_le_bytes(bytes.array()?);
        }
        Ok(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let mut meta = Meta::new(7);
        meta.at = At {
            term: 1,
            node: 2,
            index: u64::MAX,
        };
        (meta.fence, meta.generation) = (8, 9);
        meta.databases[3].keys = 55;
        meta.exchange(3, 0);
        assert_eq!(meta.empty(1), DatabaseId(1));
        let bytes = meta.encode();
        assert_eq!(Meta::decode(&bytes).as_ref(), Ok(&meta));
        assert_eq!(
            meta.databases[0],
            Database {
                id: DatabaseId(3),
                keys: 55
            }
        );
        assert_eq!(meta.number_of(DatabaseId(16)), Some(1));
        assert_eq!(meta.number_of(DatabaseId(1)), None, "emptied");
        for cut in 0..bytes.len() {
            assert_eq!(Meta::decode(&bytes[..cut]), Err(Unreadable::Short));
        }
        let newer = [&[FORMAT + 1], &bytes[1..]].concat();
        assert_eq!(Meta::decode(&newer), Err(Unreadable::Newer(FORMAT + 1)));
    }
}

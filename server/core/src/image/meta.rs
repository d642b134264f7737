//! What the image knows of itself: the index that it holds, and what of a shard stands in no row of its own.

use std::collections::BTreeMap;

use super::Unreadable;
use super::row::{Bytes, DatabaseId};

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
    /// By the number that a client selects; one that was never written to, or not since it was emptied,
    /// has no rows and is not here.
    databases: BTreeMap<u16, Database>,
    /// The next database that is written to for the first time gets this one.
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
            databases: BTreeMap::new(),
            next_database: DatabaseId(0),
        }
    }

    /// The databases by the numbers that clients select.
    pub fn databases(&self) -> impl Iterator<Item = (u16, Database)> + '_ {
        self.databases
            .iter()
            .map(|(number, database)| (*number, *database))
    }

    /// Of all databases.
    pub fn keys(&self) -> u64 {
        self.databases.values().map(|database| database.keys).sum()
    }

    /// The database that is written to.
    pub fn database_mut(&mut self, number: u16) -> &mut Database {
        let next = &mut self.next_database;
        self.databases.entry(number).or_insert_with(|| {
            let id = *next;
            *next = DatabaseId(next.0.saturating_add(1));
            Database { id, keys: 0 }
        })
    }

    /// The database has no rows any more; what they began with, if it had any.
    pub fn empty(&mut self, number: u16) -> Option<DatabaseId> {
        self.databases.remove(&number).map(|database| database.id)
    }

    pub fn exchange(&mut self, one: u16, other: u16) {
        let (first, second) = (self.databases.remove(&one), self.databases.remove(&other));
        self.databases.extend(first.map(|database| (other, database)));
        self.databases.extend(second.map(|database| (one, database)));
    }

    /// The number that a client selects for these rows.
    pub fn number_of(&self, id: DatabaseId) -> Option<u16> {
        let found = self.databases.iter().find(|(_, database)| database.id == id);
        found.map(|(number, _)| *number)
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
        out.extend_from_slice(&(self.databases.len() as u32).to_le_bytes());
        for (number, database) in &self.databases {
            out.extend_from_slice(&number.to_le_bytes());
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
        for _ in 0..u32::from_le_bytes(bytes.array()?) {
            let number = u16::from_le_bytes(bytes.array()?);
            let id = DatabaseId(u32::from_le_bytes(bytes.array()?));
            let keys = u64::from_le_bytes(bytes.array()?);
            meta.databases.insert(number, Database { id, keys });
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
        meta.database_mut(3).keys = 55;
        meta.database_mut(1).keys = 7;
        meta.exchange(3, 0);
        assert_eq!(meta.empty(1), Some(DatabaseId(1)));
        assert_eq!(meta.empty(1), None, "already");
        let bytes = meta.encode();
        assert_eq!(Meta::decode(&bytes).as_ref(), Ok(&meta));
        let id = DatabaseId(0);
        assert_eq!(
            meta.databases().collect::<Vec<_>>(),
            [(0, Database { id, keys: 55 })]
        );
        assert_eq!(meta.number_of(DatabaseId(1)), None, "emptied");
        assert_eq!(meta.database_mut(1).id, DatabaseId(2), "written to again");
        for cut in 0..bytes.len() {
            assert_eq!(Meta::decode(&bytes[..cut]), Err(Unreadable::Short));
        }
        let newer = [&[FORMAT + 1], &bytes[1..]].concat();
        assert_eq!(Meta::decode(&newer), Err(Unreadable::Newer(FORMAT + 1)));
    }
}

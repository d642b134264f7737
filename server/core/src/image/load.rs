//! A shard made of rows: they are given in their order, keys before elements, and fill its tables in theirs.
//!
//! It is strict, since a row is only ever missing or left over by a fault: each key that the meta row counts
//! has to come, each element needs its collection, and no collection stays empty.

use super::meta::Meta;
use super::row::{self, DatabaseId, KeyValue, RowKey};
use super::{Unreadable, merge};
use crate::command::list::change;
use crate::keyspace::{Db, Key, Shard, Type, kind};
use crate::memory::{Expiry, Handle, NewValue, Table};
use crate::value::set::ints;
use crate::value::sorted_set::{self, Editor};

/// Elements that are put into their collection in one go.
const BATCH_ELEMENTS: usize = 256;
const BATCH_BYTES: usize = 64 << 10;

/// Rows that are not those of one shard at one index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("a row of database {0}, which was emptied")]
    NoDatabase(u32),
    #[error("database {0} has keys, and `databases` is set to no more than that")]
    FewDatabases(u16),
    #[error("a key that was hashed with another seed")]
    OtherSeed,
    #[error("an element of generation {0}, of which there is no collection")]
    NoCollection(u64),
    #[error("the collection of generation {0} has no elements")]
    NoElements(u64),
    #[error("database {database} has {found} keys and should have {expected}")]
    Keys {
        database: u16,
        found: u64,
        expected: u64,
    },
}

/// A collection whose elements are still to come.
#[derive(Clone, Copy)]
struct Header {
    database: DatabaseId,
    generation: u64,
    number: u16,
    handle: Handle,
}

/// See the module.
pub struct Loader {
    meta: Meta,
    /// The database of the last key, and its number.
    last: Option<(DatabaseId, u16)>,
    headers: Vec<Header>,
    /// Headers are sorted, once the keys are over.
    sorted: bool,
    /// The collection that elements belong to.
    at: usize,
    batch: Batch,
    rows: u64,
}

/// Elements of one collection.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    elements: Vec<Element>,
    filled: bool,
}

struct Element {
    order: u64,
    rest_end: usize,
    end: usize,
}

impl Batch {
    fn push(&mut self, order: u64, rest: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(rest);
        let rest_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.elements.push(Element {
            order,
            rest_end,
            end: self.bytes.len(),
        });
    }

    fn is_full(&self) -> bool {
        self.elements.len() >= BATCH_ELEMENTS || self.bytes.len() >= BATCH_BYTES
    }

    /// Order, rest and value of each.
    fn iter(&self) -> impl Iterator<Item = (u64, &[u8], &[u8])> {
        let mut start = 0;
        self.elements.iter().map(move |element| {
            let rest = &self.bytes[start..element.rest_end];
            start = element.end;
            (element.order, rest, &self.bytes[element.rest_end..element.end])
        })
    }
}

impl Loader {
    /// `shard` is new, was made with the meta row's seed, and has no reader of effects.
    pub fn new(meta: Meta, shard: &mut Shard) -> Self {
        shard.fence = shard.fence.max(meta.fence);
        shard.generation = shard.generation.max(meta.generation);
        for (number, database) in meta.databases() {
            if let Some(table) = shard.databases.get_mut(number as usize) {
                table.reserve(&mut shard.heap, database.keys as usize);
            }
        }
        Self {
            meta,
            last: None,
            headers: Vec::new(),
            sorted: false,
            at: 0,
            batch: Batch::default(),
            rows: 0,
        }
    }

    /// The next row in their order; the meta row is passed over.
    pub fn row(&mut self, shard: &mut Shard, key: &[u8], value: &[u8]) -> Result<(), LoadError> {
        self.rows += 1;
        match RowKey::parse(key)? {
            RowKey::Meta => Ok(()),
            RowKey::Key { database, hash, key } => self.key(shard, database, Key { bytes: key, hash }, value),
            RowKey::Element {
                database,
                generation,
                order,
                rest,
            } => {
                self.stand_at(shard, database, generation)?;
                self.batch.push(order, rest, value);
                if self.batch.is_full() {
                    self.fill(shard)?;
                }
                Ok(())
            }
        }
    }

    /// All rows were given; how many.
    pub fn finish(mut self, shard: &mut Shard) -> Result<u64, LoadError> {
        self.sort();
        self.leave(shard)?;
        if let Some(header) = self.headers.get(self.at) {
            return Err(LoadError::NoElements(header.generation));
        }
        for (number, database) in self.meta.databases() {
            let found = shard.databases.get(number as usize).map_or(0, Table::len) as u64;
            if found != database.keys {
                return Err(LoadError::Keys {
                    database: number,
                    found,
                    expected: database.keys,
                });
            }
        }
        Ok(self.rows)
    }

    fn key(
        &mut self,
        shard: &mut Shard,
        id: DatabaseId,
        key: Key<'_>,
        value: &[u8],
    ) -> Result<(), LoadError> {
        let number = self.number_of(id)?;
        if number as usize >= shard.databases.len() {
            return Err(LoadError::FewDatabases(number));
        }
        if shard.heap.hash(key.bytes) != key.hash {
            return Err(LoadError::OtherSeed);
        }
        let value = KeyValue::parse(value)?;
        match value.kind {
            ..=kind::LIMIT => {}
            merge::ORPHAN => return Err(Unreadable::Orphan.into()),
            other => return Err(Unreadable::Kind(other).into()),
        }
        let mut db = database(shard, number);
        if !Type::of(value.kind).is_collection() {
            let expiry = value.expire_at.map_or(Expiry::Clear, Expiry::At);
            db.put(key, value.kind, NewValue::Bytes(value.body), expiry);
            return Ok(());
        }
        let generation = value.generation()?;
        begin(&mut db, key, value.kind, generation)?;
        if let Some(mut slot) = db.find_write(key) {
            slot.set_expiry(value.expire_at);
            let handle = slot.handle();
            self.headers.push(Header {
                database: id,
                generation,
                number,
                handle,
            });
        }
        Ok(())
    }

    fn number_of(&mut self, id: DatabaseId) -> Result<u16, LoadError> {
        // Rows of one database stand together.
        match self.last {
            Some((last, number)) if last == id => Ok(number),
            _ => {
                let number = self.meta.number_of(id).ok_or(LoadError::NoDatabase(id.0))?;
                self.last = Some((id, number));
                Ok(number)
            }
        }
    }

    fn sort(&mut self) {
        if !self.sorted {
            self.sorted = true;
            self.headers
                .sort_unstable_by_key(|header| (header.database, header.generation));
        }
    }

    /// Goes on to the collection of an element.
    fn stand_at(
        &mut self,
        shard: &mut Shard,
        database: DatabaseId,
        generation: u64,
    ) -> Result<(), LoadError> {
        self.sort();
        let wanted = (database, generation);
        let stands = |header: &Header| (header.database, header.generation) == wanted;
        if self.headers.get(self.at).is_some_and(stands) {
            return Ok(());
        }
        self.leave(shard)?;
        match self.headers.get(self.at) {
            Some(header) if stands(header) => Ok(()),
            Some(header) if (header.database, header.generation) < wanted => {
                Err(LoadError::NoElements(header.generation))
            }
            _ => Err(LoadError::NoCollection(generation)),
        }
    }

    /// The elements of the collection are over.
    fn leave(&mut self, shard: &mut Shard) -> Result<(), LoadError> {
        self.fill(shard)?;
        if std::mem::take(&mut self.batch.filled) {
            self.at += 1;
        }
        Ok(())
    }

    fn fill(&mut self, shard: &mut Shard) -> Result<(), LoadError> {
        if self.batch.elements.is_empty() {
            return Ok(());
        }
        let Some(header) = self.headers.get(self.at) else {
            return Ok(());
        };
        let name = shard.heap.key_of(header.handle).to_vec();
        let mut db = database(shard, header.number);
        let key = db.key(&name);
        put_elements(&mut db, key, &self.batch)?;
        // A full entry moves: the handle is to be of where it is now.
        if let Some(slot) = db.find_write(key) {
            self.headers[self.at].handle = slot.handle();
        }
        self.batch.bytes.clear();
        self.batch.elements.clear();
        self.batch.filled = true;
        Ok(())
    }
}

fn database(shard: &mut Shard, number: u16) -> Db<'_> {
    // At time zero nothing is past its time: expiry is told by effects.
    Db {
        shard,
        index: number,
        now: crate::exec::Now::default(),
        no_touch: true,
    }
}

/// An empty collection at a key.
pub fn begin(db: &mut Db<'_>, key: Key<'_>, kind: u8, generation: u64) -> Result<(), Unreadable> {
    match kind {
        // No more than the generation: an empty packed list.
        kind::LIST => {
            db.put(
                key,
                kind,
                NewValue::Bytes(&generation.to_le_bytes()),
                Expiry::Clear,
            );
        }
        kind::HASH => db.put_empty(key, kind, generation, b""),
        kind::SET => db.put_empty(key, kind::SET_INTS, generation, &ints::EMPTY),
        kind::SORTED_SET => sorted_set::begin(db, key, generation),
        other => return Err(Unreadable::Kind(other)),
    }
    Ok(())
}

fn put_elements(db: &mut Db<'_>, key: Key<'_>, batch: &Batch) -> Result<(), LoadError> {
    let Some(slot) = db.find_write(key) else {
        return Ok(());
    };
    match Type::of(slot.kind()) {
        Type::Hash => put_fields(db, key, batch),
        Type::Set => {
            if let Some(mut writer) = db.open_set(key) {
                for (_, member, _) in batch.iter() {
                    writer.add(member);
                }
            }
            Ok(())
        }
        Type::List => {
            let mut result = Ok(());
            change(db, key, |list, fill| {
                for (order, rest, value) in batch.iter() {
                    match row::position(order, rest) {
                        Ok(position) => list.put_at(position, value, fill),
                        Err(error) => result = Err(error.into()),
                    }
                }
            });
            result
        }
        Type::SortedSet => put_scores(db, key, batch),
        _ => Err(Unreadable::Kind(slot.kind()).into()),
    }
}

fn put_fields(db: &mut Db<'_>, key: Key<'_>, batch: &Batch) -> Result<(), LoadError> {
    let Some(mut writer) = db.open_hash(key) else {
        return Ok(());
    };
    let mut result = Ok(());
    for (_, field, value) in batch.iter() {
        match KeyValue::parse(value) {
            Ok(value) => {
                let expiry = value.expire_at.map_or(Expiry::Clear, Expiry::At);
                writer.set(field, value.body, expiry);
            }
            Err(error) => result = Err(error.into()),
        }
    }
    let finished = writer.finish();
    db.finish_hash(key, finished);
    result
}

fn put_scores(db: &mut Db<'_>, key: Key<'_>, batch: &Batch) -> Result<(), LoadError> {
    let shard = &mut *db.shard;
    let table = &mut shard.databases[db.index as usize];
    let Some(mut slot) = table.get_mut(&mut shard.heap, key.hash, key.bytes) else {
        return Ok(());
    };
    let mut editor = Editor {
        slot: &mut slot,
        limits: shard.limits,
        scratch: &mut shard.scratch,
    };
    for (_, member, value) in batch.iter() {
        let bits = value.first_chunk::<8>().ok_or(Unreadable::Short)?;
        editor.put(member, f64::from_bits(u64::from_le_bytes(*bits)));
    }
    Ok(())
}

//! Hashes and sets in the keyspace: how a command gets a writer, and what follows when it has written.

use super::{Classes, Db, Key, Type, kind};
use crate::error::Error;
use crate::value::hash::HashWriter;
use crate::value::set::{SetWriter, ints};

/// How a hash ended after its writer was done.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    pub empty: bool,
    /// The time that the index should now hold, where it changed.
    pub due_ms: Option<Option<u64>>,
}

impl Db<'_> {
    /// A writer for the hash at the key, if there is one.
    pub fn hash_writer<'a>(&'a mut self, key: Key<'a>) -> Result<Option<HashWriter<'a>>, Error> {
        if self.find_write_type(key, Type::Hash)?.is_none() {
            return Ok(None);
        }
        Ok(self.open_hash(key))
    }

    /// A writer for the hash at the key, which is made if there is none.
    pub fn hash_writer_or_new<'a>(&'a mut self, key: Key<'a>) -> Result<HashWriter<'a>, Error> {
        if self.find_write_type(key, Type::Hash)?.is_none() {
            self.create(key, kind::HASH, kind::HASH, b"");
        }
        self.open_hash(key).ok_or(crate::error::NO_SUCH_KEY)
    }

    pub(crate) fn open_hash<'a>(&'a mut self, key: Key<'a>) -> Option<HashWriter<'a>> {
        let now_ms = self.now.ms();
        let (slot, out, limits) = self.open(key)?;
        Some(HashWriter::new(slot, out, limits, key.bytes, now_ms))
    }

    /// Keeps the index of field times; `true` if the hash is empty, so that its key must go.
    pub fn finish_hash(&mut self, key: Key<'_>, finished: Finished) -> bool {
        if let Some(due_ms) = finished.due_ms {
            let shard = &mut *self.shard;
            shard.field_times.note(&mut shard.heap, self.index, key, due_ms);
        }
        finished.empty
    }

    /// Deletes the key of a collection that has become empty.
    pub fn delete_emptied(&mut self, key: Key<'_>) {
        if self.delete(key) {
            self.notify(Classes::GENERIC, "del", key);
        }
    }

    /// Removes the due fields of one hash, in at most `most` steps of `buckets` buckets; the steps it took.
    pub(super) fn expire_fields_of(&mut self, name: &[u8], buckets: usize, most: usize) -> usize {
        let key = self.key(name);
        let mut steps = 0;
        let mut removed = 0;
        // A key past its own time goes whole.
        let Ok(Some(mut writer)) = self.hash_writer(key) else {
            return 1;
        };
        while steps < most.max(1) {
            steps += 1;
            let (gone, complete) = writer.remove_due(buckets);
            removed += gone;
            if complete {
                break;
            }
        }
        let finished = writer.finish();
        let empty = self.finish_hash(key, finished);
        if removed > 0 {
            self.shard.stats.expired_fields += removed as u64;
            self.touch(key);
            self.notify(Classes::HASH, "hexpired", key);
            if empty {
                self.delete_emptied(key);
            }
        }
        steps
    }

    /// A writer for the set at the key, if there is one.
    pub fn set_writer<'a>(&'a mut self, key: Key<'a>) -> Result<Option<SetWriter<'a>>, Error> {
        if self.find_write_type(key, Type::Set)?.is_none() {
            return Ok(None);
        }
        Ok(self.open_set(key))
    }

    pub(crate) fn open_set<'a>(&'a mut self, key: Key<'a>) -> Option<SetWriter<'a>> {
        let (slot, out, limits) = self.open(key)?;
        Some(SetWriter::new(slot, out, limits, key.bytes))
    }

    /// A new, empty set in the place of whatever stood there.
    pub fn create_set(&mut self, key: Key<'_>) {
        self.create(key, kind::SET_INTS, kind::SET, &ints::EMPTY);
    }
}

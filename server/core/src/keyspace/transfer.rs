//! Entries that change their name or their database, and copies of entries.
//!
//! A moved entry keeps its expiry, its access bits and, being the same collection, its generation; a copy is
//! a collection of its own with the same elements. What commands ask of either is not known here.

use super::collection::{GENERATION_BYTES, packed_generation};
use super::{Collection, Db, Key, Type};
use crate::effect::{Effect, rows};
use crate::memory::{Expiry, NewValue, Value};

/// An entry outside of any table, as `Db::put` takes it.
struct Loose {
    kind: u8,
    expire_at: Option<u64>,
    access: u32,
    value: LooseValue,
}

enum LooseValue {
    Bytes(Vec<u8>),
    Boxed(Box<Collection>),
}

impl Db<'_> {
    /// Another database of the same shard.
    pub fn other(&mut self, index: u16) -> Db<'_> {
        Db {
            shard: &mut *self.shard,
            index,
            now: self.now,
            no_touch: self.no_touch,
        }
    }

    /// Moves the entry of `from` to `to`, with effects and touches. It is there, and whatever stood at `to`
    /// was deleted before.
    pub fn rename(&mut self, from: Key<'_>, to_db: u16, to: Key<'_>) {
        let generation = self.generation_of(from);
        if to_db != self.index && generation.is_some() && self.shard.effects.on() {
            // Rows stand by their database: in another one they are others.
            self.copy(from, to_db, to);
            self.delete(from);
            return;
        }
        if !self.relocate(from, to_db, to) {
            return;
        }
        self.tell_moved(from, generation, to_db, to);
        self.touch(from);
        self.other(to_db).touch(to);
    }

    fn tell_moved(&mut self, from: Key<'_>, generation: Option<u64>, to_db: u16, to: Key<'_>) {
        if !self.shard.effects.on() {
            return;
        }
        let Some(generation) = generation else {
            self.emit(Effect::Delete {
                key: from.bytes,
                generation: None,
            });
            self.other(to_db).emit_whole(to);
            return;
        };
        let Some(entry) = self.entry(to) else { return };
        let effect = Effect::Rename {
            from: from.bytes,
            to: to.bytes,
            kind: rows::created_kind(entry.kind()),
            generation,
            expire_at: entry.expire_at_ms(),
        };
        self.emit(effect);
    }

    /// The same without effect or touch: what a follower does. `false` if nothing stands at `from`.
    pub fn relocate(&mut self, from: Key<'_>, to_db: u16, to: Key<'_>) -> bool {
        let Some(loose) = self.take(from) else {
            return false;
        };
        self.other(to_db).place(to, loose);
        true
    }

    /// Takes the entry out of its table with all that it holds.
    fn take(&mut self, key: Key<'_>) -> Option<Loose> {
        let shard = &mut *self.shard;
        let table = &mut shard.databases[self.index as usize];
        let entry = table.get(&shard.heap, key.hash, key.bytes)?;
        let (kind, expire_at, access) = (entry.kind(), entry.expire_at_ms(), entry.access());
        let bytes = match entry.value() {
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Boxed(_) => Vec::new(),
        };
        let removed = table.remove(&mut shard.heap, key.hash, key.bytes)?;
        let value = match removed.old_box {
            Some(collection) => {
                if collection.field_due_ms().is_some() {
                    shard.field_times.note(&mut shard.heap, self.index, key, None);
                }
                LooseValue::Boxed(collection)
            }
            None => LooseValue::Bytes(bytes),
        };
        Some(Loose {
            kind,
            expire_at,
            access,
            value,
        })
    }

    fn place(&mut self, key: Key<'_>, loose: Loose) {
        let expiry = loose.expire_at.map_or(Expiry::Clear, Expiry::At);
        match loose.value {
            LooseValue::Bytes(bytes) => self.put(key, loose.kind, NewValue::Bytes(&bytes), expiry),
            LooseValue::Boxed(collection) => self.put(key, loose.kind, NewValue::Boxed(collection), expiry),
        };
        if let Some(mut slot) = self.find_write(key) {
            slot.set_access(loose.access);
        }
    }

    /// Puts a copy of the entry at `from` where nothing stands, with effects and touch.
    pub fn copy(&mut self, from: Key<'_>, to_db: u16, to: Key<'_>) {
        let Some(loose) = self.duplicate(from) else {
            return;
        };
        let mut target = self.other(to_db);
        target.place(to, loose);
        target.emit_whole(to);
        target.touch(to);
    }

    /// The entry's content once more, as a collection of its own.
    fn duplicate(&mut self, key: Key<'_>) -> Option<Loose> {
        let generation = self.shard.generation + 1;
        let shard = &mut *self.shard;
        let table = &mut shard.databases[self.index as usize];
        let mut slot = table.get_mut(&mut shard.heap, key.hash, key.bytes)?;
        let (kind, expire_at, access) = (slot.kind(), slot.expire_at_ms(), slot.access());
        let boxed = slot
            .boxed()
            .map(|(collection, heap)| Box::new(collection.duplicate(generation, heap)));
        let value = match boxed {
            Some(collection) => LooseValue::Boxed(collection),
            None => {
                let mut bytes = slot.entry().bytes().to_vec();
                if Type::of(kind).is_collection() {
                    debug_assert_ne!(packed_generation(&bytes), generation, "generations are new");
                    bytes[..GENERATION_BYTES].copy_from_slice(&generation.to_le_bytes());
                }
                LooseValue::Bytes(bytes)
            }
        };
        if Type::of(kind).is_collection() {
            shard.generation = generation;
        }
        Some(Loose {
            kind,
            expire_at,
            access,
            value,
        })
    }

    /// Tells all rows of an entry that has just been put, if anyone listens.
    fn emit_whole(&mut self, key: Key<'_>) {
        let shard = &mut *self.shard;
        if !shard.effects.on() {
            return;
        }
        let index = self.index;
        let table = &shard.databases[index as usize];
        if let Some(entry) = table.get(&shard.heap, key.hash, key.bytes) {
            let effects = &mut shard.effects;
            rows::for_each(entry, &shard.heap, &mut |effect| effects.push(index, effect));
        }
    }
}

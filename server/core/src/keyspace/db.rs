//! One database of a shard at one moment: how commands read and change keys.

use super::collection::{GENERATION_BYTES, packed_generation};
use super::{AccessPolicy, Classes, Collection, Event, Limits, Shard, Type, kind};
use crate::effect::{Effect, Emitter};
use crate::error::{Error, WRONG_TYPE};
use crate::exec::Now;
use crate::memory::{Entry, Expiry, Found, NewValue, Put, Removed, Seek, Slot, Value};

/// A key with its hash, computed once a command.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    pub bytes: &'k [u8],
    pub hash: u64,
}

pub struct Db<'a> {
    pub shard: &'a mut Shard,
    pub index: u16,
    pub now: Now,
    /// `CLIENT NO-TOUCH`: reads leave the access bits alone.
    pub no_touch: bool,
}

impl Db<'_> {
    /// The key with its hash; the hash of the command's first key is known from its parse.
    #[inline]
    pub fn key<'k>(&self, bytes: &'k [u8]) -> Key<'k> {
        let hint = self.shard.hint;
        let hash = if hint.is_of(bytes) {
            hint.hash
        } else {
            self.shard.heap.hash(bytes)
        };
        self.shard.uncommitted.note_named(hash);
        Key { bytes, hash }
    }

    /// The entry for reading: counts a hit or a miss and marks the entry as used. An entry past its time
    /// is removed and counts as absent.
    #[inline]
    pub fn find(&mut self, key: Key<'_>) -> Option<Slot<'_, Collection>> {
        let used = self.one_use();
        let Some(found) = self.seek(key) else {
            self.shard.stats.misses += 1;
            self.notify(Classes::KEY_MISS, "keymiss", key);
            return None;
        };
        self.shard.stats.hits += 1;
        let mut slot = self.slot_at(found);
        used.mark(&mut slot);
        Some(slot)
    }

    /// The entry for changing its value in place, which is a use of it (a put marks its entry itself).
    #[inline]
    pub fn find_edit(&mut self, key: Key<'_>) -> Option<Slot<'_, Collection>> {
        let used = self.one_use();
        let found = self.seek(key)?;
        let mut slot = self.slot_at(found);
        used.mark(&mut slot);
        Some(slot)
    }

    #[inline]
    fn one_use(&mut self) -> Use {
        let access = self.shard.access;
        Use {
            access: (!self.no_touch).then_some(access),
            now_ms: self.now.ms(),
            random: if access.lfu { self.shard.random() } else { 0 },
        }
    }

    /// The entry for changing it (or for looking without counting): an entry past its time is removed.
    #[inline]
    pub fn find_write(&mut self, key: Key<'_>) -> Option<Slot<'_, Collection>> {
        let found = self.seek(key)?;
        Some(self.slot_at(found))
    }

    /// Where the key is, if it is alive; an entry past its time is removed.
    #[inline]
    fn seek(&mut self, key: Key<'_>) -> Option<Found> {
        let table = &self.shard.databases[self.index as usize];
        match table.seek(&self.shard.heap, key.hash, key.bytes, self.now.ms()) {
            Seek::Here(found) => Some(found),
            Seek::Absent => None,
            Seek::Expired => {
                if !self.shard.expiry_cycle.suspended {
                    self.expire(key);
                }
                None
            }
        }
    }

    #[inline]
    fn slot_at(&mut self, found: Found) -> Slot<'_, Collection> {
        let shard = &mut *self.shard;
        shard.databases[self.index as usize].slot_at(&mut shard.heap, found)
    }

    /// The entry of that type for reading, or `WRONGTYPE`.
    #[inline]
    pub fn find_type(&mut self, key: Key<'_>, wanted: Type) -> Result<Option<Slot<'_, Collection>>, Error> {
        match self.find(key) {
            None => Ok(None),
            Some(slot) if Type::of(slot.kind()) == wanted => Ok(Some(slot)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// The entry of that type for changing, or `WRONGTYPE`.
    #[inline]
    pub fn find_write_type(
        &mut self,
        key: Key<'_>,
        wanted: Type,
    ) -> Result<Option<Slot<'_, Collection>>, Error> {
        match self.find_write(key) {
            None => Ok(None),
            Some(slot) if Type::of(slot.kind()) == wanted => Ok(Some(slot)),
            Some(_) => Err(WRONG_TYPE),
        }
    }

    /// A string's bytes for reading.
    #[inline]
    pub fn string(&mut self, key: Key<'_>) -> Result<Option<&[u8]>, Error> {
        match self.find_type(key, Type::String)? {
            Some(slot) => Ok(Some(slot.into_entry().bytes())),
            None => Ok(None),
        }
    }

    /// Whether the key is there, without counting or marking.
    #[inline]
    pub fn is_live(&mut self, key: Key<'_>) -> bool {
        self.seek(key).is_some()
    }

    #[inline]
    fn peek_mut(&mut self, key: Key<'_>) -> Option<Slot<'_, Collection>> {
        let shard = &mut *self.shard;
        shard.databases[self.index as usize].get_mut(&mut shard.heap, key.hash, key.bytes)
    }

    /// The entry as it is, without counting, marking or removing: for commands that read several keys at
    /// once, after `find_type` has seen to each.
    #[inline]
    pub fn entry(&self, key: Key<'_>) -> Option<Entry<'_, Collection>> {
        self.shard.databases[self.index as usize].get(&self.shard.heap, key.hash, key.bytes)
    }

    /// The entry for a collection's writer, with what the writer needs beside it. An entry past its time
    /// must have been seen to before (`find_write_type`).
    #[inline]
    pub fn open(&mut self, key: Key<'_>) -> Option<(Slot<'_, Collection>, Emitter<'_>, &Limits)> {
        let shard = &mut *self.shard;
        let table = &mut shard.databases[self.index as usize];
        let slot = table.get_mut(&mut shard.heap, key.hash, key.bytes)?;
        Some((slot, Emitter::new(&mut shard.effects, self.index), &shard.limits))
    }

    /// Puts a new, empty collection at the key in the place of whatever stood there: `packed` is what
    /// follows the generation in its packed form.
    pub fn create(&mut self, key: Key<'_>, entry_kind: u8, kind: u8, packed: &[u8]) {
        self.tell_replaced(key);
        let generation = self.shard.next_generation();
        self.put_empty(key, entry_kind, generation, packed);
        self.emit(Effect::Create {
            key: key.bytes,
            kind,
            generation,
        });
    }

    /// The same without the effect, for a generation that was given elsewhere.
    pub fn put_empty(&mut self, key: Key<'_>, entry_kind: u8, generation: u64, packed: &[u8]) {
        let mut value = [0u8; 16];
        let len = GENERATION_BYTES + packed.len().min(8);
        value[..GENERATION_BYTES].copy_from_slice(&generation.to_le_bytes());
        value[GENERATION_BYTES..len].copy_from_slice(&packed[..len - GENERATION_BYTES]);
        self.put(key, entry_kind, NewValue::Bytes(&value[..len]), Expiry::Clear);
    }

    /// Stores a string: effect, touch and the drop of whatever was there. `true` if the key was there.
    #[inline]
    pub fn put_string(&mut self, key: Key<'_>, value: &[u8], expiry: Expiry) -> bool {
        self.put_value(key, kind::STRING, value, expiry)
    }

    /// Stores a value that is one row (a string, an `IDEM` or a `LIMIT` record) whole.
    #[inline]
    pub fn put_value(&mut self, key: Key<'_>, kind: u8, value: &[u8], expiry: Expiry) -> bool {
        let (put, generation) = self.put_seen(key, kind, NewValue::Bytes(value), expiry);
        if self.shard.effects.on() {
            if generation.is_some() {
                self.emit(Effect::Delete {
                    key: key.bytes,
                    generation,
                });
            }
            let expire_at = match expiry {
                Expiry::Clear => None,
                Expiry::At(at) => Some(at),
                Expiry::Keep => self.peek_mut(key).and_then(|slot| slot.expire_at_ms()),
            };
            let created = !put.replaced || generation.is_some();
            self.emit(Effect::Put {
                key: key.bytes,
                kind,
                value,
                expire_at,
                created,
            });
        }
        self.touch(key);
        put.replaced
    }

    /// Stores without effect or touch: for the families' writers, which emit their own finer effects.
    /// Frees the large collection that stood there.
    #[inline]
    pub fn put(
        &mut self,
        key: Key<'_>,
        kind: u8,
        value: NewValue<'_, Collection>,
        expiry: Expiry,
    ) -> Put<Collection> {
        self.put_seen(key, kind, value, expiry).0
    }

    /// The same; where effects are told, with the generation of the collection that stood there.
    #[inline]
    fn put_seen(
        &mut self,
        key: Key<'_>,
        kind: u8,
        value: NewValue<'_, Collection>,
        expiry: Expiry,
    ) -> (Put<Collection>, Option<u64>) {
        let shard = &mut *self.shard;
        let tells = shard.effects.on();
        let due_ms = match &value {
            NewValue::Boxed(collection) => collection.field_due_ms(),
            NewValue::Bytes(_) => None,
        };
        let table = &mut shard.databases[self.index as usize];
        let see = |old: Entry<'_, Collection>| if tells { generation_of(old) } else { None };
        let heap = &mut shard.heap;
        let (mut put, seen) = table.put_seen(heap, key.hash, key.bytes, kind, value, expiry, see);
        if let Some(old) = put.old_box.take() {
            if due_ms.is_none() && old.field_due_ms().is_some() {
                shard.field_times.note(&mut shard.heap, self.index, key, None);
            }
            shard.bury(old);
        }
        if due_ms.is_some() {
            shard.field_times.note(&mut shard.heap, self.index, key, due_ms);
        }
        if !put.replaced {
            self.notify(Classes::NEW, "new", key);
        }
        (put, seen.flatten())
    }

    /// Removes the key with its effect and touch; `false` if it was not there. The caller notifies.
    pub fn delete(&mut self, key: Key<'_>) -> bool {
        if !self.is_live(key) {
            return false;
        }
        let generation = self.generation_of(key);
        self.remove(key);
        self.emit(Effect::Delete {
            key: key.bytes,
            generation,
        });
        self.touch(key);
        true
    }

    /// Before a collection is created, or one is overwritten: tells that what stands at the key goes.
    pub fn tell_replaced(&mut self, key: Key<'_>) {
        if self.shard.effects.on() && self.entry(key).is_some() {
            let generation = self.generation_of(key);
            self.emit(Effect::Delete {
                key: key.bytes,
                generation,
            });
        }
    }

    /// Removes without effect or touch.
    pub fn remove(&mut self, key: Key<'_>) -> bool {
        let shard = &mut *self.shard;
        let table = &mut shard.databases[self.index as usize];
        match table.remove(&mut shard.heap, key.hash, key.bytes) {
            None => false,
            Some(Removed { old_box, .. }) => {
                if let Some(old) = old_box {
                    if old.field_due_ms().is_some() {
                        shard.field_times.note(&mut shard.heap, self.index, key, None);
                    }
                    shard.bury(old);
                }
                true
            }
        }
    }

    /// The generation of the collection at the key, if one is there.
    pub fn generation_of(&self, key: Key<'_>) -> Option<u64> {
        let table = &self.shard.databases[self.index as usize];
        generation_of(table.get(&self.shard.heap, key.hash, key.bytes)?)
    }

    /// Sets or clears the time at which the key goes, with effect and touch. `false`: no such key.
    pub fn set_expiry(&mut self, key: Key<'_>, at_ms: Option<u64>) -> bool {
        let Some(mut slot) = self.find_write(key) else {
            return false;
        };
        slot.set_expiry(at_ms);
        self.emit(Effect::Expire {
            key: key.bytes,
            at: at_ms,
        });
        self.touch(key);
        true
    }

    /// Removes an entry because its time has come (or would have: an expiry set in the past).
    #[cold]
    pub fn expire(&mut self, key: Key<'_>) {
        let generation = self.generation_of(key);
        self.remove(key);
        self.shard.stats.expired += 1;
        self.emit(Effect::Delete {
            key: key.bytes,
            generation,
        });
        self.notify(Classes::EXPIRED, "expired", key);
        self.tell(key);
    }

    /// Removes a key that a command gives a time that has passed, which counts as a change of it.
    pub fn expire_now(&mut self, key: Key<'_>) {
        if self.is_live(key) {
            self.expire(key);
            self.shard.stats.changes += 1;
        }
    }

    /// Tells the readers of effects, if there are any.
    #[inline]
    pub fn emit(&mut self, effect: Effect<'_>) {
        if self.shard.effects.on() {
            self.shard.effects.push(self.index, &effect);
        }
    }

    /// The key changed: counts it and wakes who watches or waits.
    #[inline]
    pub fn touch(&mut self, key: Key<'_>) {
        self.shard.stats.changes += 1;
        self.tell(key);
    }

    #[inline]
    fn tell(&mut self, key: Key<'_>) {
        self.shard.uncommitted.note_change(key.hash);
        self.shard.interest.touch(self.index, key.bytes);
    }

    /// What was done since the shard counted `before` counts as so many changes: as Valkey counts them, for
    /// those who compare `rdb_changes_since_last_save`.
    #[inline]
    pub fn recount(&mut self, before: u64, changes: usize) {
        self.shard.stats.changes = before + changes as u64;
    }

    /// A keyspace event, if somebody configured its class.
    #[inline]
    pub fn notify(&mut self, class: Classes, name: &'static str, key: Key<'_>) {
        if self.shard.notify.any(class) {
            let (db, key) = (self.index, Box::from(key.bytes));
            self.shard.events.push(Event { class, name, db, key });
        }
    }
}

fn generation_of(entry: Entry<'_, Collection>) -> Option<u64> {
    if !Type::of(entry.kind()).is_collection() {
        return None;
    }
    Some(match entry.value() {
        Value::Bytes(bytes) => packed_generation(bytes),
        Value::Boxed(collection) => collection.generation(),
    })
}

/// One use of an entry, for what eviction remembers.
#[derive(Clone, Copy)]
struct Use {
    /// `None` leaves the entry as it is.
    access: Option<AccessPolicy>,
    now_ms: u64,
    random: u64,
}

impl Use {
    #[inline]
    fn mark(self, slot: &mut Slot<'_, Collection>) {
        if let Some(access) = self.access {
            let old = slot.access();
            let new = access.used(old, self.now_ms, self.random);
            // Comparing first leaves the cache line clean.
            if new != old {
                slot.set_access(new);
            }
        }
    }
}

/// The hash of the running command's first key, found by where the key stands in the received bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint {
    start: usize,
    hash: u64,
    /// Never zero where there is a hint: an empty key has none.
    len: u32,
}

impl Hint {
    pub const NONE: Self = Self {
        start: 0,
        hash: 0,
        len: 0,
    };

    #[inline]
    pub fn new(key: &[u8], hash: u64) -> Self {
        Self {
            start: key.as_ptr() as usize,
            hash,
            len: key.len() as u32,
        }
    }

    /// The hash, if there is one.
    #[inline]
    pub fn hash(&self) -> Option<u64> {
        (self.len != 0).then_some(self.hash)
    }

    #[inline]
    fn is_of(&self, bytes: &[u8]) -> bool {
        bytes.as_ptr() as usize == self.start && bytes.len() == self.len as usize && self.len != 0
    }
}

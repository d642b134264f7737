//! Changing a hash: each change tells its effect, and turns a packed hash into a table when it must.

use super::table::HashTable;
use super::view::{Field, HashView, Pairs, find_pair, is_live};
use crate::effect::{Effect, Emitter};
use crate::keyspace::collection::{GENERATION_BYTES, packed_generation};
use crate::keyspace::{Collection, Finished, Limits};
use crate::memory::{EXPIRE_AT_MS_MAX, Expiry, NewValue, Slot, Value};
use crate::value::splice::{splice, splice_element, splice_pair};

/// A hash with the right to change it. [`HashWriter::finish`] tells what the keyspace must do
/// afterwards.
pub struct HashWriter<'a> {
    slot: Slot<'a, Collection>,
    out: Emitter<'a>,
    limits: &'a Limits,
    key: &'a [u8],
    generation: u64,
    now_ms: u64,
    /// What the index of field times holds of this hash.
    indexed: Option<u64>,
}

/// What stood at a field that was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Before {
    Absent,
    /// It was there, but its time had come.
    Overdue,
    Present,
}

impl<'a> HashWriter<'a> {
    /// `slot` holds a hash.
    pub fn new(
        slot: Slot<'a, Collection>,
        out: Emitter<'a>,
        limits: &'a Limits,
        key: &'a [u8],
        now_ms: u64,
    ) -> Self {
        let (generation, indexed) = match slot.value() {
            Value::Bytes(bytes) => (packed_generation(bytes), None),
            Value::Boxed(collection) => (collection.generation(), collection.field_due_ms()),
        };
        Self {
            slot,
            out,
            limits,
            key,
            generation,
            now_ms,
            indexed,
        }
    }

    pub fn view(&mut self) -> HashView<'_> {
        HashView::of_slot(&mut self.slot)
    }

    pub fn get(&mut self, name: &[u8]) -> Option<Field<'_>> {
        let now_ms = self.now_ms;
        self.view().get(name, now_ms)
    }

    /// Ends the writing: what the keyspace must do about it.
    pub fn finish(self) -> Finished {
        let (empty, due_ms) = match self.slot.value() {
            Value::Bytes(bytes) => (bytes.len() <= GENERATION_BYTES, None),
            Value::Boxed(collection) => (collection.is_empty(), collection.field_due_ms()),
        };
        Finished {
            empty,
            due_ms: (due_ms != self.indexed).then_some(due_ms),
        }
    }

    /// Becomes a table at once if `adding` fields or any of these words exceed what is packed.
    pub fn make_room<'w>(&mut self, adding: usize, mut words: impl Iterator<Item = &'w [u8]>) {
        let longest = self.limits.hash_max_listpack_value;
        if adding > self.limits.hash_max_listpack_entries || words.any(|word| word.len() > longest) {
            self.become_table();
        }
    }

    /// Stores a field. `expiry` as for keys; a field past its time keeps nothing.
    pub fn set(&mut self, name: &[u8], value: &[u8], expiry: Expiry) -> Before {
        let longest = self.limits.hash_max_listpack_value;
        if matches!(expiry, Expiry::At(_)) || name.len() > longest || value.len() > longest {
            self.become_table();
        }
        let (before, expire_at) = if matches!(self.slot.value(), Value::Bytes(_)) {
            (self.set_packed(name, value), None)
        } else {
            self.set_in_table(name, value, expiry)
        };
        self.out.emit(Effect::HashPut {
            key: self.key,
            generation: self.generation,
            field: name,
            value,
            expire_at,
            created: before == Before::Absent,
        });
        before
    }

    fn set_packed(&mut self, name: &[u8], value: &[u8]) -> Before {
        let bytes = self.slot.entry().bytes();
        match find_pair(bytes, name) {
            Ok(pair) if pair.value_len == value.len() => {
                let end = pair.end;
                self.slot.bytes_mut()[end - value.len()..end].copy_from_slice(value);
                Before::Present
            }
            Ok(pair) => {
                splice_element(&mut self.slot, pair.middle..pair.end, value);
                Before::Present
            }
            Err(count) => {
                let end = bytes.len();
                splice_pair(&mut self.slot, end..end, name, value);
                if count >= self.limits.hash_max_listpack_entries {
                    self.become_table();
                }
                Before::Absent
            }
        }
    }

    fn set_in_table(&mut self, name: &[u8], value: &[u8], expiry: Expiry) -> (Before, Option<u64>) {
        let now_ms = self.now_ms;
        let Some((Collection::Hash(table), heap)) = self.slot.boxed() else {
            return (Before::Absent, None);
        };
        let hash = heap.hash(name);
        let mut expiry = expiry;
        let old = table.fields.get(heap, hash, name);
        let old_time = old.and_then(|entry| entry.expire_at_ms());
        let before = match (old, old_time) {
            (None, _) => Before::Absent,
            (Some(_), Some(at)) if at <= now_ms => Before::Overdue,
            _ => Before::Present,
        };
        if before == Before::Overdue && expiry == Expiry::Keep {
            expiry = Expiry::Clear;
        }
        let expire_at = match expiry {
            Expiry::Keep => old_time,
            Expiry::Clear => None,
            Expiry::At(at) => Some(at.min(EXPIRE_AT_MS_MAX)),
        };
        table
            .fields
            .put(heap, hash, name, 0, NewValue::Bytes(value), expiry);
        match expire_at {
            Some(at) => table.note_time(at),
            None if old_time.is_some() => table.note_untimed(),
            None => {}
        }
        (before, expire_at)
    }

    /// Sets or clears a field's time. The field is there.
    pub fn set_time(&mut self, name: &[u8], at_ms: Option<u64>) {
        if at_ms.is_some() {
            self.become_table();
        }
        let at_ms = at_ms.map(|at| at.min(EXPIRE_AT_MS_MAX));
        let (key, generation) = (self.key, self.generation);
        let Some((Collection::Hash(table), heap)) = self.slot.boxed() else {
            return;
        };
        let hash = heap.hash(name);
        let Some(mut slot) = table.fields.get_mut(heap, hash, name) else {
            return;
        };
        slot.set_expiry(at_ms);
        let value = slot.into_entry().bytes();
        self.out.emit(Effect::HashPut {
            key,
            generation,
            field: name,
            value,
            expire_at: at_ms,
            created: false,
        });
        match at_ms {
            Some(at) => table.note_time(at),
            None => table.note_untimed(),
        }
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &[u8]) -> Before {
        let before = self.remove_silently(name);
        if before != Before::Absent {
            let (key, generation) = (self.key, self.generation);
            self.out.emit(Effect::HashDelete {
                key,
                generation,
                field: name,
            });
        }
        before
    }

    fn remove_silently(&mut self, name: &[u8]) -> Before {
        if matches!(self.slot.value(), Value::Bytes(_)) {
            let Ok(pair) = find_pair(self.slot.entry().bytes(), name) else {
                return Before::Absent;
            };
            splice(&mut self.slot, pair.start..pair.end, 0);
            return Before::Present;
        }
        let now_ms = self.now_ms;
        let Some((Collection::Hash(table), heap)) = self.slot.boxed() else {
            return Before::Absent;
        };
        let hash = heap.hash(name);
        let Some(entry) = table.fields.get(heap, hash, name) else {
            return Before::Absent;
        };
        let time = entry.expire_at_ms();
        table.fields.remove(heap, hash, name);
        if time.is_some() {
            table.note_untimed();
        }
        if time.is_some_and(|at| at <= now_ms) {
            Before::Overdue
        } else {
            Before::Present
        }
    }

    /// Removes overdue fields among the next `buckets` buckets of the table; how many, and whether all of the
    /// hash has been walked.
    pub fn remove_due(&mut self, buckets: usize) -> (usize, bool) {
        let (now_ms, key, generation) = (self.now_ms, self.key, self.generation);
        let Some((Collection::Hash(table), heap)) = self.slot.boxed() else {
            return (0, true);
        };
        if table.due_ms() > now_ms {
            return (0, true);
        }
        let due = table.remove_due(heap, now_ms, buckets);
        for name in &due.names {
            self.out.emit(Effect::HashDelete {
                key,
                generation,
                field: name,
            });
        }
        (due.names.len(), due.complete)
    }

    fn become_table(&mut self) {
        if matches!(self.slot.value(), Value::Boxed(_)) {
            return;
        }
        let packed = self.slot.entry().bytes().to_vec();
        self.slot
            .set_boxed(Box::new(Collection::Hash(HashTable::new(self.generation))));
        let Some((Collection::Hash(table), heap)) = self.slot.boxed() else {
            return;
        };
        for field in Pairs::of(&packed) {
            let hash = heap.hash(field.name);
            table.fields.put(
                heap,
                hash,
                field.name,
                0,
                NewValue::Bytes(field.value),
                Expiry::Clear,
            );
        }
    }

    /// Whether a field is there and its time has not come.
    pub fn has(&mut self, name: &[u8]) -> bool {
        let now_ms = self.now_ms;
        self.get(name).is_some_and(|field| is_live(&field, now_ms))
    }
}

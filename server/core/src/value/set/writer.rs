//! Changing a set: each change tells its effect, and moves the set to its next form when it must.

use super::ints::{self, Ints};
use super::{SetTable, SetView};
use crate::effect::{Effect, Emitter};
use crate::keyspace::collection::{GENERATION_BYTES, packed_generation};
use crate::keyspace::{Collection, Limits, kind};
use crate::memory::{Expiry, Heap, NewValue, Slot, Value};
use crate::text::number::parse_i64;
use crate::value::packed::{self, elements};
use crate::value::splice::{splice, splice_element};

/// A set with the right to change it. The caller deletes the key if it ends empty.
pub struct SetWriter<'a> {
    slot: Slot<'a, Collection>,
    out: Emitter<'a>,
    limits: &'a Limits,
    key: &'a [u8],
    generation: u64,
}

impl<'a> SetWriter<'a> {
    /// `slot` holds a set.
    pub fn new(slot: Slot<'a, Collection>, out: Emitter<'a>, limits: &'a Limits, key: &'a [u8]) -> Self {
        let generation = match slot.value() {
            Value::Bytes(bytes) => packed_generation(bytes),
            Value::Boxed(collection) => collection.generation(),
        };
        Self {
            slot,
            out,
            limits,
            key,
            generation,
        }
    }

    pub fn view(&mut self) -> SetView<'_> {
        SetView::of_slot(&mut self.slot)
    }

    fn is_boxed(&self) -> bool {
        matches!(self.slot.value(), Value::Boxed(_))
    }

    /// Becomes a table at once if `adding` members exceed what its form holds.
    pub fn make_room(&mut self, adding: usize) {
        let most = if self.slot.kind() == kind::SET_INTS {
            self.limits.set_max_intset_entries
        } else {
            self.limits.set_max_listpack_entries
        };
        if adding > most && !self.is_boxed() {
            self.become_table();
        }
    }

    /// `false` if it was there.
    pub fn add(&mut self, member: &[u8]) -> bool {
        let added = if self.is_boxed() {
            self.add_to_table(member)
        } else if self.slot.kind() != kind::SET_INTS {
            self.add_packed(member)
        } else {
            match parse_i64(member) {
                Some(value) => self.add_int(value),
                None => {
                    self.leave_ints(member.len());
                    if self.is_boxed() {
                        self.add_to_table(member)
                    } else {
                        self.add_packed(member)
                    }
                }
            }
        };
        if added {
            let (key, generation) = (self.key, self.generation);
            self.out.emit(Effect::SetAdd {
                key,
                generation,
                member,
            });
        }
        added
    }

    fn add_int(&mut self, value: i64) -> bool {
        let ints = Ints::of(self.slot.entry().bytes());
        let Err(at) = ints.find(value) else { return false };
        let (width, count) = (ints.width(), ints.len());
        let needed = ints::width_of(value);
        if needed > width {
            let wide = ints::widen(ints, needed);
            let start = ints::START;
            let old_end = start + count * width;
            splice(&mut self.slot, start..old_end, wide.len()).copy_from_slice(&wide);
            self.slot.bytes_mut()[GENERATION_BYTES] = needed as u8;
        }
        let width = width.max(needed);
        let place = ints::START + at * width;
        ints::write(splice(&mut self.slot, place..place, width), value);
        if count >= self.limits.set_max_intset_entries {
            self.become_table();
        }
        true
    }

    /// Makes room for a member of that length that is not an integer.
    fn leave_ints(&mut self, len: usize) {
        let ints = Ints::of(self.slot.entry().bytes());
        let longest = self.limits.set_max_listpack_value;
        let own_longest = ints
            .get(0)
            .into_iter()
            .chain(ints.len().checked_sub(1).and_then(|last| ints.get(last)));
        let own_longest = own_longest
            .map(|value| itoa::Buffer::new().format(value).len())
            .max()
            .unwrap_or(0);
        if ints.len() >= self.limits.set_max_listpack_entries || len > longest || own_longest > longest {
            self.become_table();
            return;
        }
        let mut packed_bytes = Vec::with_capacity(ints.len() * 8);
        for value in ints.iter() {
            packed::push(&mut packed_bytes, itoa::Buffer::new().format(value).as_bytes());
        }
        let total = self.slot.entry().bytes().len();
        splice(&mut self.slot, GENERATION_BYTES..total, packed_bytes.len()).copy_from_slice(&packed_bytes);
        self.slot.set_kind(kind::SET);
    }

    fn add_packed(&mut self, member: &[u8]) -> bool {
        let bytes = self.slot.entry().bytes();
        let mut count = 0;
        for element in elements(bytes, GENERATION_BYTES) {
            if element.bytes == member {
                return false;
            }
            count += 1;
        }
        let fits = count < self.limits.set_max_listpack_entries;
        if fits && member.len() <= self.limits.set_max_listpack_value {
            let end = bytes.len();
            splice_element(&mut self.slot, end..end, member);
            return true;
        }
        self.become_table();
        self.add_to_table(member)
    }

    fn add_to_table(&mut self, member: &[u8]) -> bool {
        let Some((Collection::Set(table), heap)) = self.slot.boxed() else {
            return false;
        };
        insert(table, heap, member)
    }

    /// `false` if it was not there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let removed = match self.view() {
            SetView::Ints(ints) => match parse_i64(member).and_then(|value| ints.find(value).ok()) {
                None => false,
                Some(index) => {
                    let width = ints.width();
                    let place = ints::START + index * width;
                    splice(&mut self.slot, place..place + width, 0);
                    true
                }
            },
            SetView::Packed(bytes) => {
                match elements(bytes, GENERATION_BYTES)
                    .find(|e| e.bytes == member)
                    .map(|e| e.start..e.end)
                {
                    None => false,
                    Some(range) => {
                        splice(&mut self.slot, range, 0);
                        true
                    }
                }
            }
            SetView::Large(..) => match self.slot.boxed() {
                Some((Collection::Set(table), heap)) => {
                    let hash = heap.hash(member);
                    table.members.remove(heap, hash, member).is_some()
                }
                _ => false,
            },
        };
        if removed {
            let (key, generation) = (self.key, self.generation);
            self.out.emit(Effect::SetDelete {
                key,
                generation,
                member,
            });
        }
        removed
    }

    fn become_table(&mut self) {
        let mut table = SetTable::new(self.generation);
        let ints = self.slot.kind() == kind::SET_INTS;
        let bytes = self.slot.entry().bytes().to_vec();
        self.slot
            .set_boxed(Box::new(Collection::Set(SetTable::new(self.generation))));
        self.slot.set_kind(kind::SET);
        let Some((Collection::Set(own), heap)) = self.slot.boxed() else {
            return;
        };
        let old = if ints {
            SetView::Ints(Ints::of(&bytes))
        } else {
            SetView::Packed(&bytes)
        };
        old.for_each(|member| {
            insert(&mut table, heap, member);
        });
        *own = table;
    }
}

fn insert(table: &mut SetTable, heap: &mut Heap, member: &[u8]) -> bool {
    let hash = heap.hash(member);
    if table.members.get(heap, hash, member).is_some() {
        return false;
    }
    table
        .members
        .put(heap, hash, member, 0, NewValue::Bytes(b""), Expiry::Clear);
    true
}

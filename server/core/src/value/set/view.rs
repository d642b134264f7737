//! Reading a set, whichever form it has.

use super::ints::Ints;
use super::{SetTable, below};
use crate::keyspace::collection::GENERATION_BYTES;
use crate::keyspace::{Collection, kind};
use crate::memory::{Entry, Heap, Slot, Value};
use crate::text::number::parse_i64;
use crate::value::packed::elements;

#[derive(Clone, Copy)]
pub enum SetView<'a> {
    Ints(Ints<'a>),
    Packed(&'a [u8]),
    Large(&'a SetTable, &'a Heap),
}

impl<'a> SetView<'a> {
    pub const EMPTY: Self = Self::Packed(&[]);

    /// The set of an entry of that type.
    pub fn of(entry: Entry<'a, Collection>, heap: &'a Heap) -> Self {
        match entry.value() {
            Value::Boxed(Collection::Set(table)) => Self::Large(table, heap),
            Value::Boxed(_) => Self::EMPTY,
            Value::Bytes(bytes) if entry.kind() == kind::SET_INTS => Self::Ints(Ints::of(bytes)),
            Value::Bytes(bytes) => Self::Packed(bytes),
        }
    }

    /// The same, of an entry that was found for changing.
    #[inline]
    pub fn of_slot(slot: &'a mut Slot<'_, Collection>) -> Self {
        if matches!(slot.value(), Value::Boxed(_)) {
            return match slot.boxed() {
                Some((Collection::Set(table), heap)) => Self::Large(table, heap),
                _ => Self::EMPTY,
            };
        }
        let slot: &'a Slot<'_, Collection> = slot;
        let bytes = slot.entry().bytes();
        if slot.kind() == kind::SET_INTS {
            Self::Ints(Ints::of(bytes))
        } else {
            Self::Packed(bytes)
        }
    }

    #[inline]
    pub fn contains(self, member: &[u8]) -> bool {
        match self {
            Self::Ints(ints) => parse_i64(member).is_some_and(|value| ints.find(value).is_ok()),
            Self::Packed(bytes) => elements(bytes, GENERATION_BYTES).any(|e| e.bytes == member),
            Self::Large(table, heap) => table.members.get(heap, heap.hash(member), member).is_some(),
        }
    }

    pub fn len(self) -> usize {
        match self {
            Self::Ints(ints) => ints.len(),
            Self::Packed(bytes) => elements(bytes, GENERATION_BYTES).count(),
            Self::Large(table, _) => table.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Visits members until `visit` says to stop (`false`).
    pub fn all(self, mut visit: impl FnMut(&[u8]) -> bool) {
        match self {
            Self::Ints(ints) => {
                ints.iter()
                    .all(|value| visit(itoa::Buffer::new().format(value).as_bytes()));
            }
            Self::Packed(bytes) => {
                elements(bytes, GENERATION_BYTES).all(|e| visit(e.bytes));
            }
            Self::Large(table, heap) => {
                let (mut cursor, mut more) = (0, true);
                while more {
                    cursor = table
                        .members
                        .scan(heap, cursor, &mut |entry| more = more && visit(entry.key()));
                    more = more && cursor != 0;
                }
            }
        }
    }

    pub fn for_each(self, mut visit: impl FnMut(&[u8])) {
        match self {
            Self::Large(table, heap) => table.members.for_each(heap, |entry| visit(entry.key())),
            _ => self.all(|member| {
                visit(member);
                true
            }),
        }
    }

    /// A part of a scan, as the table's; a packed set is visited whole.
    pub fn scan(self, cursor: u64, visit: &mut dyn FnMut(&[u8])) -> u64 {
        match self {
            Self::Large(table, heap) => table.members.scan(heap, cursor, &mut |entry| visit(entry.key())),
            _ => {
                self.for_each(visit);
                0
            }
        }
    }

    /// Visits one member, each about equally likely. Nothing in an empty set.
    pub fn sample(self, random: u64, visit: impl FnOnce(&[u8])) {
        match self {
            Self::Ints(ints) => {
                if let Some(value) = below(random, ints.len()).and_then(|nth| ints.get(nth)) {
                    visit(itoa::Buffer::new().format(value).as_bytes());
                }
            }
            Self::Packed(bytes) => {
                let nth = below(random, self.len());
                if let Some(e) = nth.and_then(|nth| elements(bytes, GENERATION_BYTES).nth(nth)) {
                    visit(e.bytes);
                }
            }
            Self::Large(table, heap) => {
                if let Some(entry) = table.members.sample(heap, random, false) {
                    visit(entry.key());
                }
            }
        }
    }
}

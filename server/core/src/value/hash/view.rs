//! Reading a hash, whichever way it stands.

use super::table::HashTable;
use crate::keyspace::Collection;
use crate::keyspace::collection::GENERATION_BYTES;
use crate::memory::{Entry, Heap, Slot, Value};
use crate::value::packed::{Elements, elements};

/// A field as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub name: &'a [u8],
    pub value: &'a [u8],
    pub expire_at_ms: Option<u64>,
}

#[derive(Clone, Copy)]
pub enum HashView<'a> {
    Packed(&'a [u8]),
    Large(&'a HashTable, &'a Heap),
}

/// Where a pair of field and value stands in packed bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub start: usize,
    /// Where the value's element begins.
    pub middle: usize,
    pub end: usize,
    pub value_len: usize,
}

/// The pair of that name, or how many pairs there are.
#[inline]
pub(super) fn find_pair(bytes: &[u8], name: &[u8]) -> Result<Pair, usize> {
    let mut walk = elements(bytes, GENERATION_BYTES);
    let mut count = 0;
    while let (Some(field), Some(value)) = (walk.next(), walk.next()) {
        if field.bytes == name {
            return Ok(Pair {
                start: field.start,
                middle: value.start,
                end: value.end,
                value_len: value.bytes.len(),
            });
        }
        count += 1;
    }
    Err(count)
}

/// Walks packed pairs.
pub(super) struct Pairs<'a>(Elements<'a>);

impl<'a> Pairs<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(elements(bytes, GENERATION_BYTES))
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let (name, value) = (self.0.next()?.bytes, self.0.next()?.bytes);
        Some(Field {
            name,
            value,
            expire_at_ms: None,
        })
    }
}

impl<'a> HashView<'a> {
    /// The hash of an entry of that type.
    pub fn of(entry: Entry<'a, Collection>, heap: &'a Heap) -> Self {
        match entry.value() {
            Value::Boxed(Collection::Hash(table)) => Self::Large(table, heap),
            Value::Boxed(_) => Self::Packed(&[]),
            Value::Bytes(bytes) => Self::Packed(bytes),
        }
    }

    /// The same, of an entry that was found for changing.
    #[inline]
    pub fn of_slot(slot: &'a mut Slot<'_, Collection>) -> Self {
        if matches!(slot.value(), Value::Boxed(_)) {
            return match slot.boxed() {
                Some((Collection::Hash(table), heap)) => Self::Large(table, heap),
                _ => Self::Packed(&[]),
            };
        }
        let slot: &'a Slot<'_, Collection> = slot;
        Self::Packed(slot.entry().bytes())
    }

    #[inline]
    pub fn get(self, name: &[u8], now_ms: u64) -> Option<Field<'a>> {
        match self {
            Self::Packed(bytes) => Pairs::of(bytes).find(|field| field.name == name),
            Self::Large(table, heap) => {
                let entry = table.fields.get(heap, heap.hash(name), name)?;
                let field = field_of(entry);
                is_live(&field, now_ms).then_some(field)
            }
        }
    }

    /// Fields whose time has not come.
    pub fn len(self, now_ms: u64) -> usize {
        match self {
            Self::Packed(bytes) => elements(bytes, GENERATION_BYTES).count() / 2,
            Self::Large(table, _) if table.due_ms() > now_ms => table.len(),
            Self::Large(table, heap) => {
                let mut gone = 0;
                table.fields.walk_expiring(heap, 0, usize::MAX, |entry| {
                    gone += usize::from(entry.expire_at_ms().is_some_and(|at| at <= now_ms));
                });
                table.len() - gone
            }
        }
    }

    /// Every field whose time has not come.
    #[inline]
    pub fn for_each(self, now_ms: u64, mut visit: impl FnMut(Field<'a>)) {
        match self {
            Self::Packed(bytes) => Pairs::of(bytes).for_each(visit),
            Self::Large(table, heap) => table.fields.for_each(heap, |entry| {
                let field = field_of(entry);
                if is_live(&field, now_ms) {
                    visit(field);
                }
            }),
        }
    }

    /// A part of a scan, as the table's; a packed hash is visited whole.
    pub fn scan(self, cursor: u64, now_ms: u64, visit: &mut dyn FnMut(Field<'a>)) -> u64 {
        match self {
            Self::Packed(bytes) => {
                Pairs::of(bytes).for_each(visit);
                0
            }
            Self::Large(table, heap) => table.fields.scan(heap, cursor, &mut |entry| {
                let field = field_of(entry);
                if is_live(&field, now_ms) {
                    visit(field);
                }
            }),
        }
    }

    /// A field, each about equally likely. A table in which most fields are past their time may yield none:
    /// the caller then falls back to a walk.
    pub fn sample(self, now_ms: u64, mut random: impl FnMut() -> u64) -> Option<Field<'a>> {
        match self {
            Self::Packed(bytes) => {
                let count = self.len(now_ms);
                let nth = crate::value::set::below(random(), count)?;
                Pairs::of(bytes).nth(nth)
            }
            Self::Large(table, heap) => (0..SAMPLE_TRIES).find_map(|_| {
                let field = field_of(table.fields.sample(heap, random(), false)?);
                is_live(&field, now_ms).then_some(field)
            }),
        }
    }
}

const SAMPLE_TRIES: usize = 32;

#[inline]
pub(super) fn is_live(field: &Field<'_>, now_ms: u64) -> bool {
    field.expire_at_ms.is_none_or(|at| at > now_ms)
}

#[inline]
fn field_of<'a>(entry: Entry<'a, std::convert::Infallible>) -> Field<'a> {
    Field {
        name: entry.key(),
        value: entry.bytes(),
        expire_at_ms: entry.expire_at_ms(),
    }
}

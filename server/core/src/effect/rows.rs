//! An entry as the effects that make it: what a copy tells, row by row.

use super::Effect;
use crate::command::list;
use crate::keyspace::collection::packed_generation;
use crate::keyspace::{Collection, Type, kind};
use crate::memory::{Entry, Heap, Value};
use crate::value::hash::HashView;
use crate::value::set::SetView;
use crate::value::sorted_set;

/// Visits the effects that put the entry where nothing stands, in the order in which they are to be applied.
pub fn for_each(entry: Entry<'_, Collection>, heap: &Heap, visit: &mut dyn FnMut(&Effect<'_>)) {
    let (key, expire_at) = (entry.key(), entry.expire_at_ms());
    let kind = Type::of(entry.kind());
    if !kind.is_collection() {
        visit(&Effect::Put {
            key,
            kind: entry.kind(),
            value: entry.bytes(),
            expire_at,
            created: true,
        });
        return;
    }
    let generation = match entry.value() {
        Value::Bytes(bytes) => packed_generation(bytes),
        Value::Boxed(collection) => collection.generation(),
    };
    visit(&Effect::Create {
        key,
        kind: created_kind(entry.kind()),
        generation,
    });
    elements(entry, heap, generation, visit);
    if expire_at.is_some() {
        visit(&Effect::Expire { key, at: expire_at });
    }
}

/// A set is created as such, whichever form it has.
pub fn created_kind(kind: u8) -> u8 {
    if kind == kind::SET_INTS { kind::SET } else { kind }
}

fn elements(entry: Entry<'_, Collection>, heap: &Heap, generation: u64, visit: &mut dyn FnMut(&Effect<'_>)) {
    let key = entry.key();
    match Type::of(entry.kind()) {
        Type::List => list::view(entry).for_each_row(|position, value| {
            visit(&Effect::ListPut {
                key,
                generation,
                position,
                value,
                created: true,
            });
        }),
        Type::SortedSet => sorted_set::View::new(entry, heap).for_each(|member, score| {
            visit(&Effect::ScorePut {
                key,
                generation,
                member,
                score,
                created: true,
            });
        }),
        Type::Hash => HashView::of(entry, heap).for_each(0, |field| {
            visit(&Effect::HashPut {
                key,
                generation,
                field: field.name,
                value: field.value,
                expire_at: field.expire_at_ms,
                created: true,
            });
        }),
        Type::Set => SetView::of(entry, heap).for_each(|member| {
            visit(&Effect::SetAdd {
                key,
                generation,
                member,
            });
        }),
        Type::String | Type::Stream | Type::Idem | Type::Limit => {}
    }
}

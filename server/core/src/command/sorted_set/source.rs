//! The inputs of unions, intersections and differences: sorted sets, and sets whose members all score 1.

use crate::keyspace::{Db, Key, Type};
use crate::value::sorted_set::View;

#[derive(Clone, Copy)]
enum Kind<'a> {
    Absent,
    SortedSet(View<'a>),
}

#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    kind: Kind<'a>,
    pub(super) weight: f64,
}

/// The keys' values, whose types have been checked; without weights each weighs 1.
pub(super) fn sources<'a>(db: &'a Db<'_>, keys: &[Key<'_>], weights: Option<&[f64]>) -> Vec<Source<'a>> {
    let weight = |nth: usize| {
        weights
            .and_then(|weights| weights.get(nth).copied())
            .unwrap_or(1.0)
    };
    keys.iter()
        .enumerate()
        .map(|(nth, key)| Source {
            kind: kind(db, *key),
            weight: weight(nth),
        })
        .collect()
}

fn kind<'a>(db: &'a Db<'_>, key: Key<'_>) -> Kind<'a> {
    let heap = &db.shard.heap;
    match db.shard.databases[db.index as usize].get(heap, key.hash, key.bytes) {
        Some(entry) if Type::of(entry.kind()) == Type::SortedSet => Kind::SortedSet(View::new(entry, heap)),
        _ => Kind::Absent,
    }
}

impl<'a> Source<'a> {
    pub(super) fn len(&self) -> usize {
        match self.kind {
            Kind::Absent => 0,
            Kind::SortedSet(view) => view.len(),
        }
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        match self.kind {
            Kind::Absent => None,
            Kind::SortedSet(view) => view.score(member),
        }
    }

    /// Shows every member with its score, until `show` says false.
    pub(super) fn visit(&self, show: &mut dyn FnMut(&'a [u8], f64) -> bool) {
        match self.kind {
            Kind::Absent => {}
            Kind::SortedSet(view) => view.visit(0, usize::MAX, false, show),
        }
    }
}

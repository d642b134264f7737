//! The inputs of unions, intersections and differences: sorted sets, and sets whose members all score 1.

use crate::keyspace::{Db, Key, Type};
use crate::value::set::SetView;
use crate::value::sorted_set::{Pairs, View};

enum Kind<'a> {
    Absent,
    SortedSet(View<'a>),
    /// A set, and its members written out, since those that are numbers have no text of their own.
    Set(SetView<'a>, Pairs),
}

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
        Some(entry) if Type::of(entry.kind()) == Type::Set => {
            let set = SetView::of(entry, heap);
            let mut members = Pairs::default();
            set.for_each(|member| members.push(member, 1.0));
            Kind::Set(set, members)
        }
        _ => Kind::Absent,
    }
}

impl Source<'_> {
    pub(super) fn len(&self) -> usize {
        match &self.kind {
            Kind::Absent => 0,
            Kind::SortedSet(view) => view.len(),
            Kind::Set(_, members) => members.len(),
        }
    }

    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        match &self.kind {
            Kind::Absent => None,
            Kind::SortedSet(view) => view.score(member),
            Kind::Set(set, _) => set.contains(member).then_some(1.0),
        }
    }

    /// Shows every member with its score, until `show` says false.
    pub(super) fn visit<'s>(&'s self, show: &mut dyn FnMut(&'s [u8], f64) -> bool) {
        match &self.kind {
            Kind::Absent => {}
            Kind::SortedSet(view) => view.visit(0, usize::MAX, false, show),
            Kind::Set(_, members) => {
                members.iter().all(|(member, score)| show(member, score));
            }
        }
    }
}

//! Changing a sorted set: one member in or out, a range out, or a whole one stored.
//!
//! Neither effects nor events are told here, and an emptied set is left for the caller to delete.

use super::{SortedSet, View, small};
use crate::keyspace::collection::packed_generation;
use crate::keyspace::{Collection, Db, Key, Limits, kind};
use crate::memory::{Expiry, NewValue, Slot};

/// Whether that many members, the longest of that many bytes, may be packed.
fn may_be_packed(limits: &Limits, members: usize, longest: usize) -> bool {
    members <= limits.zset_max_listpack_entries.min(small::MEMBERS_MAX)
        && longest <= limits.zset_max_listpack_value
}

/// The right to change the sorted set of an entry. `scratch` is working space that is kept between commands.
pub struct Editor<'e, 'a> {
    pub slot: &'e mut Slot<'a, Collection>,
    pub limits: Limits,
    pub scratch: &'e mut Vec<u8>,
}

impl Editor<'_, '_> {
    pub fn view(&mut self) -> View<'_> {
        View::of(self.slot)
    }

    pub fn len(&mut self) -> usize {
        self.view().len()
    }

    pub fn is_empty(&mut self) -> bool {
        self.len() == 0
    }

    /// Asks `decide` for the member's new score, given its old one if it is there; `None` leaves all as it
    /// is. A member that is not there is added.
    pub fn update(&mut self, member: &[u8], decide: impl FnOnce(Option<f64>) -> Option<f64>) {
        if let Some((Collection::SortedSet(set), heap)) = self.slot.boxed() {
            set.update(heap, member, decide);
            return;
        }
        let bytes = self.slot.bytes_mut();
        let old = small::find(bytes, member).map(|element| element.score);
        let members = small::len(bytes) + usize::from(old.is_none());
        let Some(score) = decide(old) else { return };
        if old.is_none() {
            self.convert_beyond(members, member.len());
        }
        if let Some((Collection::SortedSet(set), heap)) = self.slot.boxed() {
            set.put(heap, member, score);
            return;
        }
        small::put(self.slot.bytes_mut(), score, member, self.scratch);
        self.slot.set_bytes(self.scratch);
    }

    /// Gives the member that score, adding it if it is not there.
    pub fn put(&mut self, member: &[u8], score: f64) {
        self.update(member, |_| Some(score));
    }

    /// Makes a packed set large if that many members, the longest of that many bytes, may not be packed.
    pub fn convert_beyond(&mut self, members: usize, longest: usize) {
        if may_be_packed(&self.limits, members, longest) || !self.view().is_packed() {
            return;
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(self.slot.bytes_mut());
        let generation = packed_generation(self.scratch);
        self.slot
            .set_boxed(Box::new(Collection::SortedSet(SortedSet::new(generation))));
        if let Some((Collection::SortedSet(set), heap)) = self.slot.boxed() {
            for element in small::elements(self.scratch) {
                set.put(heap, element.member, element.score);
            }
        }
    }

    /// Takes the member out; its score comes back.
    pub fn remove(&mut self, member: &[u8]) -> Option<f64> {
        if let Some((Collection::SortedSet(set), heap)) = self.slot.boxed() {
            return set.remove(heap, member);
        }
        let bytes = self.slot.bytes_mut();
        let small::Element {
            score, start, end, ..
        } = small::find(bytes, member)?;
        small::without(bytes, start..end, 1, self.scratch);
        self.slot.set_bytes(self.scratch);
        Some(score)
    }

    /// Takes `count` members out from `rank` on (from the end backwards if `reverse`), and shows each.
    pub fn remove_range(
        &mut self,
        rank: usize,
        count: usize,
        reverse: bool,
        mut show: impl FnMut(&[u8], f64),
    ) {
        if let Some((Collection::SortedSet(set), heap)) = self.slot.boxed() {
            for _ in 0..count {
                let Some(last) = set.len().checked_sub(1 + rank) else {
                    return;
                };
                match set.remove_at(heap, if reverse { last } else { rank }, self.scratch) {
                    Some(score) => show(self.scratch, score),
                    None => return,
                }
            }
            return;
        }
        let view = View::of(self.slot);
        let count = count.min(view.len().saturating_sub(rank));
        let first = if reverse { view.len() - rank - count } else { rank };
        view.visit(rank, count, reverse, |member, score| {
            show(member, score);
            true
        });
        small::cut(self.slot.bytes_mut(), first, count, self.scratch);
        self.slot.set_bytes(self.scratch);
    }
}

/// Members with scores on their way into a set, copied out of where they were read.
#[derive(Default)]
pub struct Pairs {
    bytes: Vec<u8>,
    /// Score, and where the member begins and ends.
    items: Vec<(f64, usize, usize)>,
    longest: usize,
}

impl Pairs {
    pub fn push(&mut self, member: &[u8], score: f64) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(member);
        self.items.push((score, start, self.bytes.len()));
        self.longest = self.longest.max(member.len());
    }

    pub fn reverse(&mut self) {
        self.items.reverse();
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], f64)> {
        self.items
            .iter()
            .map(|(score, start, end)| (&self.bytes[*start..*end], *score))
    }
}

/// Puts a new sorted set of that generation at the key in place of whatever was there, without effects.
/// `pairs` are in order and not empty.
pub fn store(db: &mut Db<'_>, key: Key<'_>, generation: u64, pairs: &Pairs) {
    if may_be_packed(&db.shard.limits, pairs.len(), pairs.longest) {
        let mut scratch = std::mem::take(&mut db.shard.scratch);
        small::begin(generation, &mut scratch);
        pairs
            .iter()
            .for_each(|(member, score)| small::push(&mut scratch, score, member));
        db.put(key, kind::SORTED_SET, NewValue::Bytes(&scratch), Expiry::Clear);
        db.shard.scratch = scratch;
        return;
    }
    let mut set = SortedSet::new(generation);
    for (member, score) in pairs.iter() {
        set.put(&mut db.shard.heap, member, score);
    }
    let boxed = Box::new(Collection::SortedSet(set));
    db.put(key, kind::SORTED_SET, NewValue::Boxed(boxed), Expiry::Clear);
}

/// Puts an empty sorted set at the key, for the caller to fill at once.
pub fn begin(db: &mut Db<'_>, key: Key<'_>, generation: u64) {
    let mut scratch = std::mem::take(&mut db.shard.scratch);
    small::begin(generation, &mut scratch);
    db.put(key, kind::SORTED_SET, NewValue::Bytes(&scratch), Expiry::Clear);
    db.shard.scratch = scratch;
}

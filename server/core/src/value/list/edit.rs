//! Changes in the middle of a list: insert, replace, remove, renumber; and the two by which a follower
//! changes it, which name positions.

use super::chunk::Chunk;
use super::deque::Place;
use super::limits::Fill;
use super::{List, Sink, accepts, element, position, stands_alone};
use crate::effect::ListPosition;

/// Elements beside an insert that are renumbered at first when there is no position left between two.
const RENUMBER_MIN: usize = 8;
/// Room that a renumbering must leave between neighbours: so many halvings until the next one.
const ROOM_MIN: u128 = 1 << 32;

impl List {
    /// Inserts before or after the `pivot`th element, which is there.
    pub fn insert(&mut self, pivot: usize, after: bool, value: &[u8], fill: Fill, sink: &mut impl Sink) {
        let index = pivot + usize::from(after);
        let position = match self.gap(index) {
            (None, None) => ListPosition::MIDDLE,
            (None, Some(high)) => position::beside(high, false),
            (Some(low), None) => position::beside(low, true),
            (Some(low), Some(high)) => position::between(low, high).unwrap_or_else(|| {
                self.renumber(index, sink);
                self.gap_middle(index)
            }),
        };
        match self.chunks.locate(pivot) {
            Some((place, offset)) => {
                self.insert_in(place, offset + usize::from(after), position, value, fill)
            }
            None => self.push_at(true, position, value, fill),
        }
        sink.put(position, value, true);
    }

    /// The positions around a gap.
    fn gap(&self, index: usize) -> (Option<ListPosition>, Option<ListPosition>) {
        (
            index.checked_sub(1).and_then(|before| self.position(before)),
            self.position(index),
        )
    }

    fn gap_middle(&self, index: usize) -> ListPosition {
        match self.gap(index) {
            (Some(low), Some(high)) => position::between(low, high).unwrap_or(low),
            _ => ListPosition::MIDDLE,
        }
    }

    /// Spreads the positions around `index` anew, over as few elements as give enough room.
    fn renumber(&mut self, index: usize, sink: &mut impl Sink) {
        let len = self.len();
        let mut reach = RENUMBER_MIN;
        let (from, to, low, high) = loop {
            let (from, to) = (index.saturating_sub(reach), (index + reach).min(len));
            let beyond = (to - from) as u64 + 1;
            let low = match from.checked_sub(1) {
                Some(before) => self.position(before),
                None => self.position(0).map(|first| ListPosition {
                    whole: first.whole - beyond,
                    fraction: 0,
                }),
            };
            let high = self.position(to).or_else(|| {
                let last = self.position(len - 1)?;
                Some(ListPosition {
                    whole: last.whole + beyond,
                    fraction: 0,
                })
            });
            let (Some(low), Some(high)) = (low, high) else {
                return;
            };
            if position::room(low, high, to - from) >= ROOM_MIN || to - from == len {
                break (from, to, low, high);
            }
            reach *= 2;
        };
        if sink.on() {
            (from..to)
                .filter_map(|at| self.position(at))
                .for_each(|old| sink.delete(old));
        }
        for at in from..to {
            let Some((place, offset)) = self.chunks.locate(at) else {
                return;
            };
            let new = position::spread(low, high, to - from, at - from);
            self.chunks.edit(place, |chunk| chunk.set_position(offset, new));
            if sink.on() {
                sink.put(new, self.chunks.get(place).get(offset), true);
            }
        }
    }

    /// Inserts before the `offset`th element of a chunk or at its end: there, in a neighbour that has room
    /// at that side, in a chunk of its own, or in one half of the chunk.
    fn insert_in(&mut self, place: Place, offset: usize, position: ListPosition, value: &[u8], fill: Fill) {
        let chunk = self.chunks.get(place);
        let len = chunk.len();
        if !self.quicklist || accepts(chunk, value.len(), fill) {
            self.chunks
                .edit(place, |chunk| chunk.insert(offset, position, value));
            return;
        }
        let has_room = |at: &Place| accepts(self.chunks.get(*at), value.len(), fill);
        if offset == len
            && let Some(next) = self.chunks.next(place).filter(has_room)
        {
            self.chunks.edit(next, |chunk| chunk.push_front(position, value));
            return;
        }
        if offset == 0
            && let Some(previous) = self.chunks.previous(place).filter(has_room)
        {
            self.chunks
                .edit(previous, |chunk| chunk.push_back(position, value));
            return;
        }
        let mut alone = Chunk::new(None, element::size_of(value.len()), true);
        alone.push_back(position, value);
        if offset == 0 && self.chunks.previous(place).is_none() {
            self.chunks.push(alone, false);
            return;
        }
        if offset == 0 || offset == len {
            let before = if offset == 0 {
                self.chunks.previous(place).unwrap_or(place)
            } else {
                place
            };
            self.chunks.insert_after(before, alone);
            return;
        }
        let rest = self.chunks.edit(place, |chunk| chunk.split_off(offset));
        self.chunks.insert_after(place, rest);
        // By element number, since inserting a chunk may move places.
        self.put_beside_split(position, value, alone, fill);
    }

    /// Between the halves of a chunk that was just split: joins the first that takes it.
    fn put_beside_split(&mut self, position: ListPosition, value: &[u8], alone: Chunk, fill: Fill) {
        let Some(left) = self.chunks.locate_position(position) else {
            return;
        };
        let centre = if accepts(self.chunks.get(left), value.len(), fill) {
            self.chunks.edit(left, |chunk| chunk.push_back(position, value));
            left
        } else {
            self.chunks.insert_after(left, alone)
        };
        self.merge_around(centre, fill);
    }

    /// Joins small chunks around one where a chunk was split, so that inserts leave no crumbs.
    fn merge_around(&mut self, centre: Place, fill: Fill) {
        let anchor = self.chunks.get(centre).first();
        let find = |list: &Self| list.chunks.locate_position(anchor);
        if let Some(previous) = self.chunks.previous(centre)
            && let Some(before) = self.chunks.previous(previous)
        {
            self.merge(before, previous, fill);
        }
        if let Some(next) = find(self).and_then(|centre| self.chunks.next(centre))
            && let Some(behind) = self.chunks.next(next)
        {
            self.merge(next, behind, fill);
        }
        if let Some(centre) = find(self)
            && let Some(previous) = self.chunks.previous(centre)
        {
            self.merge(previous, centre, fill);
        }
        if let Some(centre) = find(self)
            && let Some(next) = self.chunks.next(centre)
        {
            self.merge(centre, next, fill);
        }
    }

    /// Appends `next` to `place`, its neighbour, if one chunk may hold both.
    fn merge(&mut self, place: Place, next: Place, fill: Fill) {
        let (a, b) = (self.chunks.get(place), self.chunks.get(next));
        if stands_alone(a, fill)
            || stands_alone(b, fill)
            || fill.exceeded(a.weight() + b.weight() - super::EMPTY_LISTPACK, a.len() + b.len())
        {
            return;
        }
        // Taking `next` out first may drop its block, which stands behind `place`.
        if let Some(chunk) = self.chunks.remove(next) {
            self.chunks.edit(place, |into| into.append(&chunk));
        }
    }

    /// Gives the `index`th element another value. `false`: there is none.
    pub fn replace(&mut self, index: usize, value: &[u8], fill: Fill, sink: &mut impl Sink) -> bool {
        let Some((place, offset)) = self.chunks.locate(index) else {
            return false;
        };
        let position = self.chunks.get(place).position(offset);
        self.replace_in(place, offset, value, fill);
        sink.put(position, value, false);
        true
    }

    fn replace_in(&mut self, place: Place, offset: usize, value: &[u8], fill: Fill) {
        let chunk = self.chunks.get(place);
        if !self.quicklist || chunk.len() == 1 || !fill.stands_alone(value.len()) {
            self.chunks.edit(place, |chunk| chunk.replace(offset, value));
            return;
        }
        // What stands alone leaves the chunk.
        let position = chunk.position(offset);
        self.chunks.edit(place, |chunk| chunk.remove(offset));
        self.insert_in(place, offset, position, value, fill);
    }

    /// Removes up to `limit` elements equal to `value`, from the front or the back. Answers how many.
    pub fn remove_equal(&mut self, value: &[u8], limit: usize, back: bool, sink: &mut impl Sink) -> usize {
        let mut removed = 0;
        let mut matches = Vec::new();
        let mut at = self.chunks.end(back);
        while let Some(place) = at
            && removed < limit
        {
            let chunk = self.chunks.get(place);
            matches.clear();
            matches.extend(
                chunk
                    .iter_from(0)
                    .enumerate()
                    .filter(|(_, v)| *v == value)
                    .map(|(index, _)| index),
            );
            let over = (matches.len() + removed).saturating_sub(limit);
            if back {
                matches.drain(..over);
            } else {
                matches.truncate(matches.len() - over);
            }
            matches
                .iter()
                .for_each(|index| sink.delete(chunk.position(*index)));
            removed += matches.len();
            let gone = matches.len() == chunk.len();
            let neighbour = if back {
                self.chunks.previous(place)
            } else {
                self.chunks.next(place)
            };
            let anchor = neighbour.map(|at| self.chunks.get(at).first());
            if gone {
                self.drop_chunk(place);
            } else if !matches.is_empty() {
                self.chunks.edit(place, |chunk| chunk.remove_many(&matches));
            }
            at = if gone {
                anchor.and_then(|first| self.chunks.locate_position(first))
            } else {
                neighbour
            };
        }
        removed
    }

    /// What a follower does: the row at a position is now this.
    pub fn put_at(&mut self, position: ListPosition, value: &[u8], fill: Fill) {
        self.before_adding(fill, value.len(), 1);
        let Some(place) = self.chunks.locate_position(position) else {
            return self.push_at(true, position, value, fill);
        };
        match self.chunks.get(place).search(position) {
            Ok(offset) => {
                self.replace_in(place, offset, value, fill);
                self.after_removing(fill);
            }
            Err(0) if self.chunks.previous(place).is_none() => self.push_at(false, position, value, fill),
            Err(offset) if offset == self.chunks.get(place).len() && self.chunks.next(place).is_none() => {
                self.push_at(true, position, value, fill);
            }
            Err(offset) => self.insert_in(place, offset, position, value, fill),
        }
    }

    /// What a follower does: the row at a position is gone. `false`: there was none.
    pub fn delete_at(&mut self, position: ListPosition, fill: Fill) -> bool {
        let Some(place) = self.chunks.locate_position(position) else {
            return false;
        };
        let Ok(offset) = self.chunks.get(place).search(position) else {
            return false;
        };
        if self.chunks.get(place).len() == 1 {
            self.drop_chunk(place);
        } else {
            self.chunks.edit(place, |chunk| {
                chunk.remove(offset);
                chunk.shrink();
            });
        }
        self.after_removing(fill);
        true
    }
}

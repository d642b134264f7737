//! Positions of a chunk's elements: a base while they follow one another by one, one each after an insert
//! or a removal in the middle. Always ascending.

use std::collections::VecDeque;

use crate::effect::ListPosition;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Positions {
    /// The first element's whole; the others count up from it, without fractions.
    From(u64),
    #[expect(clippy::box_collection, reason = "rare: the common chunk stays small")]
    Each(Box<VecDeque<ListPosition>>),
}

/// The position next to `neighbour` at an end of the list.
#[inline]
pub(super) fn beside(neighbour: ListPosition, back: bool) -> ListPosition {
    let whole = if back {
        neighbour.whole.wrapping_add(1)
    } else {
        neighbour.whole.wrapping_sub(1)
    };
    ListPosition { whole, fraction: 0 }
}

fn to_number(position: ListPosition) -> u128 {
    u128::from(position.whole) << 64 | u128::from(position.fraction)
}

fn from_number(number: u128) -> ListPosition {
    ListPosition {
        whole: (number >> 64) as u64,
        fraction: number as u64,
    }
}

/// A position between two others; `None` when the gap is used up. Where a whole is free between them, it
/// is taken.
pub(super) fn between(low: ListPosition, high: ListPosition) -> Option<ListPosition> {
    let free = high.whole - low.whole;
    if free > 1 {
        return Some(ListPosition {
            whole: low.whole + free / 2,
            fraction: 0,
        });
    }
    let (low, high) = (to_number(low), to_number(high));
    let middle = low + (high - low) / 2;
    (middle > low).then(|| from_number(middle))
}

/// The `index`th of `count` positions spread evenly between two others.
pub(super) fn spread(low: ListPosition, high: ListPosition, count: usize, index: usize) -> ListPosition {
    let (low, high) = (to_number(low), to_number(high));
    from_number(low + (high - low) / (count as u128 + 1) * (index as u128 + 1))
}

/// Room between two positions for each of `count` new ones.
pub(super) fn room(low: ListPosition, high: ListPosition, count: usize) -> u128 {
    (to_number(high) - to_number(low)) / (count as u128 + 1)
}

impl Positions {
    #[inline]
    pub(super) fn get(&self, index: usize) -> ListPosition {
        match self {
            Self::From(base) => ListPosition {
                whole: base + index as u64,
                fraction: 0,
            },
            Self::Each(each) => each[index],
        }
    }

    /// `len` is the number of elements before the insert.
    #[inline]
    pub(super) fn insert(&mut self, index: usize, position: ListPosition, len: usize) {
        match self {
            Self::From(base) if position.fraction == 0 && len == 0 => *base = position.whole,
            Self::From(base)
                if position.fraction == 0 && index == len && position.whole == *base + len as u64 => {}
            Self::From(base) if position.fraction == 0 && index == 0 && position.whole + 1 == *base => {
                *base = position.whole;
            }
            _ => match self.each(len) {
                each if index == 0 => each.push_front(position),
                each => each.insert(index, position),
            },
        }
    }

    /// `len` is the number of elements before the removal.
    #[inline]
    pub(super) fn remove(&mut self, index: usize, len: usize) {
        match self {
            Self::From(base) if index == 0 => *base += 1,
            Self::From(_) if index + 1 == len => {}
            _ => {
                self.each(len).remove(index);
                if len == 2 {
                    self.compress();
                }
            }
        }
    }

    /// Removes those of these ascending numbers.
    pub(super) fn remove_many(&mut self, indexes: &[usize], len: usize) {
        let mut gone = indexes.iter().copied().peekable();
        let mut index = 0;
        self.each(len).retain(|_| {
            index += 1;
            gone.next_if_eq(&(index - 1)).is_none()
        });
        self.compress();
    }

    pub(super) fn set(&mut self, index: usize, position: ListPosition, len: usize) {
        self.each(len)[index] = position;
    }

    fn each(&mut self, len: usize) -> &mut VecDeque<ListPosition> {
        if let Self::From(_) = self {
            *self = Self::Each(Box::new((0..len).map(|index| self.get(index)).collect()));
        }
        match self {
            Self::Each(each) => each,
            Self::From(_) => unreachable!("made explicit above"),
        }
    }

    /// Takes those from `index` on.
    pub(super) fn split_off(&mut self, index: usize) -> Self {
        match self {
            Self::From(base) => Self::From(*base + index as u64),
            Self::Each(each) => {
                let mut rest = Self::Each(Box::new(each.split_off(index)));
                rest.compress();
                self.compress();
                rest
            }
        }
    }

    /// Appends those of the chunk behind.
    pub(super) fn append(&mut self, len: usize, other: &Self, other_len: usize) {
        if let (Self::From(base), Self::From(next)) = (&*self, other)
            && base + len as u64 == *next
        {
            return;
        }
        let each = self.each(len);
        each.extend((0..other_len).map(|index| other.get(index)));
        self.compress();
    }

    /// Back to a base where the positions allow it.
    pub(super) fn compress(&mut self) {
        if let Self::Each(each) = self {
            let Some(first) = each.front().copied() else {
                return;
            };
            let follows = |(index, position): (usize, &ListPosition)| {
                position.fraction == 0 && position.whole == first.whole.wrapping_add(index as u64)
            };
            if each.iter().enumerate().all(follows) {
                *self = Self::From(first.whole);
            }
        }
    }

    pub(super) fn allocated(&self) -> usize {
        match self {
            Self::From(_) => 0,
            Self::Each(each) => {
                each.capacity() * size_of::<ListPosition>() + size_of::<VecDeque<ListPosition>>()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(whole: u64, fraction: u64) -> ListPosition {
        ListPosition { whole, fraction }
    }

    #[test]
    fn a_middle_is_between_until_the_gap_is_used_up() {
        assert_eq!(between(at(5, 0), at(9, 0)), Some(at(7, 0)));
        assert_eq!(between(at(5, 0), at(6, 0)), Some(at(5, 1 << 63)));
        assert_eq!(between(at(5, 7), at(5, 8)), None);
        assert_eq!(between(at(5, u64::MAX), at(6, 0)), None);
        let (low, mut high) = (at(5, 0), at(6, 0));
        let mut steps = 0;
        while let Some(middle) = between(low, high) {
            assert!(low < middle && middle < high);
            high = middle;
            steps += 1;
        }
        assert_eq!(steps, 64);
    }

    #[test]
    fn positions_stay_a_base_at_the_ends_only() {
        let mut positions = Positions::From(10);
        positions.insert(2, at(12, 0), 2);
        positions.insert(0, at(9, 0), 3);
        assert_eq!(positions, Positions::From(9));
        positions.remove(0, 4);
        positions.remove(2, 3);
        assert_eq!(positions, Positions::From(10));
        positions.insert(1, at(10, 1 << 63), 2);
        assert_eq!(
            (0..3).map(|i| positions.get(i)).collect::<Vec<_>>(),
            [at(10, 0), at(10, 1 << 63), at(11, 0)]
        );
        positions.remove(1, 3);
        positions.compress();
        assert_eq!(positions, Positions::From(10));
    }

    #[test]
    fn spread_keeps_order_and_bounds() {
        let (low, high) = (at(5, 3), at(5, 1000));
        let spread: Vec<_> = (0..10).map(|index| spread(low, high, 10, index)).collect();
        assert!(low < spread[0] && spread[9] < high);
        assert!(spread.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(room(low, high, 10), 90);
    }
}

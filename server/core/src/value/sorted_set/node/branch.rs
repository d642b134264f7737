//! A branch: which child an item is under, and how children are kept neither full nor small.

use std::ops::Range;

use super::Child;

pub(in crate::value::sorted_set) struct Branch<H> {
    /// At least one.
    pub(in crate::value::sorted_set) children: Vec<Child<H>>,
}

impl<H: Copy + Eq> Branch<H> {
    pub(in crate::value::sorted_set) fn count(&self, range: Range<usize>) -> usize {
        self.children[range]
            .iter()
            .map(|child| child.count as usize)
            .sum()
    }

    /// The last child whose first item `holds`, else the first child.
    #[inline]
    pub(super) fn child_holding(&self, mut holds: impl FnMut(f64, H) -> bool) -> usize {
        self.children
            .partition_point(|child| holds(child.first_score, child.first_handle))
            .saturating_sub(1)
    }

    /// The child in which an item stands, or would, that follows all for which `before` holds.
    #[inline]
    pub(in crate::value::sorted_set) fn child_for(&self, before: &mut impl FnMut(f64, H) -> bool) -> usize {
        self.child_holding(before)
    }

    /// The child in which the item named `old` stands.
    pub(in crate::value::sorted_set) fn child_with(
        &self,
        old: H,
        before: &mut impl FnMut(f64, H) -> bool,
    ) -> usize {
        self.child_holding(|score, handle| handle == old || before(score, handle))
    }

    /// The child that holds the item at `rank`, and the rank within it.
    pub(super) fn child_at(&self, mut rank: usize) -> (usize, usize) {
        for (at, child) in self.children.iter().enumerate() {
            if rank < child.count as usize {
                return (at, rank);
            }
            rank -= child.count as usize;
        }
        (self.children.len(), rank)
    }

    /// Moves `width` of `left`'s last parts to its right neighbour.
    fn shift_right(&mut self, left: usize, width: usize) {
        let (head, tail) = self.children.split_at_mut(left + 1);
        let (Some(left), Some(right)) = (head.last_mut(), tail.first_mut()) else {
            return;
        };
        let from = left.node.width() - width;
        let count = left.node.count(from..from + width) as u32;
        left.node.give_last(width, &mut right.node);
        left.count -= count;
        right.count += count;
        if let Some(first) = right.node.first() {
            right.set_first(first);
        }
    }

    /// Moves `width` of the first parts of `left`'s right neighbour to `left`.
    fn shift_left(&mut self, left: usize, width: usize) {
        let (head, tail) = self.children.split_at_mut(left + 1);
        let (Some(left), Some(right)) = (head.last_mut(), tail.first_mut()) else {
            return;
        };
        let count = right.node.count(0..width) as u32;
        right.node.give_first(width, &mut left.node);
        left.count += count;
        right.count -= count;
        if let Some(first) = right.node.first() {
            right.set_first(first);
        }
    }

    /// The child into which an item goes that follows all for which `before` holds; it is made not to be
    /// full. This branch is not full.
    pub(in crate::value::sorted_set) fn room_for(
        &mut self,
        before: &mut impl FnMut(f64, H) -> bool,
    ) -> usize {
        let at = self.child_for(before);
        if !self.children[at].node.is_full() {
            return at;
        }
        let capacity = self.children[at].node.capacity();
        let room = |child: Option<&Child<H>>| child.map_or(0, |child| capacity - child.node.width());
        let left = at.checked_sub(1).map_or(0, |left| room(self.children.get(left)));
        let right = room(self.children.get(at + 1));
        // A quarter is worth the copying; less would soon be full again.
        if left >= capacity / 4 {
            self.shift_left(at - 1, left.div_ceil(2));
        } else if right >= capacity / 4 {
            self.shift_right(at, right.div_ceil(2));
        } else {
            self.split(at, before);
        }
        self.child_for(before)
    }

    /// Splits a full child: in halves, but at the ends of the whole order so that ascending (or descending)
    /// inserts leave full nodes behind.
    fn split(&mut self, at: usize, before: &mut impl FnMut(f64, H) -> bool) {
        let node = &self.children[at].node;
        let width = node.width();
        let kept = if at + 1 == self.children.len() && node.is_all_before(before) {
            width - 1
        } else if at == 0 && !node.first().is_some_and(|item| before(item.score, item.handle)) {
            1
        } else {
            width / 2
        };
        let right = Child::new(node.empty_like(), self.children[at].first(), 0);
        self.children.insert(at + 1, right);
        self.shift_right(at, width - kept);
    }

    /// Joins a child that became small with a neighbour, or drops it when empty.
    pub(super) fn join(&mut self, at: usize) {
        let width = self.children[at].node.width();
        let capacity = self.children[at].node.capacity();
        if width == 0 {
            self.children.remove(at);
            return;
        }
        if width >= capacity / 2 {
            return;
        }
        let fits = |other: Option<&Child<H>>| {
            other.is_some_and(|other| other.node.width() + width <= capacity * 3 / 4)
        };
        if at > 0 && fits(self.children.get(at - 1)) {
            self.shift_left(at - 1, width);
            self.children.remove(at);
        } else if fits(self.children.get(at + 1)) {
            let width = self.children[at + 1].node.width();
            self.shift_left(at, width);
            self.children.remove(at + 1);
        }
    }
}

//! A leaf: scores and handles side by side, in order.

use super::{Item, LEAF_ITEMS};

pub(in crate::value::sorted_set) struct Leaf<H> {
    scores: [f64; LEAF_ITEMS],
    handles: [Option<H>; LEAF_ITEMS],
    len: u32,
}

impl<H: Copy + Eq> Leaf<H> {
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            scores: [0.0; LEAF_ITEMS],
            handles: [None; LEAF_ITEMS],
            len: 0,
        })
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn item(&self, at: usize) -> Option<Item<H>> {
        if at >= self.len() {
            return None;
        }
        Some(Item {
            score: self.scores[at],
            handle: self.handles[at]?,
        })
    }

    pub(in crate::value::sorted_set) fn handle(&self, at: usize) -> Option<H> {
        self.item(at).map(|item| item.handle)
    }

    pub(in crate::value::sorted_set) fn set_handle(&mut self, at: usize, handle: H) {
        self.handles[at] = Some(handle);
    }

    /// How many of the items `before` holds for.
    #[inline]
    pub(in crate::value::sorted_set) fn partition(&self, before: &mut impl FnMut(f64, H) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match self.handles[middle] {
                Some(handle) if before(self.scores[middle], handle) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// There is room.
    pub(in crate::value::sorted_set) fn insert(&mut self, at: usize, score: f64, handle: H) {
        let len = self.len();
        self.scores.copy_within(at..len, at + 1);
        self.handles.copy_within(at..len, at + 1);
        self.scores[at] = score;
        self.handles[at] = Some(handle);
        self.len += 1;
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Item<H>> {
        let item = self.item(at)?;
        let len = self.len();
        self.scores.copy_within(at + 1..len, at);
        self.handles.copy_within(at + 1..len, at);
        self.len -= 1;
        Some(item)
    }

    /// Moves the last `count` items to the front of `right`, where they fit.
    pub(super) fn give_last(&mut self, count: usize, right: &mut Self) {
        let (from, kept) = (self.len() - count, right.len());
        right.scores.copy_within(0..kept, count);
        right.handles.copy_within(0..kept, count);
        right.scores[..count].copy_from_slice(&self.scores[from..from + count]);
        right.handles[..count].copy_from_slice(&self.handles[from..from + count]);
        right.len += count as u32;
        self.len -= count as u32;
    }

    /// Moves the first `count` items to the end of `left`, where they fit.
    pub(super) fn give_first(&mut self, count: usize, left: &mut Self) {
        let (len, end) = (self.len(), left.len());
        left.scores[end..end + count].copy_from_slice(&self.scores[..count]);
        left.handles[end..end + count].copy_from_slice(&self.handles[..count]);
        self.scores.copy_within(count..len, 0);
        self.handles.copy_within(count..len, 0);
        left.len += count as u32;
        self.len -= count as u32;
    }

    /// Drops all items; how many there were.
    pub(super) fn clear(&mut self) -> usize {
        std::mem::take(&mut self.len) as usize
    }
}

//! Members in the order of (score, member bytes), with their ranks: a B+-tree whose branches count what
//! is below them.
//!
//! An item is a score and a handle, four bytes that name the member's entry elsewhere; the tree asks
//! [`Names`] for the bytes only where scores are equal.
//!
//! Invariants: every leaf but an only one holds an item; all leaves are equally deep; a child's `first` is
//! the first item below it (so that no branch names a member that is gone) and its `count` how many there
//! are. No two items are equal. Does not know where members live, nor what is done with a range.

use std::cmp::Ordering;

use super::node::{Child, Item, Node};

/// Tells a handle's bytes.
pub trait Names<H> {
    fn name(&self, handle: H) -> &[u8];
}

/// An ordered set of items. `H` is the handle.
pub struct Tree<H> {
    root: Node<H>,
    len: u32,
}

impl<H: Copy + Eq> Default for Tree<H> {
    fn default() -> Self {
        Self {
            root: Node::empty(),
            len: 0,
        }
    }
}

/// Where (score, name) stands relative to an item: `Less` when the item comes before.
#[inline]
pub(super) fn compare<H: Copy>(
    item_score: f64,
    item: H,
    score: f64,
    name: &[u8],
    names: &impl Names<H>,
) -> Ordering {
    if item_score < score {
        Ordering::Less
    } else if item_score > score {
        Ordering::Greater
    } else {
        names.name(item).cmp(name)
    }
}

impl<H: Copy + Eq> Tree<H> {
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item that is not there.
    pub fn insert(&mut self, score: f64, handle: H, names: &impl Names<H>) {
        let name = names.name(handle);
        let mut before = |s: f64, h: H| compare(s, h, score, name, names).is_lt();
        self.grow_if_full(&mut before);
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let at = leaf.partition(&mut before);
                    leaf.insert(at, score, handle);
                    break;
                }
                Node::Branch(branch) => {
                    let at = branch.room_for(&mut before);
                    let child = &mut branch.children[at];
                    child.count += 1;
                    let first = child.first();
                    if !before(first.score, first.handle) {
                        child.set_first(Item { score, handle });
                    }
                    node = &mut child.node;
                }
            }
        }
        self.len += 1;
    }

    /// Puts a branch above a full root, so that everything below can split.
    fn grow_if_full(&mut self, before: &mut impl FnMut(f64, H) -> bool) {
        if self.root.is_full()
            && let Some(first) = self.root.first()
        {
            let full = std::mem::replace(&mut self.root, Node::empty());
            self.root = Node::branch_of(Child::new(full, first, self.len));
            if let Node::Branch(branch) = &mut self.root {
                branch.room_for(before);
            }
        }
    }

    /// Takes the item at `rank` out.
    pub fn remove_at(&mut self, rank: usize) -> Option<Item<H>> {
        if rank >= self.len() {
            return None;
        }
        let item = self.root.remove(rank)?;
        self.len -= 1;
        self.root.collapse();
        Some(item)
    }

    /// Takes the item of that score and name out.
    pub fn remove(&mut self, score: f64, name: &[u8], names: &impl Names<H>) -> Option<Item<H>> {
        let rank = self.rank(score, name, names);
        self.remove_at(rank)
    }

    /// Gives the item at (`old`, name) the score `new`.
    pub fn change_score(&mut self, old: f64, new: f64, name: &[u8], names: &impl Names<H>) {
        if self.root.move_inside_leaf(old, new, name, names) {
            return;
        }
        if let Some(item) = self.remove(old, name, names) {
            self.insert(new, item.handle, names);
        }
    }

    /// How many items come before (score, name).
    pub fn rank(&self, score: f64, name: &[u8], names: &impl Names<H>) -> usize {
        self.partition(|s, h| compare(s, h, score, name, names).is_lt())
    }

    /// How many items `before` holds for; it must hold for a first part of the order and no further.
    pub fn partition(&self, mut before: impl FnMut(f64, H) -> bool) -> usize {
        let mut passed = 0;
        let mut node = &self.root;
        loop {
            match node {
                Node::Leaf(leaf) => return passed + leaf.partition(&mut before),
                Node::Branch(branch) => {
                    let at = branch.child_for(&mut before);
                    passed += branch.count(0..at);
                    node = &branch.children[at].node;
                }
            }
        }
    }

    #[cfg(test)]
    pub fn get(&self, rank: usize) -> Option<Item<H>> {
        let mut found = None;
        self.visit(rank, 1, false, &mut |score, handle| {
            found = Some(Item { score, handle });
            true
        });
        found
    }

    /// Shows `count` items from `rank` on (from the end, backwards, if `reverse`: rank 0 is the last) until
    /// `show` says false.
    pub fn visit(&self, rank: usize, count: usize, reverse: bool, show: &mut impl FnMut(f64, H) -> bool) {
        let count = count.min(self.len().saturating_sub(rank));
        if count == 0 {
            return;
        }
        let range = if reverse {
            self.len() - rank - count..self.len() - rank
        } else {
            rank..rank + count
        };
        self.root.visit(range, reverse, show);
    }

    /// The member at (score, name) is now named by `new`. `old` is not asked for its name.
    pub fn rename(&mut self, score: f64, name: &[u8], old: H, new: H, names: &impl Names<H>) {
        let mut before = |s: f64, h: H| h != old && compare(s, h, score, name, names).is_lt();
        let mut node = &mut self.root;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    let at = leaf.partition(&mut before);
                    debug_assert!(leaf.handle(at) == Some(old), "the item is there");
                    if leaf.handle(at) == Some(old) {
                        leaf.set_handle(at, new);
                    }
                    return;
                }
                Node::Branch(branch) => {
                    let at = branch.child_with(old, &mut before);
                    let child = &mut branch.children[at];
                    let first = child.first();
                    if first.handle == old {
                        child.set_first(Item { handle: new, ..first });
                    }
                    node = &mut child.node;
                }
            }
        }
    }

    /// Drops a leaf's worth of items from the end; how many were dropped, 0 when none are left.
    pub fn drop_some(&mut self) -> usize {
        let dropped = self.root.drop_last_leaf();
        self.len -= dropped as u32;
        if self.is_empty() {
            self.root = Node::empty();
        }
        dropped
    }

    /// Bytes that the nodes take from the allocator.
    pub fn allocated_bytes(&self) -> usize {
        self.root.allocated_bytes()
    }

    #[cfg(test)]
    pub(super) fn check(&self, names: &impl Names<H>) {
        let (count, _) = self.root.check(true, names);
        assert_eq!(count, self.len());
    }
}

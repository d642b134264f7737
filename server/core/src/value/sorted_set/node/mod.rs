//! The nodes of the tree: leaves of items, branches of children. Each is one allocation of fixed size.
//!
//! Room is made on the way down (a full child hands items to a neighbour or splits before it is entered),
//! so that an insert never has to come back up; a removal joins children that together fill three
//! quarters of one. Between the two lies enough that a steady mix of both allocates nothing.

mod branch;
mod leaf;

use std::ops::Range;

pub(super) use branch::Branch;
use leaf::Leaf;

#[cfg(test)]
use super::tree::Names;
use super::tree::compare;

/// Items of a leaf: with the length it fills a block of 512 bytes.
pub(super) const LEAF_ITEMS: usize = 42;
/// Children of a branch: a block of 1024 bytes.
pub(super) const FANOUT: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item<H> {
    pub score: f64,
    pub handle: H,
}

pub(super) struct Child<H> {
    pub(super) node: Node<H>,
    // The first item below, flat so that a child takes 32 bytes.
    first_score: f64,
    first_handle: H,
    pub(super) count: u32,
}

pub(super) enum Node<H> {
    Leaf(Box<Leaf<H>>),
    Branch(Box<Branch<H>>),
}

impl<H: Copy> Child<H> {
    pub(super) fn new(node: Node<H>, first: Item<H>, count: u32) -> Self {
        Self {
            node,
            first_score: first.score,
            first_handle: first.handle,
            count,
        }
    }

    #[inline]
    pub(super) fn first(&self) -> Item<H> {
        Item {
            score: self.first_score,
            handle: self.first_handle,
        }
    }

    #[inline]
    pub(super) fn set_first(&mut self, first: Item<H>) {
        self.first_score = first.score;
        self.first_handle = first.handle;
    }
}

impl<H: Copy + Eq> Node<H> {
    pub(super) fn empty() -> Self {
        Self::Leaf(Leaf::new())
    }

    pub(super) fn branch_of(child: Child<H>) -> Self {
        let mut children = Vec::with_capacity(FANOUT);
        children.push(child);
        Self::Branch(Box::new(Branch { children }))
    }

    /// Items of a leaf, children of a branch.
    #[inline]
    fn width(&self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.len(),
            Self::Branch(branch) => branch.children.len(),
        }
    }

    #[inline]
    fn capacity(&self) -> usize {
        match self {
            Self::Leaf(_) => LEAF_ITEMS,
            Self::Branch(_) => FANOUT,
        }
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.width() == self.capacity()
    }

    pub(super) fn first(&self) -> Option<Item<H>> {
        match self {
            Self::Leaf(leaf) => leaf.item(0),
            Self::Branch(branch) => branch.children.first().map(Child::first),
        }
    }

    fn empty_like(&self) -> Self {
        match self {
            Self::Leaf(_) => Self::empty(),
            Self::Branch(_) => Self::Branch(Box::new(Branch {
                children: Vec::with_capacity(FANOUT),
            })),
        }
    }

    /// How many items the children (of a branch) or items (of a leaf) in `range` are.
    fn count(&self, range: Range<usize>) -> usize {
        match self {
            Self::Leaf(_) => range.len(),
            Self::Branch(branch) => branch.count(range),
        }
    }

    fn give_last(&mut self, width: usize, right: &mut Self) {
        match (self, right) {
            (Self::Leaf(left), Self::Leaf(right)) => left.give_last(width, right),
            (Self::Branch(left), Self::Branch(right)) => {
                let from = left.children.len() - width;
                right.children.splice(0..0, left.children.drain(from..));
            }
            _ => debug_assert!(false, "neighbours are equally deep"),
        }
    }

    fn give_first(&mut self, width: usize, left: &mut Self) {
        match (self, left) {
            (Self::Leaf(right), Self::Leaf(left)) => right.give_first(width, left),
            (Self::Branch(right), Self::Branch(left)) => left.children.extend(right.children.drain(..width)),
            _ => debug_assert!(false, "neighbours are equally deep"),
        }
    }

    pub(super) fn remove(&mut self, rank: usize) -> Option<Item<H>> {
        match self {
            Self::Leaf(leaf) => leaf.remove(rank),
            Self::Branch(branch) => {
                let (at, rank) = branch.child_at(rank);
                let child = branch.children.get_mut(at)?;
                let item = child.node.remove(rank)?;
                child.count -= 1;
                if let Some(first) = child.node.first() {
                    child.set_first(first);
                }
                branch.join(at);
                Some(item)
            }
        }
    }

    /// A root with one child gives way to it.
    pub(super) fn collapse(&mut self) {
        while let Self::Branch(branch) = self
            && branch.children.len() <= 1
        {
            *self = branch.children.pop().map_or_else(Self::empty, |child| child.node);
        }
    }

    /// Changes a score without leaving the leaf, where the item stays clear of the leaf's ends (so that no
    /// branch above has to know).
    pub(super) fn move_inside_leaf(
        &mut self,
        old: f64,
        new: f64,
        name: &[u8],
        names: &impl super::tree::Names<H>,
    ) -> bool {
        let mut before = |s: f64, h: H| compare(s, h, old, name, names).is_lt();
        let is_only_leaf = matches!(self, Self::Leaf(_));
        let mut node = self;
        while let Node::Branch(branch) = node {
            let at = branch.child_holding(|s, h| compare(s, h, old, name, names).is_le());
            node = &mut branch.children[at].node;
        }
        let Node::Leaf(leaf) = node else { return false };
        let from = leaf.partition(&mut before);
        let to = leaf.partition(&mut |s, h| compare(s, h, new, name, names).is_lt());
        if !is_only_leaf && (from == 0 || to == 0 || to == leaf.len()) {
            return false;
        }
        let to = if to > from { to - 1 } else { to };
        if let Some(item) = leaf.remove(from) {
            leaf.insert(to, new, item.handle);
        }
        true
    }

    /// `false`: the visitor has seen enough.
    pub(super) fn visit(
        &self,
        range: Range<usize>,
        reverse: bool,
        show: &mut impl FnMut(f64, H) -> bool,
    ) -> bool {
        match self {
            Self::Leaf(leaf) => {
                let mut show_at = |at: usize| leaf.item(at).is_some_and(|item| show(item.score, item.handle));
                if reverse {
                    range.rev().all(&mut show_at)
                } else {
                    range.into_iter().all(&mut show_at)
                }
            }
            Self::Branch(branch) => {
                let mut base = if reverse {
                    branch.count(0..branch.children.len())
                } else {
                    0
                };
                let mut step = |child: &Child<H>| {
                    let count = child.count as usize;
                    if reverse {
                        base -= count;
                    }
                    let from = range.start.max(base);
                    let to = range.end.min(base + count);
                    let inside = from.saturating_sub(base)..to.saturating_sub(base);
                    if !reverse {
                        base += count;
                    }
                    from >= to || child.node.visit(inside, reverse, show)
                };
                if reverse {
                    branch.children.iter().rev().all(&mut step)
                } else {
                    branch.children.iter().all(&mut step)
                }
            }
        }
    }

    pub(super) fn drop_last_leaf(&mut self) -> usize {
        match self {
            Self::Leaf(leaf) => leaf.clear(),
            Self::Branch(branch) => {
                let Some(child) = branch.children.last_mut() else {
                    return 0;
                };
                let dropped = child.node.drop_last_leaf();
                child.count -= dropped as u32;
                if child.count == 0 {
                    branch.children.pop();
                }
                dropped
            }
        }
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        match self {
            Self::Leaf(_) => size_of::<Leaf<H>>(),
            Self::Branch(branch) => {
                let below: usize = branch
                    .children
                    .iter()
                    .map(|child| child.node.allocated_bytes())
                    .sum();
                below + size_of::<Branch<H>>() + branch.children.capacity() * size_of::<Child<H>>()
            }
        }
    }
}

impl<H: Copy + Eq> Node<H> {
    /// Whether everything in this node comes before the place in question.
    fn is_all_before(&self, before: &mut impl FnMut(f64, H) -> bool) -> bool {
        match self {
            Self::Leaf(leaf) => leaf
                .item(leaf.len().saturating_sub(1))
                .is_some_and(|item| before(item.score, item.handle)),
            Self::Branch(branch) => branch
                .children
                .last()
                .is_some_and(|child| child.node.is_all_before(before)),
        }
    }

    /// Checks the invariants; how many items, and how deep.
    #[cfg(test)]
    pub(super) fn check(&self, is_root: bool, names: &impl Names<H>) -> (usize, usize) {
        match self {
            Self::Leaf(leaf) => {
                assert!(is_root || leaf.len() > 0);
                for at in 1..leaf.len() {
                    let (Some(a), Some(b)) = (leaf.item(at - 1), leaf.item(at)) else {
                        panic!("an item each")
                    };
                    assert!(compare(a.score, a.handle, b.score, names.name(b.handle), names).is_lt());
                }
                (leaf.len(), 1)
            }
            Self::Branch(branch) => {
                assert!(branch.children.len() > usize::from(is_root) && branch.children.len() <= FANOUT);
                assert_eq!(
                    branch.children.capacity(),
                    FANOUT,
                    "a branch never grows its block"
                );
                let mut depth = None;
                let mut total = 0;
                for child in &branch.children {
                    let (count, below) = child.node.check(false, names);
                    assert_eq!(count, child.count as usize);
                    let first = child.first();
                    assert!(
                        child
                            .node
                            .first()
                            .is_some_and(|item| item.handle == first.handle && item.score == first.score)
                    );
                    assert_eq!(*depth.get_or_insert(below), below);
                    total += count;
                }
                (total, depth.unwrap_or(0) + 1)
            }
        }
    }
}

//! The tree against a plain ordered set: order, ranks, ranges, removals, changes of scores and of handles.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use proptest::prelude::*;

use super::tree::{Names, Tree};

type Handle = NonZeroU32;

/// Members by number; a handle is a number above them, which `rename` may exchange.
#[derive(Default)]
struct Members {
    names: Vec<Vec<u8>>,
}

impl Members {
    fn add(&mut self, name: Vec<u8>) -> Handle {
        self.names.push(name);
        NonZeroU32::new(self.names.len() as u32).expect("not empty")
    }
}

impl Names<Handle> for Members {
    fn name(&self, handle: Handle) -> &[u8] {
        &self.names[handle.get() as usize - 1]
    }
}

/// A score that orders as in a `BTreeSet`.
fn bits(score: f64) -> i64 {
    let bits = (score + 0.0).to_bits() as i64;
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

#[derive(Default)]
struct Model {
    order: BTreeSet<(i64, Vec<u8>)>,
    scores: std::collections::HashMap<Vec<u8>, f64>,
}

impl Model {
    fn remove(&mut self, name: &[u8]) -> Option<f64> {
        let score = self.scores.remove(name)?;
        self.order.remove(&(bits(score), name.to_vec()));
        Some(score)
    }

    fn insert(&mut self, score: f64, name: &[u8]) {
        self.scores.insert(name.to_vec(), score);
        self.order.insert((bits(score), name.to_vec()));
    }
}

struct Pair {
    tree: Tree<Handle>,
    members: Members,
    model: Model,
}

impl Pair {
    fn new() -> Self {
        Self {
            tree: Tree::default(),
            members: Members::default(),
            model: Model::default(),
        }
    }

    fn put(&mut self, score: f64, name: &[u8]) {
        match self.model.remove(name) {
            Some(old) => self.tree.change_score(old, score, name, &self.members),
            None => {
                let handle = self.members.add(name.to_vec());
                self.tree.insert(score, handle, &self.members);
            }
        }
        self.model.insert(score, name);
    }

    fn remove(&mut self, name: &[u8]) {
        if let Some(score) = self.model.remove(name) {
            let gone = self
                .tree
                .remove(score, name, &self.members)
                .expect("it was there");
            assert_eq!(self.members.name(gone.handle), name);
        }
    }

    fn listed(&self, rank: usize, count: usize, reverse: bool) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        self.tree.visit(rank, count, reverse, &mut |score, handle| {
            let name = self.members.name(handle).to_vec();
            assert_eq!(self.model.scores[&name], score);
            seen.push(name);
            true
        });
        seen
    }

    fn check(&self) {
        self.tree.check(&self.members);
        let expected: Vec<Vec<u8>> = self.model.order.iter().map(|(_, name)| name.clone()).collect();
        assert_eq!(self.listed(0, usize::MAX, false), expected);
        let mut backwards = self.listed(0, usize::MAX, true);
        backwards.reverse();
        assert_eq!(backwards, expected);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(f64, u16),
    Remove(u16),
    RemoveAt(usize),
    Range(usize, usize),
    Bound(f64),
    Rename(u16),
}

/// Few scores, so that names decide often; few names, so that members meet.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3i32..3).prop_map(f64::from),
        1 => any::<i32>().prop_map(|n| f64::from(n) / 7.0),
        1 => prop_oneof![Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(-0.0)],
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (score(), 0u16..600).prop_map(|(score, name)| Step::Put(score, name)),
        3 => (0u16..600).prop_map(Step::Remove),
        1 => (0usize..600).prop_map(Step::RemoveAt),
        1 => (0usize..600, 0usize..100).prop_map(|(rank, count)| Step::Range(rank, count)),
        1 => score().prop_map(Step::Bound),
        1 => (0u16..600).prop_map(Step::Rename),
    ]
}

fn name(number: u16) -> Vec<u8> {
    format!("m{number}").into_bytes()
}

fn take(pair: &mut Pair, step: Step) {
    match step {
        Step::Put(score, number) => pair.put(score, &name(number)),
        Step::Remove(number) => pair.remove(&name(number)),
        Step::RemoveAt(rank) => {
            let expected = pair.model.order.iter().nth(rank).map(|(_, name)| name.clone());
            let gone = pair
                .tree
                .remove_at(rank)
                .map(|item| pair.members.name(item.handle).to_vec());
            assert_eq!(gone, expected);
            if let Some(name) = gone {
                pair.model.remove(&name);
            }
        }
        Step::Range(rank, count) => {
            let order = || pair.model.order.iter();
            let expected: Vec<_> = order()
                .skip(rank)
                .take(count)
                .map(|(_, name)| name.clone())
                .collect();
            assert_eq!(pair.listed(rank, count, false), expected);
            let expected: Vec<_> = order()
                .rev()
                .skip(rank)
                .take(count)
                .map(|(_, name)| name.clone())
                .collect();
            assert_eq!(pair.listed(rank, count, true), expected);
            let first = pair.tree.get(rank).map(|item| pair.members.name(item.handle));
            assert_eq!(first, order().nth(rank).map(|(_, name)| name.as_slice()));
        }
        Step::Bound(score) => {
            let below = pair.model.scores.values().filter(|own| **own < score).count();
            assert_eq!(pair.tree.partition(|own, _| own < score), below);
        }
        Step::Rename(number) => {
            let name = name(number);
            let Some(score) = pair.model.scores.get(&name).copied() else {
                return;
            };
            let rank = pair.tree.rank(score, &name, &pair.members);
            let old = pair.tree.get(rank).expect("it is there").handle;
            // The old handle now reads as something else, as after a move by compaction.
            let new = pair.members.add(name.clone());
            pair.members.names[old.get() as usize - 1] = b"~gone".to_vec();
            pair.tree.rename(score, &name, old, new, &pair.members);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn behaves_as_an_ordered_set(steps in proptest::collection::vec(step(), 1..1500)) {
        let mut pair = Pair::new();
        for step in steps {
            take(&mut pair, step);
        }
        pair.check();
        for (rank, (_, name)) in pair.model.order.iter().enumerate() {
            prop_assert_eq!(pair.tree.rank(pair.model.scores[name], name, &pair.members), rank);
        }
    }
}

#[test]
fn three_levels_grow_and_shrink() {
    let mut pair = Pair::new();
    let scattered = |n: u32| n.wrapping_mul(2_654_435_761) % 100_003;
    for n in 0..6000 {
        pair.put(f64::from(scattered(n)), format!("m{n}").as_bytes());
    }
    pair.check();
    let bytes_full = pair.tree.allocated_bytes();
    assert!(bytes_full < 6000 * 20, "{bytes_full} bytes for 6000 items");
    for n in 0..5900 {
        pair.remove(format!("m{}", (n * 7919) % 6000).as_bytes());
        if n % 500 == 0 {
            pair.check();
        }
    }
    pair.check();
    assert!(
        pair.tree.allocated_bytes() < bytes_full / 10,
        "nodes are joined again"
    );
}

#[test]
fn ordered_inserts_fill_their_leaves() {
    for ascending in [true, false] {
        let mut pair = Pair::new();
        for n in 0..5000i32 {
            pair.put(
                f64::from(if ascending { n } else { -n }),
                format!("m{n}").as_bytes(),
            );
        }
        pair.check();
        let bytes = pair.tree.allocated_bytes();
        assert!(bytes < 5000 * 14, "{bytes} bytes for 5000 items in order");
    }
}

#[test]
fn dropped_a_leaf_at_a_time() {
    let mut pair = Pair::new();
    for n in 0..3000u32 {
        pair.put(f64::from(n % 17), format!("m{n}").as_bytes());
    }
    let mut dropped = 0;
    loop {
        match pair.tree.drop_some() {
            0 => break,
            some => {
                assert!(some <= super::node::LEAF_ITEMS);
                dropped += some;
            }
        }
        assert_eq!(dropped + pair.tree.len(), 3000);
    }
    assert_eq!(pair.tree.len(), 0);
}

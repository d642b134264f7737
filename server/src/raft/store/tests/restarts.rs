//! What a store was told is found by the next one, through any number of starts, and through power cuts as far as
//! it was promised.

use std::collections::{BTreeMap, BTreeSet};

use openraft::alias::{EntryOf, LogIdOf, StoredMembershipOf, VoteOf};
use openraft::impls::BasicNode;
use openraft::storage::RaftLogStorage;
use openraft::{EntryPayload, RaftLogReader};

use super::{Node, SHARDS, all, append, entry, id};
use crate::raft::store::Store;
use crate::raft::types::{C, Membership};
use crate::wal::disk::simulated::{Dice, Simulated};
use crate::wal::{Kind, LogId, LogIndex, SyncMode};

fn membership(nodes: impl IntoIterator<Item = u64>) -> Membership {
    let nodes: BTreeMap<u64, BasicNode> = nodes
        .into_iter()
        .map(|node| (node, BasicNode::new(format!("node-{node}:7379"))))
        .collect();
    let voters: BTreeSet<u64> = nodes.keys().copied().collect();
    Membership::new(vec![voters], nodes).expect("voters are members")
}

/// A shard's log as a list.
#[derive(Clone, Default, PartialEq, Debug)]
struct Model {
    entries: BTreeMap<u64, EntryOf<C>>,
    purged: Option<LogIdOf<C>>,
    last: Option<LogIdOf<C>>,
    vote: Option<VoteOf<C>>,
}

impl Model {
    fn next(&self) -> u64 {
        self.last.map_or(0, |last| last.index + 1)
    }

    async fn check(&self, store: &mut Store, dice: &mut Dice, what: &str) {
        let state = store.get_log_state().await.expect("the state is known");
        assert_eq!(state.last_purged_log_id, self.purged, "{what}");
        assert_eq!(state.last_log_id, self.last, "{what}");
        assert_eq!(
            store.read_vote().await.expect("the vote is known"),
            self.vote,
            "{what}"
        );
        let entries: Vec<_> = self.entries.values().cloned().collect();
        assert_eq!(all(store).await, entries, "{what}");
        let (from, to) = (dice.below(self.next() + 2), dice.below(self.next() + 2));
        let some = store.try_get_log_entries(from..to).await.expect("readable");
        let wanted: Vec<_> = self
            .entries
            .values()
            .filter(|entry| (from..to).contains(&entry.log_id.index))
            .cloned()
            .collect();
        assert_eq!(some, wanted, "{what}: {from}..{to}");
        let limited = store.limited_get_log_entries(from, to).await.expect("readable");
        assert!(
            wanted.starts_with(&limited) && limited.is_empty() == wanted.is_empty(),
            "{what}: {from}..{to}"
        );
    }

    /// Does something to both.
    async fn act(&mut self, store: &mut Store, dice: &mut Dice, term: u64) {
        match dice.below(10) {
            0 if !self.entries.is_empty() => {
                let dropped = dice.below(self.entries.len().min(5) as u64 + 1) as usize;
                let kept = self.entries.values().rev().nth(dropped);
                let last = kept.map(|entry| entry.log_id).or(self.purged);
                store.truncate_after(last).await.expect("it is truncated");
                self.entries
                    .retain(|index, _| last.is_some_and(|last| *index <= last.index));
                self.last = last;
            }
            1 if !self.entries.is_empty() => {
                let place = dice.below(self.entries.len() as u64) as usize;
                let up_to = self
                    .entries
                    .values()
                    .nth(place)
                    .map(|entry| entry.log_id)
                    .expect("it is there");
                store.purge(up_to).await.expect("it is purged");
                self.entries.retain(|index, _| *index > up_to.index);
                self.purged = Some(up_to);
            }
            // A snapshot from far ahead.
            2 if dice.below(4) == 0 => {
                let up_to = id(term, self.next() + dice.below(20));
                store.purge(up_to).await.expect("it is purged");
                self.entries.clear();
                (self.purged, self.last) = (Some(up_to), Some(up_to));
            }
            3 => {
                let vote = VoteOf::<C>::new(term, 1 + dice.below(3));
                store.save_vote(&vote).await.expect("it is saved");
                self.vote = Some(vote);
            }
            _ => {
                let mut entries = Vec::new();
                for index in self.next()..self.next() + 1 + dice.below(4) {
                    let mut entry = entry(term, index, vec![dice.below(256) as u8; dice.below(900) as usize]);
                    match dice.below(8) {
                        0 => entry.payload = EntryPayload::Blank,
                        1 => entry.payload = EntryPayload::Membership(membership(1..=1 + dice.below(5))),
                        _ => {}
                    }
                    entries.push(entry);
                }
                append(store, entries.clone()).await.expect("it is appended");
                self.last = entries.last().map(|entry| entry.log_id);
                self.entries
                    .extend(entries.into_iter().map(|entry| (entry.log_id.index, entry)));
            }
        }
    }
}

/// `power`: the disk loses power at each end, and what was told as safe has to be there.
async fn any_run(seed: u64, sync: SyncMode, recent_bytes: usize, power: bool) {
    let (mut disk, mut dice) = (Simulated::default(), Dice(seed));
    let mut models = [Model::default(), Model::default()];
    let mut term = 1;
    for run in 0..4 {
        let what = format!("seed {seed}, run {run}, {sync:?}");
        let mut node = Node::start(&disk, sync, recent_bytes);
        for (store, model) in node.stores.iter_mut().zip(&models) {
            model.check(store, &mut dice, &what).await;
        }
        for _ in 0..30 {
            term += dice.below(2);
            let shard = dice.below(2) as usize;
            let (store, model) = (&mut node.stores[shard], &mut models[shard]);
            model.act(store, &mut dice, term).await;
            model.check(store, &mut dice, &what).await;
        }
        if power {
            // Nothing follows on what the last call was told, but for truncations and purges.
            for (store, model) in node.stores.iter_mut().zip(&mut models) {
                let vote = VoteOf::<C>::new(term + 1, 1);
                store.save_vote(&vote).await.expect("it is saved");
                model.vote = Some(vote);
            }
            let after = disk.fork();
            after.crash(seed);
            node.stop();
            disk = after;
        } else {
            node.stop();
        }
    }
}

#[tokio::test]
async fn any_run_is_found_again_by_the_next_start() {
    for seed in 0..6 {
        any_run(seed, SyncMode::EverySecond, (seed as usize) << 10, false).await;
        any_run(seed, SyncMode::Always, 64 << 10, false).await;
    }
}

#[tokio::test]
async fn a_power_cut_takes_nothing_that_was_told_as_durable() {
    for seed in 0..6 {
        any_run(seed, SyncMode::Always, 4 << 10, true).await;
        // A vote is durable where entries need not be, and takes with it what was handed over before it.
        any_run(seed, SyncMode::EverySecond, 4 << 10, true).await;
    }
}

#[tokio::test]
async fn what_is_committed_goes_along_and_never_ahead_of_the_log() {
    let disk = Simulated::default();
    let mut node = Node::start(&disk, SyncMode::EverySecond, 1 << 20);
    let store = &mut node.stores[0];
    append(store, vec![entry(1, 0, "a"), entry(1, 1, "b")])
        .await
        .expect("appended");
    let before = node.wal.counts().writes;
    let store = &mut node.stores[0];
    store.save_committed(Some(id(1, 1))).await.expect("saved");
    assert_eq!(store.read_committed().await.expect("known"), Some(id(1, 1)));
    assert_eq!(node.wal.counts().writes, before, "not worth a write of its own");
    let store = &mut node.stores[0];
    append(store, vec![entry(1, 2, "c")]).await.expect("appended");
    store.save_committed(Some(id(1, 9))).await.expect("saved");
    assert_eq!(
        store.read_committed().await.expect("known"),
        Some(id(1, 2)),
        "no further than the log"
    );
    node.stop();
    let mut node = Node::start(&disk, SyncMode::EverySecond, 1 << 20);
    let committed = node.stores[0].read_committed().await.expect("known");
    assert_eq!(committed, Some(id(1, 1)), "what went along with an entry");
    node.stop();
}

#[tokio::test]
async fn a_membership_outlives_the_entry_that_made_it() {
    let disk = Simulated::default();
    let mut node = Node::start(&disk, SyncMode::Always, 1 << 20);
    let store = &mut node.stores[1];
    assert_eq!(store.membership(), None);
    let stored = StoredMembershipOf::<C>::new(Some(id(2, 0)), membership([1, 2, 3]));
    let made = EntryOf::<C> {
        log_id: id(2, 0),
        payload: EntryPayload::Membership(stored.membership().clone()),
    };
    append(store, vec![made]).await.expect("appended");
    store.save_membership(stored.clone()).await.expect("saved");
    store.purge(id(2, 0)).await.expect("purged");
    append(store, vec![entry(2, 1, "x")]).await.expect("appended");
    node.stop();
    let node = Node::start(&disk, SyncMode::Always, 1 << 20);
    assert_eq!(node.stores[1].membership(), Some(stored));
    node.stop();
}

#[tokio::test]
async fn effects_stand_in_the_log_as_a_node_without_replicas_writes_them() {
    let mut node = Node::start(&Simulated::default(), SyncMode::Always, 0);
    let store = &mut node.stores[0];
    let blank = EntryOf::<C> {
        log_id: id(4, 0),
        payload: EntryPayload::Blank,
    };
    append(store, vec![blank, entry(4, 1, "effects"), entry(4, 2, "")])
        .await
        .expect("appended");
    let mut scan = node.wal.entries(SHARDS[0], LogIndex(1)).expect("readable");
    let mut found = Vec::new();
    while let Some(entry) = scan.next_entry().expect("readable") {
        found.push((entry.kind, entry.id, entry.payload.to_vec()));
    }
    let wanted = [
        (Kind::RaftEntry, LogId::new(4, 1, 1), vec![]),
        (Kind::Entry, LogId::new(4, 1, 2), b"effects".to_vec()),
        (Kind::Entry, LogId::new(4, 1, 3), vec![]),
    ];
    assert_eq!(found, wanted);
    drop(scan);
    node.stop();
}

//! Which nodes get which shards when a cluster is made, and who of them leads: a pure function.
//!
//! Invariant: equal arguments give equal placements, whatever the order of the nodes is.
//! Invariant: leaderships of nodes differ by one at most, and replicas by two.

use std::collections::BTreeMap;

use crate::wal::{NodeId, ShardId};

/// One shard's nodes. The first is the one that is to lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub shard: ShardId,
    pub voters: Vec<NodeId>,
}

impl Place {
    pub fn leader(&self) -> Option<NodeId> {
        self.voters.first().copied()
    }
}

/// Spreads shards over nodes: `replicas` of each, or as many as there are nodes.
pub fn place(nodes: &[NodeId], shards: u16, replicas: usize) -> Vec<Place> {
    // Of a node: its replicas, its leaderships.
    let mut load: BTreeMap<NodeId, (usize, usize)> = nodes.iter().map(|node| (*node, (0, 0))).collect();
    let mut place = |shard| {
        let mut voters: Vec<NodeId> = load.keys().copied().collect();
        // First who leads least, then who holds least.
        voters.sort_by_key(|node| (load[node].1, load[node].0, *node));
        if let Some((_, others)) = voters.split_first_mut() {
            others.sort_by_key(|node| (load[node], *node));
        }
        voters.truncate(replicas);
        for (part, node) in voters.iter().enumerate() {
            if let Some((held, leads)) = load.get_mut(node) {
                *held += 1;
                *leads += usize::from(part == 0);
            }
        }
        Place {
            shard: ShardId(shard),
            voters,
        }
    };
    (0..shards).map(&mut place).collect()
}

/// What a shard's leader and voters are now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    pub shard: ShardId,
    pub leader: Option<NodeId>,
    pub voters: Vec<NodeId>,
}

/// A leadership that is to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    pub shard: ShardId,
    pub from: NodeId,
    pub to: NodeId,
}

/// The next leadership to move so that they are spread evenly, if one has to: from a node with the most to one with at
/// least two fewer. Each move makes it more even, so that there is an end to them. `takers`: who may lead.
pub fn next_move(held: &[Held], takers: &[NodeId]) -> Option<Move> {
    let leads = |node: NodeId| held.iter().filter(|held| held.leader == Some(node)).count();
    let gain = |held: &Held| {
        let from = held.leader?;
        let may = |to: &&NodeId| **to != from && takers.contains(to);
        let to = held
            .voters
            .iter()
            .filter(may)
            .min_by_key(|to| (leads(**to), **to))?;
        // A node that may not lead gives all that it has.
        let has = if takers.contains(&from) {
            leads(from)
        } else {
            usize::MAX
        };
        let gain = has.saturating_sub(leads(*to));
        let shard = held.shard;
        (gain >= 2).then_some((gain, Move { shard, from, to: *to }))
    };
    let moves = held.iter().filter_map(gain);
    moves
        .max_by_key(|(gain, step)| (*gain, std::cmp::Reverse(step.shard)))
        .map(|(_, step)| step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ids(count: u64) -> Vec<NodeId> {
        (1..=count).map(NodeId).collect()
    }

    fn spread(counts: impl Iterator<Item = usize> + Clone) -> usize {
        counts.clone().max().unwrap_or(0) - counts.min().unwrap_or(0)
    }

    #[test]
    fn three_nodes_lead_two_of_six_shards_each() {
        let leaders: Vec<u64> = place(&ids(3), 6, 3)
            .iter()
            .filter_map(Place::leader)
            .map(|node| node.0)
            .collect();
        assert_eq!(leaders, [1, 2, 3, 1, 2, 3]);
        assert_eq!(
            place(&ids(2), 1, 3)[0].voters,
            ids(2),
            "no more replicas than nodes"
        );
        assert!(place(&[], 2, 3).iter().all(|place| place.voters.is_empty()));
    }

    proptest! {
        #[test]
        fn a_placement_is_even_and_does_not_depend_on_the_order(count in 1u64..9, shards in 0u16..70, replicas in 1usize..6) {
            let (nodes, mut reversed) = (ids(count), ids(count));
            reversed.reverse();
            let places = place(&nodes, shards, replicas);
            prop_assert_eq!(&places, &place(&reversed, shards, replicas));
            for place in &places {
                let mut voters = place.voters.clone();
                voters.sort_unstable();
                voters.dedup();
                prop_assert_eq!(voters.len(), replicas.min(nodes.len()));
            }
            let replicas_of = |node: &NodeId| places.iter().filter(|place| place.voters.contains(node)).count();
            let leads = |node: &NodeId| places.iter().filter(|place| place.leader() == Some(*node)).count();
            prop_assert!(spread(nodes.iter().map(leads)) <= 1);
            prop_assert!(spread(nodes.iter().map(replicas_of)) <= 2);
        }

        /// From any leaders on, moves end, and no more is to be gained where each node has a replica of each shard.
        #[test]
        fn moves_end_and_leave_it_even(leaders in prop::collection::vec(0u64..5, 0..40), drained in 0u64..5) {
            let nodes = ids(4);
            let takers: Vec<NodeId> = nodes.iter().copied().filter(|node| node.0 != drained).collect();
            let mut held: Vec<Held> = leaders.iter().zip(0..).map(|(leader, shard)| Held {
                shard: ShardId(shard),
                leader: (*leader > 0).then_some(NodeId(*leader)),
                voters: nodes.clone(),
            }).collect();
            let mut moves = 0;
            while let Some(step) = next_move(&held, &takers) {
                let at = held.iter().position(|held| held.shard == step.shard).expect("it moves what there is");
                prop_assert_eq!(held[at].leader, Some(step.from));
                prop_assert!(takers.contains(&step.to));
                held[at].leader = Some(step.to);
                moves += 1;
                prop_assert!(moves <= leaders.len(), "each shard moves once at most");
            }
            let leads = |node: &NodeId| held.iter().filter(|held| held.leader == Some(*node)).count();
            prop_assert!(spread(takers.iter().map(leads)) <= 1);
            prop_assert!(drained == 0 || leads(&NodeId(drained)) == 0);
        }
    }
}

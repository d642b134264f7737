//! Who holds which shard. One shard is changed at a time, by one voter, and only where it is led and a majority has
//! nearly all; the nodes themselves let a new voter catch up before it counts.

use std::collections::BTreeSet;

use super::{Plan, Shard, Step, View};
use crate::api::Reason;
use crate::names::{NodeId, Ordinal};

/// What is missing, left over or on a node that goes: the first shard that can be mended is.
pub fn change(view: &View, plan: &mut Plan) {
    let mut stuck = None;
    for shard in view.shards.iter().filter(|shard| shard.membership.has_begun()) {
        let wish = wish(view, shard);
        let Some(wish) = wish else {
            continue;
        };
        match step(view, shard, wish) {
            Ok(step) => {
                plan.step(step);
                plan.note(
                    Reason::MovingReplicas,
                    format!("shard {} changes its replicas", shard.id),
                );
                return;
            }
            Err((reason, says)) => stuck = stuck.or(Some((reason, says))),
        }
    }
    if let Some((reason, says)) = stuck {
        plan.note(reason, says);
    }
}

/// How a shard's voters are to change by one.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Wish {
    add: Option<NodeId>,
    remove: Option<NodeId>,
    /// Somebody is to be added, and nobody can be.
    lacks: bool,
}

fn wish(view: &View, shard: &Shard) -> Option<Wish> {
    let voters = shard.membership.target();
    let (is, wanted) = (voters.len(), usize::from(view.cluster.replicas));
    if shard.membership.is_joint() {
        // A change that was cut short half-way: it is finished, whatever else is wanted by now.
        let old = shard
            .membership
            .voters
            .iter()
            .flatten()
            .find(|voter| !voters.contains(voter))
            .copied();
        return Some(Wish {
            remove: old,
            ..Wish::default()
        });
    }
    let leaves = |voter: &NodeId| view.home(*voter).is_some_and(|home| home.0 >= view.cluster.nodes);
    let gone = voters.iter().copied().find(|voter| view.is_gone(*voter));
    // Followers first: by then somebody who stays can take over from the leader.
    let leaving = voters
        .iter()
        .copied()
        .filter(leaves)
        .min_by_key(|voter| shard.leader == Some(*voter));
    let with = |remove: Option<NodeId>| {
        let add = candidate(view, shard, remove);
        Wish {
            add,
            remove: remove.filter(|_| add.is_some()),
            lacks: add.is_none(),
        }
    };
    match (gone, leaving) {
        (Some(gone), _) | (None, Some(gone)) if is > wanted => Some(Wish {
            remove: Some(gone),
            ..Wish::default()
        }),
        (Some(gone), _) => Some(with(Some(gone))),
        // From one to three there are two for a moment, of which none may be lost: only where the third is at hand.
        _ if is < wanted && is % 2 == 1 && candidates(view, shard, None).len() < wanted - is => Some(Wish {
            lacks: true,
            ..Wish::default()
        }),
        _ if is < wanted => Some(with(None)),
        _ if is > wanted => Some(Wish {
            remove: superfluous(view, shard),
            ..Wish::default()
        }),
        (None, Some(leaving)) => Some(with(Some(leaving))),
        (None, None) => left_over(shard).map(|learner| Wish {
            remove: Some(learner),
            ..Wish::default()
        }),
    }
}

/// A learner that an interrupted change left behind.
fn left_over(shard: &Shard) -> Option<NodeId> {
    shard.membership.learners.first().copied()
}

fn superfluous(view: &View, shard: &Shard) -> Option<NodeId> {
    let voters = shard.membership.target();
    voters
        .into_iter()
        .max_by_key(|voter| (view.holds(*voter), shard.leader != Some(*voter), *voter))
}

fn candidates(view: &View, shard: &Shard, instead_of: Option<NodeId>) -> Vec<NodeId> {
    let voters = shard.membership.target();
    let zones: BTreeSet<&str> = voters
        .iter()
        .filter(|voter| Some(**voter) != instead_of)
        .map(|voter| view.zone(*voter))
        .collect();
    let mut found: Vec<(NodeId, Ordinal)> = view
        .observed
        .nodes
        .iter()
        .filter(|(ordinal, node)| view.takes_replicas(**ordinal) && !voters.contains(&node.id))
        .map(|(ordinal, node)| (node.id, *ordinal))
        .collect();
    // Another zone first, then who has begun to learn, then who holds least.
    found.sort_by_key(|(id, ordinal)| {
        let zone = view.zone(*id);
        (
            !zone.is_empty() && zones.contains(zone),
            !shard.membership.learners.contains(id),
            view.holds(*id),
            *ordinal,
        )
    });
    found.into_iter().map(|(id, _)| id).collect()
}

fn candidate(view: &View, shard: &Shard, instead_of: Option<NodeId>) -> Option<NodeId> {
    candidates(view, shard, instead_of).first().copied()
}

/// The change as a step, or why it has to wait.
fn step(view: &View, shard: &Shard, wish: Wish) -> Result<Step, (Reason, String)> {
    let id = shard.id;
    let Some(leader) = shard.leader else {
        return Err((
            Reason::ShardsWithoutLeader,
            format!("shard {id} has no leader that answers, so its replicas stay as they are"),
        ));
    };
    let voters = shard.membership.target();
    if !shard.majority_of(&voters) {
        return Err((
            Reason::HeldBack,
            format!("shard {id} has no majority that is up to date: its replicas are changed when it has"),
        ));
    }
    if wish.lacks {
        let says = format!(
            "shard {id} has {} of {} replicas on nodes that stay, and no other node can take one: it waits for a node",
            voters
                .iter()
                .filter(|voter| view.home(**voter).is_some_and(|home| home.0 < view.cluster.nodes))
                .count(),
            view.cluster.replicas
        );
        let grows = voters.len() < usize::from(view.cluster.replicas);
        let reason = if grows {
            Reason::WaitingForNodes
        } else {
            Reason::MemberLost
        };
        return Err((reason, says));
    }
    if wish.remove == Some(leader) {
        let to = voters
            .iter()
            .copied()
            .filter(|voter| *voter != leader && shard.caught_up.contains(voter));
        let to = to.filter(|voter| view.home(*voter).is_some_and(|home| view.takes_replicas(home)));
        return match to.min_by_key(|voter| (view.leads(*voter), *voter)) {
            Some(to) => Ok(Step::TransferLeader {
                shard: id,
                from: leader,
                to,
            }),
            // The only voter leaves: its successor has to vote before it can lead.
            None if wish.add.is_some() && voters.len() == 1 => Ok(change_of(shard, leader, wish.add, None)),
            None => Err((
                Reason::HeldBack,
                format!("the leader of shard {id} is to go, and nobody can take over yet"),
            )),
        };
    }
    // Without the one that goes, and with the one that comes, who is up to date is a majority still.
    let mut after = voters.clone();
    after.retain(|voter| Some(*voter) != wish.remove);
    let stay = shard.caught_up.intersection(&after).count() + usize::from(wish.add.is_some());
    after.extend(wish.add);
    if stay * 2 <= after.len() {
        return Err((
            Reason::HeldBack,
            format!(
                "a change of shard {id} would leave it without a majority: it waits until its other replicas are up to date"
            ),
        ));
    }
    Ok(change_of(shard, leader, wish.add, wish.remove))
}

fn change_of(shard: &Shard, leader: NodeId, add: Option<NodeId>, remove: Option<NodeId>) -> Step {
    Step::ChangeReplicas {
        shard: shard.id,
        leader,
        add,
        remove,
        if_membership: shard.membership.made_by,
    }
}

/// Where all is well: a replica moves from the node with most to one with at least two fewer, or to a zone that the
/// shard is not in. Each move makes it more even, so that there is an end to them.
pub fn spread(view: &View, plan: &mut Plan) {
    if !view.shards.iter().all(Shard::is_whole) {
        return;
    }
    let takers = view
        .observed
        .nodes
        .iter()
        .filter(|(ordinal, node)| view.takes_replicas(**ordinal) && !node.drains);
    let takers: Vec<NodeId> = takers.map(|(_, node)| node.id).collect();
    let moves = view.shards.iter().flat_map(|shard| {
        let voters = shard.membership.target();
        let pairs = voters
            .iter()
            .copied()
            .flat_map(|from| takers.iter().map(move |to| (from, *to)));
        let fits = pairs.filter(|(_, to)| !voters.contains(to)).collect::<Vec<_>>();
        fits.into_iter()
            .map(move |(from, to)| (gain(view, shard, from, to), shard, from, to))
    });
    let best = moves
        .filter(|(gain, ..)| *gain > (0, 1))
        .max_by_key(|(gain, shard, from, to)| {
            // Followers before leaders: a leadership would have to move first.
            (
                *gain,
                shard.leader != Some(*from),
                std::cmp::Reverse((shard.id, *from, *to)),
            )
        });
    let Some((_, shard, from, to)) = best else {
        return;
    };
    match step(
        view,
        shard,
        Wish {
            add: Some(to),
            remove: Some(from),
            lacks: false,
        },
    ) {
        Ok(step) => {
            plan.step(step);
            plan.note(Reason::MovingReplicas, "replicas are spread evenly over nodes");
        }
        Err((reason, says)) => plan.note(reason, says),
    }
}

/// Zones that the shard would be in more, and by how much the loads would come nearer to each other.
fn gain(view: &View, shard: &Shard, from: NodeId, to: NodeId) -> (isize, isize) {
    let zones = |voters: &BTreeSet<NodeId>| {
        voters
            .iter()
            .map(|voter| view.zone(*voter))
            .filter(|zone| !zone.is_empty())
            .collect::<BTreeSet<_>>()
            .len() as isize
    };
    let before = shard.membership.target();
    let mut after = before.clone();
    after.remove(&from);
    after.insert(to);
    let zones = zones(&after) - zones(&before);
    let load = view.holds(from) as isize - view.holds(to) as isize;
    match zones {
        // A worse spread over zones is no gain, however even the loads.
        ..0 => (zones, 0),
        _ => (zones, load),
    }
}

//! Pods are restarted one at a time: the sick first, followers before leaders, and the next only when the last one has
//! caught up. Which pod is next follows from what is there, so that an interrupted restart goes on where it was.

use std::cmp::Reverse;

use super::{Plan, Shard, Step, View, Wanted};
use crate::api::Reason;
use crate::names::Ordinal;
use crate::observe::Pod;

/// A pod that is not ready may be so for what it is to be restarted for. It is down already; what is left must not
/// need it.
///
/// Whether one is restarted for it.
pub fn heal(view: &View, wanted: &Wanted, plan: &mut Plan) -> bool {
    if view.observed.pods.values().any(|pod| pod.ends) {
        return false;
    }
    let sick = view.observed.pods.iter().find(|(ordinal, pod)| {
        // A drained pod is not ready, either, and gives its leaderships away yet.
        let drains = view.observed.nodes.get(ordinal).is_some_and(|node| node.drains);
        let needed = view
            .id_at(**ordinal)
            .is_some_and(|id| view.leads(id) > 0 || !view.shards.iter().all(|shard| shard.spares(id)));
        is_old(pod, wanted) && !pod.ready && !drains && !needed
    });
    if let Some((ordinal, pod)) = sick {
        plan.step(Step::Evict {
            ordinal: *ordinal,
            uid: pod.uid.clone(),
        });
        plan.note(
            Reason::Restarting,
            format!(
                "{}-{ordinal} is not ready and not as it is to be: it goes first",
                view.cluster.name
            ),
        );
    }
    sick.is_some()
}

fn is_old(pod: &Pod, wanted: &Wanted) -> bool {
    !pod.ends && pod.revision != wanted.revision
}

/// One server without replicas: its restart is what was asked for.
pub fn alone(view: &View, wanted: &Wanted, plan: &mut Plan) {
    let old = view
        .observed
        .pods
        .iter()
        .find(|(_, pod)| is_old(pod, wanted) && pod.ready);
    if let Some((ordinal, pod)) = old {
        plan.step(Step::Evict {
            ordinal: *ordinal,
            uid: pod.uid.clone(),
        });
        plan.note(
            Reason::Restarting,
            "the server is restarted, and what it held is gone: its durability is memory",
        );
    }
}

/// The pod that is restarted next: one that was drained for it, else the one that leads least, the leader of most last.
pub fn next(view: &View, wanted: &Wanted) -> Option<Ordinal> {
    let old = view.observed.pods.iter().filter(|(_, pod)| is_old(pod, wanted));
    let order = |ordinal: Ordinal| {
        let node = view.observed.nodes.get(&ordinal);
        let drains = node.is_some_and(|node| node.drains);
        let leads = view.id_at(ordinal).map_or(0, |id| view.leads(id));
        (!drains, leads, Reverse(ordinal))
    };
    old.map(|(ordinal, _)| *ordinal)
        .min_by_key(|ordinal| order(*ordinal))
}

pub fn roll(view: &View, wanted: &Wanted, plan: &mut Plan) {
    let Some(ordinal) = next(view, wanted) else {
        return;
    };
    let name = format!("{}-{ordinal}", view.cluster.name);
    plan.note(Reason::Restarting, format!("{name} is next; one pod at a time"));
    let Some(pod) = view.observed.pods.get(&ordinal) else {
        return;
    };
    let is_up = |other: Ordinal| {
        view.observed
            .pods
            .get(&other)
            .is_some_and(|pod| pod.ready && !pod.ends)
    };
    let others_ready = (0..view.pods())
        .map(Ordinal)
        .filter(|other| *other != ordinal)
        .all(is_up);
    if !others_ready || !view.shards.iter().all(Shard::is_whole) {
        plan.note(
            Reason::HeldBack,
            format!("{name} is restarted when all pods are ready and all replicas up to date"),
        );
        return;
    }
    let Some(id) = view.id_at(ordinal) else {
        return;
    };
    if !view.shards.iter().all(|shard| shard.spares(id)) {
        plan.note(
            Reason::HeldBack,
            format!("a shard could not do without {name} now"),
        );
        return;
    }
    // Where a shard has one voter its leadership goes nowhere.
    let leads = view
        .shards
        .iter()
        .any(|shard| shard.leader == Some(id) && shard.membership.target().len() > 1);
    let drains = view.observed.nodes.get(&ordinal).is_some_and(|node| node.drains);
    match drains && !leads {
        true => plan.step(Step::Evict {
            ordinal,
            uid: pod.uid.clone(),
        }),
        false => plan.step(Step::Drain { ordinal }),
    }
}

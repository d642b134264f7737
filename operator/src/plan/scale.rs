//! How many pods there are. More are made at once; one fewer only when it holds nothing: membership first, pod last.

use super::{Plan, Step, View, Wanted, restart};
use crate::api::Reason;
use crate::names::Ordinal;

pub fn hibernate(view: &View, plan: &mut Plan) {
    match view.pods() {
        0 if view.observed.pods.is_empty() => {
            plan.note(
                Reason::Hibernated,
                "no pod runs; set spec.hibernated to false to wake the cluster",
            );
        }
        0 => plan.note(Reason::Hibernating, "pods are ending"),
        from => {
            plan.step(Step::Scale { from, to: 0 });
            plan.note(Reason::Hibernating, "pods are being stopped");
        }
    }
}

/// As many as the spec says, and never fewer than hold shards. A set that is not there yet is made with so many.
pub fn pods_wanted(view: &View) -> u16 {
    let held = view.observed.record.nodes;
    let running = view
        .observed
        .pods
        .keys()
        .map(|ordinal| ordinal.0 + 1)
        .max()
        .unwrap_or_default();
    match view.pods() {
        // Whoever held shards when all went to sleep has to be there when it wakes, however few are wanted by now.
        0 => view.cluster.nodes.max(held).max(running),
        replicas => view.cluster.nodes.max(replicas),
    }
}

pub fn out(view: &View, plan: &mut Plan) {
    let (from, to) = (view.pods(), pods_wanted(view));
    if view.observed.stateful_set.is_some() && from < to {
        plan.step(Step::Scale { from, to });
    }
    let missing: Vec<String> = (0..to.min(from))
        .filter(|ordinal| {
            !view
                .observed
                .pods
                .get(&Ordinal(*ordinal))
                .is_some_and(|pod| pod.ready)
        })
        .map(|ordinal| format!("{}-{ordinal}", view.cluster.name))
        .collect();
    let unschedulable = view
        .observed
        .pods
        .values()
        .find_map(|pod| pod.unschedulable.as_ref());
    if let Some(why) = unschedulable {
        plan.note(
            Reason::PodUnschedulable,
            format!("Kubernetes has no place for a pod: {why}"),
        );
    } else if !missing.is_empty() {
        let trouble = view.observed.pods.values().find_map(|pod| pod.trouble.as_ref());
        let why = trouble.map(|trouble| format!(": {trouble}")).unwrap_or_default();
        plan.note(
            Reason::WaitingForNodes,
            format!("{} not ready{why}", missing.join(", ")),
        );
    }
}

/// Nodes that are to go give their leaderships away and take no other; those that stay, and are drained for nothing,
/// may lead again: an operator may have ended in the middle of something.
pub fn drain_leaving(view: &View, wanted: &Wanted, plan: &mut Plan) {
    let next = restart::next(view, wanted);
    for (ordinal, node) in &view.observed.nodes {
        if node.cluster.is_none() || node.loads {
            continue;
        }
        let leaves = ordinal.0 >= view.cluster.nodes;
        match (leaves, node.drains) {
            (true, false) => plan.step(Step::Drain { ordinal: *ordinal }),
            (false, true) if next != Some(*ordinal) => plan.step(Step::Undrain { ordinal: *ordinal }),
            _ => {}
        }
    }
}

/// The pod of the highest ordinal goes when no shard knows its node any more.
pub fn inwards(view: &View, plan: &mut Plan) {
    let pods = view.pods();
    if pods <= view.cluster.nodes {
        return;
    }
    let last = Ordinal(pods - 1);
    plan.note(
        Reason::ScalingIn,
        format!("{}-{last} is emptied and then removed", view.cluster.name),
    );
    // Every member of every shard is known to live elsewhere.
    let elsewhere = |node| view.last_home(node).is_some_and(|home| home != last);
    let empty = view.shards.iter().all(|shard| {
        let membership = &shard.membership;
        let mut members = membership.voters.iter().flatten().chain(&membership.learners);
        shard.is_well() && members.all(|node| elsewhere(*node))
    });
    if empty {
        plan.step(Step::Scale {
            from: pods,
            to: pods - 1,
        });
    }
}

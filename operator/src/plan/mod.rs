//! From what is to be and what is there to the next steps: a pure function.
//!
//! Invariant: a cluster that is as it is to be has no steps.
//! Invariant: each step may be done twice, and the operator may end between any two.
//! Invariant: a shard's voters change by one at a time, and only to the membership that was seen.
//! Invariant: nothing here ends a pod whose shards could not do without it, one node's at a time.
//! Invariant: a cluster is founded once for its id; whoever is empty afterwards is a new node.
//!
//! A plan holds what can be done now. What has to wait for it comes in a later plan, made from what is there then.

mod found;
mod members;
mod objects;
mod restart;
mod scale;
mod step;
mod view;

pub use step::{ObjectRef, Step};
pub use view::{Shard, View};

use crate::api::Reason;
use crate::observe::Observed;
use crate::validate::ValidCluster;

/// What `build` says of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// Objects that are not what they are to be.
    pub changed: Vec<ObjectRef>,
    /// Of pods: what they have to be restarted for.
    pub revision: String,
    /// Of the options that nodes take while they run.
    pub config_revision: String,
}

/// Why something is done, waits, or cannot be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub reason: Reason,
    pub says: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    pub notes: Vec<Note>,
}

impl Plan {
    fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    fn note(&mut self, reason: Reason, says: impl Into<String>) {
        self.notes.push(Note {
            reason,
            says: says.into(),
        });
    }

    /// Whether there is nothing to do and nothing to wait for.
    pub fn is_settled(&self) -> bool {
        self.steps.is_empty() && self.notes.is_empty()
    }
}

pub fn plan(cluster: &ValidCluster, observed: &Observed, wanted: &Wanted) -> Plan {
    let mut plan = Plan::default();
    if cluster.paused {
        plan.note(Reason::Paused, "nothing is changed until spec.paused is false");
        return plan;
    }
    let view = View::of(cluster, observed);
    objects::apply(&view, wanted, &mut plan);
    objects::grow(&view, &mut plan);
    if cluster.hibernated {
        scale::hibernate(&view, &mut plan);
        return plan;
    }
    scale::out(&view, &mut plan);
    if restart::heal(&view, wanted, &mut plan) {
        return plan;
    }
    if cluster.stands_alone() {
        restart::alone(&view, wanted, &mut plan);
        return plan;
    }
    if !found::settle(&view, &mut plan) {
        return plan;
    }
    objects::configure(&view, wanted, &mut plan);
    scale::drain_leaving(&view, wanted, &mut plan);
    // One thing at a time that costs a shard anything: first what is missing, then what is old, then what is too many.
    let before = plan.steps.len();
    members::change(&view, &mut plan);
    if plan.steps.len() == before {
        restart::roll(&view, wanted, &mut plan);
    }
    if plan.steps.len() == before {
        members::spread(&view, &mut plan);
    }
    if plan.steps.len() == before {
        scale::inwards(&view, &mut plan);
    }
    plan
}

/// With how many pods a StatefulSet that is not there is made, or stays.
pub fn pods(cluster: &ValidCluster, observed: &Observed) -> u16 {
    let view = View::of(cluster, observed);
    match (&observed.stateful_set, cluster.hibernated) {
        (Some(set), _) => set.replicas,
        (None, true) => 0,
        (None, false) => scale::pods_wanted(&view),
    }
}

#[cfg(test)]
mod tests;

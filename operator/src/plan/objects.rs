//! Objects, volumes and options: what needs no majority.

use super::{Plan, Step, View, Wanted};
use crate::api::Reason;

pub fn apply(view: &View, wanted: &Wanted, plan: &mut Plan) {
    if !view.observed.has_token && !view.cluster.stands_alone() {
        plan.step(Step::MakeToken);
    }
    for object in &wanted.changed {
        plan.step(Step::Apply(object.clone()));
    }
    if !plan.steps.is_empty() {
        plan.note(Reason::CreatingObjects, "objects are not what they are to be");
    }
}

/// Before anything else of the pods: where a disk is full they may not even start.
pub fn grow(view: &View, plan: &mut Plan) {
    let (Some(wish), Some(set)) = (&view.cluster.volume, &view.observed.stateful_set) else {
        return;
    };
    let mut grows = false;
    for (ordinal, volume) in &view.observed.volumes {
        if volume.size < wish.size && view.observed.class_expands != Some(false) {
            plan.step(Step::Grow {
                ordinal: *ordinal,
                to: wish.size,
            });
        }
        grows |= volume.capacity < wish.size;
    }
    if grows && view.observed.class_expands == Some(false) {
        plan.note(
            Reason::ClassCannotExpand,
            "the storage class does not let volumes grow: set allowVolumeExpansion in it, or set storage.size back",
        );
        return;
    }
    if grows {
        plan.note(Reason::GrowingVolumes, "volumes grow; no pod is restarted for it");
    }
    // Volumes of pods that are yet to come are made by the claims that the set was made with.
    if set.storage != Some(wish.size) {
        plan.steps
            .retain(|step| !matches!(step, Step::Apply(object) if object.kind == "StatefulSet"));
        plan.step(Step::MakeStatefulSetAnew { uid: set.uid.clone() });
    }
}

pub fn configure(view: &View, wanted: &Wanted, plan: &mut Plan) {
    let behind = view.observed.nodes.iter().filter(|(_, node)| {
        node.cluster.is_some() && !node.loads && node.config_revision != wanted.config_revision
    });
    let before = plan.steps.len();
    for (ordinal, _) in behind {
        plan.step(Step::ApplyConfig { ordinal: *ordinal });
    }
    if plan.steps.len() > before {
        plan.note(
            Reason::ApplyingConfig,
            "nodes are told their options; none is restarted for it",
        );
    }
}

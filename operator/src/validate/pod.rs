//! What is passed on to pods, in the types of Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ResourceRequirements, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{Invalid, quantity};
use crate::api::{PullPolicy, Reason, RuvioClusterSpec, TopologySpread};
use crate::names::Bytes;

/// What a node needs beside its keys and values: buffers, the log's tail, the image's window.
const BESIDE_KEYS: u64 = 256 << 20;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodWish {
    pub pull_policy: String,
    pub pull_secrets: Vec<String>,
    pub resources: ResourceRequirements,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    pub priority_class: Option<String>,
    pub spread: Vec<TopologySpread>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}

/// Labels and annotations under it are the operator's.
const OURS: [&str; 2] = ["ruvio.io/", "app.kubernetes.io/"];

pub fn check(spec: &RuvioClusterSpec, memory_max: Bytes) -> Result<PodWish, Invalid> {
    let bad = |says: String| Err(Invalid::new(Reason::InvalidPod, says));
    let names = spec.pod_labels.keys().chain(spec.pod_annotations.keys());
    for name in names {
        if let Some(ours) = OURS.iter().find(|ours| name.starts_with(**ours)) {
            return bad(format!(
                "podLabels or podAnnotations have {name}: those under {ours} are the operator's, use another name"
            ));
        }
    }
    for toleration in &spec.tolerations {
        let known = |value: &Option<String>, choices: &[&str]| {
            value.as_deref().is_none_or(|value| choices.contains(&value))
        };
        if !known(&toleration.operator, &["Exists", "Equal"]) {
            return bad("a toleration's operator is Exists or Equal".to_owned());
        }
        if !known(
            &toleration.effect,
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ) {
            return bad("a toleration's effect is NoSchedule, PreferNoSchedule or NoExecute".to_owned());
        }
    }
    for spread in spec.topology_spread.iter().flatten() {
        if !["ScheduleAnyway", "DoNotSchedule"].contains(&spread.when_unsatisfiable.as_str()) {
            return bad("whenUnsatisfiable of topologySpread is ScheduleAnyway or DoNotSchedule".to_owned());
        }
    }
    Ok(PodWish {
        pull_policy: match spec.image.pull_policy {
            PullPolicy::IfNotPresent => "IfNotPresent",
            PullPolicy::Always => "Always",
            PullPolicy::Never => "Never",
        }
        .to_owned(),
        pull_secrets: spec.image.pull_secrets.clone(),
        resources: resources(spec, memory_max)?,
        node_selector: spec.node_selector.clone(),
        tolerations: spec.tolerations.iter().map(toleration).collect(),
        priority_class: spec.priority_class_name.clone(),
        spread: spec.topology_spread.clone().unwrap_or_else(anywhere),
        labels: spec.pod_labels.clone(),
        annotations: spec.pod_annotations.clone(),
    })
}

fn toleration(wish: &crate::api::Toleration) -> Toleration {
    Toleration {
        key: wish.key.clone(),
        operator: wish.operator.clone(),
        value: wish.value.clone(),
        effect: wish.effect.clone(),
        toleration_seconds: wish.toleration_seconds,
    }
}

/// Over zones and hosts, but a pod without a good place is better than none.
fn anywhere() -> Vec<TopologySpread> {
    let over = |key: &str| TopologySpread {
        topology_key: key.to_owned(),
        max_skew: 1,
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
    };
    vec![
        over("topology.kubernetes.io/zone"),
        over("kubernetes.io/hostname"),
    ]
}

fn resources(spec: &RuvioClusterSpec, memory_max: Bytes) -> Result<ResourceRequirements, Invalid> {
    let bad = |says: String| Err(Invalid::new(Reason::InvalidAmount, says));
    let mut wish = spec.resources.clone().unwrap_or_default();
    for (name, amount) in wish.requests.iter().chain(&wish.limits) {
        if quantity::bytes(&amount.0).is_none() {
            return bad(format!(
                "resources have {name} \"{}\", which is no amount: write it like 500m or 2Gi",
                amount.0
            ));
        }
    }
    let needed = memory_max
        .0
        .saturating_add(memory_max.0 / 4)
        .saturating_add(BESIDE_KEYS);
    let needed = Quantity(quantity::text(Bytes(needed)));
    match wish.limits.get("memory") {
        Some(limit) if quantity::bytes(&limit.0).is_some_and(|limit| limit <= memory_max) => {
            return bad(format!(
                "resources.limits.memory is {}, and memory.max alone is {}: a node would be killed before it is full; raise \
                 the limit to {} or lower memory.max",
                limit.0,
                quantity::text(memory_max),
                needed.0
            ));
        }
        Some(limit) => {
            let limit = limit.clone();
            wish.requests.entry("memory".to_owned()).or_insert(limit);
        }
        None => {
            wish.requests
                .entry("memory".to_owned())
                .or_insert_with(|| needed.clone());
            let request = wish.requests.get("memory").map_or(&needed, |request| request);
            let larger = if quantity::bytes(&request.0) > quantity::bytes(&needed.0) {
                request
            } else {
                &needed
            };
            wish.limits.insert("memory".to_owned(), larger.clone());
        }
    }
    wish.requests
        .entry("cpu".to_owned())
        .or_insert_with(|| Quantity("500m".to_owned()));
    Ok(ResourceRequirements {
        requests: Some(wish.requests),
        limits: Some(wish.limits),
        claims: None,
    })
}

//! The objects of a cluster, from what was validated and nothing else: equal clusters have equal objects.
//!
//! Invariant: every object is owned by the RuvioCluster, so that all of it goes when that goes, also while no operator
//! runs; volumes go or stay by their own policy.
//! Invariant: what is here restarts nothing by itself. Pods are told apart by `revision`, which holds what users said
//! and nothing of how the operator puts it, so that another operator restarts no pod.

mod config;
mod difference;
mod guards;
mod pod;
mod revision;
mod service;
mod stateful_set;

use serde_json::{Value, json};

pub use config::{config_revision, live_options};
pub use difference::changed;
pub use guards::{TOKEN_KEY, token};
pub use revision::{REVISION, revision};

use crate::api::GROUP;
use crate::plan::ObjectRef;
use crate::validate::ValidCluster;

/// As an API server is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    pub reference: ObjectRef,
    pub value: Value,
}

/// All but the token's Secret, which is made once and never again. `pods`: how many there are to be now.
pub fn objects(cluster: &ValidCluster, pods: u16) -> Vec<Object> {
    let mut objects = vec![
        guards::service_account(cluster),
        config::config_map(cluster),
        config::users(cluster),
        service::clients(cluster),
        service::nodes(cluster),
    ];
    if cluster.service.external_access {
        objects.extend((0..cluster.nodes).map(|ordinal| service::one_node(cluster, ordinal)));
    }
    objects.extend(guards::disruption_budget(cluster));
    objects.extend(guards::network_policy(cluster));
    objects.extend(guards::pod_monitor(cluster));
    objects.push(stateful_set::stateful_set(cluster, pods));
    objects.into_iter().map(difference::sealed).collect()
}

/// Names of what belongs to a cluster.
pub mod names {
    use crate::validate::ValidCluster;

    pub fn nodes_service(cluster: &ValidCluster) -> String {
        format!("{}-nodes", cluster.name)
    }
    pub fn config(cluster: &ValidCluster) -> String {
        format!("{}-config", cluster.name)
    }
    pub fn users(cluster: &ValidCluster) -> String {
        format!("{}-users", cluster.name)
    }
    pub fn token(cluster: &ValidCluster) -> String {
        format!("{}-token", cluster.name)
    }
    pub fn pod(cluster: &ValidCluster, ordinal: u16) -> String {
        format!("{}-{ordinal}", cluster.name)
    }
    /// Stays with the pod wherever it runs.
    pub fn host(cluster: &ValidCluster, ordinal: u16) -> String {
        format!(
            "{}.{}.{}.svc",
            pod(cluster, ordinal),
            nodes_service(cluster),
            cluster.namespace
        )
    }
}

/// Ports of a pod. They are fixed: each has a network of its own.
pub mod ports {
    /// For clients that know Redis Cluster, and for nodes that pass commands on.
    pub const RESP: u16 = 6379;
    /// The whole keyspace, for any client.
    pub const ROUTED: u16 = 6380;
    pub const PEER: u16 = 7379;
    pub const ADMIN: u16 = 7380;
    /// Probes and metrics.
    pub const HTTP: u16 = 9121;
}

/// By which a cluster's pods are found. Fixed for the life of a StatefulSet.
pub fn selector(cluster: &ValidCluster) -> Value {
    json!({ "app.kubernetes.io/name": "ruvio", "app.kubernetes.io/instance": cluster.name })
}

/// The same as an autoscaler is told.
pub fn selector_text(cluster: &ValidCluster) -> String {
    format!(
        "app.kubernetes.io/name=ruvio,app.kubernetes.io/instance={}",
        cluster.name
    )
}

fn labels(cluster: &ValidCluster) -> Value {
    let mut labels = selector(cluster);
    labels["app.kubernetes.io/managed-by"] = json!("ruvio-operator");
    labels["app.kubernetes.io/component"] = json!("node");
    labels
}

fn object(
    cluster: &ValidCluster,
    api_version: &str,
    kind: &'static str,
    name: String,
    body: Value,
) -> Object {
    let mut value = json!({
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": cluster.namespace,
            "labels": labels(cluster),
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1alpha1"),
                "kind": "RuvioCluster",
                "name": cluster.name,
                "uid": cluster.uid,
                "controller": true,
            }],
        },
    });
    merge(&mut value, body);
    Object {
        reference: ObjectRef { kind, name },
        value,
    }
}

/// Lays fields over others.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

#[cfg(test)]
pub mod samples;
#[cfg(test)]
mod tests;

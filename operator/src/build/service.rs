//! Services: one for clients, one for the nodes among themselves, and one for each node where outside clients need it.

use serde_json::{Value, json};

use super::{Object, names, object, ports, selector};
use crate::api::ServiceType;
use crate::validate::ValidCluster;

/// Any client's: every node serves the whole keyspace there.
pub fn clients(cluster: &ValidCluster) -> Object {
    let target = if cluster.stands_alone() { "resp" } else { "routed" };
    let body = json!({
        "metadata": annotations(cluster),
        "spec": {
            "type": kind(cluster),
            "selector": selector(cluster),
            "ports": [port("resp", ports::RESP, target, "redis")],
        },
    });
    object(cluster, "v1", "Service", cluster.name.clone(), body)
}

/// Names of pods, also of those that are not ready: peers have to find each other before any of them can be.
pub fn nodes(cluster: &ValidCluster) -> Object {
    let mut all = vec![port("resp", ports::RESP, "resp", "redis")];
    if !cluster.stands_alone() {
        all.push(port("routed", ports::ROUTED, "routed", "redis"));
        all.push(port("peer", ports::PEER, "peer", "grpc"));
        all.push(port("admin", ports::ADMIN, "admin", "grpc"));
    }
    all.push(port("http", ports::HTTP, "http", "http"));
    let body = json!({
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": selector(cluster),
            "ports": all,
        },
    });
    object(cluster, "v1", "Service", names::nodes_service(cluster), body)
}

pub fn one_node(cluster: &ValidCluster, ordinal: u16) -> Object {
    let pod = names::pod(cluster, ordinal);
    let body = json!({
        "metadata": annotations(cluster),
        "spec": {
            "type": kind(cluster),
            "selector": { "statefulset.kubernetes.io/pod-name": pod },
            "publishNotReadyAddresses": true,
            "ports": [port("resp", ports::RESP, "resp", "redis")],
        },
    });
    object(cluster, "v1", "Service", pod, body)
}

fn annotations(cluster: &ValidCluster) -> Value {
    json!({ "annotations": cluster.service.annotations })
}

fn kind(cluster: &ValidCluster) -> &'static str {
    match cluster.service.kind {
        ServiceType::ClusterIP => "ClusterIP",
        ServiceType::NodePort => "NodePort",
        ServiceType::LoadBalancer => "LoadBalancer",
    }
}

/// Named, and with their protocol, so that a mesh does not have to guess.
fn port(name: &str, port: u16, target: &str, protocol: &str) -> Value {
    json!({ "name": name, "port": port, "targetPort": target, "protocol": "TCP", "appProtocol": protocol })
}

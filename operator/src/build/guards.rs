//! What guards a cluster: its token, its identity, how many of its pods may be away, and who reaches which port.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::{Object, names, object, ports, selector};
use crate::validate::ValidCluster;

pub const TOKEN_KEY: &str = "token";

/// With it nodes, ruvioctl and the operator prove themselves. `token` is drawn once; another would lock nodes out.
pub fn token(cluster: &ValidCluster, token: &str) -> Object {
    let data = json!({ "type": "Opaque", "immutable": true, "data": { TOKEN_KEY: ByteString(token.as_bytes().to_vec()) } });
    object(cluster, "v1", "Secret", names::token(cluster), data)
}

/// Nodes never speak to Kubernetes.
pub fn service_account(cluster: &ValidCluster) -> Object {
    let body = json!({ "automountServiceAccountToken": false });
    object(cluster, "v1", "ServiceAccount", cluster.name.clone(), body)
}

/// Where one replica may be away without an outage, one pod may. Elsewhere none could, and a machine could never be
/// emptied: so there nothing is said.
pub fn disruption_budget(cluster: &ValidCluster) -> Option<Object> {
    let body = json!({
        "spec": {
            "maxUnavailable": 1,
            "selector": { "matchLabels": selector(cluster) },
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    });
    (cluster.replicas >= 3).then(|| {
        object(
            cluster,
            "policy/v1",
            "PodDisruptionBudget",
            cluster.name.clone(),
            body,
        )
    })
}

pub fn network_policy(cluster: &ValidCluster) -> Option<Object> {
    let clients = cluster.clients.as_ref()?;
    let peers = json!([{ "podSelector": { "matchLabels": selector(cluster) } }]);
    let operator = json!([{
        "namespaceSelector": {},
        "podSelector": { "matchLabels": { "app.kubernetes.io/name": "ruvio-operator" } },
    }]);
    let mut rules = vec![rule(&[ports::HTTP], None)];
    let of_clients = (!clients.is_empty()).then(|| json!(clients));
    match cluster.stands_alone() {
        true => rules.push(rule(&[ports::RESP], of_clients)),
        false => {
            rules.push(rule(&[ports::RESP, ports::ROUTED], of_clients));
            rules.push(rule(&[ports::RESP, ports::PEER, ports::ADMIN], Some(peers)));
            rules.push(rule(&[ports::ADMIN], Some(operator)));
        }
    }
    let body = json!({
        "spec": {
            "podSelector": { "matchLabels": selector(cluster) },
            "policyTypes": ["Ingress"],
            "ingress": rules,
        },
    });
    Some(object(
        cluster,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        cluster.name.clone(),
        body,
    ))
}

/// Without `from` everybody.
fn rule(allowed: &[u16], from: Option<Value>) -> Value {
    let allowed: Vec<Value> = allowed
        .iter()
        .map(|port| json!({ "port": port, "protocol": "TCP" }))
        .collect();
    match from {
        Some(from) => json!({ "ports": allowed, "from": from }),
        None => json!({ "ports": allowed }),
    }
}

pub fn pod_monitor(cluster: &ValidCluster) -> Option<Object> {
    let body = json!({
        "spec": {
            "selector": { "matchLabels": selector(cluster) },
            "podMetricsEndpoints": [{ "port": "http", "path": "/metrics" }],
        },
    });
    let asked = cluster.telemetry.pod_monitor;
    asked.then(|| {
        object(
            cluster,
            "monitoring.coreos.com/v1",
            "PodMonitor",
            cluster.name.clone(),
            body,
        )
    })
}

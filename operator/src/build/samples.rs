//! Clusters for tests, from specs as users write them.

use serde_json::{Value, json};

use crate::api::RuvioCluster;
use crate::observe::Observed;
use crate::validate::{Defaults, ValidCluster, validate};

pub fn cluster(spec: Value) -> ValidCluster {
    let object: RuvioCluster = serde_json::from_value(json!({
        "apiVersion": "ruvio.io/v1alpha1",
        "kind": "RuvioCluster",
        "metadata": { "name": "orders", "namespace": "shop", "uid": "3d2c", "generation": 1 },
        "spec": spec,
    }))
    .expect("it can be read");
    let passwords = [("default", "open sesame"), ("old", "one"), ("new", "two")];
    let keys = passwords.map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()));
    let certificates = ["tls.crt", "tls.key", "ca.crt"].map(|key| (key.to_owned(), b"PEM".to_vec()));
    let observed = Observed {
        secrets: [
            ("orders-users".to_owned(), keys.into()),
            ("orders-tls".to_owned(), certificates.into()),
        ]
        .into(),
        ..Observed::default()
    };
    let defaults = Defaults {
        repository: "registry.example/ruvio-server".to_owned(),
        tag: "1.0.0".to_owned(),
    };
    validate(&object, &observed, &defaults).expect("it is taken")
}

/// Each with the name of its file under `operator/tests/golden/`.
pub fn all() -> Vec<(&'static str, ValidCluster)> {
    let everything = json!({
        "nodes": 5,
        "shards": 12,
        "replicationFactor": 3,
        "durability": "everysec",
        "image": { "repository": "registry.example/mirror/ruvio-server", "tag": "1.2.3", "pullPolicy": "Always", "pullSecrets": ["registry"] },
        "memory": { "max": "2Gi", "policy": "allkeys-lfu" },
        "storage": { "size": "20Gi", "storageClassName": "fast", "retention": "Delete" },
        "resources": { "requests": { "cpu": "2", "memory": "3Gi" }, "limits": { "memory": "4Gi" } },
        "nodeSelector": { "disk": "ssd" },
        "tolerations": [{ "key": "dedicated", "operator": "Equal", "value": "cache", "effect": "NoSchedule" }],
        "priorityClassName": "high",
        "topologySpread": [{ "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule" }],
        "podLabels": { "team": "shop" },
        "podAnnotations": { "example.com/note": "kept as it is" },
        "service": { "type": "LoadBalancer", "annotations": { "example.com/internal": "true" }, "externalAccess": true },
        "auth": { "users": [
            { "name": "default", "passwordSecrets": [{ "name": "orders-users", "key": "default" }] },
            { "name": "reader", "passwordSecrets": [{ "name": "orders-users", "key": "old" }, { "name": "orders-users", "key": "new" }],
              "rules": "~* +@read" },
        ] },
        "config": { "slowlog-log-slower-than": "5000", "databases": "4", "proc-title-template": "a \"b\"" },
        "telemetry": { "otlpEndpoint": "http://otel:4317", "traceSampleRatio": "0.01", "podMonitor": true },
        "networkPolicy": { "enabled": true, "clients": [{ "podSelector": { "matchLabels": { "app": "shop" } } }] },
    });
    vec![
        ("three", cluster(json!({}))),
        ("tls", cluster(json!({ "tls": { "secretName": "orders-tls" } }))),
        ("everything", cluster(everything)),
        (
            "one",
            cluster(json!({ "nodes": 1, "shards": 1, "replicationFactor": 1 })),
        ),
        (
            "alone",
            cluster(json!({ "nodes": 1, "replicationFactor": 1, "durability": "memory" })),
        ),
    ]
}

//! What is taken, and what is said of each thing that is not.

use serde_json::json;

use super::*;
use crate::names::{Bytes, Ordinal};
use crate::observe::{StatefulSet, Volume};

fn defaults() -> Defaults {
    Defaults {
        repository: "registry.example/ruvio-server".into(),
        tag: "1.0.0".into(),
    }
}

fn object(name: &str, spec: serde_json::Value) -> RuvioCluster {
    let object = json!({
        "apiVersion": "ruvio.io/v1alpha1", "kind": "RuvioCluster",
        "metadata": { "name": name, "namespace": "shop", "uid": "u-1", "generation": 4 },
        "spec": spec,
    });
    serde_json::from_value(object).expect("it can be read")
}

fn valid(spec: serde_json::Value, observed: &Observed) -> ValidCluster {
    validate(&object("orders", spec), observed, &defaults()).expect("it is taken")
}

fn refusal(spec: serde_json::Value, observed: &Observed) -> String {
    validate(&object("orders", spec), observed, &defaults())
        .expect_err("it is refused")
        .to_string()
}

fn with_secret(keys: &[(&str, &str)]) -> Observed {
    let keys = keys
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
        .collect();
    Observed {
        secrets: [("users".to_owned(), keys)].into(),
        ..Observed::default()
    }
}

#[test]
fn nothing_said_is_a_cluster_of_three() {
    let cluster = valid(json!({}), &Observed::default());
    assert_eq!((cluster.nodes, cluster.shards, cluster.replicas), (3, 6, 3));
    assert_eq!(cluster.durability, Durability::Always);
    assert_eq!(cluster.image, "registry.example/ruvio-server:1.0.0");
    assert_eq!(cluster.memory_max, Bytes(1 << 30));
    let amounts = cluster.pod.resources.limits.clone().expect("limits");
    assert_eq!(
        amounts["memory"].0, "1536Mi",
        "a quarter and 256 MiB more than keys may take"
    );
    assert!(!cluster.stands_alone());
    assert!(
        valid(
            json!({ "nodes": 1, "replicationFactor": 1, "durability": "memory" }),
            &Observed::default()
        )
        .volume
        .is_none()
    );
}

#[test]
fn another_operator_does_not_change_the_image() {
    let set = StatefulSet {
        uid: "s".into(),
        replicas: 3,
        image: "registry.example:5000/ruvio-server:0.9.0".into(),
        storage: None,
    };
    let observed = Observed {
        stateful_set: Some(set),
        ..Observed::default()
    };
    assert_eq!(
        valid(json!({}), &observed).image,
        "registry.example:5000/ruvio-server:0.9.0"
    );
    let wish = json!({ "image": { "tag": "1.1.0" } });
    assert_eq!(
        valid(wish, &observed).image,
        "registry.example:5000/ruvio-server:1.1.0"
    );
}

#[test]
fn passwords_become_hashes() {
    let spec = json!({ "auth": { "users": [{ "name": "default", "passwordSecrets": [{ "name": "users", "key": "new" }] }] } });
    let users = valid(spec, &with_secret(&[("new", "abc")])).users.expect("users");
    assert_eq!(
        users[0].hashes,
        ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
    );
    assert_eq!(users[0].rules, "~* &* +@all");
}

#[test]
fn each_fault_says_what_to_do() {
    let none = Observed::default();
    let user = |name: &str, rules: &str| {
        json!({ "auth": { "users": [
        { "name": name, "rules": rules, "passwordSecrets": [{ "name": "users", "key": "a" }] }] } })
    };
    let cases = [
        (
            json!({ "nodes": 0 }),
            "InvalidSize: nodes is 0: set it to 1 to 99",
        ),
        (
            json!({ "nodes": 1 }),
            "InvalidSize: replicationFactor is 3 and nodes 1, but a shard has one replica on a node: raise nodes to 3, or lower replicationFactor",
        ),
        (
            json!({ "replicationFactor": 4, "nodes": 9 }),
            "InvalidSize: replicationFactor is 4: set it to 1, 3 or 5",
        ),
        (
            json!({ "shards": 999 }),
            "InvalidSize: shards is 999: it can be 1 to 256, and only when a cluster is made",
        ),
        (
            json!({ "durability": "memory" }),
            "InvalidSize: durability memory is for one node that stands alone: set nodes and replicationFactor to 1, or choose everysec or always",
        ),
        (
            json!({ "memory": { "max": "lots" } }),
            "InvalidAmount: memory.max \"lots\" is no amount of bytes above zero: write it like 512Mi or 2Gi",
        ),
        (
            json!({ "storage": { "size": "0" } }),
            "InvalidAmount: storage.size \"0\" is no amount of bytes above zero: write it like 10Gi",
        ),
        (
            json!({ "resources": { "limits": { "memory": "1Gi" } } }),
            "InvalidAmount: resources.limits.memory is 1Gi, and memory.max alone is 1Gi: a node would be killed before it is full; raise the limit to 1536Mi or lower memory.max",
        ),
        (
            json!({ "resources": { "limits": { "cpu": "two" } } }),
            "InvalidAmount: resources have cpu \"two\", which is no amount: write it like 500m or 2Gi",
        ),
        (
            json!({ "podLabels": { "ruvio.io/cluster": "x" } }),
            "InvalidPod: podLabels or podAnnotations have ruvio.io/cluster: those under ruvio.io/ are the operator's, use another name",
        ),
        (
            json!({ "tolerations": [{ "operator": "Like" }] }),
            "InvalidPod: a toleration's operator is Exists or Equal",
        ),
        (
            json!({ "tls": { "secretName": "x" } }),
            "SecretMissing: the Secret x is not there: make it in the cluster's namespace",
        ),
        (
            json!({ "config": { "dir": "here" } }),
            "ReservedOption: config has dir, which the operator sets for every node: remove it",
        ),
        (
            user("a", "~*"),
            "SecretMissing: the Secret users is not there: make it in the cluster's namespace",
        ),
    ];
    for (spec, says) in cases {
        assert_eq!(refusal(spec, &none), says);
    }
    assert_eq!(
        refusal(user("a", "~*"), &with_secret(&[])),
        "SecretMissing: the Secret users has no key a: add it"
    );
    let there = with_secret(&[("a", "secret")]);
    assert_eq!(
        refusal(user("a", "~* >more"), &there),
        "InvalidUser: the rules of user a have >more: passwords come from passwordSecrets, remove it"
    );
    assert!(refusal(user("a", "~*\nuser b"), &there).contains("more than one line"));
    assert!(refusal(user("a b", "~*"), &there).contains("without blanks"));
    assert!(refusal(user("a", "~*"), &with_secret(&[("a", "secret\n")])).contains("newline at its end"));
}

#[test]
fn a_volume_that_is_there_does_not_shrink() {
    let volume = Volume {
        size: Bytes(20 << 30),
        capacity: Bytes(20 << 30),
    };
    let observed = Observed {
        volumes: [(Ordinal(2), volume)].into(),
        ..Observed::default()
    };
    assert_eq!(
        refusal(json!({}), &observed),
        "InvalidChange: storage.size is 10Gi, and there is a volume of 20Gi: volumes cannot shrink; set it to 20Gi at least"
    );
}

#[test]
fn names_become_host_names() {
    for name in [
        "",
        "1st",
        "-a",
        "a-",
        "a.b",
        "Orders",
        "orders-of-all-the-shops-in-all-the-countries",
    ] {
        let refused = validate(&object(name, json!({})), &Observed::default(), &defaults()).expect_err(name);
        assert_eq!(refused.reason, Reason::InvalidName, "{name}");
    }
}

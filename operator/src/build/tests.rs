//! Objects as files for people to review, and what has to be true of each of them whatever they look like.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Value, json};

use super::*;

#[test]
fn objects_are_those_of_the_files() {
    for (name, cluster) in samples::all() {
        let mut all = objects(&cluster, cluster.nodes);
        all.push(token(&cluster, "0123456789abcdef"));
        let text: String = all
            .iter()
            .map(|object| {
                format!(
                    "---\n{}",
                    serde_saphyr::to_string(&object.value).expect("it is YAML")
                )
            })
            .collect();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.yaml"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &text).expect("it is written");
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        let same = there
            .lines()
            .zip(text.lines())
            .take_while(|(a, b)| a == b)
            .count();
        assert!(
            there == text,
            "tests/golden/{name}.yaml differs from line {} on: {:?} is now {:?}; UPDATE=1 writes it, for review",
            same + 1,
            there.lines().nth(same),
            text.lines().nth(same)
        );
    }
}

/// What Kubernetes' own types do not know would be dropped without a word.
#[test]
fn every_field_is_one_that_kubernetes_knows() {
    for (_, cluster) in samples::all() {
        for object in objects(&cluster, 3) {
            let value = object.value;
            let known = match object.reference.kind {
                "StatefulSet" => through::<StatefulSet>(&value),
                "Service" => through::<Service>(&value),
                "ConfigMap" => through::<ConfigMap>(&value),
                "Secret" => through::<Secret>(&value),
                "ServiceAccount" => through::<ServiceAccount>(&value),
                "PodDisruptionBudget" => through::<PodDisruptionBudget>(&value),
                "NetworkPolicy" => through::<NetworkPolicy>(&value),
                // Not of Kubernetes itself.
                "PodMonitor" => continue,
                other => panic!("{other} is not checked"),
            };
            assert_eq!(
                lost(&known, &value, ""),
                Vec::<String>::new(),
                "{:?}",
                object.reference
            );
        }
    }
}

fn through<T: serde::Serialize + serde::de::DeserializeOwned>(value: &Value) -> Value {
    let typed: T = serde_json::from_value(value.clone()).expect("it is of its kind");
    serde_json::to_value(typed).expect("it is JSON")
}

fn lost(known: &Value, value: &Value, path: &str) -> Vec<String> {
    match (known, value) {
        (Value::Object(known), Value::Object(fields)) => fields
            .iter()
            .flat_map(|(key, value)| match known.get(key) {
                Some(known) => lost(known, value, &format!("{path}.{key}")),
                None => vec![format!("{path}.{key}")],
            })
            .collect(),
        (Value::Array(known), Value::Array(items)) if known.len() == items.len() => known
            .iter()
            .zip(items)
            .flat_map(|(known, item)| lost(known, item, path))
            .collect(),
        (known, value) if known == value => Vec::new(),
        _ => vec![path.to_owned()],
    }
}

/// The Pod Security Standard `restricted`, rule by rule, as far as a pod of ours could break it.
#[test]
fn pods_fit_the_strictest_standard() {
    for (name, cluster) in samples::all() {
        let template = pod::template(&cluster);
        let (spec, container) = (&template["spec"], &template["spec"]["containers"][0]);
        for forbidden in [
            "hostNetwork",
            "hostPID",
            "hostIPC",
            "initContainers",
            "ephemeralContainers",
        ] {
            assert!(spec.get(forbidden).is_none(), "{name}: {forbidden}");
        }
        assert_eq!(spec["containers"].as_array().map(Vec::len), Some(1), "{name}");
        assert_eq!(spec["securityContext"]["runAsNonRoot"], true, "{name}");
        assert_ne!(spec["securityContext"]["runAsUser"], 0, "{name}");
        assert_eq!(
            spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault",
            "{name}"
        );
        assert_eq!(
            container["securityContext"]["allowPrivilegeEscalation"], false,
            "{name}"
        );
        assert_eq!(
            container["securityContext"]["readOnlyRootFilesystem"], true,
            "{name}"
        );
        assert_eq!(
            container["securityContext"]["capabilities"],
            json!({ "drop": ["ALL"] }),
            "{name}"
        );
        assert!(container["securityContext"].get("privileged").is_none(), "{name}");
        assert!(
            container["ports"]
                .as_array()
                .expect("ports")
                .iter()
                .all(|port| port.get("hostPort").is_none()),
            "{name}"
        );
        let kinds = ["name", "configMap", "secret", "emptyDir"];
        for volume in spec["volumes"].as_array().expect("volumes") {
            assert!(
                volume
                    .as_object()
                    .expect("a volume")
                    .keys()
                    .all(|kind| kinds.contains(&kind.as_str())),
                "{name}: {volume}"
            );
        }
        assert_eq!(spec["automountServiceAccountToken"], false, "{name}");
    }
}

#[test]
fn everything_is_owned_and_found_by_its_labels() {
    for (name, cluster) in samples::all() {
        let all = objects(&cluster, 3);
        let mut references: Vec<_> = all.iter().map(|object| object.reference.clone()).collect();
        references.sort();
        references.dedup();
        assert_eq!(
            references.len(),
            all.len(),
            "{name}: two objects have the same name"
        );
        for object in &all {
            let metadata = &object.value["metadata"];
            assert_eq!(metadata["ownerReferences"][0]["uid"], "3d2c", "{name}");
            assert_eq!(metadata["ownerReferences"][0]["controller"], true, "{name}");
            assert_eq!(metadata["namespace"], "shop", "{name}");
            assert!(
                metadata["name"].as_str().is_some_and(|name| name.len() <= 52),
                "{name}"
            );
        }
        let set = all
            .iter()
            .find(|object| object.reference.kind == "StatefulSet")
            .expect("a set");
        let (wanted, has) = (
            &set.value["spec"]["selector"]["matchLabels"],
            &set.value["spec"]["template"]["metadata"]["labels"],
        );
        for (label, value) in wanted.as_object().expect("labels") {
            assert_eq!(&has[label], value, "{name}");
        }
    }
}

#[test]
fn only_what_users_said_of_a_pod_restarts_it() {
    let revision_of = |spec: Value| revision(&samples::cluster(spec));
    let plain = revision_of(json!({}));
    for live in [
        json!({ "podLabels": { "a": "b" } }),
        json!({ "podAnnotations": { "a": "b" } }),
        json!({ "service": { "type": "LoadBalancer" } }),
        json!({ "config": { "timeout": "5" } }),
        json!({ "durability": "everysec" }),
        json!({ "memory": { "policy": "allkeys-lru" } }),
        json!({ "storage": { "size": "20Gi" } }),
        json!({ "nodes": 5 }),
        json!({ "auth": { "users": [{ "name": "default", "passwordSecrets": [{ "name": "orders-users", "key": "default" }] }] } }),
    ] {
        assert_eq!(revision_of(live.clone()), plain, "{live}");
    }
    for restart in [
        json!({ "image": { "tag": "2" } }),
        json!({ "config": { "databases": "4" } }),
        json!({ "memory": { "max": "2Gi" } }),
        json!({ "nodeSelector": { "disk": "ssd" } }),
        json!({ "telemetry": { "otlpEndpoint": "http://otel:4317" } }),
    ] {
        assert_ne!(revision_of(restart.clone()), plain, "{restart}");
    }
    let options = |spec: Value| config_revision(&samples::cluster(spec));
    assert_ne!(
        options(json!({ "config": { "timeout": "5" } })),
        options(json!({}))
    );
    assert_eq!(
        options(json!({ "config": { "databases": "4" } })),
        options(json!({}))
    );
}

#[test]
fn what_is_there_is_applied_only_when_it_differs() {
    let cluster = samples::cluster(json!({ "networkPolicy": { "enabled": true } }));
    let wanted = objects(&cluster, 3);
    let mut live: BTreeMap<_, _> = wanted
        .iter()
        .map(|object| (object.reference.clone(), object.value.clone()))
        .collect();
    // What an API server adds.
    for value in live.values_mut() {
        merge(
            value,
            json!({ "metadata": { "uid": "x", "managedFields": [] }, "status": {} }),
        );
    }
    assert_eq!(changed(&wanted, &live), []);
    let set = ObjectRef {
        kind: "StatefulSet",
        name: "orders".to_owned(),
    };
    let service = ObjectRef {
        kind: "Service",
        name: "orders".to_owned(),
    };
    live.get_mut(&set).expect("a set")["spec"]["replicas"] = json!(5);
    assert_eq!(
        changed(&wanted, &live),
        [],
        "how many pods there are is not an object's matter"
    );
    live.get_mut(&service).expect("a service")["spec"]["ports"][0]["targetPort"] = json!("resp");
    assert_eq!(changed(&wanted, &live), vec![service.clone()]);
    live.remove(&set);
    assert_eq!(changed(&wanted, &live), [service, set]);
    let labelled =
        samples::cluster(json!({ "podLabels": { "team": "shop" }, "networkPolicy": { "enabled": true } }));
    let live: BTreeMap<_, _> = objects(&labelled, 3)
        .into_iter()
        .map(|object| (object.reference, object.value))
        .collect();
    let removed = changed(&wanted, &live);
    assert!(
        removed.iter().any(|object| object.kind == "StatefulSet"),
        "a label that is wanted no longer is seen: {removed:?}"
    );
}

#[test]
fn users_files_hold_no_password_and_close_what_is_not_said() {
    let file = |spec: Value| {
        let object = config::users(&samples::cluster(spec));
        let secret: Secret = serde_json::from_value(object.value).expect("a Secret");
        String::from_utf8(secret.data.expect("data")["users.acl"].0.clone()).expect("text")
    };
    assert_eq!(file(json!({})), "user default on nopass ~* &* +@all\n");
    let reader = json!({ "auth": { "users": [
        { "name": "reader", "passwordSecrets": [{ "name": "orders-users", "key": "old" }, { "name": "orders-users", "key": "new" }], "rules": "~* +@read" },
    ] } });
    assert_eq!(
        file(reader),
        "user default off\nuser reader reset on \
         #7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed \
         #3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3 ~* +@read\n"
    );
}

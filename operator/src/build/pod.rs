//! A node's pod: no rights, no token of Kubernetes, a root file system that is read only, as the strictest of the Pod
//! Security Standards wants it.

use serde_json::{Value, json};

use super::config::{DATA_FOLDER, FILE, FOLDER, TLS_FOLDER, TOKEN_FOLDER, USERS_FOLDER};
use super::{REVISION, labels, names, ports, revision, selector};
use crate::validate::ValidCluster;

/// Nobody's in the base image.
const USER: u32 = 65532;
/// How long a log may be read at a start before it counts as stuck, in seconds.
const START_S_MAX: u32 = 2 * 3600;

/// The `template` of a StatefulSet.
pub fn template(cluster: &ValidCluster) -> Value {
    let mut own_labels = labels(cluster);
    for (name, value) in &cluster.pod.labels {
        own_labels[name] = json!(value);
    }
    let mut annotations = json!(cluster.pod.annotations);
    annotations[REVISION] = json!(revision(cluster));
    annotations["kubectl.kubernetes.io/default-container"] = json!("ruvio");
    json!({ "metadata": { "labels": own_labels, "annotations": annotations }, "spec": spec(cluster) })
}

fn spec(cluster: &ValidCluster) -> Value {
    let pod = &cluster.pod;
    let mut spec = json!({
        "serviceAccountName": cluster.name,
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "terminationGracePeriodSeconds": grace_s(cluster),
        "securityContext": {
            "runAsNonRoot": true,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": { "type": "RuntimeDefault" },
        },
        "topologySpreadConstraints": pod.spread.iter().map(|spread| json!({
            "topologyKey": spread.topology_key,
            "maxSkew": spread.max_skew,
            "whenUnsatisfiable": spread.when_unsatisfiable,
            "labelSelector": { "matchLabels": selector(cluster) },
        })).collect::<Vec<_>>(),
        "containers": [container(cluster)],
        "volumes": volumes(cluster),
    });
    let mut unless_empty = |key: &str, value: Value| {
        if !matches!(&value, Value::Array(items) if items.is_empty())
            && !matches!(&value, Value::Object(fields) if fields.is_empty())
            && !value.is_null()
        {
            spec[key] = value;
        }
    };
    unless_empty("nodeSelector", json!(pod.node_selector));
    unless_empty("tolerations", json!(pod.tolerations));
    unless_empty("priorityClassName", json!(pod.priority_class));
    let secrets: Vec<Value> = pod
        .pull_secrets
        .iter()
        .map(|name| json!({ "name": name }))
        .collect();
    unless_empty("imagePullSecrets", json!(secrets));
    spec
}

/// A second for each leadership that a node may have to hand over, twice: on the way out and at its end; and half a
/// minute for what is committed and synced then.
fn grace_s(cluster: &ValidCluster) -> u16 {
    30 + 2 * cluster.shards.div_ceil(cluster.nodes)
}

fn container(cluster: &ValidCluster) -> Value {
    let alone = cluster.stands_alone();
    let mut open = vec![("resp", ports::RESP)];
    if !alone {
        open.extend([
            ("routed", ports::ROUTED),
            ("peer", ports::PEER),
            ("admin", ports::ADMIN),
        ]);
    }
    open.push(("http", ports::HTTP));
    let mut container = json!({
        "name": "ruvio",
        "image": cluster.image,
        "imagePullPolicy": cluster.pod.pull_policy,
        "args": [format!("{FOLDER}/{FILE}")],
        "ports": open.iter().map(|(name, port)| json!({ "name": name, "containerPort": port, "protocol": "TCP" })).collect::<Vec<_>>(),
        "resources": cluster.pod.resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": { "drop": ["ALL"] },
        },
        "volumeMounts": mounts(cluster),
        // The log is read: as long as it takes. Then: event loops turn. Never whether there is a majority: killing a
        // node for that would only make it worse.
        "startupProbe": probe("/startupz", 5, START_S_MAX / 5),
        "livenessProbe": probe("/livez", 10, 6),
        "readinessProbe": probe("/readyz", 2, 2),
    });
    let env = env(cluster);
    if !env.is_empty() {
        container["env"] = json!(env);
    }
    // By TLS the node's certificate is for its host name, which a command here cannot say.
    if !alone && cluster.tls.is_none() {
        // Leaderships go away before connections do, whoever ends the pod; the server does the same at its end.
        let drain = [
            "/usr/local/bin/ruvioctl".to_owned(),
            "drain".to_owned(),
            format!("127.0.0.1:{}", ports::ADMIN),
        ];
        container["lifecycle"] = json!({ "preStop": { "exec": { "command": drain } } });
    }
    container
}

fn env(cluster: &ValidCluster) -> Vec<Value> {
    let mut env = Vec::new();
    let mut set = |name: &str, value: String| env.push(json!({ "name": name, "value": value }));
    if !cluster.stands_alone() {
        set("RUVIO_NODES", format!("127.0.0.1:{}", ports::ADMIN));
        set("RUVIO_TOKEN_FILE", format!("{TOKEN_FOLDER}/{}", super::TOKEN_KEY));
    }
    if let Some(endpoint) = &cluster.telemetry.otlp_endpoint {
        set("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.clone());
    }
    if let Some(ratio) = &cluster.telemetry.trace_sample_ratio {
        set("OTEL_TRACES_SAMPLER", "parentbased_traceidratio".to_owned());
        set("OTEL_TRACES_SAMPLER_ARG", ratio.clone());
    }
    env
}

fn probe(path: &str, period_s: u32, failures: u32) -> Value {
    json!({
        "httpGet": { "path": path, "port": "http" },
        "periodSeconds": period_s,
        "timeoutSeconds": 2,
        "failureThreshold": failures,
    })
}

fn mounts(cluster: &ValidCluster) -> Vec<Value> {
    let read_only = |name: &str, path: &str| json!({ "name": name, "mountPath": path, "readOnly": true });
    let mut mounts = vec![
        json!({ "name": "data", "mountPath": DATA_FOLDER }),
        read_only("config", FOLDER),
        read_only("users", USERS_FOLDER),
    ];
    if !cluster.stands_alone() {
        mounts.push(read_only("token", TOKEN_FOLDER));
    }
    if cluster.tls.is_some() {
        mounts.push(read_only("tls", TLS_FOLDER));
    }
    mounts
}

fn volumes(cluster: &ValidCluster) -> Vec<Value> {
    let secret = |name: &str, secret: &str| json!({ "name": name, "secret": { "secretName": secret, "defaultMode": 0o440 } });
    let mut volumes = vec![
        json!({ "name": "config", "configMap": { "name": names::config(cluster) } }),
        secret("users", &names::users(cluster)),
    ];
    if !cluster.stands_alone() {
        volumes.push(secret("token", &names::token(cluster)));
    }
    if let Some(tls) = &cluster.tls {
        volumes.push(secret("tls", &tls.name));
    }
    if cluster.volume.is_none() {
        volumes.push(json!({ "name": "data", "emptyDir": {} }));
    }
    volumes
}

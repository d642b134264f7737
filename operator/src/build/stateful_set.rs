//! The StatefulSet. It makes pods again and gives them their names and volumes; it never restarts one by itself.

use serde_json::json;

use super::{Object, labels, names, object, pod, selector};
use crate::validate::{ValidCluster, text};

pub fn stateful_set(cluster: &ValidCluster, pods: u16) -> Object {
    let mut body = json!({
        "spec": {
            "replicas": pods,
            "serviceName": names::nodes_service(cluster),
            "selector": { "matchLabels": selector(cluster) },
            // All at once: none of them is ready before most of them are there.
            "podManagementPolicy": "Parallel",
            // The operator says when, and which: followers first, one at a time.
            "updateStrategy": { "type": "OnDelete" },
            "template": pod::template(cluster),
        },
    });
    if let Some(volume) = &cluster.volume {
        let when_deleted = if volume.deleted_with_cluster {
            "Delete"
        } else {
            "Retain"
        };
        // What a pod held when it was scaled away is found again by the next one of its name.
        body["spec"]["persistentVolumeClaimRetentionPolicy"] =
            json!({ "whenDeleted": when_deleted, "whenScaled": "Retain" });
        let mut claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": { "name": "data", "labels": labels(cluster) },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": text(volume.size) } },
            },
        });
        if let Some(class) = &volume.class {
            claim["spec"]["storageClassName"] = json!(class);
        }
        body["spec"]["volumeClaimTemplates"] = json!([claim]);
    }
    object(cluster, "apps/v1", "StatefulSet", cluster.name.clone(), body)
}

//! What pods have to be restarted for, as a short text on each pod: of what users said, and nothing else.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::validate::ValidCluster;

/// The annotation of a pod that has it.
pub const REVISION: &str = "ruvio.io/revision";

/// Labels, annotations, and options that change live are no reason; what the operator adds by itself is none, either,
/// so options that only the operator sets do not count.
pub fn revision(cluster: &ValidCluster) -> String {
    let pod = &cluster.pod;
    hash(&json!({
        "image": cluster.image,
        "shards": cluster.shards,
        "options": cluster.options.start,
        "alone": cluster.stands_alone(),
        "resources": pod.resources,
        "nodeSelector": pod.node_selector,
        "tolerations": pod.tolerations,
        "priorityClass": pod.priority_class,
        "spread": pod.spread,
        "tls": cluster.tls.as_ref().map(|tls| &tls.name),
        "otlp": cluster.telemetry.otlp_endpoint,
        "sample": cluster.telemetry.trace_sample_ratio,
    }))
}

/// Sixteen hexadecimal digits. Keys of a JSON object are in order, so equal values have equal texts.
pub fn hash(value: &Value) -> String {
    let text = value.to_string();
    Sha256::digest(text.as_bytes())
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

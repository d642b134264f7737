//! What is passed on to pods, in own types: those of Kubernetes have no bounds.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema;

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Image {
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[schemars(length(min = 1, max = 128))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    pub pull_policy: PullPolicy,
    /// Names of Secrets.
    #[schemars(length(max = 8), inner(length(min = 1, max = 253)))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pull_secrets: Vec<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PullPolicy {
    #[default]
    IfNotPresent,
    Always,
    Never,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct Resources {
    #[schemars(schema_with = "schema::amounts")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
    #[schemars(schema_with = "schema::amounts")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
}

/// As in a pod.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Toleration {
    #[schemars(length(max = 317))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    #[schemars(length(max = 16))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    #[schemars(length(max = 63))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[schemars(length(max = 32))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// As in a pod; the pods of the cluster are what is counted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct TopologySpread {
    #[schemars(length(min = 1, max = 317))]
    pub topology_key: String,
    #[schemars(range(min = 1, max = 99))]
    #[serde(default = "one")]
    pub max_skew: i32,
    #[schemars(length(max = 16))]
    #[serde(default = "anyway")]
    pub when_unsatisfiable: String,
}

fn one() -> i32 {
    1
}

fn anyway() -> String {
    "ScheduleAnyway".to_owned()
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Telemetry {
    /// Where traces and metrics are sent, as a URL. None: nowhere.
    #[schemars(length(min = 1, max = 512))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub otlp_endpoint: Option<String>,
    /// Share of the requests that are traced, between 0 and 1.
    #[schemars(length(max = 8), regex(pattern = r"^(0(\.[0-9]+)?|1(\.0+)?)$"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_sample_ratio: Option<String>,
    /// A PodMonitor for the Prometheus operator.
    pub pod_monitor: bool,
}

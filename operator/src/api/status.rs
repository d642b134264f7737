//! What the operator tells of a cluster. Nobody else writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct RuvioClusterStatus {
    /// Of the spec that all of this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    #[schemars(length(max = 16))]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    #[schemars(length(max = 128))]
    pub nodes: Vec<NodeState>,
    #[schemars(length(max = 256))]
    pub shards: Vec<ShardState>,
    pub ready_nodes: i32,
    pub nodes_total: i32,
    /// Of the pods, for autoscalers.
    #[schemars(length(max = 512))]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub selector: String,
    /// Shards that the busiest node leads more than the idlest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leader_spread: Option<i32>,
    /// Of the options that all nodes have taken.
    #[schemars(length(max = 64))]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_revision: String,
    /// 32 hexadecimal digits. Drawn once, and never again for this cluster.
    #[schemars(length(max = 32))]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub founding: Option<Founding>,
}

/// How the cluster began. It is written before any node is told, so that it happens once.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Founding {
    /// The nodes that it was begun with: 1 to this.
    pub nodes: i32,
    /// All of them were members. Whoever is empty from now on has lost its volume, and is a new node.
    pub begun: bool,
}

/// As the conditions of Kubernetes are.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    #[schemars(length(max = 64))]
    pub kind: String,
    /// True, False or Unknown.
    #[schemars(length(max = 8))]
    pub status: String,
    #[schemars(length(max = 64))]
    pub reason: String,
    #[schemars(length(max = 2048))]
    pub message: String,
    /// When `status` was another.
    #[schemars(extend("format" = "date-time"), length(max = 64))]
    pub last_transition_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeState {
    #[schemars(length(max = 253))]
    pub name: String,
    /// 0: it has none yet.
    pub id: i64,
    pub ready: bool,
    #[schemars(length(max = 64))]
    pub version: String,
    pub shards_led: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ShardState {
    pub id: i32,
    /// 0: nobody.
    pub leader: i64,
    pub term: i64,
    #[schemars(length(max = 16))]
    pub voters: Vec<i64>,
    /// Entries that the voter furthest behind lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag: Option<i64>,
}

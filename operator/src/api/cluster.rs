//! The kind itself: its fields in the order in which a reader meets them, its columns, and the rules that are about
//! more than one field.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::access::{Auth, NetworkPolicy, Service, Tls};
use super::data::{Durability, Memory, Storage};
use super::pod::{Image, Resources, Telemetry, Toleration, TopologySpread};
use super::schema;
use super::status::RuvioClusterStatus;

/// What a cluster is to be. All of it may be left out.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "ruvio.io",
    version = "v1alpha1",
    kind = "RuvioCluster",
    namespaced,
    doc = "A replicated, durable cache that speaks RESP.",
    derive = "PartialEq",
    status = "RuvioClusterStatus",
    shortname = "rvc",
    category = "all",
    scale(
        spec_replicas_path = ".spec.nodes",
        status_replicas_path = ".status.nodesTotal",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.readyNodes"),
    printcolumn(name = "Shards", type_ = "integer", json_path = ".spec.shards"),
    printcolumn(name = "Durability", type_ = "string", json_path = ".spec.durability"),
    printcolumn(name = "Status", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$')")
        .message("the name becomes part of host names: at most 40 lower-case letters, digits and dashes, beginning with a letter"),
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.replicationFactor <= self.nodes")
    .message("a shard has one replica on a node: raise nodes to at least replicationFactor, or lower replicationFactor"))]
#[x_kube(validation = Rule::new("self.durability != 'memory' || self.replicationFactor == 1")
    .message("durability memory keeps no log that could be replicated: set replicationFactor to 1, or choose everysec or always"))]
#[x_kube(validation = Rule::new("self.durability != 'memory' || self.nodes == 1")
    .message("durability memory is for one node that stands alone: set nodes to 1, or choose everysec or always"))]
pub struct RuvioClusterSpec {
    /// How many nodes (pods) hold the shards.
    #[schemars(range(min = 1, max = 99))]
    #[serde(default = "standard::nodes")]
    pub nodes: i32,
    /// Into how many shards the keys are divided: the most nodes that can ever share the load.
    #[schemars(range(min = 1, max = 256))]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("shards is fixed for the life of a cluster: make a new cluster with another number and move the data there"))]
    #[serde(default = "standard::shards")]
    pub shards: i32,
    /// On how many nodes each shard is: 1, 3 or 5.
    #[schemars(range(min = 1, max = 5))]
    #[x_kube(validation = Rule::new("self % 2 == 1")
        .message("an even number of replicas survives no more failures than one fewer: use 1, 3 or 5"))]
    #[serde(default = "standard::replication_factor")]
    pub replication_factor: i32,
    /// When a write is acknowledged: always, once a majority has it on disk; everysec, once a majority has it; memory,
    /// once one node has executed it.
    #[x_kube(validation = Rule::new("(self == 'memory') == (oldSelf == 'memory')")
        .message("durability cannot change to or from memory: nothing would be carried over; make a new cluster"))]
    #[serde(default)]
    pub durability: Durability,
    /// The server's image. What is left out is the operator's, as it was when the cluster was made.
    #[serde(default)]
    pub image: Image,
    #[serde(default)]
    pub memory: Memory,
    #[serde(default)]
    pub storage: Storage,
    /// Of each node's container. By default as much memory as `memory.max` needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub resources: Option<Resources>,
    #[schemars(schema_with = "schema::labels")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    #[schemars(length(max = 32))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(default)]
    pub tolerations: Vec<Toleration>,
    #[schemars(length(max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub priority_class_name: Option<String>,
    /// By default over hosts and zones, as well as can be.
    #[schemars(length(max = 8))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub topology_spread: Option<Vec<TopologySpread>>,
    /// Added to new pods; a change restarts nothing.
    #[schemars(schema_with = "schema::labels")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(default)]
    pub pod_labels: BTreeMap<String, String>,
    /// Added to new pods; a change restarts nothing.
    #[schemars(schema_with = "schema::annotations")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(default)]
    pub pod_annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub service: Service,
    /// Without it everybody who reaches the Service may do everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub auth: Option<Auth>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Options of the server by name, as in redis.conf. Those that the cluster's other fields say are refused.
    #[schemars(schema_with = "schema::options")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    #[serde(default)]
    pub telemetry: Telemetry,
    #[serde(default)]
    pub network_policy: NetworkPolicy,
    /// The operator looks and reports, and changes nothing.
    #[serde(default)]
    pub paused: bool,
    /// No pod runs; volumes stay.
    #[serde(default)]
    pub hibernated: bool,
}

impl Default for RuvioClusterSpec {
    fn default() -> Self {
        Self {
            nodes: standard::nodes(),
            shards: standard::shards(),
            replication_factor: standard::replication_factor(),
            durability: Durability::default(),
            image: Image::default(),
            memory: Memory::default(),
            storage: Storage::default(),
            resources: None,
            node_selector: BTreeMap::new(),
            tolerations: Vec::new(),
            priority_class_name: None,
            topology_spread: None,
            pod_labels: BTreeMap::new(),
            pod_annotations: BTreeMap::new(),
            service: Service::default(),
            auth: None,
            tls: None,
            config: BTreeMap::new(),
            telemetry: Telemetry::default(),
            network_policy: NetworkPolicy::default(),
            paused: false,
            hibernated: false,
        }
    }
}

/// What is taken where nothing is said.
mod standard {
    pub fn nodes() -> i32 {
        3
    }
    pub fn shards() -> i32 {
        6
    }
    pub fn replication_factor() -> i32 {
        3
    }
}

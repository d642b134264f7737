//! Where data is: durability, memory, volumes.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    #[default]
    Always,
    Everysec,
    Memory,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What keys and values of one node may take.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))")
        .message("memory.max is an amount of bytes above zero, like 512Mi or 2Gi"))]
    #[serde(default = "standard::max")]
    pub max: String,
    /// Which keys make room at that limit.
    #[serde(default)]
    pub policy: EvictionPolicy,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            max: standard::max(),
            policy: EvictionPolicy::default(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EvictionPolicy {
    #[default]
    Noeviction,
    AllkeysLru,
    AllkeysLfu,
    AllkeysRandom,
    VolatileLru,
    VolatileLfu,
    VolatileRandom,
    VolatileTtl,
}

#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)")
    .message("storageClassName is fixed: volumes stay in the class in which they were made"))]
pub struct Storage {
    /// Of each node's volume. It grows while the node runs.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))")
        .message("storage.size is an amount of bytes above zero, like 10Gi"))]
    #[x_kube(validation = Rule::new("!isQuantity(self) || !isQuantity(oldSelf) || quantity(self).compareTo(quantity(oldSelf)) >= 0")
        .message("a volume cannot shrink: keep storage.size, or make a new cluster with a smaller one"))]
    #[serde(default = "standard::size")]
    pub size: String,
    /// By default the one that the Kubernetes cluster says.
    #[schemars(length(min = 1, max = 253))]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(default)]
    pub storage_class_name: Option<String>,
    /// Whether the volumes stay when the RuvioCluster is deleted.
    #[serde(default)]
    pub retention: Retention,
}

impl Default for Storage {
    fn default() -> Self {
        Self {
            size: standard::size(),
            storage_class_name: None,
            retention: Retention::default(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retention {
    #[default]
    Retain,
    Delete,
}

/// What is taken where nothing is said.
mod standard {
    pub fn max() -> String {
        "1Gi".to_owned()
    }
    pub fn size() -> String {
        "10Gi".to_owned()
    }
}

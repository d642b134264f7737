//! A cluster that can be built: every part of it was checked.

use serde_json::Value;

use super::{Options, PodWish, ValidUser};
use crate::api;
use crate::names::Bytes;

#[derive(Clone, Debug, PartialEq)]
pub struct ValidCluster {
    pub name: String,
    pub namespace: String,
    /// Of the RuvioCluster, which owns what is made.
    pub uid: String,
    pub generation: i64,
    pub nodes: u16,
    pub shards: u16,
    /// Voters of each shard: odd, and no more than nodes.
    pub replicas: u16,
    pub durability: Durability,
    /// With its tag.
    pub image: String,
    pub memory_max: Bytes,
    /// As the server calls it.
    pub policy: String,
    /// None: nothing is kept.
    pub volume: Option<VolumeWish>,
    pub pod: PodWish,
    pub service: api::Service,
    /// None: everybody may do everything.
    pub users: Option<Vec<ValidUser>>,
    pub tls: Option<TlsSecret>,
    pub options: Options,
    pub telemetry: api::Telemetry,
    pub clients: Option<Grants>,
    pub paused: bool,
    pub hibernated: bool,
}

/// Who may use the client ports, as a NetworkPolicy has it; empty for everybody.
pub type Grants = Vec<Value>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Always,
    Everysec,
    Memory,
}

impl Durability {
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Everysec => "everysec",
            Self::Memory => "memory",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeWish {
    pub size: Bytes,
    pub class: Option<String>,
    pub deleted_with_cluster: bool,
}

/// It has tls.crt, tls.key and ca.crt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSecret {
    pub name: String,
}

impl ValidCluster {
    /// One server without replication: nobody has to make it a cluster.
    pub fn stands_alone(&self) -> bool {
        self.durability == Durability::Memory
    }
}

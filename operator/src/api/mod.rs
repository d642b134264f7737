//! What users write and read: the RuvioCluster, version v1alpha1.
//!
//! The schema of the custom resource is made from these types, bounds and rules included, so that an API server
//! refuses what cannot work before the operator sees it. Every list, map and text has a bound: rules have a price, and
//! an API server takes none whose price it cannot tell. Nothing here decides: see `validate`.

mod access;
mod cluster;
mod data;
mod pod;
mod reason;
pub mod schema;
mod status;

pub use access::{Auth, NetworkPolicy, PasswordSecret, Service, ServiceType, Tls, User};
pub use cluster::{RuvioCluster, RuvioClusterSpec};
pub use data::{Durability, EvictionPolicy, Memory, Retention, Storage};
pub use pod::{Image, PullPolicy, Resources, Telemetry, Toleration, TopologySpread};
pub use reason::{ConditionType, Reason};
pub use status::{Condition, Founding, NodeState, RuvioClusterStatus, ShardState};

pub const GROUP: &str = "ruvio.io";

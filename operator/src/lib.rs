//! The operator: makes Ruvio clusters on Kubernetes what their RuvioCluster says.
//!
//! `observe → validate → plan → build → apply → status`, a module each. It elects nobody: nodes do that among
//! themselves, also while no operator runs. It makes objects, tells the nodes who is to hold which shard, restarts
//! pods so that no shard loses its majority by its hand, and reports.

pub mod api;
pub mod build;
pub mod crd;
pub mod names;
pub mod observe;
pub mod plan;
pub mod status;
pub mod validate;

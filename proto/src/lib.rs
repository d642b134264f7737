//! What nodes say to each other (`peer`) and to those who administer them (`admin`), generated from the .proto
//! files, which say what each message means. Payloads are `Bytes`: an entry is not copied when it is decoded.

#![allow(clippy::large_enum_variant, reason = "generated code")]
#![allow(clippy::default_trait_access, reason = "generated code")]

pub mod common {
    pub mod v1 {
        tonic::include_proto!("ruvio.common.v1");
    }
}

pub mod peer {
    pub mod v1 {
        tonic::include_proto!("ruvio.peer.v1");
    }
}

pub mod admin {
    pub mod v1 {
        tonic::include_proto!("ruvio.admin.v1");
    }
}

/// The names of what calls carry as metadata.
pub mod metadata {
    pub const CLUSTER: &str = "ruvio-cluster";
    pub const NODE: &str = "ruvio-node";
    pub const INCARNATION: &str = "ruvio-incarnation";
    pub const TO: &str = "ruvio-to";
    pub const TOKEN: &str = "ruvio-token";
    pub const SHARD: &str = "ruvio-shard";
    pub const LEADER: &str = "ruvio-leader";
    /// With a refusal: the caller is of the cluster no longer.
    pub const REMOVED: &str = "ruvio-removed";
}

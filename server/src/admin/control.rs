//! What a node does for those who administer it.

use std::future::Future;
use std::time::Duration;

use ruvio_proto::admin::v1::{
    ApplyConfigRequest, ApplyConfigResponse, DigestResponse, RecoverQuorumResponse, ReloadResponse,
    StatusResponse,
};
use ruvio_proto::common::v1::{LogId, Member, StoredMembership};

use super::founding::Founding;
use super::refused::Refused;

/// A change of who holds a shard.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaChange {
    pub shard: u16,
    pub add: Vec<Member>,
    pub remove: Vec<u64>,
    /// It only counts for the membership that this entry made.
    pub if_membership: Option<LogId>,
    pub learners_only: bool,
    pub catch_up: Duration,
}

/// What is to become of shards whose majority is lost for good.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoverQuorum {
    /// Empty: all of them that are here.
    pub shards: Vec<u16>,
    pub lost: Vec<u64>,
    /// What the dry run said. `None`: this is one.
    pub confirmation: Option<Vec<u8>>,
}

/// Every shard is one of the node's cluster, and every node's id is not zero: the service has looked.
pub trait Control: Send + Sync + 'static {
    /// Shards of the cluster, or of a new node those that it is set up for.
    fn shards(&self) -> u16;

    /// Makes the node a member. Says whether it was one before.
    fn bootstrap(&self, founding: Founding) -> impl Future<Output = Result<bool, Refused>> + Send;

    /// Of these shards, or of all. Waits for nobody.
    fn status(&self, shards: &[u16]) -> impl Future<Output = StatusResponse> + Send;

    fn change_replicas(
        &self,
        change: ReplicaChange,
    ) -> impl Future<Output = Result<StoredMembership, Refused>> + Send;

    /// To this node, or to the voter that is furthest. Says who leads then, and its term.
    fn transfer_leader(
        &self,
        shard: u16,
        to: Option<u64>,
        within: Duration,
    ) -> impl Future<Output = Result<(u64, u64), Refused>> + Send;

    /// Says which shards it still leads.
    fn drain(&self, drain: bool, within: Duration) -> impl Future<Output = Result<Vec<u16>, Refused>> + Send;

    fn apply_config(
        &self,
        request: ApplyConfigRequest,
    ) -> impl Future<Output = Result<ApplyConfigResponse, Refused>> + Send;

    fn reload(&self, acl: bool, tls: bool) -> impl Future<Output = Result<ReloadResponse, Refused>> + Send;

    fn recover_quorum(
        &self,
        request: RecoverQuorum,
    ) -> impl Future<Output = Result<RecoverQuorumResponse, Refused>> + Send;

    /// At this index, or at what is applied now.
    fn digest(
        &self,
        shard: u16,
        index: Option<u64>,
        within: Duration,
    ) -> impl Future<Output = Result<DigestResponse, Refused>> + Send;
}

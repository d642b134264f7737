//! What this node asks of others that is no concern of the groups.

use std::time::Duration;

use ruvio_proto::peer::v1 as peer;
use tonic::{Request, Status};

use super::Peers;
use super::append::ANSWER_MAX;
use crate::raft::wire::{self, Wire};
use crate::wal::{self, LogId, NodeId, ShardId};

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Status> {
    match tokio::time::timeout(limit, call).await {
        Ok(response) => Ok(response?.into_inner()),
        Err(_) => Err(Status::deadline_exceeded("the peer did not answer in time")),
    }
}

/// It drops an image, and its keeper may have something else in hand.
const REMOVE_MAX: Duration = Duration::from_secs(10);

impl Peers {
    /// Whether that very node answers, and hears this one.
    pub(in crate::raft) async fn greet(&self, to: NodeId, address: &str) -> Result<(), Status> {
        self.remote(to, address)?.others.greet().await
    }

    /// The last entry that another replica of a shard has. Changes nothing there.
    pub(in crate::raft) async fn last_log(
        &self,
        to: NodeId,
        address: &str,
        shard: ShardId,
        vote: wal::Vote,
    ) -> Result<LogId, Status> {
        // It asks in its own name, whoever it voted for.
        let vote = wal::Vote {
            node: self.me.node,
            committed: false,
            ..vote
        };
        let request = peer::VoteRequest {
            shard: shard.0.into(),
            vote: Some(wire::library_vote(vote).to_wire()),
            last_log_id: None,
            leadership_transfer: false,
        };
        let remote = self.remote(to, address)?;
        let mut client = remote.others.client().await?;
        let answer = client.pre_vote(Request::new(request)).await?.into_inner();
        Ok(answer
            .last_log_id
            .map_or(LogId::default(), |id| LogId::new(id.term, id.node, id.index)))
    }

    /// Tells a node that it holds a shard no longer.
    pub(in crate::raft) async fn remove_replica(
        &self,
        to: NodeId,
        address: &str,
        request: peer::RemoveReplicaRequest,
    ) -> Result<peer::RemoveReplicaResponse, Status> {
        let remote = self.remote(to, address)?;
        let call = async {
            let mut client = remote.others.client().await?;
            client.remove_replica(Request::new(request)).await
        };
        within(REMOVE_MAX, call).await
    }

    pub async fn topology(
        &self,
        to: NodeId,
        address: &str,
        request: peer::TopologyRequest,
    ) -> Result<peer::TopologyResponse, Status> {
        let remote = self.remote(to, address)?;
        let call = async {
            remote
                .others
                .client()
                .await?
                .topology(Request::new(request))
                .await
        };
        within(ANSWER_MAX, call).await
    }
}

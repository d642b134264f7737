//! What peers ask of this node, handed to the group that it is for.
//!
//! Invariant: a leader speaks for itself alone: what somebody else sends in its name ends the call.
//! Invariant: a stream ends at its first malformed message; nothing behind it is read.

mod appends;
mod snapshots;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::BoxStream;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest};
use ruvio_proto::metadata;
use ruvio_proto::peer::v1 as peer;
use ruvio_proto::peer::v1::peer_server;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;
use tonic::{Request, Response, Status, Streaming};

use super::current::Current;
use super::dismissal;
use super::identity::{Caller, Me};
use super::node::Editor;
use super::peers::FORMAT_VERSION;
use super::snapshot::Images;
use super::types::C;
use super::wire::{self, Wire};
use crate::replica::{self, Port};
use crate::wal::{NodeId, SHARDS_MAX, ShardId};

/// Why something is not answered now; the caller may try again.
pub type Refusal = String;

/// What peers ask that is no concern of the groups. Calls must not wait on the runtime's threads.
pub trait Neighbours: Send + Sync {
    /// Exchanges what either side knows of nodes and leaders.
    fn topology(
        &self,
        from: NodeId,
        request: peer::TopologyRequest,
    ) -> BoxFuture<'_, Result<peer::TopologyResponse, Refusal>>;
}

/// One shard's group, as peers reach it.
pub(super) struct Seat {
    pub current: Current,
    pub editor: Editor,
    pub port: Arc<Port>,
    pub images: Arc<dyn Images>,
}

#[derive(Clone)]
pub(super) struct Service {
    pub me: Arc<Me>,
    pub seats: Arc<BTreeMap<ShardId, Seat>>,
    pub neighbours: Option<Arc<dyn Neighbours>>,
    /// One shard's share of a heartbeat's answer may take so long.
    pub answer_max: Duration,
    /// Snapshots that may arrive at the same time.
    pub arrivals: Arc<Semaphore>,
}

pub(super) const ARRIVALS_MAX: usize = 2;

type Answers<T> = BoxStream<'static, Result<T, Status>>;

fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    let caller = request.extensions().get::<Caller>().copied();
    caller.ok_or_else(|| Status::unauthenticated("the caller was not looked at"))
}

fn malformed(why: wire::Malformed) -> Status {
    Status::invalid_argument(why.to_string())
}

/// The caller speaks in the name of this node.
fn speaks_for(caller: Caller, node: u64) -> Result<(), Status> {
    if caller.node.0 == node {
        return Ok(());
    }
    let caller = caller.node.0;
    Err(Status::permission_denied(format!(
        "node {caller} speaks in the name of node {node}"
    )))
}

impl Service {
    fn seat(&self, shard: ShardId) -> Result<&Seat, Status> {
        let seat = self.seats.get(&shard);
        seat.ok_or_else(|| {
            let (node, shard) = (self.me.node.0, shard.0);
            Status::not_found(format!("node {node} has no replica of shard {shard}"))
        })
    }

    fn shard_of(metadata: &MetadataMap) -> Result<ShardId, Status> {
        let number = metadata
            .get(metadata::SHARD)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .ok_or_else(|| Status::invalid_argument("the call names no shard"))?;
        wire::shard(number).map_err(malformed)
    }

    /// A seat that may vote, and what it is asked.
    fn ballot(&self, request: Request<peer::VoteRequest>) -> Result<(&Seat, VoteRequest<C>), Status> {
        let caller = caller(&request)?;
        let (shard, vote) = wire::vote_from_wire(request.into_inner()).map_err(malformed)?;
        speaks_for(caller, vote.vote.leader_id.node_id)?;
        let seat = self.seat(shard)?;
        if seat
            .current
            .muted_until()
            .is_some_and(|until| Instant::now() < until)
        {
            return Err(Status::unavailable(
                "it has just started, and a leader's lease may hold that it no longer knows of",
            ));
        }
        Ok((seat, vote))
    }

    async fn beat(
        &self,
        caller: Caller,
        shard: ShardId,
        request: AppendEntriesRequest<C>,
    ) -> Result<AppendEntriesResponse<C>, Status> {
        speaks_for(caller, request.vote.leader_id.node_id)?;
        let seat = self.seat(shard)?;
        let heard = replica::Instant::now();
        let answer = tokio::time::timeout(self.answer_max, seat.current.raft().append_entries(request)).await;
        let answer = answer
            .map_err(|_| Status::unavailable("the shard does not answer in time"))?
            .map_err(|fatal| Status::unavailable(fatal.to_string()))?;
        if !matches!(answer, AppendEntriesResponse::HigherVote(_)) {
            seat.port.note_heard(heard);
        }
        Ok(answer)
    }

    fn neighbours(&self) -> Result<&Arc<dyn Neighbours>, Status> {
        let neighbours = self.neighbours.as_ref();
        neighbours.ok_or_else(|| Status::unavailable("this node serves its own shards alone"))
    }
}

fn hello(me: &Me, caller: Caller, hello: &peer::HelloRequest) -> Result<peer::HelloResponse, Status> {
    let is_who_it_was = hello.cluster_id[..] == me.cluster.0
        && hello.to_node == me.node.0
        && hello.node == caller.node.0
        && hello.incarnation == caller.incarnation;
    let why = if !is_who_it_was {
        "what it says of itself is not what its metadata says".to_owned()
    } else if hello.shards != u32::from(me.shards) {
        format!(
            "this node's cluster has {} shards, and the caller's {}",
            me.shards, hello.shards
        )
    } else if hello.format_version.abs_diff(FORMAT_VERSION) > 1 {
        format!(
            "this node speaks version {FORMAT_VERSION}, and the caller {}: update one version at a time",
            hello.format_version
        )
    } else {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(peer::HelloResponse {
            node: me.node.0,
            incarnation: me.incarnation,
            format_version: FORMAT_VERSION,
            release: env!("CARGO_PKG_VERSION").to_owned(),
            clock_ms: u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX),
        });
    };
    Err(Status::permission_denied(why))
}

#[tonic::async_trait]
impl peer_server::Peer for Service {
    type AppendStream = Answers<peer::AppendResponse>;

    async fn hello(
        &self,
        request: Request<peer::HelloRequest>,
    ) -> Result<Response<peer::HelloResponse>, Status> {
        let caller = caller(&request)?;
        hello(&self.me, caller, request.get_ref()).map(Response::new)
    }

    async fn append(
        &self,
        request: Request<Streaming<peer::AppendRequest>>,
    ) -> Result<Response<Self::AppendStream>, Status> {
        let caller = caller(&request)?;
        let seat = self.seat(Self::shard_of(request.metadata())?)?;
        if !seat.images.has_room() {
            let node = self.me.node.0;
            return Err(Status::unavailable(format!(
                "the disk of node {node} is full: it takes no entries until there is room"
            )));
        }
        Ok(Response::new(appends::answer(seat, caller, request.into_inner())))
    }

    async fn heartbeat(
        &self,
        request: Request<peer::HeartbeatRequest>,
    ) -> Result<Response<peer::HeartbeatResponse>, Status> {
        let caller = caller(&request)?;
        let shards = request.into_inner().shards;
        if shards.len() > SHARDS_MAX {
            return Err(malformed(wire::Malformed::TooLarge("heartbeat")));
        }
        let answers = shards.into_iter().map(|sent| async move {
            let (shard, request) = wire::heartbeat_from_wire(sent).map_err(malformed)?;
            let answer = self.beat(caller, shard, request).await;
            let answer = answer.map_err(|status| status.message().to_owned());
            Ok(wire::heartbeat_answer_to_wire(shard, answer))
        });
        let shards: Result<_, Status> = join_all(answers).await.into_iter().collect();
        Ok(Response::new(peer::HeartbeatResponse { shards: shards? }))
    }

    async fn vote(
        &self,
        request: Request<peer::VoteRequest>,
    ) -> Result<Response<peer::VoteResponse>, Status> {
        let (seat, request) = self.ballot(request)?;
        answered(seat.current.raft().vote(request)).await
    }

    async fn pre_vote(
        &self,
        request: Request<peer::VoteRequest>,
    ) -> Result<Response<peer::VoteResponse>, Status> {
        let (seat, request) = self.ballot(request)?;
        answered(seat.current.raft().pre_vote(request)).await
    }

    async fn transfer_leader(
        &self,
        request: Request<peer::TransferLeaderRequest>,
    ) -> Result<Response<peer::TransferLeaderResponse>, Status> {
        let caller = caller(&request)?;
        let (shard, transfer) = wire::transfer_from_wire(request.into_inner()).map_err(malformed)?;
        speaks_for(caller, transfer.from_leader().leader_id.node_id)?;
        if *transfer.to_node_id() != self.me.node.0 {
            return Err(Status::invalid_argument(
                "the leadership is meant for another node",
            ));
        }
        answered(self.seat(shard)?.current.raft().handle_transfer_leader(transfer)).await
    }

    async fn snapshot_progress(
        &self,
        request: Request<peer::SnapshotProgressRequest>,
    ) -> Result<Response<peer::SnapshotProgressResponse>, Status> {
        let request = request.into_inner();
        let seat = self.seat(wire::shard(request.shard).map_err(malformed)?)?;
        snapshots::progress(seat, request).await.map(Response::new)
    }

    async fn snapshot(
        &self,
        request: Request<Streaming<peer::SnapshotRequest>>,
    ) -> Result<Response<peer::SnapshotResponse>, Status> {
        let caller = caller(&request)?;
        let Ok(_permit) = self.arrivals.try_acquire() else {
            return Err(Status::unavailable("other snapshots are arriving: wait for them"));
        };
        let mut stream = request.into_inner();
        let header = snapshots::header(caller, &mut stream).await?;
        let seat = self.seat(header.shard)?;
        snapshots::take(seat, header, stream).await.map(Response::new)
    }

    async fn remove_replica(
        &self,
        request: Request<peer::RemoveReplicaRequest>,
    ) -> Result<Response<peer::RemoveReplicaResponse>, Status> {
        let caller = caller(&request)?;
        let (shard, vote, membership) = dismissal::read(request.into_inner()).map_err(malformed)?;
        speaks_for(caller, vote.leader_id.node_id)?;
        let removed = dismissal::heed(self.seat(shard)?, self.me.node, vote, membership).await?;
        Ok(Response::new(peer::RemoveReplicaResponse { removed }))
    }

    async fn topology(
        &self,
        request: Request<peer::TopologyRequest>,
    ) -> Result<Response<peer::TopologyResponse>, Status> {
        let from = caller(&request)?.node;
        let answer = self.neighbours()?.topology(from, request.into_inner()).await;
        answer.map(Response::new).map_err(Status::unavailable)
    }
}

/// What a group says, sent; a group that has ended is not there for now: the node ends, and comes back.
async fn answered<T: Wire, E: std::error::Error>(
    answer: impl Future<Output = Result<T, E>>,
) -> Result<Response<T::Sent>, Status> {
    match answer.await {
        Ok(answer) => Ok(Response::new(answer.to_wire())),
        Err(fatal) => Err(Status::unavailable(fatal.to_string())),
    }
}

//! The groups' way to other nodes: what the library wants sent, sent.
//!
//! To each peer there are connections of their own for appends of all shards, for heartbeats and votes, for snapshots,
//! and for what nodes tell each other. So a large append delays no heartbeat, and neither snapshots nor clients delay either.

mod append;
mod hub;
mod link;
mod neighbours;
mod snapshots;

use std::collections::HashMap;
use std::error::Error;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use openraft::alias::{SnapshotOf, VoteOf};
use openraft::base::{BoxFuture, BoxStream};
use openraft::errors::{NetworkError, RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::impls::BasicNode;
use openraft::network::v2::RaftNetworkV2;
use openraft::network::{RPCOption, RaftNetworkFactory, stream_append_sequential};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, StreamAppendResult, TransferLeaderRequest,
    TransferLeaderResponse, VoteRequest, VoteResponse,
};
use ruvio_proto::metadata;
use ruvio_proto::peer::v1 as peer;
use tokio::sync::Semaphore;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Status, Streaming};

use super::identity::{Me, Roster};
use super::snapshot::{Images, Snapshot};
use super::types::C;
use super::wire::{self, Wire};
use crate::tls;
use crate::wal::{NodeId, ShardId};
use append::{ANSWER_MAX, Pace};
use hub::Hub;
pub(super) use hub::Sent;
use link::Link;
pub(super) use link::{FORMAT_VERSION, MESSAGE_BYTES_MAX};

type Appended = StreamAppendResult<C>;

/// One peer at one address.
struct Remote {
    address: String,
    appends: Link,
    /// Of votes too.
    heartbeats: Arc<Link>,
    /// What nodes tell each other beside the groups.
    others: Link,
    snapshot_link: Link,
    /// Those that may be on their way at the same time.
    snapshots: Semaphore,
    hub: Hub,
}

/// Of a peer.
const SNAPSHOTS_MAX: usize = 2;

/// Another node's connections are shared by all groups. As many as there are nodes.
pub struct Peers {
    me: Arc<Me>,
    roster: Arc<Roster>,
    heartbeat: Duration,
    /// How they are reached.
    by: tls::Connector,
    remotes: Mutex<HashMap<NodeId, Arc<Remote>>>,
}

impl Peers {
    pub(super) fn new(me: Arc<Me>, roster: Arc<Roster>, heartbeat: Duration, by: tls::Connector) -> Self {
        Self {
            me,
            roster,
            heartbeat,
            by,
            remotes: Mutex::default(),
        }
    }

    /// The heartbeats that were sent to each peer.
    pub(super) fn heartbeats(&self) -> Vec<(NodeId, Sent)> {
        let remotes = self.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = |(node, remote): (&NodeId, &Arc<Remote>)| (*node, remote.hub.sent());
        remotes.iter().map(sent).collect()
    }

    fn remote(&self, to: NodeId, address: &str) -> Result<Arc<Remote>, Status> {
        let mut remotes = self.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = remotes.get(&to);
        if let Some(remote) = known.filter(|remote| remote.address == address) {
            return Ok(Arc::clone(remote));
        }
        let link = || {
            Link::new(&self.me, &self.roster, to, address, &self.by)
                .map_err(|why| Status::unavailable(format!("{address} is no address: {why}")))
        };
        let heartbeats = Arc::new(link()?);
        let remote = Arc::new(Remote {
            address: address.to_owned(),
            appends: link()?,
            others: link()?,
            snapshot_link: link()?,
            snapshots: Semaphore::new(SNAPSHOTS_MAX),
            hub: Hub::start(Arc::clone(&heartbeats), self.heartbeat),
            heartbeats,
        });
        remotes.insert(to, Arc::clone(&remote));
        Ok(remote)
    }
}

/// Makes one shard's clients.
pub(super) struct Factory {
    pub shard: ShardId,
    pub peers: Arc<Peers>,
    pub images: Arc<dyn Images>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Appends,
    Heartbeats,
}

/// One shard's client of one peer. Without a remote, why there is none.
pub(super) struct Peer {
    shard: ShardId,
    purpose: Purpose,
    remote: Result<Arc<Remote>, Status>,
    images: Arc<dyn Images>,
}

impl Factory {
    fn client(&self, target: u64, node: &BasicNode, purpose: Purpose) -> Peer {
        Peer {
            shard: self.shard,
            purpose,
            remote: self.peers.remote(NodeId(target), &node.addr),
            images: Arc::clone(&self.images),
        }
    }
}

impl RaftNetworkFactory<C> for Factory {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        self.client(target, node, Purpose::Appends)
    }

    async fn new_heartbeat_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        self.client(target, node, Purpose::Heartbeats)
    }
}

/// `Unreachable` waits before it tries again, `Network` does not.
fn failed(status: &Status) -> RPCError<C> {
    match status.code() {
        Code::Unavailable
        | Code::Unauthenticated
        | Code::PermissionDenied
        | Code::NotFound
        | Code::Unimplemented => RPCError::Unreachable(Unreachable::new(status)),
        _ => RPCError::Network(NetworkError::new(status)),
    }
}

fn malformed(why: &(impl Error + 'static)) -> RPCError<C> {
    RPCError::Network(NetworkError::new(why))
}

async fn within<T>(limit: Duration, call: impl Future<Output = Result<T, Status>>) -> Result<T, RPCError<C>> {
    match tokio::time::timeout(limit, call).await {
        Ok(result) => result.map_err(|status| failed(&status)),
        Err(_) => Err(failed(&Status::deadline_exceeded(
            "the peer did not answer in time",
        ))),
    }
}

impl Peer {
    fn remote(&self) -> Result<&Arc<Remote>, RPCError<C>> {
        self.remote.as_ref().map_err(failed)
    }

    async fn pipeline<S>(&self, input: S) -> Result<Streaming<peer::AppendResponse>, RPCError<C>>
    where
        S: Stream<Item = peer::AppendRequest> + Send + 'static,
    {
        let mut request = Request::new(input);
        let shard = MetadataValue::from(self.shard.0);
        request.metadata_mut().insert(metadata::SHARD, shard);
        let remote = self.remote()?;
        let call = async { remote.appends.client().await?.append(request).await };
        Ok(within(ANSWER_MAX, call).await?.into_inner())
    }

    async fn ask(
        &self,
        request: VoteRequest<C>,
        is_real: bool,
        limit: Duration,
    ) -> Result<VoteResponse<C>, RPCError<C>> {
        let request = Request::new(wire::vote_to_wire(self.shard, request));
        let remote = self.remote()?;
        let call = async {
            let mut client = remote.heartbeats.client().await?;
            if is_real {
                client.vote(request).await
            } else {
                client.pre_vote(request).await
            }
        };
        let response = within(limit, call).await?.into_inner();
        VoteResponse::from_wire(response).map_err(|why| malformed(&why))
    }
}

/// The answers, until one is no match, fails, or takes too long.
fn answers(
    responses: Streaming<peer::AppendResponse>,
    pace: Arc<Pace>,
) -> impl Stream<Item = Result<Appended, RPCError<C>>> {
    futures_util::stream::unfold(Some((responses, pace)), |state| async {
        let (mut responses, pace) = state?;
        let response = loop {
            let Some(left) = pace.left(Instant::now()) else {
                let late = Status::deadline_exceeded("an append was not answered in time");
                return Some((Err(failed(&late)), None));
            };
            if let Ok(response) = tokio::time::timeout(left, responses.message()).await {
                break response;
            }
        };
        pace.answered(Instant::now());
        let answer = match response {
            Ok(Some(response)) => Appended::from_wire(response).map_err(|why| malformed(&why)),
            Ok(None) => return None,
            Err(status) => Err(failed(&status)),
        };
        let goes_on = matches!(answer, Ok(Ok(_)));
        Some((answer, goes_on.then_some((responses, pace))))
    })
}

impl RaftNetworkV2<C> for Peer {
    type SnapshotData = Snapshot;

    /// A heartbeat: appends with entries go through the stream.
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<C>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<C>, RPCError<C>> {
        let beat = self.remote()?.hub.beat(self.shard, request);
        within(option.hard_ttl(), beat).await
    }

    fn stream_append<'s, S>(
        &'s mut self,
        input: S,
        option: RPCOption,
    ) -> BoxFuture<'s, Result<BoxStream<'s, Result<Appended, RPCError<C>>>, RPCError<C>>>
    where
        S: Stream<Item = AppendEntriesRequest<C>> + Send + Unpin + 'static,
    {
        if self.purpose == Purpose::Heartbeats {
            return stream_append_sequential(self, input, option);
        }
        Box::pin(async move {
            let pace = Arc::new(Pace::default());
            let of_input = Arc::clone(&pace);
            let input = input.map(move |request| {
                of_input.sent(Instant::now());
                request.to_wire()
            });
            let responses = self.pipeline(input).await?;
            let answers: BoxStream<'s, _> = Box::pin(answers(responses, pace));
            Ok(answers)
        })
    }

    async fn vote(
        &mut self,
        request: VoteRequest<C>,
        option: RPCOption,
    ) -> Result<VoteResponse<C>, RPCError<C>> {
        self.ask(request, true, option.hard_ttl()).await
    }

    async fn pre_vote(
        &mut self,
        request: VoteRequest<C>,
        option: RPCOption,
    ) -> Result<VoteResponse<C>, RPCError<C>> {
        self.ask(request, false, option.hard_ttl()).await
    }

    async fn full_snapshot(
        &mut self,
        vote: VoteOf<C>,
        snapshot: SnapshotOf<C, Snapshot>,
        cancel: impl Future<Output = ReplicationClosed> + Send + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<C>, StreamingError<C>> {
        let remote = self.remote.clone().map_err(|status| {
            let unreachable = Unreachable::new(&status);
            StreamingError::Unreachable(unreachable)
        })?;
        let images = Arc::clone(&self.images);
        snapshots::send(remote, images, self.shard, vote, snapshot, cancel).await
    }

    async fn transfer_leader(
        &mut self,
        request: TransferLeaderRequest<C>,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<C>, RPCError<C>> {
        let request = Request::new(wire::transfer_to_wire(self.shard, &request));
        let remote = self.remote()?;
        let call = async { remote.heartbeats.client().await?.transfer_leader(request).await };
        let response = within(option.hard_ttl(), call).await?.into_inner();
        TransferLeaderResponse::<C>::from_wire(response).map_err(|why| malformed(&why))
    }
}

//! A node's groups and their way to other nodes, put together and run on a runtime of their own.
//!
//! All groups are built before the port is opened, and run after it: no peer meets a node that is half there.
//!
//! Invariant: nothing blocks the runtime's threads: the log writes on its own, and what waits for a disk is read
//! elsewhere.

mod beat;
mod course;
mod purge;
mod settings;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use openraft::errors::{InitializeError, RaftError};
use openraft::impls::BasicNode;
use ruvio_proto::peer::v1::peer_server::PeerServer;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tonic::codegen::InterceptedService;
use tonic::transport::server::Server;

use super::current::Current;
use super::dismissal;
use super::group::Shard;
use super::identity::Gatekeeper;
use super::members::{self, ChangeError, TransferError};
use super::peers::{MESSAGE_BYTES_MAX, Peers};
use super::recovery::{self, RecoverError};
use super::service::{ARRIVALS_MAX, Neighbours, Seat, Service};
use super::snapshot::Images;
use super::spread;
use super::store::Store;
use super::topology::{self, Tables};
use crate::replica::{Digest, Port, Proposal};
use crate::tls::{Acceptor, Connector, incoming};
use crate::wal::{LogId, NodeId, ShardId};
pub(super) use course::{Bench, Change, Editor, Unmade};
use course::{Course, Tools};
use purge::Purge;
pub use settings::{Settings, Timing};
pub use status::{Role, ShardStatus};

/// One shard of this node, before its group runs.
pub struct Replica {
    pub store: Store,
    /// Its owner takes events from here on: what is committed is given while the groups are built.
    pub port: Arc<Port>,
    pub proposals: mpsc::Receiver<Proposal>,
    /// What the owner's keyspace holds.
    pub applied: LogId,
    pub images: Arc<dyn Images>,
}

/// Told once that a group or the server has ended by itself, and why: the process has to end.
pub type OnFatal = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("cannot start the threads of replication: {0}")]
    Runtime(io::Error),
    #[error("cannot listen for peers on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the timing of replication does not fit: {0}")]
    Timing(String),
    #[error("shard {} cannot be started: {why}", .shard.0)]
    Group { shard: ShardId, why: String },
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InitializeRefused {
    #[error("this node has no replica of the shard")]
    NoReplica,
    #[error("the shard has a membership already")]
    Done,
    #[error("this node is not among the members")]
    NotMember,
    #[error("the group has ended: {0}")]
    Ended(String),
}

struct Member {
    current: Current,
    editor: Editor,
    port: Arc<Port>,
    purge: Arc<Purge>,
}

/// See the module. Its futures are awaited on any runtime that has timers, or by `block_on`.
pub struct Node {
    me: NodeId,
    groups: BTreeMap<ShardId, Member>,
    peers: Arc<Peers>,
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
    address: SocketAddr,
    stops: Arc<AtomicBool>,
}

impl Node {
    /// Waits until all is built and listens. From a thread that is no runtime's.
    pub fn start(
        settings: Settings,
        replicas: Vec<Replica>,
        neighbours: Option<Arc<dyn Neighbours>>,
        on_fatal: OnFatal,
    ) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(settings.threads.max(1))
            .max_blocking_threads(8)
            .thread_name("raft")
            .enable_all()
            .build()
            .map_err(StartError::Runtime)?;
        let handle = runtime.handle().clone();
        let stops = Arc::new(AtomicBool::new(false));
        let watch = Watch {
            stops: Arc::clone(&stops),
            on_fatal: Arc::new(on_fatal),
        };
        let me = settings.me.node;
        let (groups, peers, address) = handle.block_on(assemble(settings, replicas, neighbours, watch))?;
        Ok(Self {
            me,
            groups,
            peers,
            handle,
            runtime: Mutex::new(Some(runtime)),
            address,
            stops,
        })
    }

    /// Where peers reach it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Of the runtime, for what is served beside.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The way to other nodes.
    pub fn peers(&self) -> &Arc<Peers> {
        &self.peers
    }

    /// Messages with heartbeats that were sent to each peer, and the heartbeats in them.
    pub fn heartbeats_sent(&self) -> Vec<(NodeId, u64, u64)> {
        let sent = self.peers.heartbeats().into_iter();
        sent.map(|(node, sent)| (node, sent.messages, sent.heartbeats))
            .collect()
    }

    /// Makes the members of a new shard: on one of them, once. It campaigns at once.
    pub async fn initialize(
        &self,
        shard: ShardId,
        members: BTreeMap<NodeId, String>,
    ) -> Result<(), InitializeRefused> {
        let raft = self.raft(shard).ok_or(InitializeRefused::NoReplica)?;
        let members: BTreeMap<u64, BasicNode> = members
            .into_iter()
            .map(|(node, address)| (node.0, BasicNode::new(address)))
            .collect();
        raft.initialize(members).await.map_err(|error| match error {
            RaftError::APIError(InitializeError::NotAllowed(_)) => InitializeRefused::Done,
            RaftError::APIError(InitializeError::NotInMembers(_)) => InitializeRefused::NotMember,
            RaftError::Fatal(fatal) => InitializeRefused::Ended(fatal.to_string()),
        })
    }

    fn raft(&self, shard: ShardId) -> Option<Shard> {
        Some(self.groups.get(&shard)?.current.raft())
    }

    /// Keeps the cluster's table: what the groups know goes into it, and it is exchanged with other nodes.
    pub fn share(&self, tables: Arc<dyn Tables>) {
        let groups = self.groups.values().map(|group| group.current.clone());
        for (shard, group) in &self.groups {
            let watched = topology::watch(group.current.clone(), *shard, Arc::clone(&tables));
            self.handle.spawn(watched);
        }
        let exchanged = topology::exchange(groups.collect(), Arc::clone(&self.peers), Arc::clone(&tables));
        self.handle.spawn(exchanged);
        let currents = self
            .groups
            .iter()
            .map(|(shard, group)| (*shard, group.current.clone()));
        let told = dismissal::dismiss(currents.collect(), Arc::clone(&self.peers), Arc::clone(&tables));
        self.handle.spawn(told);
        let of_shard =
            |(shard, group): (&ShardId, &Member)| (*shard, (group.current.clone(), Arc::clone(&group.port)));
        self.handle
            .spawn(spread::spread(self.groups.iter().map(of_shard).collect(), tables));
    }

    /// What this node's replica holds, as soon as that is what is committed. `None`: it has none, or ends.
    pub async fn digest(&self, shard: ShardId) -> Option<Digest> {
        self.groups.get(&shard)?.port.ask().await.ok()
    }

    /// Shards whose leader this node is.
    pub fn led(&self) -> usize {
        let all = self.groups.values();
        all.filter(|group| group.port.leads().is_some()).count()
    }

    /// The image of the shard has moved on: the log may forget what it holds. `may_wait`: not before replicas that are
    /// catching up have it.
    pub fn note_image(&self, shard: ShardId, may_wait: bool) {
        if let Some(group) = self.groups.get(&shard) {
            let purge = Arc::clone(&group.purge);
            purge.note(&self.handle, group.current.raft(), shard, may_wait);
        }
    }

    /// Of each shard, by its number.
    pub fn status(&self) -> Vec<ShardStatus> {
        let groups = self.groups.iter();
        groups
            .map(|(shard, group)| status::of(*shard, &group.current.raft(), &group.port))
            .collect()
    }

    /// On the leader. New nodes learn, catch up, and in one joint change the voters are as asked for. The entry of the
    /// new membership.
    pub async fn change_replicas(
        &self,
        shard: ShardId,
        add: &[(NodeId, String)],
        remove: &[NodeId],
        if_membership: Option<LogId>,
    ) -> Result<LogId, ChangeError> {
        let group = self.groups.get(&shard).ok_or(ChangeError::NoReplica)?;
        members::change(&group.current.raft(), add, remove, if_membership).await
    }

    /// On the leader: what was executed is committed first.
    pub async fn transfer_leader(&self, shard: ShardId, to: NodeId) -> Result<(), TransferError> {
        let group = self.groups.get(&shard).ok_or(TransferError::NoReplica)?;
        members::transfer(&group.current.raft(), &group.port, to).await
    }

    /// What this node holds of its shards that have no majority without the nodes that are lost. Refused if somebody who
    /// is said to be lost answers, or another member holds more.
    pub async fn survey(
        &self,
        shards: &[ShardId],
        lost: &BTreeSet<NodeId>,
    ) -> Result<Vec<ShardStatus>, RecoverError> {
        let found = recovery::without_majority(self.status(), self.me, shards, lost)?;
        recovery::check(&self.peers, self.me, &found, lost).await?;
        Ok(found)
    }

    /// Makes this node the only voter of a shard as it was surveyed, and waits until it leads.
    pub async fn recover(&self, seen: ShardStatus) -> Result<(), RecoverError> {
        let shard = seen.shard;
        let failed = |why: String| RecoverError::Failed { shard, why };
        let group = self.groups.get(&shard).ok_or(RecoverError::NoReplica(shard))?;
        let change = recovery::make_only_voter(self.me, seen);
        group.editor.change(change).await.map_err(failed)?;
        let start = Instant::now();
        while group.port.leads().is_none() {
            if start.elapsed() > RECOVER_MAX {
                return Err(failed(
                    "this node is its only voter, and does not lead it yet".to_owned(),
                ));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Ends all groups, and waits for that. From a thread that is no runtime's.
    pub fn stop(&self) {
        let runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(runtime) = runtime else { return };
        self.stops.store(true, Ordering::Release);
        let groups: Vec<Shard> = self.groups.values().map(|group| group.current.raft()).collect();
        let groups = groups.iter().map(Shard::shutdown);
        let ended = runtime.block_on(async { tokio::time::timeout(STOP_MAX, join_all(groups)).await });
        if ended.is_err() {
            tracing::warn!("the groups did not end in time");
        }
        runtime.shutdown_timeout(STOP_MAX);
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Of peers: each has a few.
const CONNECTIONS_MAX: usize = 4096;
/// From an election to the first stint; what was not known to be committed is applied in between.
const RECOVER_MAX: Duration = Duration::from_secs(30);
const STOP_MAX: Duration = Duration::from_secs(2);

/// What becomes of tasks that have to run as long as the node.
#[derive(Clone)]
struct Watch {
    stops: Arc<AtomicBool>,
    on_fatal: Arc<OnFatal>,
}

impl Watch {
    fn ended(&self, what: &str) {
        // The first one counts: others end because of it.
        if !self.stops.swap(true, Ordering::AcqRel) {
            tracing::error!(what, "replication ends");
            (self.on_fatal)(what);
        }
    }
}

async fn assemble(
    settings: Settings,
    replicas: Vec<Replica>,
    neighbours: Option<Arc<dyn Neighbours>>,
    watch: Watch,
) -> Result<(BTreeMap<ShardId, Member>, Arc<Peers>, SocketAddr), StartError> {
    let config = Arc::new(settings.config().map_err(StartError::Timing)?);
    let (me, timing) = (Arc::new(settings.me), settings.timing);
    let roster = settings.roster;
    let by = Connector::new(settings.tls.clone());
    let peers = Peers::new(Arc::clone(&me), Arc::clone(&roster), timing.heartbeat, by);
    let peers = Arc::new(peers);
    let tools = Tools {
        node: me.node,
        config,
        peers: Arc::clone(&peers),
        timing,
        watch: watch.clone(),
    };
    let (mut groups, mut seats, mut courses) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for replica in replicas {
        let (shard, port) = (replica.port.shard(), Arc::clone(&replica.port));
        let images = Arc::clone(&replica.images);
        let failed = |why: String| StartError::Group { shard, why };
        let (course, current, editor) = Course::build(tools.clone(), replica).await.map_err(failed)?;
        let seat = Seat {
            current: current.clone(),
            editor: editor.clone(),
            port: Arc::clone(&port),
            images: Arc::clone(&images),
        };
        seats.insert(shard, seat);
        courses.push(course);
        let member = Member {
            current,
            editor,
            port,
            purge: Arc::new(Purge::new(images)),
        };
        groups.insert(shard, member);
    }
    let service = Service {
        me: Arc::clone(&me),
        seats: Arc::new(seats),
        neighbours,
        answer_max: timing.heartbeat * 2 / 3,
        arrivals: Arc::new(Semaphore::new(ARRIVALS_MAX)),
    };
    let keeper = Gatekeeper { me, roster };
    let all = groups
        .values()
        .map(|member: &Member| member.current.clone())
        .collect();
    let acceptor = Acceptor::new(settings.tls);
    let address = serve(settings.listen, acceptor, service, keeper, watch.clone()).await?;
    courses.into_iter().for_each(|course| {
        tokio::spawn(course.run());
    });
    tokio::spawn(beat::beat(all, timing.heartbeat));
    Ok((groups, peers, address))
}

async fn serve(
    address: SocketAddr,
    acceptor: Acceptor,
    service: Service,
    keeper: Gatekeeper,
    watch: Watch,
) -> Result<SocketAddr, StartError> {
    let failed = |source| StartError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let peers = PeerServer::new(service)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let server = Server::builder()
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .http2_keepalive_interval(Some(Duration::from_secs(5)))
        .http2_keepalive_timeout(Some(Duration::from_secs(5)))
        .add_service(InterceptedService::new(peers, keeper));
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let incoming = incoming(listener, acceptor, places, "peer-port");
    tokio::spawn(async move {
        let ended = match server.serve_with_incoming(incoming).await {
            Ok(()) => "the server for peers has ended".to_owned(),
            Err(why) => format!("the server for peers has ended: {why}"),
        };
        watch.ended(&ended);
    });
    Ok(bound)
}

//! A node's part in a cluster, as its threads share it: how it becomes a member, what its groups are told, and what
//! groups, keeper and painter ask of each other (the images that are there, a shard anew, what the log may forget).

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::BoxFuture;
use ruvio_core::cluster;
use ruvio_core::options::{Durability, Id, Options};
use ruvio_server::datadir::Identity;
use ruvio_server::image::{Arrivals, Exports, policy};
use ruvio_server::raft::{self, Before, Held, Images, Received};
use ruvio_server::replica::Port;
use ruvio_server::tls::Tls;
use ruvio_server::wal::{LogId, Reserve, Room, ShardId};

use super::keeper::Request;
use super::owner::Rebuild;
use super::{config, known};

/// What a new node needs to become a member.
pub struct Invitation {
    pub identity: Identity,
}

/// What the threads of a node of a cluster share.
pub struct Membership {
    invitation: (SyncSender<Invitation>, Mutex<Receiver<Invitation>>),
    /// Who the node is, once it is a member.
    pub identity: OnceLock<Identity>,
    /// The groups, once they are at work.
    pub raft: OnceLock<Arc<raft::Node>>,
    /// The cluster's table, likewise.
    pub tables: OnceLock<Arc<dyn raft::Tables>>,
    pub options: Options,
    token: Option<raft::Token>,
    /// Where nodes speak it to each other.
    pub tls: Option<Arc<Tls>>,
    /// Wherever the node speaks it.
    pub certificates: Option<Arc<Tls>>,
    /// The nodes that are known.
    pub roster: Arc<raft::Roster>,
    /// For peers.
    listen: SocketAddr,
}

/// Up to here the log keeps what a replica that is catching up still needs, though the image holds it.
const LOG_BYTES_MAX: u64 = 2 * policy::WINDOW_BYTES_MAX;
/// Leaderships that nobody has taken by then end with the node, and are elected for.
const HAND_OVER_MAX: Duration = Duration::from_secs(3);
/// Between two looks whether the node is to end.
const LOOK: Duration = Duration::from_millis(100);

impl Membership {
    pub fn new(options: &Options, tls: Option<Arc<Tls>>) -> anyhow::Result<Self> {
        let (send, receive) = sync_channel(1);
        Ok(Self {
            invitation: (send, Mutex::new(receive)),
            identity: OnceLock::new(),
            raft: OnceLock::new(),
            tables: OnceLock::new(),
            token: token(options)?,
            certificates: tls.clone(),
            tls: tls.filter(|_| options.flag(Id::TlsCluster)),
            roster: Arc::default(),
            listen: peer_address(options)?,
            options: options.clone(),
        })
    }

    /// Makes the node a member. False: it is one, or is about to be.
    pub fn invite(&self, invitation: Invitation) -> bool {
        self.invitation.0.try_send(invitation).is_ok()
    }

    /// Where clients of the cluster port reach this node from itself.
    pub fn cluster_port(&self) -> SocketAddr {
        SocketAddr::new(self.listen.ip(), self.options.port())
    }

    pub fn token(&self) -> Option<&raft::Token> {
        self.token.as_ref()
    }

    /// What the node's groups are told.
    pub fn settings(&self, identity: &Identity) -> raft::Settings {
        raft::Settings {
            me: raft::Me {
                cluster: identity.cluster,
                node: identity.node,
                incarnation: identity.incarnation,
                token: self.token.clone(),
                shards: identity.shards,
            },
            roster: Arc::clone(&self.roster),
            tls: self.tls.clone(),
            listen: self.listen,
            timing: raft::Timing::default(),
            threads: 1,
            may_lose_tail: self.options.durability() != Durability::Always,
        }
    }

    /// What others are told of this node.
    pub fn describe(&self, identity: &Identity) -> cluster::Node {
        let port = |id| self.options.number(id) as u16;
        let announced = [Id::ClusterAnnounceHostname, Id::ClusterAnnounceIp]
            .map(|id| self.options.shown_by(id))
            .into_iter()
            .find(|host| !host.is_empty());
        cluster::Node {
            id: cluster::NodeId(identity.node.0),
            version: known::unix_ms(),
            name: String::new(),
            host: announced.unwrap_or_else(|| self.listen.ip().to_string()),
            port: self.options.port(),
            routed_port: port(Id::RoutedPort),
            tls_port: port(Id::TlsPort),
            routed_tls_port: port(Id::RoutedTlsPort),
            peer_port: self.listen.port(),
            admin_port: port(Id::AdminPort),
            is_draining: false,
            is_alive: true,
        }
    }

    /// Before the node ends: others take its leaderships over, so that no client waits for an election.
    pub fn hand_over(&self) {
        let Some(groups) = self.raft.get() else { return };
        if let Some(tables) = self.tables.get() {
            tables.set_draining(true);
        }
        let start = std::time::Instant::now();
        while groups.led() > 0 && start.elapsed() < HAND_OVER_MAX {
            std::thread::sleep(Duration::from_millis(5));
        }
        tracing::info!(
            left = groups.led(),
            took_ms = start.elapsed().as_millis() as u64,
            "leaderships were handed over"
        );
    }

    /// Until the node is made a member. `None`: it is to end.
    pub fn wait(&self, stopping: &AtomicBool) -> Option<Invitation> {
        let invitations = self.invitation.1.lock().unwrap_or_else(PoisonError::into_inner);
        tracing::info!(
            "waits to be made a member of a cluster: ruvioctl bootstrap, or the operator, does that"
        );
        while !stopping.load(Ordering::Relaxed) {
            match invitations.recv_timeout(LOOK) {
                Ok(invitation) => return Some(invitation),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}

/// The secret that nodes of the cluster share.
pub fn token(options: &Options) -> anyhow::Result<Option<raft::Token>> {
    let path = options.shown_by(Id::ClusterTokenFile);
    if path.is_empty() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read the cluster's token from {path}"))?;
    let token = raft::Token::new(text.trim());
    let token = token.with_context(|| {
        format!(
            "the cluster's token in {path} has to be 1 to {} visible characters",
            raft::Token::BYTES_MAX
        )
    })?;
    Ok(Some(token))
}

/// Where peers reach the node: on the first address that clients do.
fn peer_address(options: &Options) -> anyhow::Result<SocketAddr> {
    let port = options.number(Id::PeerPort) as u16;
    let first = config::addresses(options, port)?.into_iter().next();
    Ok(first.context("bind names no address to listen on")?.socket)
}

/// What the images of the node hold, for the groups, which must not wait for a disk.
pub struct Holdings {
    held: Mutex<Vec<Option<Held>>>,
    exports: Exports,
    arrivals: Arc<Arrivals>,
    keeper: SyncSender<Request>,
    /// Of the log, once it is there.
    reserve: OnceLock<Arc<Reserve>>,
    /// Bytes a second of a snapshot that is sent.
    rate: Arc<AtomicU64>,
}

impl Holdings {
    pub fn new(
        held: Vec<Option<LogId>>,
        exports: Exports,
        arrivals: Arrivals,
        keeper: SyncSender<Request>,
        rate: Arc<AtomicU64>,
    ) -> Self {
        let held = held.into_iter().map(|at| at.map(|at| Held { at })).collect();
        Self {
            held: Mutex::new(held),
            exports,
            arrivals: Arc::new(arrivals),
            keeper,
            reserve: OnceLock::new(),
            rate,
        }
    }

    /// There is no image of the shard any longer, nor anything of one that arrives.
    pub fn clear(&self, shard: ShardId) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.get_mut(usize::from(shard.0)) {
            *place = None;
        }
        drop(held);
        if let Err(error) = self.arrivals.forget(shard) {
            tracing::warn!(shard = shard.0, %error, "what came of a snapshot cannot be removed");
        }
    }

    /// The log says by it whether there is room.
    pub fn note_reserve(&self, reserve: Arc<Reserve>) {
        let _ = self.reserve.set(reserve);
    }

    /// The image of the shard holds the log up to here.
    pub fn note(&self, shard: ShardId, at: LogId) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = held.get_mut(usize::from(shard.0)) {
            *place = Some(Held { at });
        }
    }
}

impl Images for Holdings {
    fn held(&self, shard: ShardId) -> Option<Held> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.get(usize::from(shard.0)).copied().flatten()
    }

    fn install(&self, shard: ShardId, received: Received) -> BoxFuture<'_, io::Result<()>> {
        let (done, installed) = tokio::sync::oneshot::channel();
        let request = Request::Install {
            shard,
            received,
            done,
        };
        // It has room for one of each shard.
        let asked = self.keeper.try_send(request);
        Box::pin(async move {
            asked.map_err(|_| io::Error::other("the keeper takes nothing more"))?;
            let installed = installed.await;
            installed.map_err(|_| io::Error::other("the keeper has ended"))?
        })
    }

    fn forget(&self, shard: ShardId, before: Before) -> BoxFuture<'_, io::Result<()>> {
        let (done, forgotten) = tokio::sync::oneshot::channel();
        let asked = self.keeper.try_send(Request::Forget { shard, before, done });
        Box::pin(async move {
            asked.map_err(|_| io::Error::other("the keeper takes nothing more"))?;
            let forgotten = forgotten.await;
            forgotten.map_err(|_| io::Error::other("the keeper has ended"))?
        })
    }

    fn exports(&self) -> Option<Exports> {
        Some(self.exports.clone())
    }

    fn arrivals(&self) -> Option<Arc<Arrivals>> {
        Some(Arc::clone(&self.arrivals))
    }

    fn has_room(&self) -> bool {
        self.reserve
            .get()
            .is_none_or(|reserve| reserve.room() == Room::Open)
    }

    fn bytes_per_second_max(&self) -> u64 {
        self.rate.load(Ordering::Relaxed)
    }
}

/// Asks the keeper for a shard anew.
pub struct Rebuilder(pub SyncSender<Request>);

impl Rebuild for Rebuilder {
    fn rebuild(&self, shard: ShardId, up_to: LogId) {
        // It has room for one of each shard, and no shard is asked for twice.
        if self.0.try_send(Request::Rebuild { shard, up_to }).is_err() {
            tracing::error!(
                shard = shard.0,
                "the keeper takes nothing more: the shard stays away"
            );
        }
    }
}

/// The groups over the log, as the painter sees them.
pub struct Groups {
    pub ports: Vec<Arc<Port>>,
    pub holdings: Arc<Holdings>,
    pub raft: Arc<raft::Node>,
    pub tables: Arc<dyn raft::Tables>,
}

impl Groups {
    /// A node without room gives its leaderships to others, that clients can go on writing.
    pub fn look_at_room(&self) {
        self.tables.set_full(!self.holdings.has_room());
    }

    /// What is committed and was given to the shard's owner.
    pub fn given(&self, shard: ShardId) -> u64 {
        let port = self.ports.get(usize::from(shard.0));
        port.map_or(0, |port| port.given().index.0)
    }

    /// The log may forget what the image holds. `log_bytes`: how long it is.
    pub fn forget(&self, shard: ShardId, at: LogId, log_bytes: u64) {
        self.holdings.note(shard, at);
        let may_wait = log_bytes < LOG_BYTES_MAX && self.holdings.has_room();
        self.raft.note_image(shard, may_wait);
    }
}

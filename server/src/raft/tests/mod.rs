//! Nodes of one process that replicate over loopback: real connections, real logs, owners without commands.

mod dismissal;
mod failover;
mod membership;
mod neighbours;
mod owner;
mod recovery;
mod refusals;
mod replication;
mod secured;
mod shelf;
mod snapshots;
mod streams;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::identity::{Me, Roster, Token};
use super::node::{Node, Replica, Settings, Timing};
use super::placement::place;
use super::service::Neighbours;
use super::snapshot::{Before, Held, Images, Received};
use super::store::open;
use crate::image::{Arrivals, Exports};
use crate::replica::Port;
use crate::tls::Tls;
use crate::wal::disk::Folder;
use crate::wal::{self, Bounds, ClusterId, LogId, NodeId, Recovery, ShardId, SyncMode, Wal};
use owner::{Bell, Owner};
use shelf::Shelf;

use super::store::Store;

const CLUSTER: ClusterId = ClusterId([9; 16]);
/// What has to happen happens within this, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// No shard of these nodes has an image.
struct NoImages;

impl Images for NoImages {
    fn held(&self, _: ShardId) -> Option<Held> {
        None
    }

    fn install(&self, _: ShardId, _: Received) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async { Err(io::Error::other("no image is installed here")) })
    }

    fn forget(&self, _: ShardId, before: Before) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async {
            tokio::task::spawn_blocking(before)
                .await
                .map_err(io::Error::other)?
        })
    }

    fn exports(&self) -> Option<Exports> {
        None
    }

    fn arrivals(&self) -> Option<Arc<Arrivals>> {
        None
    }
}

fn log_settings() -> wal::Settings {
    wal::Settings {
        sync: SyncMode::Always,
        segment_bytes: 1 << 20,
        ahead_bytes: 256 << 10,
        reserve_bytes: 1 << 20,
        bounds: Bounds {
            records: 1000,
            bytes: 1 << 20,
        },
    }
}

/// Not in the range that the system takes the ports of connections from: a node that starts again finds its own.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(7400);
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        assert!(port < 9000, "no port is free");
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn folder() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nth = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("ruvio-peers-{}-{nth}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

fn me(id: u64, shards: u16) -> Me {
    Me {
        cluster: CLUSTER,
        node: NodeId(id),
        incarnation: 1000 + id,
        token: Some(Token::new("the-token-of-these-tests").expect("it fits a header")),
        shards,
    }
}

/// A node that can be stopped and started again.
struct Machine {
    me: Me,
    shards: u16,
    folder: PathBuf,
    has_images: bool,
    address: SocketAddr,
    fatal: Arc<Mutex<Vec<String>>>,
    neighbours: Option<Arc<dyn Neighbours>>,
    tls: Option<Arc<Tls>>,
    running: Option<Running>,
}

struct Running {
    node: Node,
    owners: Vec<Owner>,
    stores: Vec<Store>,
    shelf: Option<Arc<Shelf>>,
    wal: Wal,
}

impl Machine {
    fn new(me: Me, shards: u16) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        Self {
            me,
            shards,
            folder: folder(),
            has_images: false,
            address,
            fatal: Arc::default(),
            neighbours: None,
            tls: None,
            running: None,
        }
    }

    fn start(&mut self) {
        let disk = Arc::new(Folder::new(&self.folder));
        let recovery = Recovery::read(disk, CLUSTER).expect("the log is in order");
        let shards: Vec<ShardId> = (0..self.shards).map(ShardId).collect();
        let (wal, stores) = open(recovery, &log_settings(), &shards, 64 << 10).expect("it starts");
        let seed = self.me.node.0 * 77;
        let open_shelf = || Shelf::open(&self.image_folder(), &shards, seed);
        let shelf = self.has_images.then(open_shelf);
        let (mut replicas, mut owners) = (Vec::new(), Vec::new());
        let kept = stores.clone();
        for (shard, store) in shards.iter().copied().zip(stores) {
            let bell = Arc::new(Bell::default());
            let (sender, proposals) = mpsc::channel(4);
            let images: Arc<dyn Images> = match &shelf {
                Some(shelf) => Arc::clone(shelf) as _,
                None => Arc::new(NoImages),
            };
            let applied = images.held(shard).map_or(LogId::default(), |held| held.at);
            let port = Arc::new(Port::new(shard, bell.clone(), sender, applied));
            owners.push(Owner::start(
                Arc::clone(&port),
                bell,
                store.clone(),
                shelf.clone(),
            ));
            replicas.push(Replica {
                store,
                port,
                proposals,
                applied,
                images,
            });
        }
        let settings = Settings {
            me: self.me.clone(),
            roster: Arc::new(Roster::default()),
            tls: self.tls.clone(),
            listen: self.address,
            timing: Timing::default(),
            threads: 1,
            may_lose_tail: false,
        };
        let fatal = Arc::clone(&self.fatal);
        let on_fatal = move |why: &str| fatal.lock().expect("locked").push(why.to_owned());
        let node =
            Node::start(settings, replicas, self.neighbours.clone(), Box::new(on_fatal)).expect("it starts");
        self.running = Some(Running {
            node,
            owners,
            stores: kept,
            shelf,
            wal,
        });
    }

    fn stop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        running.node.stop();
        running.owners.iter_mut().for_each(Owner::stop);
        running.wal.stop().expect("the log ends well");
        assert_eq!(
            *self.fatal.lock().expect("locked"),
            [""; 0],
            "node {}",
            self.me.node.0
        );
    }

    /// Beside the log.
    fn image_folder(&self) -> PathBuf {
        self.folder.with_extension("image")
    }

    fn node(&self) -> &Node {
        &self.running.as_ref().expect("it runs").node
    }

    fn owner(&self, shard: ShardId) -> &Owner {
        &self.running.as_ref().expect("it runs").owners[usize::from(shard.0)]
    }

    fn leads(&self, shard: ShardId) -> bool {
        self.running.is_some() && self.owner(shard).port.leads().is_some()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            running.node.stop();
            running.owners.iter_mut().for_each(Owner::stop);
            let _ = running.wal.stop();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(self.image_folder());
    }
}

struct Cluster {
    machines: Vec<Machine>,
}

impl Cluster {
    /// The first `members` of `nodes` hold all shards.
    fn start(nodes: u64, members: usize, shards: u16) -> Self {
        Self::start_with(nodes, members, shards, false)
    }

    fn start_with(nodes: u64, members: usize, shards: u16, has_images: bool) -> Self {
        let mut machines: Vec<_> = (1..=nodes)
            .map(|id| Machine::new(me(id, shards), shards))
            .collect();
        machines
            .iter_mut()
            .for_each(|machine| machine.has_images = has_images);
        machines.iter_mut().for_each(Machine::start);
        let cluster = Self { machines };
        let ids: Vec<NodeId> = (1..=members as u64).map(NodeId).collect();
        for place in place(&ids, shards, members) {
            let members = place.voters.iter().map(|node| (*node, cluster.address(*node)));
            let members: BTreeMap<_, _> = members.collect();
            let first = cluster.of(place.leader().expect("there is one"));
            let made = first.node().initialize(place.shard, members);
            first.node().handle().block_on(made).expect("it is new");
        }
        for shard in (0..shards).map(ShardId) {
            cluster.leader(shard);
        }
        cluster
    }

    fn of(&self, node: NodeId) -> &Machine {
        &self.machines[node.0 as usize - 1]
    }

    fn of_mut(&mut self, node: NodeId) -> &mut Machine {
        &mut self.machines[node.0 as usize - 1]
    }

    fn address(&self, node: NodeId) -> String {
        self.of(node).address.to_string()
    }

    /// Who leads a shard, once somebody does.
    fn leader(&self, shard: ShardId) -> NodeId {
        let leading = || self.machines.iter().find(|machine| machine.leads(shard));
        wait(&format!("a leader of shard {}", shard.0), || leading().is_some());
        leading().map_or(NodeId(1), |machine| machine.me.node)
    }

    /// Proposes to the leader, and waits until all is acknowledged.
    fn commit(&self, shard: ShardId, payloads: &[Bytes]) {
        let leader = self.leader(shard);
        let owner = self.of(leader).owner(shard);
        payloads.iter().for_each(|payload| owner.propose(payload.clone()));
        let last = payloads.last().cloned();
        wait("all is acknowledged", || {
            owner.acknowledged().last().cloned() == last
        });
    }

    /// These nodes come to hold the same, up to something that was committed; what that is.
    fn settled(&self, shard: ShardId, nodes: &[u64], last: Option<&Bytes>) -> Vec<Bytes> {
        let keyspace = |node: &u64| self.of(NodeId(*node)).owner(shard).keyspace();
        let all_equal = || {
            let all: Vec<_> = nodes.iter().map(keyspace).collect();
            all[0].last() == last && all.windows(2).all(|two| two[0] == two[1])
        };
        wait("all hold the same", all_equal);
        keyspace(&nodes[0])
    }

    fn stop(mut self) {
        self.machines.iter_mut().for_each(Machine::stop);
    }
}

fn wait(what: &str, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < PATIENCE, "it takes too long: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Different ones, that say who made them.
fn payloads(of: &str, count: usize) -> Vec<Bytes> {
    (0..count)
        .map(|nth| Bytes::from(format!("{of} {nth} {}", "x".repeat(nth % 300))))
        .collect()
}

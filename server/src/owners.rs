//! The owner threads of a node: which shards each has, how all of them start or none does, and their end.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use ruvio_core::cluster::Table;
use ruvio_core::engine::{Engine, Topology};
use ruvio_core::keyspace::Shard;
use ruvio_core::options::{Id, Options};
use ruvio_server::tls::Tls;

use super::entropy;
use super::host::{Node, Process};
use super::owner::{Board, Inbox, Listener, Owner, Stop};
use super::replicas;

/// Threads that serve, to be joined when they are told to stop.
pub struct Owners {
    threads: Vec<JoinHandle<anyhow::Result<()>>>,
    inboxes: Vec<Arc<Inbox>>,
    board: Arc<Board>,
    stop: Arc<Stop>,
}

/// Shards and owners as the options say: never more owners than shards, nor, unless told, than cores.
pub fn topology(options: &Options) -> Topology {
    let shards = options.count(Id::Shards).max(1);
    let owners = match options.count(Id::OwnerThreads) {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        told => told,
    };
    Topology {
        shards: shards as u16,
        owners: owners.clamp(1, shards) as u16,
        me: 0,
    }
}

/// Starts the owners. `listeners` are those of the first; the others listen on the same addresses. Where the node
/// keeps its data they load until they are handed their shards.
pub fn start(
    options: &Options,
    listeners: Vec<Listener>,
    node: &Arc<Node>,
    keeps: bool,
    tls: Option<&Arc<Tls>>,
) -> anyhow::Result<Owners> {
    let topology = topology(options);
    let inboxes: Vec<Arc<Inbox>> = (0..topology.owners)
        .map(|_| Inbox::new().map(Arc::new))
        .collect::<Result<_, _>>()?;
    let backlog = i32::try_from(options.number(Id::TcpBacklog)).unwrap_or(i32::MAX);
    let mut sets = vec![listeners];
    for _ in 1..topology.owners {
        let again = |listener: &Listener| {
            let again = listener.again(backlog);
            again.with_context(|| format!("cannot listen on {}", listener.local))
        };
        sets.push(sets[0].iter().map(again).collect::<Result<_, _>>()?);
    }
    let stop = Arc::new(Stop::new(inboxes.len()));
    let board = Arc::new(Board::default());
    let token = match options.flag(Id::ClusterEnabled) {
        true => replicas::token(options)?.map(|token| Arc::from(token.as_bytes())),
        false => None,
    };
    let mut threads = Vec::new();
    for (me, listeners) in sets.into_iter().enumerate() {
        let (configured, outcome) = sync_channel(1);
        let place = Place {
            topology: Topology {
                me: me as u16,
                ..topology
            },
            options: options.clone(),
            listeners,
            inboxes: inboxes.clone(),
            board: Arc::clone(&board),
            node: Arc::clone(node),
            stop: Arc::clone(&stop),
            token: token.clone(),
            tls: tls.cloned(),
            keeps,
        };
        let thread = std::thread::Builder::new().name(format!("owner-{me}"));
        threads.push(thread.spawn(move || place.serve(&configured))?);
        // The sender goes, without a word, where the thread ends before it could say anything; joining it
        // tells why.
        if let Ok(Err(why)) = outcome.recv() {
            anyhow::bail!("{why}");
        }
    }
    Ok(Owners {
        threads,
        inboxes,
        board,
        stop,
    })
}

impl Owners {
    pub fn inboxes(&self) -> Vec<Arc<Inbox>> {
        self.inboxes.clone()
    }

    /// Shows all owners another table of the cluster.
    pub fn noticer(&self) -> Noticer {
        Noticer {
            board: Arc::clone(&self.board),
            inboxes: self.inboxes(),
        }
    }

    /// Tells all to stop and waits for them; how each ended.
    pub fn stop(self) -> Ends {
        self.stop.ask();
        self.inboxes.iter().for_each(|inbox| inbox.ring());
        Ends(self.threads.into_iter().map(JoinHandle::join).collect())
    }
}

/// Whoever knows the cluster shows it to the owners by this.
#[derive(Clone)]
pub struct Noticer {
    board: Arc<Board>,
    inboxes: Vec<Arc<Inbox>>,
}

impl Noticer {
    pub fn put_up(&self, table: Arc<Table>) {
        self.board.put_up(table);
        self.inboxes.iter().for_each(|inbox| inbox.ring());
    }
}

/// How owners ended.
#[must_use]
pub struct Ends(Vec<std::thread::Result<anyhow::Result<()>>>);

impl Ends {
    /// The first that failed tells why.
    pub fn check(self) -> anyhow::Result<()> {
        for end in self.0 {
            end.map_err(|_| anyhow::anyhow!("an owner thread panicked"))??;
        }
        Ok(())
    }
}

/// What one owner starts from.
struct Place {
    topology: Topology,
    options: Options,
    listeners: Vec<Listener>,
    inboxes: Vec<Arc<Inbox>>,
    board: Arc<Board>,
    node: Arc<Node>,
    stop: Arc<Stop>,
    /// Of the cluster.
    token: Option<Arc<[u8]>>,
    tls: Option<Arc<Tls>>,
    /// What was written before is loaded, and what is written now is logged.
    keeps: bool,
}

impl Place {
    fn serve(self, configured: &SyncSender<Result<(), String>>) -> anyhow::Result<()> {
        let node = Arc::clone(&self.node);
        let databases = self.options.count(Id::Databases);
        let shards = self
            .topology
            .shards_of(self.topology.me)
            .map(|_| Ok(Shard::with_databases(entropy()?, entropy()?, databases)))
            .collect::<anyhow::Result<_>>()?;
        let mut engine = Engine::spread(shards, self.topology, Box::new(Process::new(self.node)?));
        engine.world.link_token = self.token;
        let result = engine.configure(self.options);
        let fine = result.is_ok();
        // The receiver waits until this arrives.
        let _ = configured.send(result);
        if fine {
            let _ends = EndsNode(node);
            Owner::new(engine, self.listeners, self.inboxes, self.board, self.keeps)
                .with_tls(self.tls)
                .run(&self.stop)?;
        }
        Ok(())
    }
}

/// Whoever ends by itself ends the node, also by a panic: nobody else serves its shards, and they would be led
/// here without an answer for ever.
struct EndsNode(Arc<Node>);

impl Drop for EndsNode {
    fn drop(&mut self) {
        self.0.stop.notify_one();
    }
}

//! The owner threads of a node: which shards each has, and how all of them start or none does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use ruvio_core::engine::{Engine, Topology};
use ruvio_core::keyspace::Shard;
use ruvio_core::options::{Id, Options};
use ruvio_server::wal::{Seating, ShardId, Wake};

use super::entropy;
use super::host::{Node, Process};
use super::owner::{Inbox, Listener, Log, Owner};
use super::storage::{Found, Storage, commit_of};

/// Threads that serve, to be joined when they are told to stop.
pub struct Owners {
    threads: Vec<JoinHandle<anyhow::Result<()>>>,
    inboxes: Vec<Arc<Inbox>>,
    stop: Arc<AtomicBool>,
    storage: Option<Storage>,
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

/// Starts the owners. `listeners` are those of the first; the others listen on the same addresses.
pub fn start(
    options: &Options,
    listeners: Vec<Listener>,
    node: &Arc<Node>,
    found: Option<Found>,
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
    let databases = options.count(Id::Databases);
    let mut shards = (0..topology.shards)
        .map(|_| Ok(Shard::with_databases(entropy()?, entropy()?, databases)))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let (storage, mut logs) = keep(topology, &inboxes, &mut shards, options, found)?;
    let mut shards: Vec<Option<Shard>> = shards.into_iter().map(Some).collect();
    let stop = Arc::new(AtomicBool::new(false));
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
            node: Arc::clone(node),
            stop: Arc::clone(&stop),
            shards: topology
                .shards_of(me as u16)
                .filter_map(|shard| shards[usize::from(shard)].take())
                .collect(),
            log: logs.get_mut(me).and_then(Option::take),
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
        stop,
        storage,
    })
}

/// Fills the shards with what the node kept, and puts its log to work; the log's ends, by owner.
fn keep(
    topology: Topology,
    inboxes: &[Arc<Inbox>],
    shards: &mut [Shard],
    options: &Options,
    found: Option<Found>,
) -> anyhow::Result<(Option<Storage>, Vec<Option<Log>>)> {
    let (Some(found), Some(commit)) = (found, commit_of(options.durability())) else {
        return Ok((None, Vec::new()));
    };
    found.replay(shards)?;
    let lasts: Vec<u64> = (0..topology.shards).map(|shard| found.last(shard)).collect();
    let shards_of = |owner: u16| topology.shards_of(owner);
    let seatings = inboxes.iter().enumerate().map(|(owner, inbox)| Seating {
        shards: shards_of(owner as u16).map(ShardId).collect(),
        wake: Arc::clone(inbox) as Arc<dyn Wake>,
    });
    let storage = found.start(seatings.collect())?;
    let logs = (0..topology.owners).map(|owner| {
        Some(Log {
            lane: storage.wal.lane(owner.into()),
            commit,
            reserve: storage.wal.reserve(),
            shards: shards_of(owner)
                .map(|shard| (ShardId(shard), lasts[usize::from(shard)]))
                .collect(),
        })
    });
    let logs = logs.collect();
    Ok((Some(storage), logs))
}

impl Owners {
    /// Tells all to stop and waits for them; the first that failed tells why.
    pub fn stop(self) -> anyhow::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        self.inboxes.iter().for_each(|inbox| inbox.ring());
        let ends: Vec<_> = self.threads.into_iter().map(JoinHandle::join).collect();
        // What the owners handed over is written and synced; if the log has failed, that says more than what its
        // owners noticed of it.
        if let Some(storage) = self.storage {
            storage.wal.stop()?;
        }
        for end in ends {
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
    node: Arc<Node>,
    stop: Arc<AtomicBool>,
    shards: Vec<Shard>,
    log: Option<Log>,
}

impl Place {
    fn serve(self, configured: &SyncSender<Result<(), String>>) -> anyhow::Result<()> {
        let node = Arc::clone(&self.node);
        let mut engine = Engine::spread(self.shards, self.topology, Box::new(Process::new(self.node)?));
        let result = engine.configure(self.options);
        let fine = result.is_ok();
        // The receiver waits until this arrives.
        let _ = configured.send(result);
        if fine {
            let result = Owner::new(engine, self.listeners, self.inboxes, self.log).run(&self.stop);
            // Whoever ends by itself ends the node.
            node.stop.notify_one();
            result?;
        }
        Ok(())
    }
}

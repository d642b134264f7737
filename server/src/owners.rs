//! The owner threads of a node: which shards each has, and how all of them start or none does.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::Context;
use ruvio_core::engine::{Engine, Topology};
use ruvio_core::keyspace::Shard;
use ruvio_core::options::{Id, Options};
use tokio::sync::watch;

use super::entropy;
use super::host::{Node, Process};
use super::owner::{Inbox, Listener, Owner};

/// Threads that serve, to be joined when they are told to stop.
pub struct Owners {
    threads: Vec<JoinHandle<anyhow::Result<()>>>,
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
    stopped: &watch::Receiver<bool>,
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
            stopped: stopped.clone(),
        };
        let thread = std::thread::Builder::new().name(format!("owner-{me}"));
        threads.push(thread.spawn(move || place.serve(&configured))?);
        // The sender goes, without a word, where the thread ends before it could say anything; joining it
        // tells why.
        if let Ok(Err(why)) = outcome.recv() {
            anyhow::bail!("{why}");
        }
    }
    Ok(Owners { threads })
}

impl Owners {
    /// Waits for all to end; the first that failed tells why.
    pub fn join(self) -> anyhow::Result<()> {
        let ends: Vec<_> = self.threads.into_iter().map(JoinHandle::join).collect();
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
    stopped: watch::Receiver<bool>,
}

impl Place {
    fn serve(self, configured: &SyncSender<Result<(), String>>) -> anyhow::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let databases = self.options.count(Id::Databases);
        let shards = self
            .topology
            .shards_of(self.topology.me)
            .map(|_| Ok(Shard::with_databases(entropy()?, entropy()?, databases)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let mut engine = Engine::spread(shards, self.topology, Box::new(Process::new(self.node)?));
        let result = engine.configure(self.options);
        let fine = result.is_ok();
        // The receiver waits until this arrives.
        let _ = configured.send(result);
        if fine {
            runtime.block_on(Owner::new(engine, self.listeners, self.inboxes).run(self.stopped))?;
        }
        Ok(())
    }
}

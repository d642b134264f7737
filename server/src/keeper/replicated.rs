//! The keeper of a node of a cluster: shards are filled up to what is known to be committed, their groups say the rest;
//! and a shard whose keyspace may be ahead of the log is filled anew.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use ruvio_server::datadir::RemovedNodes;
use ruvio_server::image::{Arrivals, Image};
use ruvio_server::raft::{self, Received};
use ruvio_server::replica::Port;
use ruvio_server::wal::{LogId, LogIndex, ShardId, Wake};

use tokio::sync::oneshot;

use super::{Load, REST, Work};
use crate::host;
use crate::known::Known;
use crate::owner::{Log, Rebuilt, Replicas, Way};
use crate::painter::Painter;
use crate::replicas::{Groups, Holdings, Membership, Rebuilder};
use crate::storage::{Claimed, Found, Storage};

/// Proposals of a shard that wait for its group. Few are under way.
const PROPOSALS: usize = 8;
/// Entries of a shard that are kept in memory for its followers.
const RECENT_BYTES: usize = 16 << 20;

impl Work {
    /// Reads what the node kept, hands each owner its shards as followers, and starts their groups.
    pub(super) fn load_replicated(
        &self,
        claimed: Claimed,
        membership: &Membership,
    ) -> anyhow::Result<Option<(Storage, Painter)>> {
        let identity = *claimed.identity();
        // It is a member from now on, whatever is read.
        let _ = membership.identity.set(identity);
        let found = Found::read(claimed, true)?;
        let image = found.open_image(self.topology.shards)?;
        let mut painter = Painter::new(image, self.topology, found.log_folder(), Arc::clone(&self.node));
        let shards: Vec<ShardId> = (0..self.topology.shards).map(ShardId).collect();
        let goals = shards
            .iter()
            .map(|shard| goal(&found, &painter.image, *shard))
            .collect::<anyhow::Result<Vec<LogId>>>()?;
        self.node.loading.begin(found.recovery().bytes());
        let up_to = |shard: u16| goals[usize::from(shard)].index.0;
        let Some(loads) = self.fill(&painter.image, || found.recovery().entries(), &up_to)? else {
            return Ok(None);
        };
        self.note_seeds(&loads, &mut painter);
        let held = shards
            .iter()
            .map(|shard| Ok(painter.image.meta(*shard)?.map(|meta| id_of(meta.at))))
            .collect::<anyhow::Result<_>>()?;
        let arrivals = Arrivals::open(&found.arrivals_folder())?;
        let exports = painter.image.exports();
        let rate = Arc::clone(&self.node.snapshot_rate);
        let holdings = Arc::new(Holdings::new(
            held,
            exports,
            arrivals,
            self.requests.clone(),
            rate,
        ));
        let leaving = found.leaving();
        let removed = RemovedNodes::read(found.folder())?;
        let (storage, stores) = found.start_replicated(&shards, RECENT_BYTES)?;
        self.finish_leaving(&storage.wal, &leaving)?;
        self.node.note_log(storage.wal.watch());
        holdings.note_reserve(storage.wal.reserve());
        let images = Arc::clone(&holdings) as Arc<dyn raft::Images>;
        let (mut ports, mut replicas) = (Vec::new(), Vec::new());
        for (store, (shard, goal)) in stores.into_iter().zip(shards.iter().zip(&goals)) {
            let (send, proposals) = tokio::sync::mpsc::channel(PROPOSALS);
            let owner = Arc::clone(&self.inboxes[usize::from(self.topology.owner_of(shard.0))]);
            let port = Arc::new(Port::new(*shard, owner as Arc<dyn Wake>, send, *goal));
            ports.push(Arc::clone(&port));
            replicas.push(raft::Replica {
                store,
                port,
                proposals,
                applied: *goal,
                images: Arc::clone(&images),
            });
        }
        self.hand_over_replicated(loads, &ports, &goals, &storage);
        let known = Known::new(
            membership.describe(&identity),
            self.topology.shards,
            self.noticer.clone(),
            removed,
            Arc::clone(&membership.roster),
            Arc::clone(&self.node),
        );
        let node = Arc::clone(&self.node);
        let fatal = move |why: &str| node.end_with(why.to_owned());
        let tables = Arc::new(known) as Arc<dyn raft::Tables>;
        let exchange = Arc::new(raft::Exchange::new(Arc::clone(&tables)));
        let settings = membership.settings(&identity);
        let groups = raft::Node::start(settings, replicas, Some(exchange), Box::new(fatal))
            .context("cannot start the node's groups")?;
        let _ = membership.tables.set(Arc::clone(&tables));
        groups.share(Arc::clone(&tables));
        let groups = Arc::new(groups);
        let _ = membership.raft.set(Arc::clone(&groups));
        painter.follow(Groups {
            ports,
            holdings,
            raft: groups,
            tables,
        });
        self.node.loading.end();
        Ok(Some((storage, painter)))
    }

    fn hand_over_replicated(
        &self,
        loads: Vec<Load>,
        ports: &[Arc<Port>],
        goals: &[LogId],
        storage: &Storage,
    ) {
        let left = Arc::new(AtomicUsize::new(self.inboxes.len()));
        for (owner, (inbox, load)) in self.inboxes.iter().zip(loads).enumerate() {
            let of_owner = || self.topology.shards_of(owner as u16).map(usize::from);
            let way = |shard: usize| Way::Replicated {
                port: Arc::clone(&ports[shard]),
                stint: None,
                number: 0,
            };
            let log = Log {
                ways: of_owner().map(way).collect(),
                reserve: storage.wal.reserve(),
            };
            let mut filled = load.into_filled(Some(log), &left);
            filled.replicas = Some(Replicas {
                ports: of_owner()
                    .map(|shard| (Arc::clone(&ports[shard]), goals[shard].index.0))
                    .collect(),
                rebuild: Arc::new(Rebuilder(self.requests.clone())),
            });
            inbox.hand_over(filled);
        }
    }

    /// Installs another node's image, whose group waits for it.
    pub(super) fn install(
        painter: &Painter,
        shard: ShardId,
        received: &Received,
        done: oneshot::Sender<io::Result<()>>,
    ) {
        let installed = painter.install(shard, received);
        if let Err(error) = &installed {
            tracing::error!(
                shard = shard.0,
                error = format!("{error:#}"),
                "a snapshot is not installed"
            );
        }
        // Its group may have ended.
        let _ = done.send(installed.map_err(|error| io::Error::other(format!("{error:#}"))));
    }

    /// Fills a shard anew, up to an entry that is committed and on its way into the log at least.
    pub(super) fn rebuild(
        &self,
        storage: &Storage,
        painter: &mut Painter,
        shard: ShardId,
        up_to: LogId,
    ) -> anyhow::Result<()> {
        let lane = storage.wal.lane(0);
        // What came as a snapshot is in no log.
        let in_image = painter.image.meta(shard)?.map_or(0, |meta| meta.at.index);
        // What was given may have been voided since: then it is another shard, which holds less.
        let goal = || up_to.index.min(painter.given(shard));
        let is_written = || {
            let written = lane.progress(shard).map(|progress| progress.written.0);
            written.is_some_and(|written| written >= goal())
        };
        while in_image < goal().0 && !is_written() {
            if self.stopping.load(Ordering::Relaxed) || lane.ended() {
                return Ok(());
            }
            std::thread::sleep(REST);
        }
        let goal = goal();
        let image = &painter.image;
        let load = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(format!("loader-{}", shard.0));
            let fill = thread.spawn_scoped(scope, || self.fill_anew(storage, image, shard, goal))?;
            fill.join()
                .unwrap_or_else(|_| bail!("a thread that loads panicked"))
        })?;
        let Some((keyspace, held, allocated)) = load else {
            return Ok(());
        };
        painter.note_seed(shard.0, keyspace.heap.seed());
        let owner = usize::from(self.topology.owner_of(shard.0));
        self.inboxes[owner].hand_over_rebuilt(Rebuilt {
            shard,
            keyspace,
            held,
            allocated,
        });
        Ok(())
    }

    fn fill_anew(
        &self,
        storage: &Storage,
        image: &Image,
        number: ShardId,
        up_to: LogIndex,
    ) -> anyhow::Result<Option<(Box<ruvio_core::keyspace::Shard>, u64, usize)>> {
        let before = host::allocated_here()?;
        let (mut shard, mut held) = self.load_shard(image, number)?;
        if held < up_to.0 {
            let mut entries = storage.wal.entries(number, LogIndex(held + 1))?;
            while held < up_to.0
                && let Some(entry) = entries.next_entry()?
            {
                held = entry.id.index.0;
                super::apply(&mut shard, &entry)?;
                if self.stopping.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
        }
        let allocated = host::allocated_here()?.saturating_sub(before);
        Ok(Some((Box::new(shard), held, allocated)))
    }
}

fn id_of(at: ruvio_core::image::meta::At) -> LogId {
    LogId::new(at.term, at.node, at.index)
}

/// What of a shard is known to be committed and is here: the rest is for its group to say.
fn goal(found: &Found, image: &Image, shard: ShardId) -> anyhow::Result<LogId> {
    let in_image = image.meta(shard)?.map_or(LogId::default(), |meta| id_of(meta.at));
    let Some(state) = found.recovery().shards().get(&shard) else {
        return Ok(in_image);
    };
    // The end of the log may be torn away behind what was committed.
    let in_log = match state.committed.index <= state.last {
        true => state.committed,
        false => found.recovery().last_id(shard)?.unwrap_or_default(),
    };
    Ok(if in_log.index > in_image.index {
        in_log
    } else {
        in_image
    })
}

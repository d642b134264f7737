//! The thread that fills the shards from what the node kept, while owners already answer, and that does so again
//! when a client asks for it.
//!
//! Shards are filled by a thread for each owner, so that they are filled side by side and what they take from
//! the allocator is known by owner.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use ruvio_core::effect::{self, Decoder};
use ruvio_core::engine::Topology;
use ruvio_core::keyspace::Shard;
use ruvio_core::options::{Id, Options};
use ruvio_server::image::Image;
use ruvio_server::raft::{Before, Received};
use ruvio_server::wal::{Entry, Kind, LogId, LogIndex, Scan, Seating, ShardId, Ticket, Wake};

use tokio::sync::oneshot;

use super::entropy;
use super::host::{self, Node};
use super::owner::{Filled, Inbox, Log, Way};
use super::owners::Noticer;
use super::painter::{self, Painter};
use super::replicas::Membership;
use super::storage::{Claimed, Found, Storage};

mod forgotten;
mod replicated;

/// What the keeper is asked for.
pub enum Request {
    /// Everything anew from what is kept.
    Reload,
    /// One replicated shard anew, up to a committed entry.
    Rebuild {
        shard: ShardId,
        up_to: LogId,
    },
    /// Another node's image in the place of a replicated shard's.
    Install {
        shard: ShardId,
        received: Received,
        done: oneshot::Sender<io::Result<()>>,
    },
    /// A shard is not held here any longer: its image goes, once `before` was done.
    Forget {
        shard: ShardId,
        before: Before,
        done: oneshot::Sender<io::Result<()>>,
    },
    /// A run of the image is wanted.
    Look,
    Stop,
}

pub struct Keeper {
    thread: JoinHandle<anyhow::Result<Option<Storage>>>,
    requests: SyncSender<Request>,
    stopping: Arc<AtomicBool>,
    /// There is an end to wait for: the log is at work, or the thread has ended by itself.
    joinable: Arc<AtomicBool>,
}

/// Bytes of the log between two looks whether to go on.
const LOOK_BYTES: u64 = 256 << 10;
/// While owners come to rest they are looked at this often.
const REST: Duration = Duration::from_millis(1);

impl Keeper {
    /// Begins to fill the shards of the owners behind `inboxes`.
    pub fn start(
        claim: Claim,
        options: &Options,
        topology: Topology,
        inboxes: Vec<Arc<Inbox>>,
        noticer: Noticer,
        node: &Arc<Node>,
    ) -> anyhow::Result<Self> {
        // Three for each shard, and one for each of the others.
        let (send, requests) = sync_channel(3 * usize::from(topology.shards) + 3);
        let (stopping, joinable) = <(Arc<AtomicBool>, Arc<AtomicBool>)>::default();
        node.keep(options.durability());
        let rate = options.count(Id::SnapshotRate) as u64;
        node.snapshot_rate.store(rate, Ordering::Relaxed);
        // There is one keeper.
        let _ = node.keeper.set(send.clone());
        let work = Work {
            topology,
            databases: options.count(Id::Databases),
            inboxes,
            node: Arc::clone(node),
            stopping: Arc::clone(&stopping),
            requests: send.clone(),
            noticer,
        };
        let told = Arc::clone(&joinable);
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            let node = Arc::clone(&work.node);
            let result = work.run(claim, &requests, &told);
            told.store(true, Ordering::Release);
            // Whoever ends by itself ends the node.
            node.stop.notify_one();
            result
        })?;
        Ok(Self {
            thread,
            requests: send,
            stopping,
            joinable,
        })
    }

    /// Once the owners have ended: what they handed over is written and synced. A load that is under way is
    /// left alone: it ends with the process, and has changed nothing.
    pub fn stop(self) -> anyhow::Result<()> {
        self.stopping.store(true, Ordering::Relaxed);
        if !self.joinable.load(Ordering::Acquire) {
            return Ok(());
        }
        // It may have ended by itself.
        let _ = self.requests.send(Request::Stop);
        let end = self.thread.join();
        match end.map_err(|_| anyhow::anyhow!("the thread that keeps the data panicked"))?? {
            Some(storage) => Ok(storage.wal.stop()?),
            None => Ok(()),
        }
    }
}

struct Work {
    topology: Topology,
    databases: usize,
    inboxes: Vec<Arc<Inbox>>,
    node: Arc<Node>,
    stopping: Arc<AtomicBool>,
    /// Shows owners the cluster.
    noticer: Noticer,
    /// To itself, for owners.
    requests: SyncSender<Request>,
}

/// Where a node's data comes from.
pub enum Claim {
    /// A directory of a node of its own.
    Alone(Claimed),
    /// A member's directory; that of a new one is claimed when it is made a member.
    Member(Option<Claimed>, Arc<Membership>),
}

impl Claim {
    pub fn membership(&self) -> Option<Arc<Membership>> {
        match self {
            Self::Alone(_) => None,
            Self::Member(_, membership) => Some(Arc::clone(membership)),
        }
    }
}

/// The shards of one owner, and what filling them took from the allocator.
struct Load {
    shards: Vec<Shard>,
    allocated: usize,
}

impl Work {
    fn run(
        self,
        claim: Claim,
        requests: &Receiver<Request>,
        joinable: &AtomicBool,
    ) -> anyhow::Result<Option<Storage>> {
        let loaded = match claim {
            Claim::Alone(claimed) => self.load(claimed)?,
            Claim::Member(Some(claimed), membership) => self.load_replicated(claimed, &membership)?,
            Claim::Member(None, membership) => {
                let Some(invitation) = membership.wait(&self.stopping) else {
                    return Ok(None);
                };
                let claimed = Claimed::as_member(&membership.options, invitation.identity)?;
                self.load_replicated(claimed, &membership)?
            }
        };
        let Some((storage, mut painter)) = loaded else {
            return Ok(None);
        };
        joinable.store(true, Ordering::Release);
        loop {
            match requests.recv_timeout(painter::LOOK) {
                Ok(Request::Reload) => self.reload(&storage, &mut painter)?,
                Ok(Request::Rebuild { shard, up_to }) => {
                    self.rebuild(&storage, &mut painter, shard, up_to)?
                }
                Ok(Request::Install {
                    shard,
                    received,
                    done,
                }) => Self::install(&painter, shard, &received, done),
                Ok(Request::Forget { shard, before, done }) => Self::forget(&painter, shard, before, done),
                Ok(Request::Look) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Request::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
            if painter.look(&storage.wal)? {
                // Those who waited for it.
                self.inboxes.iter().for_each(|inbox| inbox.ring());
            }
        }
        // So that the next start has little to replay.
        painter.look_at_end(&storage.wal)?;
        painter.end_groups();
        Ok(Some(storage))
    }

    /// Reads what the node kept and hands each owner its shards. `None`: the node is to end.
    fn load(&self, claimed: Claimed) -> anyhow::Result<Option<(Storage, Painter)>> {
        let found = Found::read(claimed, false)?;
        let image = found.open_image(self.topology.shards)?;
        let mut painter = Painter::new(image, self.topology, found.log_folder(), Arc::clone(&self.node));
        self.node.loading.begin(found.recovery().bytes());
        let Some(loads) = self.fill(&painter.image, || found.recovery().entries(), &ALL)? else {
            return Ok(None);
        };
        self.note_seeds(&loads, &mut painter);
        let seatings = self.inboxes.iter().enumerate().map(|(owner, inbox)| Seating {
            shards: self.topology.shards_of(owner as u16).map(ShardId).collect(),
            wake: Arc::clone(inbox) as Arc<dyn Wake>,
        });
        let lasts: Vec<u64> = (0..self.topology.shards)
            .map(|shard| last(&found, &painter.image, shard))
            .collect::<Result<_, _>>()?;
        let storage = found.start(seatings.collect())?;
        painter.purge(&storage.wal)?;
        self.node.note_log(storage.wal.watch());
        let left = Arc::new(AtomicUsize::new(self.inboxes.len()));
        for (owner, (inbox, load)) in self.inboxes.iter().zip(loads).enumerate() {
            let shards = self.topology.shards_of(owner as u16);
            let lane = storage.wal.lane(owner);
            let way = |shard| Way::Alone {
                lane: Arc::clone(&lane),
                shard: ShardId(shard),
                last: lasts[usize::from(shard)],
                ticket: Ticket::default(),
            };
            let log = Log {
                ways: shards.map(way).collect(),
                reserve: storage.wal.reserve(),
            };
            inbox.hand_over(load.into_filled(Some(log), &left));
        }
        self.node.loading.end();
        Ok(Some((storage, painter)))
    }

    fn note_seeds(&self, loads: &[Load], painter: &mut Painter) {
        for (owner, load) in loads.iter().enumerate() {
            let numbers = self.topology.shards_of(owner as u16);
            for (number, shard) in numbers.zip(&load.shards) {
                painter.note_seed(number, shard.heap.seed());
            }
        }
    }

    /// The same from the log that is at work, once nothing is on its way into it.
    fn reload(&self, storage: &Storage, painter: &mut Painter) -> anyhow::Result<()> {
        let waits_for_owners = |done: &dyn Fn() -> bool| {
            while !done() && !self.stopping.load(Ordering::Relaxed) {
                std::thread::sleep(REST);
            }
        };
        // What was handed over before is theirs by now.
        waits_for_owners(&|| self.inboxes.iter().all(|inbox| inbox.is_settled()));
        for inbox in &self.inboxes {
            inbox.ask_for_rest();
        }
        let rests =
            |(owner, inbox): (usize, &Arc<Inbox>)| inbox.is_at_rest() && storage.wal.lane(owner).is_written();
        waits_for_owners(&|| self.inboxes.iter().enumerate().all(rests));
        if self.stopping.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (first, _) = storage.wal.extent();
        self.node.loading.begin(storage.wal.watch().size_bytes());
        let Some(loads) = self.fill(&painter.image, || storage.wal.scan(first), &ALL)? else {
            return Ok(());
        };
        self.note_seeds(&loads, painter);
        let left = Arc::new(AtomicUsize::new(self.inboxes.len()));
        for (inbox, load) in self.inboxes.iter().zip(loads) {
            inbox.hand_over(load.into_filled(None, &left));
        }
        self.node.loading.end();
        Ok(())
    }

    /// Fills all shards, by owner. `None`: the node is to end.
    fn fill(
        &self,
        image: &Image,
        entries: impl Fn() -> Scan + Sync,
        up_to: &UpTo<'_>,
    ) -> anyhow::Result<Option<Vec<Load>>> {
        let owners: Vec<u16> = (0..self.topology.owners).collect();
        let loads = std::thread::scope(|scope| {
            let entries = &entries;
            let threads: Vec<_> = owners
                .iter()
                .map(|owner| {
                    let thread = std::thread::Builder::new().name(format!("loader-{owner}"));
                    thread.spawn_scoped(scope, move || self.fill_owner(*owner, image, entries(), up_to))
                })
                .collect::<Result<_, _>>()
                .context("cannot start a thread that loads")?;
            threads
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|_| bail!("a thread that loads panicked"))
                })
                .collect::<anyhow::Result<Vec<_>>>()
        })?;
        Ok(loads.into_iter().collect())
    }

    fn fill_owner(
        &self,
        owner: u16,
        image: &Image,
        mut entries: Scan,
        up_to: &UpTo<'_>,
    ) -> anyhow::Result<Option<Load>> {
        let before = host::allocated_here()?;
        // The shards, and the last entry that each of them holds.
        let (mut shards, mut held) = (Vec::new(), Vec::new());
        for number in self.topology.shards_of(owner) {
            let (shard, index) = self.load_shard(image, ShardId(number))?;
            shards.push(shard);
            held.push(index);
        }
        let (mut count, mut bytes, mut looked) = (0_u64, 0, 0);
        while let Some(entry) = entries.next_entry()? {
            bytes += entry.end.offset.saturating_sub(entry.at.offset);
            if bytes - looked >= LOOK_BYTES {
                looked = bytes;
                self.node.loading.note(bytes);
                if self.stopping.load(Ordering::Relaxed) {
                    return Ok(None);
                }
            }
            let shard = entry.shard.0;
            if shard >= self.topology.shards {
                bail!(
                    "{}: there is no such shard; was --shards changed?",
                    place_of(&entry)
                );
            }
            if self.topology.owner_of(shard) != owner {
                continue;
            }
            let nth = usize::from(shard / self.topology.owners);
            if entry.id.index.0 <= held[nth] || entry.id.index.0 > up_to(shard) {
                continue;
            }
            held[nth] = entry.id.index.0;
            count += 1;
            apply(&mut shards[nth], &entry)?;
        }
        tracing::info!(owner, entries = count, "the log was replayed");
        let allocated = host::allocated_here()?.saturating_sub(before);
        Ok(Some(Load { shards, allocated }))
    }
}

/// The last entry of a shard that counts.
type UpTo<'a> = dyn Fn(u16) -> u64 + Sync + 'a;

/// All do.
const ALL: fn(u16) -> u64 = |_| u64::MAX;

fn place_of(entry: &Entry<'_>) -> String {
    format!("entry {} of shard {} at {}", entry.id, entry.shard.0, entry.at)
}

/// Makes an entry's changes. Entries of the consensus layer itself make none.
fn apply(shard: &mut Shard, entry: &Entry<'_>) -> anyhow::Result<()> {
    if entry.kind == Kind::RaftEntry {
        return Ok(());
    }
    let place = || place_of(entry);
    for decoded in Decoder::new(entry.payload) {
        let (db, effect) = decoded.with_context(place)?;
        effect::apply::apply(shard, db, &effect).with_context(place)?;
    }
    Ok(())
}

impl Work {
    /// A shard as the image has it, and the index of the log that this is of.
    fn load_shard(&self, image: &Image, number: ShardId) -> anyhow::Result<(Shard, u64)> {
        let Some(meta) = image.meta(number)? else {
            let shard = Shard::with_databases(entropy()?, entropy()?, self.databases);
            return Ok((shard, 0));
        };
        let began = Instant::now();
        let mut shard = Shard::with_databases(meta.seed, entropy()?, self.databases);
        let loaded = image.load(number, &mut shard)?;
        tracing::info!(
            shard = number.0,
            rows = loaded.map_or(0, |loaded| loaded.rows),
            took_ms = began.elapsed().as_millis() as u64,
            "the image was loaded"
        );
        Ok((shard, meta.at.index))
    }
}

impl Load {
    fn into_filled(self, log: Option<Log>, left: &Arc<AtomicUsize>) -> Filled {
        Filled {
            shards: self.shards,
            allocated: self.allocated,
            log,
            replicas: None,
            left: Arc::clone(left),
        }
    }
}

/// The last entry of a shard, which the log may have forgotten.
fn last(found: &Found, image: &Image, shard: u16) -> anyhow::Result<u64> {
    let known = found.recovery().shards().get(&ShardId(shard));
    let in_log = known.map_or(LogIndex::default(), |state| state.last).0;
    let in_image = image.meta(ShardId(shard))?.map_or(0, |meta| meta.at.index);
    Ok(in_log.max(in_image))
}

//! The log at work: what was recovered is made whole, two threads are started, and owners get their lanes.

use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ahead::{Ahead, Sizes};
use super::catalog::Listed;
use super::counters::{Counters, Counts};
use super::disk::Disk;
use super::failure::{EXIT_CORRUPT, EXIT_IO, EXIT_REFUSED, Fatal, ReadError};
use super::files;
use super::ids::{ClusterId, LogId, LogIndex, Position, ShardId};
use super::lane::{Bounds, Lane, Wake, Why};
use super::reader::{self, Reader};
use super::recover::Recovery;
use super::room::{Reserve, Room};
use super::scan::{Pin, Scan};
use super::segment::{self, HEADER_BYTES, Header, Segment};
use super::shared::{Seat, Shared};
use super::writer::{SyncMode, Writer};

/// While the disk is full, the filler looks this often whether it still is.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub sync: SyncMode,
    pub segment_bytes: u64,
    /// How far room is kept ahead of the writer.
    pub ahead_bytes: u64,
    /// Given up when the disk is full, for what owners have already executed.
    pub reserve_bytes: u64,
    /// Of each lane.
    pub bounds: Bounds,
}

impl Settings {
    /// The sizes of a node; `lanes` share what may wait. The reserve takes all of it.
    pub fn new(sync: SyncMode, lanes: usize) -> Self {
        const WAITING_BYTES: usize = 32 << 20;
        Self {
            sync,
            segment_bytes: 64 << 20,
            ahead_bytes: 4 << 20,
            reserve_bytes: (WAITING_BYTES + (8 << 20)) as u64,
            bounds: Bounds {
                records: 16 << 10,
                bytes: WAITING_BYTES / lanes.max(1),
            },
        }
    }
}

/// An owner: its shards and how it is told that something was completed.
pub struct Seating {
    pub shards: Vec<ShardId>,
    pub wake: Arc<dyn Wake>,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "the log holds shard {} which no owner has, so the number of shards was changed: set shards as it was", .0.0
    )]
    Homeless(ShardId),
    #[error("the last entry of shard {} has no end and cannot be made void: {}", .0.0, .1)]
    Unfinished(ShardId, Why),
    #[error(transparent)]
    Fatal(#[from] Fatal),
    #[error("cannot start a thread of the log: {0}")]
    Thread(std::io::Error),
}

impl StartError {
    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Homeless(_) => EXIT_REFUSED,
            Self::Unfinished(..) => EXIT_CORRUPT,
            Self::Fatal(_) | Self::Thread(_) => EXIT_IO,
        }
    }
}

/// A running log.
pub struct Wal {
    disk: Arc<dyn Disk>,
    cluster: ClusterId,
    shared: Arc<Shared>,
    ahead: Arc<Ahead>,
    threads: Vec<JoinHandle<()>>,
}

/// The figures of a log, and its mode.
pub struct Watch {
    shared: Weak<Shared>,
    counters: Arc<Counters>,
}

impl Watch {
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// When records count as safe, from now on.
    pub fn set_sync_mode(&self, mode: SyncMode) {
        if let Some(shared) = self.shared.upgrade() {
            shared.set_sync_mode(mode);
        }
    }

    /// Bytes of the records that it holds.
    pub fn size_bytes(&self) -> u64 {
        let shared = self.shared.upgrade();
        shared.map_or(0, |shared| shared.catalog().bytes())
    }
}

/// The parts of a log, before its threads run.
pub(super) struct Parts {
    pub shared: Arc<Shared>,
    pub ahead: Arc<Ahead>,
    pub writer: Writer,
}

impl Recovery {
    /// Cuts what has to be cut, and starts the log's threads. A lane for each seating, in their order.
    pub fn start(self, settings: &Settings, seatings: Vec<Seating>) -> Result<Wal, StartError> {
        let (disk, cluster) = (Arc::clone(&self.disk), self.cluster);
        let parts = self.assemble(settings, seatings)?;
        let (shared, ahead) = (parts.shared, parts.ahead);
        let ending = || Ending {
            shared: Arc::clone(&shared),
            ahead: Arc::clone(&ahead),
        };
        let (of_writer, of_filler) = (ending(), ending());
        let mut wal = Wal {
            disk,
            cluster,
            shared: Arc::clone(&shared),
            ahead: Arc::clone(&ahead),
            threads: Vec::new(),
        };
        let writer = spawn("log-writer", move || write(parts.writer, &of_writer))?;
        // Before anybody has a lane, so that no ring is lost.
        for seat in &shared.lanes {
            seat.lane.set_writer(writer.thread().clone());
        }
        wal.threads.push(writer);
        wal.threads.push(spawn("log-filler", move || fill(&of_filler))?);
        Ok(wal)
    }

    pub(super) fn assemble(self, settings: &Settings, seatings: Vec<Seating>) -> Result<Parts, StartError> {
        let homeless = self
            .shards
            .keys()
            .find(|shard| !seatings.iter().any(|seating| seating.shards.contains(shard)));
        if let Some(shard) = homeless {
            return Err(StartError::Homeless(*shard));
        }
        let counters = Arc::new(Counters::default());
        let reserve = Reserve::new(
            Arc::clone(&self.disk),
            Arc::clone(&counters),
            settings.reserve_bytes,
        );
        let (mut catalog, shards) = (self.catalog.clone(), self.shards.clone());
        let unfinished = self.unfinished.clone();
        let (disk, cluster) = (Arc::clone(&self.disk), self.cluster);
        let (segment, at, epoch) = self.make_whole()?;
        if catalog.segments().next().is_none() {
            catalog.add_segment(Listed {
                sequence: segment.sequence,
                epoch: segment.epoch,
                end: HEADER_BYTES,
            });
        }
        reserve.hold().map_err(Fatal::io("set aside", "reserve"))?;
        let (mut seats, mut states) = (Vec::new(), Vec::new());
        for mut seating in seatings {
            seating.shards.sort_unstable();
            let known: Vec<_> = seating
                .shards
                .iter()
                .map(|shard| (*shard, shards.get(shard).cloned().unwrap_or_default()))
                .collect();
            states.push(known.iter().map(|(_, state)| state.clone()).collect());
            seats.push(Seat {
                lane: Arc::new(Lane::new(settings.bounds, known)),
                wake: seating.wake,
            });
        }
        // Before whatever takes their place.
        for (shard, first) in &unfinished {
            tracing::info!(
                shard = shard.0,
                index = first.0,
                "the last entry was not written to its end and was never acknowledged: it is void"
            );
            let mut lanes = seats.iter().filter(|seat| seat.lane.shards().contains(shard));
            if let Some(seat) = lanes.next() {
                let void = seat.lane.truncate(*shard, *first);
                void.map_err(|refused| StartError::Unfinished(*shard, refused.why))?;
            }
        }
        let shared = Arc::new(Shared::new(seats, Arc::clone(&counters), catalog, settings.sync));
        let sizes = Sizes {
            segment: settings.segment_bytes,
            ahead: settings.ahead_bytes,
            zeros: settings.sync == SyncMode::Always,
        };
        let position = (Arc::clone(&segment), at, epoch);
        let ahead = Arc::new(Ahead::new(
            disk,
            cluster,
            sizes,
            Arc::new(reserve),
            counters,
            position,
        ));
        let writer = Writer::new(Arc::clone(&shared), Arc::clone(&ahead), (segment, at), states);
        Ok(Parts {
            shared,
            ahead,
            writer,
        })
    }

    /// The only changes that a start makes: leftovers go, and the last segment ends where its records do.
    /// The segment to go on in, where, and the largest epoch.
    fn make_whole(self) -> Result<(Arc<Segment>, u64, u64), Fatal> {
        let names = self.disk.list().map_err(Fatal::io("list", "the folder"))?;
        let leftovers = names.into_iter().filter(|name| files::is_leftover(name));
        let unused = self.unused.iter().map(|sequence| segment::name(*sequence));
        for name in unused.chain(leftovers) {
            self.disk.remove(&name).map_err(Fatal::io("remove", &name))?;
        }
        if let Some(torn) = self.torn() {
            tracing::warn!(
                at = %torn.at, why = %torn.why,
                "the tail of the log is torn, as a power cut leaves it; it is cut there: nothing behind it was acknowledged"
            );
        }
        let last = self.catalog.segments().next_back().copied();
        let (segment, at, epoch) = match last {
            None => {
                let header = Header {
                    cluster: self.cluster,
                    sequence: 1,
                    epoch: self.epoch_max + 1,
                };
                let first = files::make_first(&*self.disk, &header)?;
                (first, HEADER_BYTES, header.epoch)
            }
            Some(last) => {
                let name = segment::name(last.sequence);
                let segment = Segment::open(&*self.disk, self.cluster, last.sequence, last.epoch)
                    .map_err(Fatal::io("open", &name))?;
                let file = &segment.file;
                file.truncate(last.end).map_err(Fatal::io("cut", &name))?;
                // What was read may have been in memory only.
                file.sync_all().map_err(Fatal::io("sync", &name))?;
                (segment, last.end, self.epoch_max)
            }
        };
        self.disk
            .sync_names()
            .map_err(Fatal::io("sync the folder of", &segment.name))?;
        Ok((Arc::new(segment), at, epoch))
    }
}

impl Wal {
    /// The lane of a seating, by its place.
    pub fn lane(&self, place: usize) -> Arc<Lane> {
        Arc::clone(&self.shared.lanes[place].lane)
    }

    /// Whether owners may take writes; to be asked before a write is executed.
    pub fn room(&self) -> Room {
        self.ahead.reserve.room()
    }

    /// The same question for a thread that does not hold the log.
    pub fn reserve(&self) -> Arc<Reserve> {
        Arc::clone(&self.ahead.reserve)
    }

    /// Its figures, for those who may outlive it.
    pub fn watch(&self) -> Watch {
        Watch {
            shared: Arc::downgrade(&self.shared),
            counters: Arc::clone(&self.shared.counters),
        }
    }

    /// Why the log has ended by itself. The process has to end then.
    pub fn failure(&self) -> Option<&Fatal> {
        self.shared.failure()
    }

    pub fn counts(&self) -> Counts {
        self.shared.counters.read()
    }

    /// Where the first record stands, and where the last written one ends.
    pub fn extent(&self) -> (Position, Position) {
        let catalog = self.shared.catalog();
        (catalog.head(), catalog.tail())
    }

    /// The living entries of a shard: first and last index.
    pub fn range(&self, shard: ShardId) -> Option<(LogIndex, LogIndex)> {
        let catalog = self.shared.catalog();
        Some((catalog.first(shard)?, catalog.last(shard)?))
    }

    /// Living entries of all shards from a position on, where a record has to begin, to what is written now.
    pub fn scan(&self, from: Position) -> Scan {
        let mut catalog = self.shared.catalog();
        let snapshot = catalog.clone();
        let pin = Pin::new(self.shared.catalog_handle(), &mut catalog, from.segment);
        drop(catalog);
        let from = from.max(snapshot.head());
        Scan::new(&self.disk, self.cluster, snapshot, from, None, Some(pin))
    }

    /// Living entries of one shard from an index on.
    pub fn entries(&self, shard: ShardId, from: LogIndex) -> Result<Scan, ReadError> {
        reader::entries(&self.disk, self.cluster, &self.shared, shard, from)
    }

    /// Reads entries for those who may outlive the log.
    pub fn reader(&self) -> Reader {
        Reader::new(&self.disk, self.cluster, &self.shared)
    }

    /// The id of an entry, if it lives.
    pub fn id_of(&self, shard: ShardId, index: LogIndex) -> Result<Option<LogId>, ReadError> {
        let found = self.entries(shard, index)?.next_entry()?.map(|entry| entry.id);
        Ok(found)
    }

    /// Writes, syncs and completes what waits, and ends the threads. The failure, if there was one.
    pub fn stop(mut self) -> Result<(), Fatal> {
        self.end_threads();
        let shared = Arc::clone(&self.shared);
        // With the threads and this gone, nobody else has it.
        drop(self);
        Arc::try_unwrap(shared)
            .ok()
            .and_then(Shared::into_failure)
            .map_or(Ok(()), Err)
    }

    fn end_threads(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the log panicked");
            }
        }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.end_threads();
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StartError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(StartError::Thread)
}

/// Ends the log when one of its threads does, a panic included: nobody may wait for it in vain.
struct Ending {
    shared: Arc<Shared>,
    ahead: Arc<Ahead>,
}

impl Ending {
    fn fail(&self, fatal: Fatal) {
        tracing::error!(%fatal, "the log has failed");
        self.shared.fail(fatal);
        self.ahead.fail();
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fail(Fatal::Panic);
        }
        self.ahead.stop();
    }
}

fn write(mut writer: Writer, ending: &Ending) {
    let started = Instant::now();
    let result = loop {
        if ending.shared.has_failed() {
            break Ok(());
        }
        if ending.shared.stopping() {
            ending.shared.refuse();
            let closed = writer.close(started.elapsed());
            if closed.is_ok() {
                ending.shared.tell_ended();
            }
            break closed;
        }
        match writer.turn(started.elapsed()) {
            // Whoever was woken goes first where cores are few: what its clients send next is in the next sync.
            Ok(true) if writer.syncs_each() => std::thread::yield_now(),
            // A write alone is not worth waiting for.
            Ok(true) => {}
            Ok(false) => match writer.due_in(started.elapsed()) {
                Some(left) => std::thread::park_timeout(left),
                None => std::thread::park(),
            },
            Err(fatal) => break Err(fatal),
        }
    };
    if let Err(fatal) = result {
        ending.fail(fatal);
    }
}

fn fill(ending: &Ending) {
    let ahead = &ending.ahead;
    while !ahead.stopped() {
        match ahead.step() {
            Ok(true) => {}
            Ok(false) => ahead.wait(LOOK_AGAIN),
            Err(fatal) => ending.fail(fatal),
        }
    }
}

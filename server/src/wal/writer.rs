//! The log's one writer: takes all that waits in the lanes, writes it, syncs once, completes all.
//!
//! Invariant: nothing is completed before what its mode promises has happened; after a failure nothing is
//! completed at all.
//! Invariant: a segment is synced before the next is written to. Everything that the segments before it
//! say of the shards is said again at its beginning, so that they can go.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ahead::Ahead;
use super::batch::{Batch, END_BYTES};
use super::catalog::Listed;
use super::counters::Counters;
use super::failure::Fatal;
use super::ids::{LogId, ShardId, Ticket};
use super::lane::Item;
use super::record::{FIELDS_MAX, HEAD_BYTES, Kind, Record, voids};
use super::segment::{HEADER_BYTES, Segment};
use super::shared::Shared;
use super::state::ShardState;

/// When a record counts as safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncMode {
    /// Every write is synced before it is completed.
    Always,
    /// Written is enough; a sync follows within a second.
    EverySecond,
}

const SYNC_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    shared: Arc<Shared>,
    ahead: Arc<Ahead>,
    mode: SyncMode,
    segment: Arc<Segment>,
    /// Where the next write goes, and up to where all is durable.
    at: u64,
    durable: u64,
    /// Whether the segment holds a record of an owner, and has said what those before it say.
    used: bool,
    restated: bool,
    /// By lane and place: what was written of a shard.
    states: Vec<Vec<ShardState>>,
    taken: Vec<Vec<Item>>,
    tickets: Vec<Ticket>,
    batch: Batch,
    /// When the oldest write that is not yet synced was made.
    unsynced_since: Option<Duration>,
    /// An owner does not want to wait for the next sync.
    urgent: bool,
    /// Segments may have died since the last look.
    deaths: bool,
}

impl Writer {
    /// Goes on at `at` in `segment`.
    pub(super) fn new(
        shared: Arc<Shared>,
        ahead: Arc<Ahead>,
        (segment, at): (Arc<Segment>, u64),
        states: Vec<Vec<ShardState>>,
    ) -> Self {
        Self {
            taken: states.iter().map(|_| Vec::new()).collect(),
            tickets: vec![Ticket(0); states.len()],
            mode: shared.sync_mode(),
            shared,
            ahead,
            segment,
            at,
            durable: at,
            used: at > HEADER_BYTES,
            restated: false,
            states,
            batch: Batch::default(),
            unsynced_since: None,
            urgent: false,
            deaths: true,
        }
    }

    /// Takes what waits and completes it. `now` is the time since some fixed moment. Whether there was
    /// anything to do.
    pub(super) fn turn(&mut self, now: Duration) -> Result<bool, Fatal> {
        let mut any = false;
        self.mode = self.shared.sync_mode();
        for seat in &self.shared.lanes {
            self.urgent |= seat.lane.take_urgent();
        }
        for lane in 0..self.taken.len() {
            self.tickets[lane] = self.shared.lanes[lane].lane.take(&mut self.taken[lane]);
            any |= !self.taken[lane].is_empty();
        }
        for lane in 0..self.taken.len() {
            for item in 0..self.taken[lane].len() {
                self.put(lane, item)?;
            }
        }
        self.flush()?;
        if any && self.unsynced_since.is_none() {
            self.unsynced_since = Some(now);
        }
        if any && self.mode == SyncMode::EverySecond {
            self.complete_written();
        }
        if self.due_in(now) == Some(Duration::ZERO) {
            self.sync()?;
            if any && self.mode == SyncMode::Always {
                self.complete_written();
            }
            self.complete_durable();
            self.unsynced_since = None;
            self.bury();
            any = true;
        }
        self.urgent = false;
        Ok(any)
    }

    /// Whether each write is synced by itself.
    pub(super) fn syncs_each(&self) -> bool {
        self.mode == SyncMode::Always
    }

    /// How long until a sync is due, if one is.
    pub(super) fn due_in(&self, now: Duration) -> Option<Duration> {
        let since = self.unsynced_since?;
        Some(match self.mode {
            SyncMode::Always => Duration::ZERO,
            SyncMode::EverySecond if self.urgent => Duration::ZERO,
            SyncMode::EverySecond => (since + SYNC_EVERY).saturating_sub(now),
        })
    }

    /// The last turn, a mark that says that all before it was durable, and the last sync.
    pub(super) fn close(&mut self, now: Duration) -> Result<(), Fatal> {
        self.turn(now)?;
        self.sync()?;
        self.complete_durable();
        if self.at > HEADER_BYTES && self.fits(0) {
            let mark = Record {
                kind: Kind::Mark,
                shard: ShardId(0),
                id: LogId::default(),
                lag: 0,
                payload: &[],
            };
            self.batch.add(self.segment.seed, self.at, &mark, None);
            self.flush()?;
            self.sync()?;
        }
        Ok(())
    }

    fn put(&mut self, lane: usize, item: usize) -> Result<(), Fatal> {
        let size = self.taken[lane][item].payload.len();
        if self.used && !self.fits(size) {
            self.roll()?;
        }
        if !self.restated {
            self.restate();
        }
        self.used = true;
        let (place, kind) = {
            let item = &self.taken[lane][item];
            (usize::from(item.place), item.kind)
        };
        let offset = self.at + self.batch.len();
        let taken = &self.taken[lane][item];
        let record = Record {
            kind,
            shard: self.shared.lanes[lane].lane.shards()[place],
            id: taken.id,
            lag: offset - self.durable,
            payload: &taken.payload,
        };
        self.states[lane][place].apply(&record).map_err(Fatal::Order)?;
        self.batch
            .add(self.segment.seed, offset, &record, Some((lane, item)));
        if self.batch.is_full() {
            self.flush()?;
        }
        Ok(())
    }

    /// Whether a payload of this size fits behind what is gathered.
    fn fits(&self, payload: usize) -> bool {
        let record = (HEAD_BYTES + FIELDS_MAX + payload) as u64;
        self.at + self.batch.len() + record + END_BYTES <= self.ahead.segment_bytes()
    }

    /// Begins the next segment.
    fn roll(&mut self) -> Result<(), Fatal> {
        self.flush()?;
        self.sync()?;
        self.segment = self.ahead.advance()?;
        self.shared.catalog().add_segment(Listed {
            sequence: self.segment.sequence,
            epoch: self.segment.epoch,
            end: HEADER_BYTES,
        });
        let previous_end = std::mem::replace(&mut self.at, HEADER_BYTES);
        self.durable = HEADER_BYTES;
        self.used = false;
        self.restated = false;
        self.deaths = true;
        self.open(previous_end);
        Ok(())
    }

    fn open(&mut self, previous_end: u64) {
        let open = Record {
            kind: Kind::Open,
            shard: ShardId(0),
            id: LogId::default(),
            lag: 0,
            payload: &previous_end.to_le_bytes(),
        };
        self.batch.add(self.segment.seed, self.at, &open, None);
    }

    /// Says again what the segments before this one say, the first segment's opening record included.
    fn restate(&mut self) {
        self.restated = true;
        if self.at + self.batch.len() == HEADER_BYTES {
            self.open(0);
        }
        for (lane, states) in self.states.iter().enumerate() {
            for (place, state) in states.iter().enumerate() {
                let shard = self.shared.lanes[lane].lane.shards()[place];
                for (kind, id, payload) in state.restated() {
                    let offset = self.at + self.batch.len();
                    let record = Record {
                        kind,
                        shard,
                        id,
                        lag: offset - self.durable,
                        payload,
                    };
                    self.batch.add(self.segment.seed, offset, &record, None);
                }
            }
        }
    }

    /// Writes what is gathered.
    fn flush(&mut self) -> Result<(), Fatal> {
        let len = self.batch.len();
        if len == 0 {
            return Ok(());
        }
        self.ahead.ensure(self.at + len + END_BYTES)?;
        self.batch.write(&self.segment, self.at, &self.taken)?;
        self.at += len;
        let counters = &self.shared.counters;
        Counters::add(&counters.writes, 1);
        Counters::add(&counters.bytes, len);
        Counters::add(&counters.records, self.batch.records);
        self.list();
        self.batch.clear();
        self.ahead.moved_to(self.at);
        Ok(())
    }

    /// Tells the catalog where the written records stand.
    fn list(&mut self) {
        let mut entries = 0;
        let mut catalog = self.shared.catalog();
        for placed in &self.batch.placed {
            match placed.kind {
                kind if voids(kind, placed.index) => {
                    catalog.truncate(placed.shard, placed.index);
                    self.deaths |= kind == Kind::Leave;
                }
                Kind::Purge => {
                    catalog.purge(placed.shard, placed.index);
                    self.deaths = true;
                }
                Kind::Entry | Kind::RaftEntry | Kind::Part => {
                    let sequence = self.segment.sequence;
                    catalog.add_entry(placed.shard, placed.index, sequence, placed.offset, placed.end);
                    entries += 1;
                }
                _ => {}
            }
        }
        catalog.set_end(self.at);
        Counters::add(&self.shared.counters.entries, entries);
    }

    fn sync(&mut self) -> Result<(), Fatal> {
        if self.durable == self.at {
            return Ok(());
        }
        let started = Instant::now();
        let segment = &*self.segment;
        segment.file.sync().map_err(Fatal::io("sync", &segment.name))?;
        self.shared.counters.synced(started.elapsed().as_micros() as u64);
        // What the other thread met may have been about these very bytes.
        if self.shared.has_failed() {
            return Err(Fatal::Elsewhere);
        }
        self.durable = self.at;
        Ok(())
    }

    fn complete_written(&mut self) {
        for (lane, seat) in self.shared.lanes.iter().enumerate() {
            if !self.taken[lane].is_empty() {
                let (ticket, states) = (self.tickets[lane], &self.states[lane]);
                seat.lane.complete_written(ticket, &mut self.taken[lane], states);
                if self.mode == SyncMode::EverySecond {
                    seat.wake.wake();
                }
            }
        }
    }

    fn complete_durable(&mut self) {
        for (lane, seat) in self.shared.lanes.iter().enumerate() {
            if seat.lane.complete_durable(&self.states[lane]) {
                seat.wake.wake();
            }
        }
    }

    /// Hands segments that hold nothing alive to the filler. What purged them is durable by now, and so
    /// is what this segment says again.
    fn bury(&mut self) {
        if !std::mem::take(&mut self.deaths) || !self.restated {
            return;
        }
        let mut catalog = self.shared.catalog();
        while let Some(dead) = catalog.take_dead(self.segment.sequence) {
            self.ahead.retire_later(dead.sequence);
        }
    }
}

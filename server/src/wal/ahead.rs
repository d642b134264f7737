//! What is ready ahead of the writer: zeros in its segment, the next segment, and files to make it of.
//!
//! Zeros matter because a sync of bytes that are allocated and initialised has no metadata to journal. Where no
//! reply waits for a sync, room alone is taken: zeros would be every byte written twice. What was written meanwhile
//! is synced at each step either way, so that the writer's own sync finds little to do. The writer waits for a step
//! that is under way, and takes room itself where nobody is about to.
//!
//! Invariant: zeros are only ever written beyond `filled`, and the writer writes only before it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::END_BYTES;
use super::counters::Counters;
use super::disk::{Disk, File, is_full};
use super::failure::Fatal;
use super::files::{self, PREPARING, SPARE, name_segment, write_zeros};
use super::ids::ClusterId;
use super::room::Reserve;
use super::segment::{self, HEADER_BYTES, Header, Segment};

/// Files of purged segments that wait to be used again, at most.
const SPARES_MAX: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// A segment that is longer than this takes no further record.
    pub segment: u64,
    /// How far room is kept ahead of the writer, and how much is taken at a time.
    pub ahead: u64,
    /// Whether that room is written full of zeros.
    pub zeros: bool,
}

/// The next segment, ready to be written to.
pub(super) struct Next {
    pub segment: Arc<Segment>,
    filled: u64,
}

struct State {
    current: Arc<Segment>,
    /// Room is taken, and most of it zeroed, up to here.
    filled: u64,
    /// Where the writer writes next.
    cursor: u64,
    next: Option<Next>,
    /// Somebody works on what the others may want.
    busy: bool,
    /// Purged segments that are to become spares or go.
    dead: VecDeque<u64>,
    spares: Vec<String>,
    spares_made: u64,
    sequence: u64,
    epoch: u64,
    stop: bool,
    /// The filler has failed: nothing here is to be relied on.
    failed: bool,
}

/// What the filler finds to do.
enum Job {
    Retire(u64),
    Fill { sequence: u64, from: u64, to: u64 },
    Prepare(Plan),
}

/// A segment that is to be made.
struct Plan {
    sequence: u64,
    epoch: u64,
    spare: Option<String>,
}

pub(super) struct Ahead {
    disk: Arc<dyn Disk>,
    cluster: ClusterId,
    sizes: Sizes,
    pub(super) reserve: Arc<Reserve>,
    counters: Arc<Counters>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Ahead {
    /// `current` is written from `cursor` on; `epoch` is the largest that any file here has.
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        cluster: ClusterId,
        sizes: Sizes,
        reserve: Arc<Reserve>,
        counters: Arc<Counters>,
        (current, cursor, epoch): (Arc<Segment>, u64, u64),
    ) -> Self {
        Self {
            disk,
            cluster,
            sizes,
            reserve,
            counters,
            state: Mutex::new(State {
                sequence: current.sequence,
                current,
                filled: cursor,
                cursor,
                next: None,
                busy: false,
                dead: VecDeque::new(),
                spares: Vec::new(),
                spares_made: 0,
                epoch,
                stop: false,
                failed: false,
            }),
            changed: Condvar::new(),
        }
    }

    pub(super) fn segment_bytes(&self) -> u64 {
        self.sizes.segment
    }

    /// One piece of the filler's work; whether there was any.
    pub(super) fn step(&self) -> Result<bool, Fatal> {
        if self.reserve.room() == super::room::Room::Full && !self.reserve.hold().map_err(reserve_failed)? {
            // Not even the reserve fits. Dead segments still go: they make room.
            return self.retire_one();
        }
        let job = {
            let mut state = self.lock();
            let Some(job) = self.choose(&mut state) else {
                drop(state);
                self.reserve.mark_open();
                return Ok(false);
            };
            // Retiring is in nobody's way, and what the writer is at stays so.
            state.busy |= !matches!(job, Job::Retire(_));
            job
        };
        let done = match job {
            Job::Retire(sequence) => return self.retire(sequence).map(|()| true),
            Job::Fill { sequence, from, to } => self.fill(sequence, from, to)?,
            Job::Prepare(plan) => self.prepare_ahead(&plan)?,
        };
        self.lock().busy = false;
        self.changed.notify_all();
        if done {
            self.reserve.mark_open();
        }
        Ok(done)
    }

    fn retire_one(&self) -> Result<bool, Fatal> {
        let dead = self.lock().dead.pop_front();
        dead.map_or(Ok(false), |sequence| self.retire(sequence).map(|()| true))
    }

    fn choose(&self, state: &mut State) -> Option<Job> {
        if let Some(sequence) = state.dead.pop_front() {
            return Some(Job::Retire(sequence));
        }
        if state.busy {
            return None;
        }
        let end = self.sizes.segment;
        if state.filled < end && state.filled < state.cursor + self.sizes.ahead {
            return Some(Job::Fill {
                sequence: state.current.sequence,
                from: state.filled,
                to: (state.filled + self.sizes.ahead).min(end),
            });
        }
        if state.filled >= end && state.next.is_none() {
            return Some(Job::Prepare(Self::plan(state)));
        }
        None
    }

    fn plan(state: &mut State) -> Plan {
        state.epoch += 1;
        Plan {
            sequence: state.sequence + 1,
            epoch: state.epoch,
            spare: state.spares.pop(),
        }
    }

    /// Room and zeros; false if there is no room. On a handle of its own: a failed write-back is told once
    /// to each, and the writer's must not miss it.
    fn fill(&self, sequence: u64, from: u64, to: u64) -> Result<bool, Fatal> {
        let name = &segment::name(sequence);
        let file = self.disk.open(name).map_err(Fatal::io("open", name))?;
        let allocated = self.reserve.allocate_ahead(&*file, from, to - from);
        if !allocated.map_err(Fatal::io("extend", name))? {
            return Ok(false);
        }
        if self.sizes.zeros {
            write_zeros(&*file, name, from, to)?;
        }
        file.sync().map_err(Fatal::io("sync", name))?;
        Counters::add(&self.counters.fills, 1);
        let mut state = self.lock();
        debug_assert_eq!(state.current.sequence, sequence, "the writer waits for a fill");
        state.filled = to;
        Ok(true)
    }

    fn prepare_ahead(&self, plan: &Plan) -> Result<bool, Fatal> {
        let first = (HEADER_BYTES + self.sizes.ahead).min(self.sizes.segment);
        let file = match &plan.spare {
            Some(spare) => self.reuse(spare)?,
            None => {
                // Left by an attempt that found no room.
                files::remove_if_there(&*self.disk, PREPARING)?;
                let created = self.reserve.create_ahead(&*self.disk, PREPARING);
                let Some(file) = created.map_err(Fatal::io("create", PREPARING))? else {
                    return Ok(false);
                };
                let allocated = self.reserve.allocate_ahead(&*file, 0, first);
                if !allocated.map_err(Fatal::io("extend", PREPARING))? {
                    return Ok(false);
                }
                if self.sizes.zeros {
                    write_zeros(&*file, PREPARING, HEADER_BYTES, first)?;
                }
                file
            }
        };
        let next = self.name_it(file, plan)?;
        self.lock().next = Some(next);
        Ok(true)
    }

    /// The same for a writer that cannot wait: no zeros, and the reserve for room.
    fn prepare_now(&self, plan: &Plan) -> Result<Next, Fatal> {
        let file = match &plan.spare {
            Some(spare) => self.reuse(spare)?,
            None => {
                files::remove_if_there(&*self.disk, PREPARING)?;
                let created = self.reserve.spend(|| self.disk.create(PREPARING));
                let file = created.map_err(Fatal::io("create", PREPARING))?;
                let room = self.reserve.allocate_now(&*file, 0, HEADER_BYTES + END_BYTES);
                room.map_err(Fatal::io("extend", PREPARING))?;
                file
            }
        };
        self.name_it(file, plan)
    }

    /// A spare, under the name that it has until its header is durable.
    fn reuse(&self, spare: &str) -> Result<Arc<dyn File>, Fatal> {
        Counters::add(&self.counters.recycled, 1);
        self.disk
            .rename(spare, PREPARING)
            .map_err(Fatal::io("rename", spare))?;
        self.disk.open(PREPARING).map_err(Fatal::io("open", PREPARING))
    }

    fn name_it(&self, file: Arc<dyn File>, plan: &Plan) -> Result<Next, Fatal> {
        let header = Header {
            cluster: self.cluster,
            sequence: plan.sequence,
            epoch: plan.epoch,
        };
        let len = file.len().map_err(Fatal::io("measure", PREPARING))?;
        // A recycled file has all its room; without zeros it is gone through in steps for their syncs.
        let filled = if self.sizes.zeros {
            len.max(HEADER_BYTES)
        } else {
            HEADER_BYTES
        };
        let segment = name_segment(&*self.disk, file, &header)?;
        Counters::add(&self.counters.segments, 1);
        Ok(Next {
            segment: Arc::new(segment),
            filled,
        })
    }

    /// A purged segment becomes a spare, or goes. The oldest first, so that no gap is ever seen.
    fn retire(&self, sequence: u64) -> Result<(), Fatal> {
        let name = segment::name(sequence);
        let file = self.disk.open(&name).map_err(Fatal::io("open", &name))?;
        let whole = file.len().map_err(Fatal::io("measure", &name))? == self.sizes.segment;
        let spare = {
            let mut state = self.lock();
            let wanted = whole && state.spares.len() < SPARES_MAX && !state.stop;
            state.spares_made += 1;
            wanted.then(|| format!("{SPARE}-{}", state.spares_made))
        };
        match &spare {
            Some(spare) => self.disk.rename(&name, spare),
            None => self.disk.remove(&name),
        }
        .map_err(Fatal::io("retire", &name))?;
        self.disk
            .sync_names()
            .map_err(Fatal::io("sync the folder of", &name))?;
        match spare {
            Some(spare) => self.lock().spares.push(spare),
            None => Counters::add(&self.counters.deleted, 1),
        }
        Ok(())
    }

    /// The writer's: there is room up to `end` when this returns.
    pub(super) fn ensure(&self, end: u64) -> Result<(), Fatal> {
        let mut state = self.wait_while_busy(|state| state.filled < end)?;
        if state.filled >= end {
            return Ok(());
        }
        let (file, from) = (Arc::clone(&state.current.file), state.filled);
        let name = segment::name(state.current.sequence);
        // Room alone, without zeros: whoever is late pays for the journal.
        let mut to = end.max((from + self.sizes.ahead).min(self.sizes.segment));
        state.busy = true;
        drop(state);
        Counters::add(&self.counters.overtaken, 1);
        let mut result = self.reserve.allocate_now(&*file, from, to - from);
        if result.as_ref().is_err_and(is_full) && to > end {
            // There may still be room for what has to be written now.
            to = end;
            result = self.reserve.allocate_now(&*file, from, to - from);
        }
        let mut state = self.lock();
        state.busy = false;
        result.map_err(Fatal::io("extend", &name))?;
        state.filled = to;
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The writer's: it now writes from here.
    pub(super) fn moved_to(&self, cursor: u64) {
        let mut state = self.lock();
        state.cursor = cursor;
        let wanted = state.filled < cursor + self.sizes.ahead;
        drop(state);
        if wanted {
            self.changed.notify_all();
        }
    }

    /// The writer's: the next segment, which is the current one from now on.
    pub(super) fn advance(&self) -> Result<Arc<Segment>, Fatal> {
        let mut state = self.wait_while_busy(|state| state.next.is_none())?;
        if state.next.is_none() {
            let plan = Self::plan(&mut state);
            state.busy = true;
            drop(state);
            let made = self.prepare_now(&plan);
            state = self.lock();
            state.busy = false;
            state.next = Some(made?);
        }
        if let Some(next) = state.next.take() {
            debug_assert_eq!(next.segment.sequence, state.sequence + 1);
            state.sequence = next.segment.sequence;
            state.current = next.segment;
            state.filled = next.filled;
            state.cursor = HEADER_BYTES;
        }
        let current = Arc::clone(&state.current);
        drop(state);
        self.changed.notify_all();
        Ok(current)
    }

    pub(super) fn retire_later(&self, sequence: u64) {
        self.lock().dead.push_back(sequence);
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    pub(super) fn fail(&self) {
        let mut state = self.lock();
        state.failed = true;
        state.stop = true;
        drop(state);
        self.changed.notify_all();
    }

    pub(super) fn stopped(&self) -> bool {
        self.lock().stop
    }

    /// Until somebody changed something, or for so long.
    pub(super) fn wait(&self, timeout: std::time::Duration) {
        let state = self.lock();
        let full = self.reserve.room() == super::room::Room::Full;
        let idle = |state: &mut State| {
            let work = !state.dead.is_empty()
                || (!full && state.filled < self.sizes.segment.min(state.cursor + self.sizes.ahead))
                || (!full && state.filled >= self.sizes.segment && state.next.is_none());
            !state.stop && (state.busy || !work)
        };
        drop(
            self.changed
                .wait_timeout_while(state, timeout, idle)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    fn wait_while_busy(&self, wanted: impl Fn(&State) -> bool) -> Result<MutexGuard<'_, State>, Fatal> {
        let under_way = |state: &mut State| state.busy && !state.failed && wanted(state);
        let state = self
            .changed
            .wait_while(self.lock(), under_way)
            .unwrap_or_else(PoisonError::into_inner);
        if state.failed {
            Err(Fatal::Elsewhere)
        } else {
            Ok(state)
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn reserve_failed(source: io::Error) -> Fatal {
    Fatal::io("set aside", "reserve")(source)
}

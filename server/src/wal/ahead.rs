//! What is ready ahead of the writer: zeros in its segment, the next segment, and files to make it of.
//!
//! Zeros matter because a sync of bytes that are allocated and initialised has no metadata to journal. The
//! writer waits for a step that is under way, and takes room itself where nobody is about to.
//!
//! Invariant: zeros are only ever written beyond `filled`, and the writer writes only before it.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::batch::{END, END_BYTES};
use super::counters::Counters;
use super::disk::{Disk, File};
use super::failure::Fatal;
use super::ids::ClusterId;
use super::room::Reserve;
use super::segment::{self, HEADER_BYTES, Header, Segment};

/// Files of purged segments that wait to be used again, at most.
const SPARES_MAX: usize = 2;
const PREPARING: &str = "next";
const SPARE: &str = "spare";
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sizes {
    /// A segment that is longer than this takes no further record.
    pub segment: u64,
    /// How far zeros are kept ahead of the writer, and how many are written at a time.
    pub ahead: u64,
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
    Fill {
        sequence: u64,
        from: u64,
        to: u64,
    },
    Prepare {
        sequence: u64,
        epoch: u64,
        spare: Option<String>,
    },
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
            state.busy = !matches!(job, Job::Retire(_));
            job
        };
        let done = match job {
            Job::Retire(sequence) => return self.retire(sequence).map(|()| true),
            Job::Fill { sequence, from, to } => self.fill(&segment::name(sequence), from, to)?,
            Job::Prepare {
                sequence,
                epoch,
                spare,
            } => self.prepare_ahead(sequence, epoch, spare)?,
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
            return Some(Self::preparation(state));
        }
        None
    }

    fn preparation(state: &mut State) -> Job {
        state.epoch += 1;
        Job::Prepare {
            sequence: state.sequence + 1,
            epoch: state.epoch,
            spare: state.spares.pop(),
        }
    }

    /// Room and zeros; false if there is no room. On a handle of its own: a failed write-back is told once
    /// to each, and the writer's must not miss it.
    fn fill(&self, name: &str, from: u64, to: u64) -> Result<bool, Fatal> {
        let file = self.disk.open(name).map_err(Fatal::io("open", name))?;
        let allocated = self.reserve.allocate_ahead(&*file, from, to - from);
        if !allocated.map_err(Fatal::io("extend", name))? {
            return Ok(false);
        }
        write_zeros(&*file, name, from, to)?;
        file.sync().map_err(Fatal::io("sync", name))?;
        Counters::add(&self.counters.fills, 1);
        self.lock().filled = to;
        Ok(true)
    }

    fn prepare_ahead(&self, sequence: u64, epoch: u64, spare: Option<String>) -> Result<bool, Fatal> {
        let first = (HEADER_BYTES + self.sizes.ahead).min(self.sizes.segment);
        let recycled = spare.is_some();
        let file = self.take_file(spare, |disk| disk.create(PREPARING))?;
        if !recycled {
            let allocated = self.reserve.allocate_ahead(&*file, 0, first);
            if !allocated.map_err(Fatal::io("extend", PREPARING))? {
                return Ok(false);
            }
            write_zeros(&*file, PREPARING, HEADER_BYTES, first)?;
        }
        let next = self.name_it(file, sequence, epoch)?;
        self.lock().next = Some(next);
        Ok(true)
    }

    /// A file to make a segment of, under the name that it has until its header is durable.
    fn take_file(
        &self,
        spare: Option<String>,
        create: impl Fn(&dyn Disk) -> std::io::Result<Arc<dyn File>>,
    ) -> Result<Arc<dyn File>, Fatal> {
        match spare {
            Some(name) => {
                Counters::add(&self.counters.recycled, 1);
                self.disk
                    .rename(&name, PREPARING)
                    .map_err(Fatal::io("rename", name))?;
                self.disk.open(PREPARING).map_err(Fatal::io("open", PREPARING))
            }
            None => {
                // Left by an attempt that found no room.
                match self.disk.remove(PREPARING) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Fatal::io("remove", PREPARING)(error));
                    }
                    _ => {}
                }
                create(&*self.disk).map_err(Fatal::io("create", PREPARING))
            }
        }
    }

    fn name_it(&self, file: Arc<dyn File>, sequence: u64, epoch: u64) -> Result<Next, Fatal> {
        let header = Header {
            cluster: self.cluster,
            sequence,
            epoch,
        };
        let filled = file
            .len()
            .map_err(Fatal::io("measure", PREPARING))?
            .max(HEADER_BYTES);
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
        let to = end.max((from + self.sizes.ahead).min(self.sizes.segment));
        state.busy = true;
        drop(state);
        Counters::add(&self.counters.overtaken, 1);
        let result = self.reserve.allocate_now(&*file, from, to - from);
        let mut state = self.lock();
        state.busy = false;
        result.map_err(Fatal::io("extend", name))?;
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
            let Job::Prepare {
                sequence,
                epoch,
                spare,
            } = Self::preparation(&mut state)
            else {
                unreachable!("a preparation is one");
            };
            state.busy = true;
            drop(state);
            let made = self
                .take_file(spare, |disk| self.reserve.spend(|| disk.create(PREPARING)))
                .and_then(|file| {
                    let room = self.reserve.allocate_now(&*file, 0, HEADER_BYTES + END_BYTES);
                    room.map_err(Fatal::io("extend", PREPARING))?;
                    self.name_it(file, sequence, epoch)
                });
            state = self.lock();
            state.busy = false;
            state.next = Some(made?);
        }
        if let Some(next) = state.next.take() {
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

/// The very first segment.
pub(super) fn make_first(disk: &dyn Disk, header: &Header) -> Result<Segment, Fatal> {
    let file = disk.create(PREPARING).map_err(Fatal::io("create", PREPARING))?;
    name_segment(disk, file, header)
}

/// Makes a segment of a file, which becomes visible as one when its header is durable. What a recycled
/// file holds begins behind an end mark.
fn name_segment(disk: &dyn Disk, file: Arc<dyn File>, header: &Header) -> Result<Segment, Fatal> {
    let name = segment::name(header.sequence);
    let head = header.encode();
    write_whole(&*file, PREPARING, &[IoSlice::new(&head), IoSlice::new(&END)], 0)?;
    file.sync_all().map_err(Fatal::io("sync", PREPARING))?;
    disk.rename(PREPARING, &name)
        .map_err(Fatal::io("rename", &name))?;
    disk.sync_names()
        .map_err(Fatal::io("sync the folder of", &name))?;
    Ok(Segment::new(header, file))
}

fn reserve_failed(source: std::io::Error) -> Fatal {
    Fatal::io("set aside", "reserve")(source)
}

/// Names of ours that are no segments: what a crash may leave of making one.
pub(super) fn is_leftover(name: &str) -> bool {
    name == PREPARING || name.strip_prefix(SPARE).is_some_and(|rest| rest.starts_with('-'))
}

fn write_zeros(file: &dyn File, name: &str, from: u64, to: u64) -> Result<(), Fatal> {
    const SLICES: usize = 64;
    let mut at = from;
    while at < to {
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        let mut end = at;
        while count < SLICES && end < to {
            let len = (to - end).min(ZEROS.len() as u64);
            slices[count] = IoSlice::new(&ZEROS[..len as usize]);
            end += len;
            count += 1;
        }
        write_whole(file, name, &slices[..count], at)?;
        at = end;
    }
    Ok(())
}

/// One write that has to take everything.
pub(super) fn write_whole(
    file: &dyn File,
    name: &str,
    slices: &[IoSlice<'_>],
    offset: u64,
) -> Result<(), Fatal> {
    let wanted = slices.iter().map(|slice| slice.len()).sum();
    let took = file.write_at(slices, offset).map_err(Fatal::io("write", name))?;
    if took == wanted {
        Ok(())
    } else {
        Err(Fatal::Short {
            file: name.to_owned(),
            wanted,
            took,
        })
    }
}

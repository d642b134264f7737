//! Walks over a table: scans with a cursor that outlive its changes, samples, expiry cycles.
//!
//! A cursor is a position (48 bits of hash), so it means the same whatever the table's shape is by the time it
//! comes back: everything below it was visited, everything from it on was not.

use super::bucket::CELLS;
use super::entry::Entry;
use super::heap::Heap;
use super::table::{Segment, Table};

const POSITION_BITS: u32 = 48;
const POSITIONS: u64 = 1 << POSITION_BITS;
/// Random places of the directory that a sample draws, and buckets that it reads, before it walks on from
/// the last.
const SAMPLE_DRAWS: u32 = 1024;
const SAMPLE_READS: u32 = 64;
/// Buckets that a walk for an entry with an expiry looks at.
const SAMPLE_WALK_BUCKETS: u32 = 4096;

/// The bucket that a position falls into, and what lies between two cursors.
pub(super) struct Stop {
    pub(super) segment: Segment,
    pub(super) index: u32,
    /// First position of the next bucket, possibly [`POSITIONS`].
    next: u64,
}

/// Cursor for the position at which a walk goes on: zero where it ends.
fn cursor_at(position: u64) -> u64 {
    if position >= POSITIONS { 0 } else { position }
}

/// A cheap mixer, to get further choices from the caller's random number.
fn next_random(random: u64) -> u64 {
    let mixed = (random.wrapping_add(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) ^ (mixed >> 29)
}

impl<B> Table<B> {
    /// The segment at a position, and where its range ends.
    pub(super) fn stop_at(&self, position: u64) -> Stop {
        let hash = position << 16;
        let segment = self.segment_of(hash);
        let width = POSITIONS >> segment.depth;
        let start = position & !(width - 1);
        if segment.r == 0 {
            return Stop {
                segment,
                index: 0,
                next: start + width,
            };
        }
        let index = segment.home(hash);
        let next = if index + 1 == u32::from(segment.buckets) {
            start + width
        } else {
            // The least position whose home is beyond `index`.
            let within = (u128::from(index + 1) << 64).div_ceil(u128::from(segment.buckets));
            start + within.div_ceil(1 << (16 + segment.depth)) as u64
        };
        Stop { segment, index, next }
    }

    /// Visits the entries of one bucket's worth of hashes and returns where to go on; starts and ends at zero.
    /// An entry that is there from the start to the end of a full scan is visited exactly once, whatever
    /// else is put or removed in between.
    pub fn scan<'a>(&'a self, heap: &'a Heap, cursor: u64, visit: &mut dyn FnMut(Entry<'a, B>)) -> u64 {
        self.check(heap);
        let position = cursor & (POSITIONS - 1);
        let stop = self.stop_at(position);
        let segment = stop.segment;
        if segment.r == 0 {
            return cursor_at(stop.next);
        }
        let overflow = heap.bucket(segment.bucket(stop.index)).overflow;
        let steps = if overflow == 0 { 1 } else { segment.reach() };
        for step in 0..steps {
            let line = heap.bucket(segment.after(stop.index, step));
            for cell in line.used() {
                let hash = heap.hash(heap.key_at(line.refs[cell]));
                if (position..stop.next).contains(&(hash >> 16)) {
                    visit(self.entry(heap, line.refs[cell]));
                }
            }
        }
        if segment.spilled {
            self.spilled_in(position, stop.next)
                .for_each(|r| visit(self.entry(heap, r)));
        }
        cursor_at(stop.next)
    }

    /// Refs of spilled entries in a range of positions.
    pub(super) fn spilled_in(&self, from: u64, to: u64) -> impl Iterator<Item = u32> + '_ {
        let range = (from << 16, 0)..=(((to - 1) << 16) | 0xFFFF, u32::MAX);
        self.spill.range(range).map(|&(_, r)| r)
    }

    /// Visits every entry.
    pub fn for_each<'a>(&'a self, heap: &'a Heap, mut visit: impl FnMut(Entry<'a, B>)) {
        self.check(heap);
        let mut position = 0;
        while position < POSITIONS {
            let stop = self.stop_at(position);
            for r in self.refs_at(heap, &stop) {
                visit(self.entry(heap, r));
            }
            position = stop.next;
        }
        for &(_, r) in &self.spill {
            visit(self.entry(heap, r));
        }
    }

    fn refs_at<'a>(&self, heap: &'a Heap, stop: &Stop) -> impl Iterator<Item = u32> + use<'a, B> {
        let line = (stop.segment.r != 0).then(|| heap.bucket(stop.segment.bucket(stop.index)));
        line.into_iter()
            .flat_map(|line| line.used().map(|cell| line.refs[cell]))
    }

    /// Visits the entries with an expiry of the next `buckets` buckets, and returns where to go on; starts
    /// and ends at zero. Entries without are not read.
    pub fn walk_expiring<'a>(
        &'a self,
        heap: &'a Heap,
        cursor: u64,
        buckets: usize,
        mut visit: impl FnMut(Entry<'a, B>),
    ) -> u64 {
        self.check(heap);
        let mut position = cursor & (POSITIONS - 1);
        for _ in 0..buckets {
            let stop = self.stop_at(position);
            if stop.segment.r != 0 {
                let line = heap.bucket(stop.segment.bucket(stop.index));
                for cell in line.expiring() {
                    visit(self.entry(heap, line.refs[cell]));
                }
            }
            if stop.segment.spilled {
                for r in self.spilled_in(position, stop.next) {
                    let entry = self.entry(heap, r);
                    if entry.expire_at_ms().is_some() {
                        visit(entry);
                    }
                }
            }
            position = cursor_at(stop.next);
            if position == 0 {
                break;
            }
        }
        position
    }

    /// Some entry, each about equally likely for a uniform `random`; among those with an expiry only if so
    /// asked. None if there is none, or if entries with an expiry are too rare to be met within some
    /// thousand buckets.
    pub fn sample<'a>(&'a self, heap: &'a Heap, random: u64, expiring_only: bool) -> Option<Entry<'a, B>> {
        self.check(heap);
        if self.len == 0 || expiring_only && self.expiring == 0 {
            return None;
        }
        if let Some(r) = self.sample_spill(random) {
            let entry = self.entry(heap, r);
            if !expiring_only || entry.expire_at_ms().is_some() {
                return Some(entry);
            }
        }
        let mut random = random;
        let mut reads = 0;
        for _ in 0..SAMPLE_DRAWS {
            random = next_random(random);
            let segment = self.segment_of(random);
            // A deeper segment is met less often, a smaller one would have each cell met more often: both
            // are evened out by turning the others down.
            let shallower = self.depth - segment.depth;
            let choice = next_random(random ^ 0x5A5A);
            let index = (choice & 63) as u32;
            let cell = (((choice >> 8) & 0xFFFF_FFFF) as usize * CELLS) >> 32;
            let turned_down = shallower.min(16) > 0 && (choice >> 40) & ((1 << shallower.min(16)) - 1) != 0;
            if segment.r == 0 || turned_down || index >= u32::from(self.index_bound(segment)) {
                continue;
            }
            let line = heap.bucket(segment.bucket(index % u32::from(segment.buckets)));
            let r = line.refs[cell];
            if r != 0 && (!expiring_only || line.expiring & (1 << cell) != 0) {
                return Some(self.entry(heap, r));
            }
            reads += 1;
            if reads == SAMPLE_READS {
                break;
            }
        }
        self.sample_by_walk(heap, random, expiring_only)
    }

    /// How many of 64 index choices a segment accepts: as many as it has buckets if others are larger.
    fn index_bound(&self, segment: Segment) -> u8 {
        if self.depth == 0 {
            64 / segment.buckets * segment.buckets
        } else {
            segment.buckets
        }
    }

    fn sample_spill(&self, random: u64) -> Option<u32> {
        let spill = &self.spill;
        if spill.is_empty() {
            return None;
        }
        let choice = next_random(random ^ 0xA5A5);
        if choice % u64::from(self.len) >= spill.len() as u64 {
            return None;
        }
        let nth = (next_random(choice) % spill.len() as u64) as usize;
        spill.iter().nth(nth).map(|&(_, r)| r)
    }

    fn sample_by_walk<'a>(
        &'a self,
        heap: &'a Heap,
        random: u64,
        expiring_only: bool,
    ) -> Option<Entry<'a, B>> {
        let mut position = random >> 16;
        let mut walked = 0;
        // Once around the table: a sparse one has few buckets, so this ends soon (it is merged as it empties).
        while walked <= self.buckets + self.directory.len() as u32 + 1 {
            let stop = self.stop_at(position);
            if stop.segment.r != 0 {
                let line = heap.bucket(stop.segment.bucket(stop.index));
                let cells = if expiring_only {
                    line.expiring()
                } else {
                    line.used()
                };
                if let Some(cell) = cells.into_iter().nth(0) {
                    return Some(self.entry(heap, line.refs[cell]));
                }
            }
            walked += 1;
            if expiring_only && walked == SAMPLE_WALK_BUCKETS {
                return None;
            }
            position = cursor_at(stop.next);
        }
        self.spill
            .iter()
            .map(|&(_, r)| self.entry(heap, r))
            .find(|entry| !expiring_only || entry.expire_at_ms().is_some())
    }
}

//! How a table grows and shrinks: a segment at a time.
//!
//! A full segment becomes one of the next size, one of the largest size becomes two. Where neither can help,
//! because the hashes are equal or crowd together far beyond chance, the entry goes to the spill, so that
//! growth always ends and memory stays in proportion to the entries. Merging and shrinking are the reverse,
//! with enough distance between the two thresholds that nothing goes to and fro.

use super::bucket::{CELLS, tag_of};
use super::heap::{Heap, SEGMENT_BUCKETS, SEGMENT_BUCKETS_MAX};
use super::table::{Place, Segment, Table, free_cell};

/// An entry on its way to another segment.
#[derive(Clone, Copy)]
pub(super) struct Item {
    hash: u64,
    r: u32,
    expiring: bool,
    from_spill: bool,
    to_spill: bool,
}

/// How far ahead entries are loaded while their keys are hashed.
const PREFETCH_ITEMS: usize = 12;
/// A segment this empty (in tenths) that finds no cell has a crowd of near-equal hashes: growing is no cure.
const CROWD_TENTHS: usize = 4;
/// Deepest directory: a position has 48 bits, a segment needs some of them.
const DEPTH_MAX: u8 = 32;
/// The directory may have this many places per segment; more means hashes that crowd together.
const PLACES_PER_SEGMENT: usize = 8;

fn cells(buckets: u8) -> usize {
    usize::from(buckets) * CELLS
}

/// The smallest size that holds `count` entries at two thirds or less, or the largest.
fn size_for(count: usize) -> u8 {
    let roomy = |&&buckets: &&u8| count * 3 <= cells(buckets) * 2;
    SEGMENT_BUCKETS
        .iter()
        .find(roomy)
        .copied()
        .unwrap_or(SEGMENT_BUCKETS_MAX)
}

impl<B> Table<B> {
    /// Makes an empty table large enough for `len` entries at once, so that filling it never splits.
    pub fn reserve(&mut self, heap: &mut Heap, len: usize) {
        if self.segments > 0 || len == 0 {
            return;
        }
        self.heap_id = heap.id();
        let mut depth = 0;
        while depth < DEPTH_MAX && (len >> depth) * 3 > cells(SEGMENT_BUCKETS_MAX) * 2 {
            depth += 1;
        }
        let buckets = size_for(len >> depth);
        if depth > 0 {
            let hole = Segment {
                depth,
                ..Segment::default()
            };
            self.set_directory(heap, vec![hole; 1 << depth].into_boxed_slice(), depth);
        }
        for nth in 0..1u64 << depth {
            let hash = if depth == 0 { 0 } else { nth << (64 - depth) };
            match heap.allocate_segment(buckets) {
                Some(r) => self.install(
                    hash,
                    Segment {
                        r,
                        depth,
                        buckets,
                        spilled: false,
                    },
                ),
                None => return,
            }
        }
    }

    /// Makes room near the home of `hash`. False: only the spill is left.
    #[cold]
    pub(super) fn make_room(&mut self, heap: &mut Heap, hash: u64) -> bool {
        let segment = self.segment_of(hash);
        if segment.r == 0 {
            let r = heap
                .allocate_segment(SEGMENT_BUCKETS[0])
                .expect("the memory range of a shard is full");
            self.install(
                hash,
                Segment {
                    r,
                    buckets: SEGMENT_BUCKETS[0],
                    ..segment
                },
            );
            return true;
        }
        if count(heap, segment) * 10 < cells(segment.buckets) * CROWD_TENTHS {
            return false;
        }
        match SEGMENT_BUCKETS.iter().find(|&&buckets| buckets > segment.buckets) {
            Some(&larger) => self.rebuild(heap, &[(hash, segment)], segment.depth, larger),
            None => self.split(heap, hash, segment),
        }
    }

    fn split(&mut self, heap: &mut Heap, hash: u64, segment: Segment) -> bool {
        if segment.depth == self.depth {
            let places = 1usize << self.depth;
            if self.depth == DEPTH_MAX || places > PLACES_PER_SEGMENT * self.segments as usize {
                return false;
            }
            self.double(heap);
        }
        let mut items = self.gather(heap, &[(hash, segment)]);
        let bit = 1u64 << (63 - segment.depth);
        items.sort_unstable_by_key(|item| item.hash & bit);
        let middle = items.partition_point(|item| item.hash & bit == 0);
        let (lower, upper) = items.split_at_mut(middle);
        let depth = segment.depth + 1;
        let built_lower = build(heap, depth, lower, size_for(lower.len()));
        let built_upper = build(heap, depth, upper, size_for(upper.len()));
        let done = if let (Some(one), Some(other)) = (built_lower, built_upper) {
            self.uninstall(heap, segment);
            self.adopt(heap, hash & !bit, one, lower);
            self.adopt(heap, hash | bit, other, upper);
            true
        } else {
            [built_lower, built_upper]
                .into_iter()
                .flatten()
                .for_each(|built| heap.free(built.r));
            false
        };
        items.clear();
        heap.items = items;
        done
    }

    /// Puts what some segments hold into one new one. False: no memory, nothing has changed.
    fn rebuild(&mut self, heap: &mut Heap, from: &[(u64, Segment)], depth: u8, buckets_min: u8) -> bool {
        let mut items = self.gather(heap, from);
        let built = build(heap, depth, &mut items, buckets_min);
        if let Some(segment) = built {
            for &(_, old) in from.iter().filter(|(_, old)| old.r != 0) {
                self.uninstall(heap, old);
            }
            self.adopt(heap, from[0].0, segment, &items);
        }
        items.clear();
        heap.items = items;
        built.is_some()
    }

    /// Lists all entries of some segments, and of their share of the spill, with their hashes.
    fn gather(&mut self, heap: &mut Heap, from: &[(u64, Segment)]) -> Vec<Item> {
        let mut items = std::mem::take(&mut heap.items);
        let base = Item {
            hash: 0,
            r: 0,
            expiring: false,
            from_spill: false,
            to_spill: false,
        };
        for &(_, segment) in from {
            for index in 0..u32::from(segment.buckets) {
                let line = heap.bucket(segment.bucket(index));
                for cell in line.used() {
                    let expiring = line.expiring & (1 << cell) != 0;
                    items.push(Item {
                        r: line.refs[cell],
                        expiring,
                        ..base
                    });
                }
            }
        }
        for nth in 0..items.len() {
            if let Some(ahead) = items.get(nth + PREFETCH_ITEMS) {
                heap.prefetch(ahead.r);
                heap.prefetch(ahead.r + 4);
            }
            items[nth].hash = heap.hash(heap.key_at(items[nth].r));
        }
        for &(hash, segment) in from.iter().filter(|(_, segment)| segment.spilled) {
            let below = u64::MAX.checked_shr(u32::from(segment.depth)).unwrap_or(0);
            let range = (hash & !below, 0)..=(hash | below, u32::MAX);
            for &(hash, r) in self.spill.range(range) {
                let expiring = heap.at(r).expire_at_ms().is_some();
                items.push(Item {
                    hash,
                    r,
                    expiring,
                    from_spill: true,
                    ..base
                });
            }
        }
        items
    }

    /// Enters a segment that was built of `items`, and moves in and out of the spill what that changed.
    fn adopt(&mut self, heap: &mut Heap, hash: u64, segment: Segment, items: &[Item]) {
        self.install(hash, segment);
        for item in items {
            if item.from_spill && !item.to_spill {
                self.spill_take(heap, item.hash, item.r);
            } else if item.to_spill && !item.from_spill {
                self.spill_add(heap, item.hash, item.r);
            } else if item.to_spill {
                self.mark_spilled(item.hash);
            }
        }
    }

    /// Called after each removal; `emptied` says that a bucket got empty. Shrinks where that was, but looks
    /// only if the table as a whole is sparse.
    #[inline]
    pub(super) fn give_room_back(&mut self, heap: &mut Heap, hash: u64, emptied: bool) {
        if self.len == 0 {
            self.free_segments(heap);
        } else if emptied && self.len as usize * 4 < self.buckets as usize * CELLS {
            self.shrink_at(heap, hash);
        }
    }

    /// Merges the segment of `hash` with its buddy if both are sparse, or gives it fewer buckets. False when
    /// there was nothing to gain, so that a caller may repeat it.
    pub(super) fn shrink_at(&mut self, heap: &mut Heap, hash: u64) -> bool {
        let segment = self.segment_of(hash);
        if segment.r == 0 {
            return false;
        }
        let own = count(heap, segment);
        if segment.depth > 0 {
            let other_hash = hash ^ (1 << (64 - segment.depth));
            let other = self.segment_of(other_hash);
            let together = own
                + if other.depth == segment.depth {
                    count(heap, other)
                } else {
                    usize::MAX / 2
                };
            if together <= cells(SEGMENT_BUCKETS_MAX) / 2 {
                let both = [(hash, segment), (other_hash, other)];
                let merged = self.rebuild(heap, &both, segment.depth - 1, size_for(together));
                self.halve(heap);
                return merged;
            }
        }
        let fitting = size_for(own + own / 4);
        let before = self.buckets;
        fitting <= segment.buckets / 2
            && self.rebuild(heap, &[(hash, segment)], segment.depth, fitting)
            && self.buckets < before
    }

    /// Frees the index of a table without entries.
    pub(super) fn free_segments(&mut self, heap: &mut Heap) {
        debug_assert!(self.len == 0, "entries would be lost");
        let places = if self.depth == 0 { 1 } else { self.directory.len() };
        let mut nth = 0;
        while nth < places {
            let segment = if self.depth == 0 {
                self.root
            } else {
                self.directory[nth]
            };
            if segment.r != 0 {
                self.uninstall(heap, segment);
            }
            nth += 1 << (self.depth - segment.depth);
        }
        self.set_directory(heap, Box::default(), 0);
        self.root = Segment::default();
        self.deepest = 0;
        self.first_used = 0;
        // Without refs it belongs to no heap any more.
        self.heap_id = 0;
    }

    /// Enters a segment for its range of hashes, of which `hash` is one.
    pub(super) fn install(&mut self, hash: u64, segment: Segment) {
        self.segments += 1;
        self.buckets += u32::from(segment.buckets);
        self.deepest += u32::from(segment.depth == self.depth);
        self.overwrite(hash, segment);
    }

    /// Frees a segment; the directory still names it.
    pub(super) fn uninstall(&mut self, heap: &mut Heap, segment: Segment) {
        self.segments -= 1;
        self.buckets -= u32::from(segment.buckets);
        self.deepest -= u32::from(segment.depth == self.depth);
        heap.free(segment.r);
    }

    /// Writes all places of the directory that a segment covers.
    pub(super) fn overwrite(&mut self, hash: u64, segment: Segment) {
        if self.depth == 0 {
            self.root = segment;
            return;
        }
        let span = 1usize << (self.depth - segment.depth);
        let first = (hash >> (64 - self.depth)) as usize & !(span - 1);
        self.directory[first..first + span].fill(segment);
        if segment.r != 0 {
            self.first_used = self.first_used.min(first as u32);
        }
    }

    /// Says that the segment of `hash` has spilled entries.
    pub(super) fn mark_spilled(&mut self, hash: u64) {
        let segment = self.segment_of(hash);
        self.overwrite(
            hash,
            Segment {
                spilled: true,
                ..segment
            },
        );
    }

    fn double(&mut self, heap: &mut Heap) {
        let doubled = if self.depth == 0 {
            vec![self.root; 2].into_boxed_slice()
        } else {
            self.directory.iter().flat_map(|&segment| [segment; 2]).collect()
        };
        self.first_used *= 2;
        self.set_directory(heap, doubled, self.depth + 1);
        self.deepest = 0;
    }

    /// Halves the directory while no segment needs its last bit.
    fn halve(&mut self, heap: &mut Heap) {
        while self.deepest == 0 && self.depth > 0 {
            let depth = self.depth - 1;
            self.first_used /= 2;
            if depth == 0 {
                self.root = Segment {
                    depth: 0,
                    ..self.directory[0]
                };
                self.set_directory(heap, Box::default(), 0);
            } else {
                let one = |&segment: &Segment| Segment {
                    depth: segment.depth.min(depth),
                    ..segment
                };
                let halved = self.directory.iter().step_by(2).map(one).collect();
                self.set_directory(heap, halved, depth);
            }
            self.deepest = self.count_deepest();
        }
    }

    fn count_deepest(&self) -> u32 {
        let deepest = |segment: &&Segment| segment.r != 0 && segment.depth == self.depth;
        if self.depth == 0 {
            return u32::from(self.root.r != 0);
        }
        self.directory.iter().filter(deepest).count() as u32
    }

    pub(super) fn set_directory(&mut self, heap: &mut Heap, directory: Box<[Segment]>, depth: u8) {
        heap.account(size_of_val(&*self.directory), size_of_val(&*directory));
        self.directory = directory;
        self.depth = depth;
    }
}

/// Entries in the cells of a segment.
pub(super) fn count(heap: &Heap, segment: Segment) -> usize {
    (0..u32::from(segment.buckets))
        .map(|index| heap.bucket(segment.bucket(index)).used_count())
        .sum()
}

/// Builds a segment of items, of the first size from `buckets_min` on in which all find a cell; what finds
/// none even in the largest is marked for the spill. None: no memory.
fn build(heap: &mut Heap, depth: u8, items: &mut [Item], buckets_min: u8) -> Option<Segment> {
    for &buckets in SEGMENT_BUCKETS.iter().filter(|&&buckets| buckets >= buckets_min) {
        let r = heap.allocate_segment(buckets)?;
        let segment = Segment {
            r,
            depth,
            buckets,
            spilled: false,
        };
        let last = buckets == SEGMENT_BUCKETS_MAX;
        let mut all = true;
        for item in &mut *items {
            item.to_spill = !place(heap, segment, item);
            all &= !item.to_spill;
            if !all && !last {
                break;
            }
        }
        if all || last {
            return Some(segment);
        }
        heap.free(r);
    }
    None
}

/// Puts an item into a segment that is being built. False: no cell within reach.
fn place(heap: &mut Heap, segment: Segment, item: &Item) -> bool {
    match free_cell(heap, segment, item.hash) {
        Some(Place::Cell { home, bucket, cell }) => {
            heap.bucket_mut(bucket)
                .set(cell, item.r, tag_of(item.hash), item.expiring);
            if bucket != home {
                heap.bucket_mut(home).overflow += 1;
            }
            true
        }
        Some(Place::Spilled { .. }) | None => false,
    }
}

#[cfg(test)]
impl<B> Table<B> {
    /// Recounts what the index keeps count of.
    pub(super) fn check_index(&self, heap: &Heap) {
        let (mut segments, mut buckets, mut deepest) = (0, 0, 0);
        let mut nth = 0;
        while nth < 1usize << self.depth {
            let segment = if self.depth == 0 {
                self.root
            } else {
                self.directory[nth]
            };
            let span = 1usize << (self.depth - segment.depth);
            if self.depth > 0 {
                let same = |other: &Segment| other.r == segment.r && other.depth == segment.depth;
                assert!(
                    self.directory[nth..nth + span].iter().all(same),
                    "a segment covers its whole range"
                );
            }
            nth += span;
            if segment.r == 0 {
                continue;
            }
            segments += 1;
            buckets += u32::from(segment.buckets);
            deepest += u32::from(segment.depth == self.depth);
            let mut overflow = vec![0u8; usize::from(segment.buckets)];
            for index in 0..u32::from(segment.buckets) {
                let line = heap.bucket(segment.bucket(index));
                for cell in line.used() {
                    let home = segment.home(heap.hash(heap.key_at(line.refs[cell])));
                    overflow[home as usize] += u8::from(home != index);
                }
            }
            for (index, expected) in (0..).zip(overflow) {
                assert_eq!(
                    heap.bucket(segment.bucket(index)).overflow,
                    expected,
                    "of bucket {index}"
                );
            }
        }
        assert_eq!(
            (segments, buckets, deepest),
            (self.segments, self.buckets, self.deepest)
        );
    }
}

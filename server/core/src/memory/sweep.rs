//! Work in slices: freeing a whole table, and compaction.

use super::bucket::CELLS;
use super::entry::{Entry, FLAG_BOXED};
use super::heap::{Handle, Heap};
use super::slot::Slot;
use super::table::{Place, Segment, Table};

impl<B> Table<B> {
    /// Frees a part of the table: whole segments until at least `budget` entries are gone. Boxed objects are
    /// handed over, since their inner tables live in the same heap. True once the table is empty.
    pub fn clear_slice(
        &mut self,
        heap: &mut Heap,
        budget: usize,
        on_box: &mut dyn FnMut(Box<B>, &mut Heap),
    ) -> bool {
        self.check(heap);
        let mut freed = 0;
        while freed < budget {
            let Some((hash, segment)) = self.first_segment() else {
                break;
            };
            freed += self.clear_segment(heap, hash, segment, on_box);
        }
        if self.len == 0 {
            self.free_segments(heap);
        }
        self.len == 0
    }

    fn first_segment(&mut self) -> Option<(u64, Segment)> {
        if self.depth == 0 {
            return (self.root.r != 0).then_some((0, self.root));
        }
        let mut nth = self.first_used as usize;
        while nth < self.directory.len() {
            let segment = self.directory[nth];
            if segment.r != 0 {
                self.first_used = nth as u32;
                return Some(((nth as u64) << (64 - self.depth), segment));
            }
            nth += 1 << (self.depth - segment.depth);
        }
        None
    }

    fn clear_segment(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        segment: Segment,
        on_box: &mut dyn FnMut(Box<B>, &mut Heap),
    ) -> usize {
        let mut refs: Vec<u32> = Vec::with_capacity(usize::from(segment.buckets) * CELLS);
        for index in 0..u32::from(segment.buckets) {
            let line = heap.bucket(segment.bucket(index));
            refs.extend(line.used().map(|cell| line.refs[cell]));
        }
        let start = (hash >> 16) & !((1u64 << 48 >> segment.depth) - 1);
        if segment.spilled {
            let spilled: Vec<u32> = self
                .spilled_in(start, start + (1u64 << 48 >> segment.depth))
                .collect();
            for r in spilled {
                let hash = heap.hash(heap.key_at(r));
                self.spill_take(heap, hash, r);
                refs.push(r);
            }
        }
        // Out of the directory first: whatever a callback does, nobody meets the entries again.
        self.uninstall(heap, segment);
        self.overwrite(
            hash,
            Segment {
                depth: segment.depth,
                ..Segment::default()
            },
        );
        for (nth, &r) in refs.iter().enumerate() {
            if let Some(&ahead) = refs.get(nth + 12) {
                heap.prefetch(ahead);
            }
            self.len -= 1;
            self.expiring -= u32::from(heap.at(r).expire_at_ms().is_some());
            if let Some(object) = self.free_entry(heap, r) {
                on_box(object, heap);
                self.check(heap);
            }
        }
        refs.len()
    }

    /// Goes over the next `budget` cells: merges and shrinks sparse segments, and moves entries and segments
    /// out of sparse pages, which get empty that way and are given back. `moved` learns each entry's new
    /// handle. Returns where to go on; starts and ends at zero. One walk over all tables of a heap empties
    /// all pages that were at most half full when it began.
    pub fn compact_slice(
        &mut self,
        heap: &mut Heap,
        cursor: u64,
        budget: usize,
        moved: &mut dyn FnMut(Handle, Handle, Entry<'_, B>),
    ) -> u64 {
        self.check(heap);
        let mut position = cursor;
        let mut seen = 0;
        loop {
            let hash = position << 16;
            let sparse = self.len as usize * 2 < self.buckets as usize * 12;
            while sparse && self.shrink_at(heap, hash) {
                seen += 64;
            }
            let segment = self.segment_of(hash);
            let width = (1u64 << 48) >> segment.depth;
            let start = position & !(width - 1);
            seen += 1;
            if segment.r != 0 {
                self.compact_segment(heap, hash, segment, moved);
                seen += usize::from(segment.buckets) * CELLS;
            }
            position = start + width;
            if position >= 1 << 48 {
                return 0;
            }
            if seen >= budget {
                return position;
            }
        }
    }

    /// The first object at or behind a cell of the segment at `position`, with the number of its cell and the
    /// heap of its inner tables. Leaves out the few that are spilled.
    pub fn boxed_from<'a>(
        &'a mut self,
        heap: &'a mut Heap,
        position: u64,
        cell: u32,
    ) -> Option<(u32, &'a mut B, &'a mut Heap)> {
        self.check(heap);
        let segment = self.segment_of(position << 16);
        let cells = if segment.r == 0 {
            0
        } else {
            u32::from(segment.buckets) * CELLS as u32
        };
        let place_of = |nth: u32| (segment.bucket(nth / CELLS as u32), nth as usize % CELLS);
        let found = (cell..cells).find(|&nth| {
            let (bucket, cell) = place_of(nth);
            let r = heap.bucket(bucket).refs[cell];
            r != 0 && heap.at(r).header().has(FLAG_BOXED)
        })?;
        let (bucket, cell) = place_of(found);
        let place = Place::Cell {
            home: bucket,
            bucket,
            cell,
        };
        let r = heap.bucket(bucket).refs[cell];
        let (object, heap) = Slot::new(self, heap, place, r).into_boxed()?;
        Some((found, object, heap))
    }

    fn compact_segment(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        mut segment: Segment,
        moved: &mut dyn FnMut(Handle, Handle, Entry<'_, B>),
    ) {
        if heap.should_leave(segment.r)
            && let Some(r) = heap.relocate(segment.r)
        {
            segment.r = r;
            self.overwrite(hash, segment);
        }
        for index in 0..u32::from(segment.buckets) {
            let bucket = segment.bucket(index);
            let used = heap.bucket(bucket).used();
            for cell in used {
                let old = heap.bucket(bucket).refs[cell];
                if heap.should_leave(old)
                    && let Some(new) = heap.relocate(old)
                {
                    heap.bucket_mut(bucket).refs[cell] = new;
                    moved(Handle::of(old), Handle::of(new), self.entry(heap, new));
                }
            }
        }
        if segment.spilled {
            self.compact_spilled(heap, hash, segment, moved);
        }
    }

    fn compact_spilled(
        &mut self,
        heap: &mut Heap,
        hash: u64,
        segment: Segment,
        moved: &mut dyn FnMut(Handle, Handle, Entry<'_, B>),
    ) {
        let width = (1u64 << 48) >> segment.depth;
        let start = (hash >> 16) & !(width - 1);
        let spilled: Vec<u32> = self.spilled_in(start, start + width).collect();
        for old in spilled {
            if !heap.should_leave(old) {
                continue;
            }
            let hash = heap.hash(heap.key_at(old));
            if let Some(new) = heap.relocate(old) {
                self.spill_take(heap, hash, old);
                self.spill_add(heap, hash, new);
                moved(Handle::of(old), Handle::of(new), self.entry(heap, new));
            }
        }
    }
}

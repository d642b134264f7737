//! Notes by the top bits of their hash, so that those of one row are together and a partition's table stays
//! in the processor's cache. Within a partition notes stand in the order of the log.

use super::record::Record;

pub const PARTITIONS: usize = 256;

/// No note.
const NONE: u32 = u32::MAX;

/// Working space of [`Partitions::compact`]: an open-addressed table of notes by row.
#[derive(Default)]
pub struct Table(Vec<u32>);

impl Table {
    fn reset(&mut self, len: usize) -> usize {
        let slots = (len * 2).next_power_of_two().max(2);
        self.0.clear();
        self.0.resize(slots, NONE);
        slots - 1
    }
}

pub struct Partitions<R> {
    parts: Vec<Vec<R>>,
    len: usize,
}

impl<R: Record> Partitions<R> {
    pub fn new() -> Self {
        Self {
            parts: Vec::new(),
            len: 0,
        }
    }

    /// What the notes take, and the partitions themselves.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<R>() + self.parts.len() * size_of::<Vec<R>>()
    }

    #[inline]
    pub fn push(&mut self, record: R) {
        if self.parts.is_empty() {
            self.parts.resize_with(PARTITIONS, Vec::new);
        }
        let part = &mut self.parts[(record.mixed() >> 56) as usize];
        if part.len() == part.capacity() {
            // By a quarter: memory that is reserved and not used is most of what doubling would cost.
            part.reserve_exact(part.len() / 4 + 16);
        }
        part.push(record);
        self.len += 1;
    }

    /// Drops notes that do not count any more: overtaken ones, and those that `dead` says are of no row.
    pub fn compact(&mut self, table: &mut Table, dead: impl Fn(&R) -> bool) {
        self.len = 0;
        for part in &mut self.parts {
            part.retain(|record| !dead(record));
            last_of_each(part, table);
            self.len += part.len();
        }
    }

    /// The notes in the partitions' order, each partition sorted by order, row and place.
    pub fn into_parts(self) -> impl Iterator<Item = Vec<R>> {
        self.parts.into_iter()
    }

    /// All notes together; the partitions are given up one by one.
    pub fn into_all(self) -> Vec<R> {
        let mut all = Vec::with_capacity(self.len);
        for part in self.parts {
            all.extend_from_slice(&part);
        }
        all
    }
}

/// Sorts notes by order; those of one row stand together, in the order of the log.
pub fn sort<R: Record>(records: &mut [R]) {
    records.sort_unstable_by_key(|record| (record.order(), record.word().hash(), record.place()));
}

/// Keeps of each row what counts: the last note of the whole row and the parts that were told after it, of
/// which only the last expiry. The note that is kept as the first takes over whether the row was absent
/// before all of them.
fn last_of_each<R: Record>(records: &mut Vec<R>, table: &mut Table) {
    let len = records.len();
    if len == 0 {
        return;
    }
    let mask = table.reset(len);
    let mut kept = len;
    // Backwards, so that the first note met of a row is its last.
    for at in (0..len).rev() {
        let mut record = records[at];
        let mut slot = (record.mixed() as usize).wrapping_mul(0x9E37_79B1) & mask;
        let later = loop {
            match table.0[slot] {
                NONE => break None,
                found if records[found as usize].same_row(&record) => break Some(found as usize),
                _ => slot = (slot + 1) & mask,
            }
        };
        if let Some(later) = later {
            let word = records[later].word();
            if word.whole() {
                records[later].set_created(record.word().created());
                continue;
            }
            if word.expiry_is_told() {
                if record.word().is_expiry() {
                    continue;
                }
                record.set_expiry_follows();
            }
        }
        kept -= 1;
        records[kept] = record;
        table.0[slot] = kept as u32;
    }
    records.drain(..kept);
    records.retain(|record| !record.word().is_nothing());
}

#[cfg(test)]
mod tests {
    use super::super::record::{KeyRecord, Word};
    use super::*;
    use crate::image::Part;

    fn note(row: u64, place: u32, part: Part, created: bool, stays: bool) -> KeyRecord {
        KeyRecord {
            hash: row,
            word: Word::new(row, part, created, stays),
            place,
        }
    }

    fn kept(notes: &[KeyRecord]) -> Vec<(u64, u32, bool)> {
        let mut partitions = Partitions::new();
        for record in notes {
            partitions.push(*record);
        }
        partitions.compact(&mut Table::default(), |_| false);
        // A second time changes nothing.
        let bytes = partitions.bytes();
        partitions.compact(&mut Table::default(), |_| false);
        assert_eq!(partitions.bytes(), bytes);
        let mut all = partitions.into_all();
        sort(&mut all);
        all.iter()
            .map(|record| (record.hash, record.place, record.word.created()))
            .collect()
    }

    use Part::{Bytes, Expiry, Whole};

    #[test]
    fn the_last_whole_note_of_a_row_counts_and_what_came_after_it() {
        let notes = [
            note(1, 0, Whole, true, true),
            note(2, 1, Bytes, false, true),
            note(1, 2, Bytes, false, true),
            note(1, 3, Whole, false, true),
            note(1, 4, Expiry, false, true),
            note(1, 5, Bytes, false, true),
            note(2, 6, Bytes, false, true),
            note(1, 7, Expiry, false, true),
        ];
        let expected = [
            (1, 3, true),
            (1, 5, false),
            (1, 7, false),
            (2, 1, false),
            (2, 6, false),
        ];
        assert_eq!(kept(&notes), expected);
    }

    #[test]
    fn only_the_last_expiry_is_kept_across_other_parts() {
        let notes = [
            note(1, 0, Expiry, false, true),
            note(1, 1, Bytes, false, true),
            note(1, 2, Expiry, false, true),
            note(1, 3, Bytes, false, true),
            note(1, 4, Expiry, false, true),
        ];
        assert_eq!(kept(&notes), [(1, 1, false), (1, 3, false), (1, 4, false)]);
    }

    #[test]
    fn born_and_gone_is_nothing_but_a_row_that_was_there_leaves_a_note() {
        let born = [note(1, 0, Whole, true, true), note(1, 1, Whole, false, false)];
        assert_eq!(kept(&born), []);
        let there = [
            note(1, 0, Whole, false, false),
            note(1, 1, Whole, true, true),
            note(1, 2, Whole, false, false),
        ];
        assert_eq!(kept(&there), [(1, 2, false)]);
    }
}

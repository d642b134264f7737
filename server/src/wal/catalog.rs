//! Where the entries stand: for each shard the runs of its living entries, in order, and which segments
//! there are. Truncated and purged entries are in no run, so a reader never takes a dead one.
//!
//! Invariant: the runs of a shard are contiguous: each begins at the index after the one before it.

use std::collections::{BTreeMap, VecDeque};

use super::ids::{LogIndex, Position, ShardId};
use super::segment::HEADER_BYTES;

/// A run spans at most this much of a segment: what a reader scans to find one entry.
const RUN_BYTES: u64 = 1 << 20;

/// Entries of one shard that stand in one segment, in order, with nothing dead between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub first: u64,
    pub last: u64,
    pub segment: u64,
    /// A record begins here; the run's first entry may stand behind entries that were purged.
    pub offset: u64,
    /// The run's last entry ends here.
    pub end: u64,
    /// Something was cut off: what comes next begins a run of its own.
    pub closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    pub sequence: u64,
    pub epoch: u64,
    /// Where its records end; the last segment's grows.
    pub end: u64,
}

#[derive(Clone, Default)]
pub struct Catalog {
    segments: VecDeque<Listed>,
    runs: BTreeMap<ShardId, VecDeque<Run>>,
    /// Lowest segments that readers need, with how many readers.
    pins: BTreeMap<u64, usize>,
}

impl Catalog {
    pub fn add_segment(&mut self, listed: Listed) {
        debug_assert!(
            self.segments
                .back()
                .is_none_or(|last| last.sequence + 1 == listed.sequence)
        );
        self.segments.push_back(listed);
    }

    /// Records of the last segment now end here.
    pub fn set_end(&mut self, end: u64) {
        if let Some(last) = self.segments.back_mut() {
            last.end = end;
        }
    }

    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Listed> + Clone {
        self.segments.iter()
    }

    /// Bytes of records.
    pub fn bytes(&self) -> u64 {
        self.segments
            .iter()
            .map(|listed| listed.end.saturating_sub(HEADER_BYTES))
            .sum()
    }

    /// Where the first record stands or would stand.
    pub fn head(&self) -> Position {
        self.segments.front().map_or(Position::default(), |s| Position {
            segment: s.sequence,
            offset: super::segment::HEADER_BYTES,
        })
    }

    /// Where the last written record ends.
    pub fn tail(&self) -> Position {
        self.segments.back().map_or(Position::default(), |s| Position {
            segment: s.sequence,
            offset: s.end,
        })
    }

    pub fn add_entry(&mut self, shard: ShardId, index: LogIndex, segment: u64, offset: u64, end: u64) {
        let runs = self.runs.entry(shard).or_default();
        if let Some(run) = runs.back_mut()
            && !run.closed
            && run.segment == segment
            && run.last + 1 == index.0
            && end - run.offset <= RUN_BYTES
        {
            run.last = index.0;
            run.end = end;
            return;
        }
        runs.push_back(Run {
            first: index.0,
            last: index.0,
            segment,
            offset,
            end,
            closed: false,
        });
    }

    /// Entries from `from` on are void.
    pub fn truncate(&mut self, shard: ShardId, from: LogIndex) {
        let Some(runs) = self.runs.get_mut(&shard) else {
            return;
        };
        while runs.back().is_some_and(|run| run.first >= from.0) {
            runs.pop_back();
        }
        if let Some(run) = runs.back_mut() {
            run.last = run.last.min(from.0 - 1);
            run.closed = true;
        }
    }

    pub fn purge(&mut self, shard: ShardId, up_to: LogIndex) {
        let Some(runs) = self.runs.get_mut(&shard) else {
            return;
        };
        while runs.front().is_some_and(|run| run.last <= up_to.0) {
            runs.pop_front();
        }
        if let Some(run) = runs.front_mut()
            && run.first <= up_to.0
        {
            run.first = up_to.0 + 1;
        }
    }

    pub fn first(&self, shard: ShardId) -> Option<LogIndex> {
        Some(LogIndex(self.runs.get(&shard)?.front()?.first))
    }

    pub fn last(&self, shard: ShardId) -> Option<LogIndex> {
        Some(LogIndex(self.runs.get(&shard)?.back()?.last))
    }

    /// The run that holds an entry.
    pub fn find(&self, shard: ShardId, index: LogIndex) -> Option<Run> {
        let runs = self.runs.get(&shard)?;
        let place = runs.partition_point(|run| run.last < index.0);
        runs.get(place).filter(|run| run.first <= index.0).copied()
    }

    /// Whether the entry at this place is the shard's entry of this index.
    pub fn lives(&self, shard: ShardId, index: LogIndex, at: Position) -> bool {
        self.find(shard, index)
            .is_some_and(|run| run.segment == at.segment && (run.offset..run.end).contains(&at.offset))
    }

    /// What a reader of one shard's entries from an index on has to know.
    pub fn part(&self, shard: ShardId, from: LogIndex) -> Self {
        let runs = self.runs.get(&shard).map(|runs| {
            let start = runs.partition_point(|run| run.last < from.0);
            (shard, runs.range(start..).copied().collect())
        });
        Self {
            segments: self.segments.clone(),
            runs: runs.into_iter().collect(),
            pins: BTreeMap::new(),
        }
    }

    pub fn pin(&mut self, segment: u64) {
        *self.pins.entry(segment).or_default() += 1;
    }

    pub fn unpin(&mut self, segment: u64) {
        if let Some(count) = self.pins.get_mut(&segment) {
            *count -= 1;
            if *count == 0 {
                self.pins.remove(&segment);
            }
        }
    }

    /// Takes the oldest segment off, if it lies before `keep_from`, holds no living entry and no reader
    /// needs it.
    pub fn take_dead(&mut self, keep_from: u64) -> Option<Listed> {
        let oldest = self.segments.front()?.sequence;
        let needed = self
            .runs
            .values()
            .filter_map(|runs| runs.front().map(|run| run.segment))
            .chain(self.pins.keys().next().copied())
            .min()
            .map_or(keep_from, |needed| needed.min(keep_from));
        if oldest < needed {
            self.segments.pop_front()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARD: ShardId = ShardId(1);

    fn with(entries: &[(u64, u64, u64)]) -> Catalog {
        let mut catalog = Catalog::default();
        for (index, segment, offset) in entries {
            catalog.add_entry(SHARD, LogIndex(*index), *segment, *offset, offset + 10);
        }
        catalog
    }

    fn lives(catalog: &Catalog, index: u64, segment: u64, offset: u64) -> bool {
        catalog.lives(SHARD, LogIndex(index), Position { segment, offset })
    }

    #[test]
    fn a_rewritten_entry_lives_only_where_it_was_written_last() {
        let mut catalog = with(&[(1, 1, 100), (2, 1, 110), (3, 1, 120)]);
        catalog.truncate(SHARD, LogIndex(2));
        catalog.add_entry(SHARD, LogIndex(2), 1, 140, 150);
        assert!(lives(&catalog, 1, 1, 100));
        assert!(lives(&catalog, 2, 1, 140));
        assert!(!lives(&catalog, 2, 1, 110));
        assert!(!lives(&catalog, 3, 1, 120));
        assert_eq!(catalog.last(SHARD), Some(LogIndex(2)));
    }

    #[test]
    fn a_segment_is_dead_when_every_shard_is_past_it_and_no_reader_needs_it() {
        let mut catalog = with(&[(1, 1, 100), (2, 2, 100), (3, 3, 100)]);
        catalog.add_entry(ShardId(2), LogIndex(1), 2, 200, 210);
        for sequence in 1..=3 {
            catalog.add_segment(Listed {
                sequence,
                epoch: sequence,
                end: 300,
            });
        }
        assert_eq!(catalog.take_dead(3), None);
        catalog.purge(SHARD, LogIndex(2));
        catalog.pin(1);
        assert_eq!(catalog.take_dead(3), None, "pinned");
        catalog.unpin(1);
        assert_eq!(catalog.take_dead(3).map(|s| s.sequence), Some(1));
        assert_eq!(catalog.take_dead(3), None, "shard 2 needs it");
        catalog.purge(ShardId(2), LogIndex(1));
        assert_eq!(catalog.take_dead(2), None, "it is the one that is written");
        assert_eq!(catalog.take_dead(3).map(|s| s.sequence), Some(2));
    }

    #[test]
    fn an_entry_is_found_in_the_run_that_holds_it() {
        let mut catalog = with(&[(5, 1, 100), (6, 1, 110), (7, 1, 110 + (2 << 20)), (8, 2, 50)]);
        let found = |catalog: &Catalog, index| {
            catalog
                .find(SHARD, LogIndex(index))
                .map(|r| (r.segment, r.offset))
        };
        assert_eq!(found(&catalog, 4), None);
        assert_eq!(found(&catalog, 6), Some((1, 100)));
        assert_eq!(found(&catalog, 7), Some((1, 110 + (2 << 20))));
        assert_eq!(found(&catalog, 8), Some((2, 50)));
        assert_eq!(found(&catalog, 9), None);
        catalog.purge(SHARD, LogIndex(7));
        assert_eq!(catalog.first(SHARD), Some(LogIndex(8)));
    }
}

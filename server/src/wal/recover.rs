//! Reads the whole log at a start: checks it, and finds what lives. Nothing on the disk is changed.
//!
//! Invariant: a segment was synced before the next one was begun, and says in its first record where the
//! one before it ends. So in all segments but the last, anything that does not parse is corruption; in
//! the last it is for `tail` to judge. Nothing is dropped in silence.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::catalog::{Catalog, Listed};
use super::disk::Disk;
use super::failure::{Damage, ReadError, RecoverError};
use super::ids::{ClusterId, LogId, LogIndex, Position, SHARDS_MAX, ShardId};
use super::read::{Found, Head, SegmentReader};
use super::record::{Bad, Kind};
use super::room;
use super::scan::Scan;
use super::segment::{self, HEADER_BYTES, Header, Segment};
use super::state::ShardState;
use super::tail::{self, Tail};

/// What was cut off the last segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Torn {
    pub at: Position,
    pub why: Bad,
}

/// A log that was read and is in order.
pub struct Recovery {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) cluster: ClusterId,
    pub(super) catalog: Catalog,
    pub(super) shards: BTreeMap<ShardId, ShardState>,
    pub(super) epoch_max: u64,
    /// Segments that were made ahead and never begun.
    pub(super) unused: Vec<u64>,
    torn: Option<Torn>,
    /// Entries whose last part never came, by the first: void.
    pub(super) unfinished: Vec<(ShardId, LogIndex)>,
}

impl Recovery {
    /// Reads and checks all segments in a folder.
    pub fn read(disk: Arc<dyn Disk>, cluster: ClusterId) -> Result<Self, RecoverError> {
        let found = find_segments(&*disk, cluster)?;
        let mut recovery = Self {
            disk,
            cluster,
            catalog: Catalog::default(),
            shards: BTreeMap::new(),
            epoch_max: found.iter().map(|s| s.epoch).max().unwrap_or(0),
            unused: Vec::new(),
            torn: None,
            unfinished: Vec::new(),
        };
        let begun = recovery.split_off_unused(&found)?;
        let mut opens = Vec::new();
        for segment in begun {
            opens.push(previous_end(segment)?);
        }
        let mut pending = Pending::default();
        for (i, segment) in begun.iter().enumerate() {
            let end = opens.get(i + 1).copied();
            recovery.read_segment(segment, end, &mut pending)?;
        }
        pending.check(&recovery.shards, begun.first().map_or(0, |s| s.sequence))?;
        recovery.drop_unfinished();
        Ok(recovery)
    }

    /// Nothing follows on parts but their end, so parts without one are the last of their shard.
    fn drop_unfinished(&mut self) {
        for (shard, state) in &mut self.shards {
            if let Some(first) = state.take_unfinished() {
                self.catalog.truncate(*shard, first);
                self.unfinished.push((*shard, first));
            }
        }
    }

    /// Of every shard that the log knows: what it holds beside entries.
    pub fn shards(&self) -> &BTreeMap<ShardId, ShardState> {
        &self.shards
    }

    /// The living entries of a shard: first and last index.
    pub fn range(&self, shard: ShardId) -> Option<(LogIndex, LogIndex)> {
        Some((self.catalog.first(shard)?, self.catalog.last(shard)?))
    }

    /// The id of a shard's last living entry; what was purged has the id of the purge.
    pub fn last_id(&self, shard: ShardId) -> Result<Option<LogId>, ReadError> {
        let Some(run) = self
            .catalog
            .last(shard)
            .and_then(|last| self.catalog.find(shard, last))
        else {
            return Ok(None);
        };
        let at = Position {
            segment: run.segment,
            offset: run.offset,
        };
        let last = LogIndex(run.last);
        let part = self.catalog.part(shard, last);
        let mut scan = Scan::new(&self.disk, self.cluster, part, at, Some((shard, last)), None);
        Ok(scan.next_entry()?.map(|entry| entry.id))
    }

    /// Gives back the room that was set aside; the log sets it aside again when it starts, if it can.
    pub fn give_up_reserve(&self) -> io::Result<()> {
        room::give_up(&*self.disk)
    }

    /// Whether and where the last segment's tail will be cut.
    pub fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// Bytes of the records that were read.
    pub fn bytes(&self) -> u64 {
        self.catalog.bytes()
    }

    /// Nothing was ever written here.
    pub fn is_new(&self) -> bool {
        self.catalog.segments().next().is_none()
    }

    /// The living entries of all shards, each shard's in order.
    pub fn entries(&self) -> Scan {
        Scan::all(&self.disk, self.cluster, &self.catalog)
    }

    /// The last segments may have been made ahead of the writer: they hold no good first record.
    fn split_off_unused<'a>(&mut self, found: &'a [Segment]) -> Result<&'a [Segment], RecoverError> {
        let mut begun = found;
        while let Some((segment, before)) = begun.split_last() {
            let io = |source| RecoverError::io(segment.sequence, source);
            segment.file.forget_cached().map_err(io)?;
            let mut reader = SegmentReader::new(segment, HEADER_BYTES, u64::MAX).map_err(io)?;
            match reader.next().map_err(io)? {
                Found::Record(head) if head.kind == Kind::Open => return Ok(begun),
                Found::Record(head) => return Err(corrupt(segment, head.offset, Damage::NotOpen)),
                Found::End => {}
                Found::Bad(offset, why) => {
                    let verdict = tail::judge(&mut reader, offset, why).map_err(io)?;
                    self.take_verdict(segment, offset, why, verdict)?;
                }
            }
            self.unused.push(segment.sequence);
            begun = before;
        }
        match found.first() {
            // The first segment of all: the very first write never became durable.
            Some(first) if first.sequence > 1 => Err(RecoverError::MissingSegment(first.sequence - 1)),
            _ => Ok(begun),
        }
    }

    fn read_segment(
        &mut self,
        segment: &Segment,
        end: Option<u64>,
        pending: &mut Pending,
    ) -> Result<(), RecoverError> {
        let io = |source| RecoverError::io(segment.sequence, source);
        self.catalog.add_segment(Listed {
            sequence: segment.sequence,
            epoch: segment.epoch,
            end: HEADER_BYTES,
        });
        let mut reader = SegmentReader::new(segment, HEADER_BYTES, end.unwrap_or(u64::MAX)).map_err(io)?;
        if let Some(end) = end
            && reader.limit() < end
        {
            return Err(corrupt(segment, reader.limit(), Damage::EndsEarly { end }));
        }
        loop {
            let at = reader.at();
            match reader.next().map_err(io)? {
                Found::Record(head) => {
                    let applied = self.apply(segment, &reader, &head, pending);
                    applied.map_err(|why| corrupt(segment, head.offset, why))?;
                }
                Found::End => {
                    self.catalog.set_end(at);
                    return Ok(());
                }
                Found::Bad(offset, why) => {
                    if end.is_some() {
                        return Err(corrupt(segment, offset, Damage::Record(why)));
                    }
                    let verdict = tail::judge(&mut reader, offset, why).map_err(io)?;
                    self.catalog.set_end(offset);
                    return self.take_verdict(segment, offset, why, verdict);
                }
            }
        }
    }

    fn apply(
        &mut self,
        segment: &Segment,
        reader: &SegmentReader,
        head: &Head,
        pending: &mut Pending,
    ) -> Result<(), Damage> {
        let first = head.offset == HEADER_BYTES;
        if first != (head.kind == Kind::Open) {
            return Err(Damage::NotOpen);
        }
        if first || head.kind == Kind::Mark {
            return Ok(());
        }
        if usize::from(head.shard.0) >= SHARDS_MAX {
            return Err(Damage::Shard(head.shard));
        }
        let state = self.shards.entry(head.shard).or_default();
        if head.kind.is_entry() {
            pending.see_entry(head, state);
        }
        state.apply(&reader.record(head)).map_err(Damage::Order)?;
        match head.kind {
            Kind::Truncate => {
                pending.see_truncation(head);
                self.catalog.truncate(head.shard, head.id.index);
            }
            Kind::Leave if head.id.index.0 > 0 => {
                pending.see_leave(head.shard);
                self.catalog.truncate(head.shard, head.id.index);
            }
            Kind::Purge => self.catalog.purge(head.shard, head.id.index),
            Kind::Entry | Kind::RaftEntry | Kind::Part => {
                self.catalog
                    .add_entry(head.shard, head.id.index, segment.sequence, head.offset, head.end);
            }
            _ => {}
        }
        Ok(())
    }

    fn take_verdict(
        &mut self,
        segment: &Segment,
        offset: u64,
        why: Bad,
        verdict: Tail,
    ) -> Result<(), RecoverError> {
        match verdict {
            Tail::Clean => {}
            Tail::Torn => {
                self.torn = Some(Torn {
                    at: place(segment, offset),
                    why,
                });
            }
            Tail::Corrupt { witness } => {
                return Err(corrupt(segment, offset, Damage::BeforeGood { why, witness }));
            }
            Tail::Unclear => return Err(corrupt(segment, offset, Damage::Unclear(why))),
        }
        Ok(())
    }
}

/// Entries that the oldest segments no longer hold: all right only if they turn out to be purged.
#[derive(Default)]
struct Pending {
    /// By shard: entries up to this index were not seen.
    unseen: BTreeMap<ShardId, u64>,
}

impl Pending {
    /// The first entry of a shard may stand anywhere: what came before may have gone with its segments.
    fn see_entry(&mut self, head: &Head, state: &mut ShardState) {
        let before = head.id.index.0.saturating_sub(1);
        if let std::collections::btree_map::Entry::Vacant(place) = self.unseen.entry(head.shard) {
            let unseen = if before > state.last.0 { before } else { 0 };
            place.insert(unseen);
            state.last = state.last.max(LogIndex(unseen));
        }
    }

    /// What is void need not be there.
    fn see_truncation(&mut self, head: &Head) {
        if let Some(unseen) = self.unseen.get_mut(&head.shard) {
            *unseen = (*unseen).min(head.id.index.0.saturating_sub(1));
        }
    }

    /// None of what there was is missed, and the next entry is the first.
    fn see_leave(&mut self, shard: ShardId) {
        self.unseen.insert(shard, 0);
    }

    fn check(&self, shards: &BTreeMap<ShardId, ShardState>, first: u64) -> Result<(), RecoverError> {
        for (shard, unseen) in &self.unseen {
            let purged = shards.get(shard).map_or(0, |state| state.purged.index.0);
            if *unseen > purged {
                return Err(RecoverError::MissingEntries {
                    shard: *shard,
                    from: LogIndex(purged + 1),
                    to: LogIndex(*unseen),
                    first,
                });
            }
        }
        Ok(())
    }
}

/// All segments by their headers, in order and without a gap.
fn find_segments(disk: &dyn Disk, cluster: ClusterId) -> Result<Vec<Segment>, RecoverError> {
    let names = disk.list().map_err(RecoverError::Folder)?;
    let mut sequences: Vec<u64> = names
        .iter()
        .filter_map(|name| segment::sequence_of(name))
        .collect();
    sequences.sort_unstable();
    let mut segments: Vec<Segment> = Vec::with_capacity(sequences.len());
    for sequence in sequences {
        if let Some(before) = segments.last()
            && before.sequence + 1 != sequence
        {
            return Err(RecoverError::MissingSegment(before.sequence + 1));
        }
        let io = |source| RecoverError::io(sequence, source);
        let file = disk.open(&segment::name(sequence)).map_err(io)?;
        let header = Header::read(&*file).map_err(io)?;
        let header = header.map_err(|why| RecoverError::Header { sequence, why })?;
        if header.cluster != cluster {
            return Err(RecoverError::OtherCluster {
                sequence,
                found: header.cluster,
                wanted: cluster,
            });
        }
        if header.sequence != sequence {
            return Err(RecoverError::Renamed {
                sequence,
                was: header.sequence,
            });
        }
        segments.push(Segment::new(&header, file));
    }
    Ok(segments)
}

/// What a segment's first record says of the one before it.
fn previous_end(segment: &Segment) -> Result<u64, RecoverError> {
    let io = |source: io::Error| RecoverError::io(segment.sequence, source);
    let mut reader = SegmentReader::new(segment, HEADER_BYTES, u64::MAX).map_err(io)?;
    match reader.next().map_err(io)? {
        Found::Record(head) if head.kind == Kind::Open => Ok(reader.record(&head).previous_end()),
        Found::Record(_) => Err(corrupt(segment, HEADER_BYTES, Damage::NotOpen)),
        Found::End => Err(corrupt(segment, HEADER_BYTES, Damage::Record(Bad::Empty))),
        Found::Bad(offset, why) => Err(corrupt(segment, offset, Damage::Record(why))),
    }
}

fn place(segment: &Segment, offset: u64) -> Position {
    Position {
        segment: segment.sequence,
        offset,
    }
}

fn corrupt(segment: &Segment, offset: u64, damage: Damage) -> RecoverError {
    RecoverError::Corrupt {
        at: place(segment, offset),
        damage,
    }
}

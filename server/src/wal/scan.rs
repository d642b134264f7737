//! Reads living entries in the order of the file: of all shards for the image and a start, of one shard for
//! a follower that catches up.
//!
//! A scan works on the catalog as it was when it began. Entries that are committed never change, so what it
//! yields of them stays true whatever is appended, truncated or purged meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

use super::catalog::Catalog;
use super::disk::Disk;
use super::failure::ReadError;
use super::ids::{ClusterId, LogId, LogIndex, Position, ShardId};
use super::read::{Found, Head, SegmentReader};
use super::record::Kind;
use super::segment::{HEADER_BYTES, Segment};

/// An entry in the reader's buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    pub at: Position,
    /// Where the next record begins: a place to go on from.
    pub end: Position,
    /// What was written of its segment when the scan began: all before it stays as it is.
    pub written: u64,
    pub shard: ShardId,
    pub id: LogId,
    pub kind: Kind,
    pub payload: &'a [u8],
}

/// Keeps the segments from one on from being recycled while they are read.
pub struct Pin {
    catalog: Arc<Mutex<Catalog>>,
    segment: u64,
}

impl Pin {
    /// `catalog` is locked by the caller to choose the segment; `held` is that lock's inside.
    pub(super) fn new(catalog: &Arc<Mutex<Catalog>>, held: &mut Catalog, segment: u64) -> Self {
        held.pin(segment);
        Self {
            catalog: Arc::clone(catalog),
            segment,
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        catalog.unpin(self.segment);
    }
}

/// See the module.
pub struct Scan {
    disk: Arc<dyn Disk>,
    cluster: ClusterId,
    catalog: Catalog,
    at: Position,
    to: Position,
    /// Only this shard, and the next index that is wanted of it.
    only: Option<(ShardId, LogIndex)>,
    /// The entry that a run was entered for: one that is not found there is not looked for again.
    sought: Option<LogIndex>,
    reader: Option<SegmentReader>,
    _pin: Option<Pin>,
}

impl Scan {
    pub(super) fn all(disk: &Arc<dyn Disk>, cluster: ClusterId, catalog: &Catalog) -> Self {
        Self::new(disk, cluster, catalog.clone(), catalog.head(), None, None)
    }

    /// From `from` to where the log ends now.
    pub(super) fn new(
        disk: &Arc<dyn Disk>,
        cluster: ClusterId,
        catalog: Catalog,
        from: Position,
        only: Option<(ShardId, LogIndex)>,
        pin: Option<Pin>,
    ) -> Self {
        Self {
            disk: Arc::clone(disk),
            cluster,
            at: from,
            to: catalog.tail(),
            catalog,
            only,
            sought: None,
            reader: None,
            _pin: pin,
        }
    }

    /// Where the scan stands: all before it was yielded.
    pub fn position(&self) -> Position {
        self.at
    }

    /// The next living entry, or `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        let head = loop {
            if !self.stand_on_a_run()? {
                return Ok(None);
            }
            match self.step()? {
                Some(head) if self.wants(&head) => break head,
                Some(_) => {}
                None if self.only.is_some() => return Err(self.gone()),
                None if !self.go_to_next_segment() => return Ok(None),
                None => {}
            }
        };
        if let Some((_, next)) = &mut self.only {
            *next = head.id.index.next();
        }
        let segment = self.at.segment;
        let place = |offset| Position { segment, offset };
        Ok(self.reader.as_ref().map(|reader| Entry {
            at: place(head.offset),
            end: place(head.end),
            written: reader.limit(),
            shard: head.shard,
            id: head.id,
            kind: head.kind,
            payload: reader.record(&head).payload,
        }))
    }

    /// A scan of one shard goes from run to run; others read on. False at the end.
    fn stand_on_a_run(&mut self) -> Result<bool, ReadError> {
        let Some((shard, index)) = self.only else {
            return Ok(self.at < self.to);
        };
        if self.catalog.last(shard).is_none_or(|last| index > last) {
            return Ok(false);
        }
        let Some(run) = self.catalog.find(shard, index) else {
            return Err(ReadError::Gone { shard, index });
        };
        let inside = self.at.segment == run.segment && (run.offset..run.end).contains(&self.at.offset);
        if !inside {
            if self.sought == Some(index) {
                return Err(self.gone());
            }
            self.sought = Some(index);
            if self.at.segment != run.segment {
                self.reader = None;
            }
            self.at = Position {
                segment: run.segment,
                offset: run.offset,
            };
            if let Some(reader) = &mut self.reader {
                reader.seek(run.offset);
            }
        }
        Ok(true)
    }

    /// The catalog knows an entry that its segment does not hold.
    fn gone(&self) -> ReadError {
        let (shard, index) = self.only.unwrap_or((ShardId(0), LogIndex(0)));
        ReadError::Gone { shard, index }
    }

    fn wants(&self, head: &Head) -> bool {
        let at = Position {
            segment: self.at.segment,
            offset: head.offset,
        };
        let asked = self
            .only
            .is_none_or(|(shard, index)| shard == head.shard && index == head.id.index);
        asked && head.kind.is_entry() && self.catalog.lives(head.shard, head.id.index, at)
    }

    /// The next record of the segment, or `None` at its end.
    fn step(&mut self) -> Result<Option<Head>, ReadError> {
        let sequence = self.at.segment;
        let io = |source| ReadError::Io { sequence, source };
        let listed = self.catalog.segments().find(|s| s.sequence == sequence).copied();
        let Some(listed) = listed else {
            // A place from before the oldest segment: what stood there was purged.
            return Ok(None);
        };
        let reader = match &mut self.reader {
            Some(reader) => reader,
            empty => {
                let segment = Segment::open(&*self.disk, self.cluster, sequence, listed.epoch).map_err(io)?;
                empty.insert(SegmentReader::new(&segment, self.at.offset, listed.end).map_err(io)?)
            }
        };
        match reader.next().map_err(io)? {
            Found::Record(head) => {
                self.at.offset = head.end;
                Ok(Some(head))
            }
            Found::End => Ok(None),
            Found::Bad(offset, why) => Err(ReadError::Damaged {
                at: Position {
                    segment: sequence,
                    offset,
                },
                why,
            }),
        }
    }

    fn go_to_next_segment(&mut self) -> bool {
        self.reader = None;
        let next = self
            .catalog
            .segments()
            .map(|s| s.sequence)
            .find(|s| *s > self.at.segment);
        match next {
            Some(segment) => {
                self.at = Position {
                    segment,
                    offset: HEADER_BYTES,
                };
                true
            }
            None => {
                self.at = self.to;
                false
            }
        }
    }
}

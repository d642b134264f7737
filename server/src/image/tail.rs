//! The log's tail of one shard, as a window reads it: entries by the log's own scan, which checks them, and
//! rows once more from the mapped segments, where they stand in the page cache.
//!
//! A place is the sum of what was mapped before and the offset in a segment. A segment is mapped up to the
//! entries that the scan will yield; one that has grown since is mapped anew by the next tail.

use std::fs::File;
use std::path::PathBuf;

use ruvio_core::image::At;
use ruvio_core::image::window::{Entries, Entry, Failure};

use super::mapped::Mapped;
use crate::wal::{self, Kind, LogIndex, Scan};

/// Places beyond do not fit four bytes.
const PLACES_END: u64 = u32::MAX as u64;

struct Segment {
    sequence: u64,
    /// The place of its first byte.
    start: u64,
    mapped: Mapped,
}

/// See the module.
pub struct Tail {
    scan: Scan,
    folder: PathBuf,
    /// The last entry that is committed.
    to: LogIndex,
    segments: Vec<Segment>,
    ended: bool,
}

impl Tail {
    /// `scan` is of one shard from the entry after its image on, `folder` is where the log's segments are,
    /// `to` the last entry that is committed: nothing beyond it is read.
    pub fn new(scan: Scan, folder: PathBuf, to: LogIndex) -> Self {
        Self {
            scan,
            folder,
            to,
            segments: Vec::new(),
            ended: false,
        }
    }
}

impl Entries for Tail {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let Some(entry) = self.scan.next_entry()?.filter(|entry| entry.id.index <= self.to) else {
            self.ended = true;
            return Ok(None);
        };
        let known = self.segments.last();
        let covered = known.filter(|segment| {
            segment.sequence == entry.at.segment && entry.end.offset <= segment.mapped.bytes().len() as u64
        });
        let start = match covered {
            Some(segment) => segment.start,
            None => {
                let start = known.map_or(0, |last| last.start + last.mapped.bytes().len() as u64);
                let file = File::open(self.folder.join(wal::segment_name(entry.at.segment)))?;
                let end = entry.written.max(entry.end.offset);
                if start + end > PLACES_END {
                    self.ended = true;
                    return Ok(None);
                }
                self.segments.push(Segment {
                    sequence: entry.at.segment,
                    start,
                    mapped: Mapped::new(&file, end as usize)?,
                });
                start
            }
        };
        let is_ours = matches!(entry.kind, Kind::Entry | Kind::Part);
        Ok(Some(Entry {
            at: At {
                term: entry.id.term.0,
                node: entry.id.node.0,
                index: entry.id.index.0,
            },
            // Nothing follows a payload in its record.
            place: (start + entry.end.offset - entry.payload.len() as u64) as u32,
            payload: if is_ours { entry.payload } else { &[] },
        }))
    }

    fn bytes(&self, place: u32) -> (&[u8], usize) {
        let place = u64::from(place);
        let after = self.segments.partition_point(|segment| segment.start <= place);
        let segment = &self.segments[after - 1];
        (segment.mapped.bytes(), (place - segment.start) as usize)
    }
}

//! What the log knows of a shard beside its entries, and the order that its records have to keep.
//!
//! The writer and the recovery apply the same records to the same state, so that a segment can restate it
//! and the segments before it can go.

use std::fmt;

use super::ids::{LogId, LogIndex, NodeId, Term, Vote};
use super::record::{Kind, Record};

#[derive(Clone, PartialEq, Eq, Default)]
pub struct ShardState {
    /// Entries up to this one are in the image.
    pub purged: LogId,
    /// The last index that is taken, by an entry or by what was purged.
    pub last: LogIndex,
    /// The first part of an entry whose last one is not there yet.
    pub open: Option<LogIndex>,
    pub vote: Vote,
    pub committed: LogId,
    pub membership: Option<(LogId, Vec<u8>)>,
    /// The shard was dropped, and its image may still be there.
    pub leaving: bool,
}

/// All entries are void, from the first on.
pub const LEAVE_ID: LogId = LogId {
    term: Term(0),
    node: NodeId(0),
    index: LogIndex(1),
};

/// A record that cannot follow on those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OutOfOrder {
    #[error("entry {found} follows on entry {}", .last.0)]
    Entry { last: LogIndex, found: LogId },
    #[error("a truncation from {} although all up to {purged} is in the image", .from.0)]
    Truncate { from: LogIndex, purged: LogId },
    #[error("a record of this kind has no place here")]
    Kind,
}

impl fmt::Debug for ShardState {
    /// As before there were parts, where there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("ShardState");
        fields.field("purged", &self.purged).field("last", &self.last);
        if let Some(open) = &self.open {
            fields.field("open", open);
        }
        if self.leaving {
            fields.field("leaving", &self.leaving);
        }
        fields
            .field("vote", &self.vote)
            .field("committed", &self.committed)
            .field("membership", &self.membership)
            .finish()
    }
}

impl ShardState {
    /// The last entry that is there with all its parts, or what was purged.
    pub fn whole(&self) -> LogIndex {
        self.open.map_or(self.last, |first| LogIndex(first.0 - 1))
    }

    /// Forgets the parts of an entry that has no end. The first of them.
    pub fn take_unfinished(&mut self) -> Option<LogIndex> {
        let first = self.open.take()?;
        self.last = LogIndex(first.0 - 1);
        Some(first)
    }

    pub fn apply(&mut self, record: &Record<'_>) -> Result<(), OutOfOrder> {
        match record.kind {
            Kind::Entry | Kind::RaftEntry | Kind::Part => {
                if record.id.index != self.last.next() {
                    return Err(OutOfOrder::Entry {
                        last: self.last,
                        found: record.id,
                    });
                }
                self.last = record.id.index;
                self.open = match record.kind {
                    Kind::Part => self.open.or(Some(record.id.index)),
                    _ => None,
                };
            }
            Kind::Vote => self.vote = record.vote(),
            Kind::Truncate => {
                let from = record.id.index;
                if from <= self.purged.index {
                    return Err(OutOfOrder::Truncate {
                        from,
                        purged: self.purged,
                    });
                }
                self.last = self.last.min(LogIndex(from.0 - 1));
                self.open = self.open.filter(|first| *first < from);
            }
            Kind::Purge => {
                if record.id.index > self.purged.index {
                    self.purged = record.id;
                }
                self.last = self.last.max(record.id.index);
            }
            Kind::Committed => self.committed = record.id,
            Kind::Membership => self.membership = Some((record.id, record.payload.to_vec())),
            Kind::Leave => {
                if record.voids() {
                    *self = Self {
                        vote: self.vote,
                        ..Self::default()
                    };
                }
                self.leaving = record.is_leaving();
            }
            Kind::Open | Kind::Mark => return Err(OutOfOrder::Kind),
        }
        Ok(())
    }

    /// The records that restate all of it, but for the entries.
    pub fn restated(&self) -> impl Iterator<Item = (Kind, LogId, &[u8])> {
        let vote = LogId {
            term: self.vote.term,
            node: self.vote.node,
            index: LogIndex(0),
        };
        let flag: &[u8] = if self.vote.committed { &[1] } else { &[0] };
        let leave = (Kind::Leave, LogId::default(), &[1][..]);
        let purge = (Kind::Purge, self.purged, &[][..]);
        let committed = (Kind::Committed, self.committed, &[][..]);
        let membership = self
            .membership
            .iter()
            .map(|(id, bytes)| (Kind::Membership, *id, bytes.as_slice()));
        [
            self.leaving.then_some(leave),
            (self.purged != LogId::default()).then_some(purge),
            (self.vote != Vote::default()).then_some((Kind::Vote, vote, flag)),
            (self.committed != LogId::default()).then_some(committed),
        ]
        .into_iter()
        .flatten()
        .chain(membership)
    }
}

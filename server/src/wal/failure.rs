//! What can go wrong, by who has to act: a log that is refused at a start, and a failure that ends the
//! process. Each says in one sentence what is the matter and, where there is one, the way out.

use std::io;

use super::ids::{ClusterId, LogIndex, Position, ShardId};
use super::record::Bad;
use super::segment::{self, BadHeader};
use super::state::OutOfOrder;

/// Exit codes of the process, as in sysexits.h.
pub const EXIT_CORRUPT: u8 = 65;
pub const EXIT_IO: u8 = 74;
pub const EXIT_REFUSED: u8 = 78;

/// What a damaged place looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    #[error("{0}")]
    Record(Bad),
    #[error("{why}, and the record at byte {witness} shows that it had been durable")]
    BeforeGood { why: Bad, witness: u64 },
    #[error("{0}, and too much behind it looks like records to tell a torn tail from damage")]
    Unclear(Bad),
    #[error("the segment ends here instead of at byte {end}")]
    EndsEarly { end: u64 },
    #[error("a segment begins with one opening record and holds no other")]
    NotOpen,
    #[error("there is no shard {}", .0.0)]
    Shard(ShardId),
    #[error("{0}")]
    Order(OutOfOrder),
}

/// Why a log is not used. Nothing on the disk was changed.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(
        "the log is damaged at {at}: {damage}. Replace this node's volume and let it catch up from its peers, \
         or restore a backup; ruvio-server --dump-log shows what can be read"
    )]
    Corrupt { at: Position, damage: Damage },
    #[error(
        "segment {} of the log is missing between or before others: part of the directory was deleted. Restore the \
         file, or replace this node's volume", segment::name(*.0)
    )]
    MissingSegment(u64),
    #[error(
        "entries {} to {} of shard {} are missing: the log begins with segment {first} and does not hold them, nor were \
         they purged. Restore the older segments, or replace this node's volume",
        .from.0, .to.0, .shard.0
    )]
    MissingEntries {
        shard: ShardId,
        from: LogIndex,
        to: LogIndex,
        first: u64,
    },
    #[error(
        "segment {} belongs to cluster {found}, this node to {wanted}. Point dir at this node's own directory",
        segment::name(*.sequence)
    )]
    OtherCluster {
        sequence: u64,
        found: ClusterId,
        wanted: ClusterId,
    },
    #[error("segment {} was segment {was}: it was renamed. Give it its name back", segment::name(*.sequence))]
    Renamed { sequence: u64, was: u64 },
    #[error("segment {} is not used: {why}", segment::name(*.sequence))]
    Header { sequence: u64, why: BadHeader },
    #[error("cannot read segment {}: {source}", segment::name(*.sequence))]
    Io { sequence: u64, source: io::Error },
    #[error("cannot read the folder of the log: {0}")]
    Folder(io::Error),
}

impl RecoverError {
    pub(super) fn io(sequence: u64, source: io::Error) -> Self {
        Self::Io { sequence, source }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Corrupt { .. } | Self::MissingSegment(_) | Self::MissingEntries { .. } => EXIT_CORRUPT,
            Self::Header {
                why: BadHeader::Damaged,
                ..
            } => EXIT_CORRUPT,
            Self::Io { .. } | Self::Folder(_) => EXIT_IO,
            Self::OtherCluster { .. } | Self::Renamed { .. } | Self::Header { .. } => EXIT_REFUSED,
        }
    }
}

/// The log cannot go on: the process has to end. Never retried, since after a failed sync nobody knows what
/// is on the disk.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    #[error("cannot {doing} {file}: {source}")]
    Io {
        doing: &'static str,
        file: String,
        source: io::Error,
    },
    #[error("a write to {file} took {took} of {wanted} bytes")]
    Short {
        file: String,
        wanted: usize,
        took: usize,
    },
    #[error("the log was handed records out of order: {0}")]
    Order(OutOfOrder),
    #[error("another thread of the log has failed")]
    Elsewhere,
    #[error("a thread of the log panicked")]
    Panic,
}

impl Fatal {
    /// Names what failed; costs nothing while nothing does.
    pub(super) fn io(doing: &'static str, file: &str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            doing,
            file: file.to_owned(),
            source,
        }
    }
}

/// An entry could not be read back from a log that was in order when it was opened.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read segment {}: {source}", segment::name(*.sequence))]
    Io { sequence: u64, source: io::Error },
    #[error("the log is damaged at {at}: {why}")]
    Damaged { at: Position, why: Bad },
    #[error("entry {} of shard {} is not in the log", .index.0, .shard.0)]
    Gone { shard: ShardId, index: LogIndex },
    #[error("the log has ended")]
    Ended,
}

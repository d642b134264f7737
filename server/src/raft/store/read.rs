//! Reads a shard's entries: from memory, and from the disk what memory no longer holds, on a thread that may wait.

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt, stream};
use openraft::RaftLogReader;
use openraft::alias::{EntryOf, VoteOf};

use super::{Store, invalid};
use crate::raft::types::C;
use crate::raft::wire;
use crate::wal::{self, LogIndex, Reader, ShardId};

/// Bytes that one read yields: what one append carries, and what is held of a log that is read through.
pub(super) const READ_BYTES: usize = 1 << 20;

impl Store {
    /// Entries from `from` to before `to`, ours: at least one if there is one, and about so many bytes.
    async fn read(&self, from: u64, to: u64, bytes_max: usize) -> io::Result<Vec<EntryOf<C>>> {
        loop {
            let (from, to) = {
                let log = self.log();
                let end = log.last.map_or(0, |last| wire::index(last.index)) + 1;
                let (from, to) = (from.max(log.floor + 1), to.min(end));
                if from >= to {
                    return Ok(Vec::new());
                }
                match log.recent.first() {
                    Some(first) if first <= from => return Ok(log.recent.read(from, to, bytes_max)),
                    Some(first) => (from, to.min(first)),
                    None => (from, to),
                }
            };
            let (reader, shard) = (self.inner.reader.clone(), self.inner.shard);
            let read = move || read_log(&reader, shard, from, to, bytes_max);
            let result = tokio::task::spawn_blocking(read)
                .await
                .map_err(io::Error::other)?;
            // What was purged while it was looked for is not missed.
            if result.is_ok() || self.log().floor < from {
                return result;
            }
        }
    }

    /// The library's range as ours.
    fn bounds(range: &impl RangeBounds<u64>) -> (u64, u64) {
        let from = match range.start_bound() {
            Bound::Included(start) => wire::index(*start),
            Bound::Excluded(start) => wire::index(*start).saturating_add(1),
            Bound::Unbounded => 1,
        };
        let to = match range.end_bound() {
            Bound::Included(end) => wire::index(*end).saturating_add(1),
            Bound::Excluded(end) => wire::index(*end),
            Bound::Unbounded => u64::MAX,
        };
        (from, to)
    }
}

/// Entries that memory no longer holds. Waits for the disk.
fn read_log(
    reader: &Reader,
    shard: ShardId,
    from: u64,
    to: u64,
    bytes_max: usize,
) -> io::Result<Vec<EntryOf<C>>> {
    let mut scan = reader.entries(shard, LogIndex(from)).map_err(io::Error::other)?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    for index in from..to {
        if bytes > bytes_max {
            break;
        }
        let entry = scan.next_entry().map_err(io::Error::other)?;
        let Some(entry) = entry.filter(|entry| entry.id.index.0 == index) else {
            let index = LogIndex(index);
            return Err(io::Error::other(wal::ReadError::Gone { shard, index }));
        };
        bytes += entry.payload.len();
        let payload = Bytes::copy_from_slice(entry.payload);
        entries.push(wire::entry_of_log(entry.kind, entry.id, payload).map_err(invalid)?);
    }
    Ok(entries)
}

impl RaftLogReader<C> for Store {
    async fn try_get_log_entries<RB>(&mut self, range: RB) -> io::Result<Vec<EntryOf<C>>>
    where
        RB: RangeBounds<u64> + Clone + Debug + Send,
    {
        let (mut from, to) = Self::bounds(&range);
        let mut all = Vec::new();
        loop {
            let some = self.read(from, to, READ_BYTES).await?;
            let Some(last) = some.last() else { return Ok(all) };
            from = wire::index(last.log_id.index) + 1;
            all.extend(some);
        }
    }

    /// Part by part: a log that is applied from far behind is never held in memory.
    async fn entries_stream<RB>(&mut self, range: RB) -> impl Stream<Item = io::Result<EntryOf<C>>> + Send
    where
        RB: RangeBounds<u64> + Clone + Debug + Send,
    {
        let (from, to) = Self::bounds(&range);
        let part = move |store: Self, from| async move {
            let part = store.read(from, to, READ_BYTES).await?;
            let next = part.last().map(|last| wire::index(last.log_id.index) + 1);
            Ok::<_, io::Error>(next.map(|next| (stream::iter(part.into_iter().map(Ok)), (store, next))))
        };
        stream::try_unfold((self.clone(), from), move |(store, from)| part(store, from)).try_flatten()
    }

    async fn read_vote(&mut self) -> io::Result<Option<VoteOf<C>>> {
        let vote = self.log().vote;
        Ok((vote != wal::Vote::default()).then(|| wire::library_vote(vote)))
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> io::Result<Vec<EntryOf<C>>> {
        let (from, to) = Self::bounds(&(start..end));
        self.read(from, to, READ_BYTES).await
    }
}

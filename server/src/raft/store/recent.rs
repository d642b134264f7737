//! The newest entries of a shard in memory, so that followers are sent them and the machine applies them without a
//! look at the disk.
//!
//! Invariant: they are contiguous, and end with the shard's last entry.
//! Invariant: an entry leaves only when the log has written it, since until then it can be read nowhere else; what
//! is not yet written is bounded by the lane.

use std::collections::VecDeque;

use openraft::EntryPayload;
use openraft::alias::EntryOf;

use crate::raft::types::C;
use crate::raft::wire;

/// What an entry takes beside its effects, about.
const ENTRY_BYTES: usize = 128;
const MEMBERSHIP_BYTES: usize = 1 << 10;

pub(super) struct Recent {
    entries: VecDeque<EntryOf<C>>,
    bytes: usize,
    bytes_max: usize,
}

fn weight(entry: &EntryOf<C>) -> usize {
    ENTRY_BYTES
        + match &entry.payload {
            EntryPayload::Blank => 0,
            EntryPayload::Normal(batch) => batch.0.len(),
            EntryPayload::Membership(_) => MEMBERSHIP_BYTES,
        }
}

/// All indices are ours.
impl Recent {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            bytes_max,
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn first(&self) -> Option<u64> {
        self.entries.front().map(|entry| wire::index(entry.log_id.index))
    }

    pub fn push(&mut self, entry: EntryOf<C>) {
        self.bytes += weight(&entry);
        self.entries.push_back(entry);
    }

    /// Keeps to the bound, as far as the log has written.
    pub fn trim(&mut self, written: u64) {
        while self.bytes > self.bytes_max && self.first().is_some_and(|first| first <= written) {
            self.pop_front();
        }
    }

    /// What is in the image is asked for no more.
    pub fn purge(&mut self, up_to: u64) {
        while self.first().is_some_and(|first| first <= up_to) {
            self.pop_front();
        }
    }

    pub fn truncate(&mut self, from: u64) {
        while let Some(last) = self.entries.back()
            && wire::index(last.log_id.index) >= from
        {
            self.bytes -= weight(last);
            self.entries.pop_back();
        }
    }

    /// Entries of a range that it holds from the start on: at least one, if there are any, and no more bytes than
    /// asked for.
    pub fn read(&self, from: u64, to: u64, bytes_max: usize) -> Vec<EntryOf<C>> {
        let Some(skip) = self.first().and_then(|first| from.checked_sub(first)) else {
            return Vec::new();
        };
        let count = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut left = Some(bytes_max);
        let taken = self.entries.iter().skip(skip).take(count).take_while(|entry| {
            let fits = left.is_some();
            left = left.and_then(|left| left.checked_sub(weight(entry)));
            fits
        });
        taken.cloned().collect()
    }

    fn pop_front(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.bytes -= weight(&entry);
        }
    }
}

//! `COMMANDLOG`: the last commands that took long (`SLOWLOG`), and those whose request or reply was large,
//! shortened so that the log stays small.

use std::collections::VecDeque;

use super::secrets::{REDACTED, is_secret};
use crate::command::{Args, Entry};

/// Words kept of a command; the last says how many more there were.
const WORDS: usize = 32;
/// Bytes kept of a word.
const WORD_BYTES: usize = 128;

/// What a log is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// Microseconds.
    Slow,
    /// Bytes.
    LargeRequest,
    LargeReply,
}

impl LogKind {
    pub const ALL: [Self; 3] = [Self::Slow, Self::LargeRequest, Self::LargeReply];
}

pub struct LogEntry {
    pub id: u64,
    /// Unix time in seconds.
    pub at_seconds: u64,
    /// The time or the size for which it stands here.
    pub value: u64,
    pub words: Vec<Vec<u8>>,
    pub addr: Vec<u8>,
    pub name: Vec<u8>,
}

#[derive(Default)]
pub struct CommandLog {
    /// None: off.
    pub threshold: Option<u64>,
    pub len_max: usize,
    next_id: u64,
    /// Newest first.
    entries: VecDeque<LogEntry>,
}

impl CommandLog {
    /// A log without room gives no numbers away either.
    pub(super) fn wants(&self, value: u64) -> bool {
        self.len_max > 0 && self.threshold.is_some_and(|threshold| value >= threshold)
    }

    /// Keeps an entry under the next number.
    pub(in crate::engine) fn push(&mut self, entry: LogEntry) {
        self.entries.push_front(LogEntry {
            id: self.next_id,
            ..entry
        });
        self.next_id += 1;
        self.cut();
    }

    /// Lets go of what `len_max` no longer allows.
    pub(super) fn cut(&mut self) {
        self.entries.truncate(self.len_max);
    }

    /// Newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LogEntry> {
        self.entries.iter()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn reset(&mut self) {
        self.entries.clear();
    }
}

/// The words of a command as they are kept.
pub(super) fn shorten(entry: &Entry, args: Args<'_>) -> Vec<Vec<u8>> {
    let kept = args.len().min(WORDS);
    let mut words = Vec::with_capacity(kept);
    for at in 0..kept {
        let word = args.get(at);
        words.push(if args.len() > WORDS && at == WORDS - 1 {
            format!("... ({} more arguments)", args.len() - WORDS + 1).into_bytes()
        } else if is_secret(entry, args, at) {
            REDACTED.to_vec()
        } else if word.len() > WORD_BYTES {
            let mut short = word[..WORD_BYTES].to_vec();
            short.extend(format!("... ({} more bytes)", word.len() - WORD_BYTES).into_bytes());
            short
        } else {
            word.to_vec()
        });
    }
    words
}

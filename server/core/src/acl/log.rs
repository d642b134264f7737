//! What was refused lately, newest first: like refusals within a minute are one entry with a count.

use std::collections::VecDeque;

use super::check::Reason;

/// Like refusals that far apart are told apart. Milliseconds.
const SAME_WITHIN_MS: u64 = 60_000;
/// How many entries are looked at for a like one.
const LOOK_BACK: usize = 10;

/// Where the refused command stood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    TopLevel,
    Multi,
}

impl Context {
    pub fn name(self) -> &'static str {
        match self {
            Self::TopLevel => "toplevel",
            Self::Multi => "multi",
        }
    }
}

impl Reason {
    pub const ALL: [Self; 5] = [
        Self::Database,
        Self::Command,
        Self::Key,
        Self::Auth,
        Self::Channel,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Command => "command",
            Self::Key => "key",
            Self::Auth => "auth",
            Self::Channel => "channel",
        }
    }
}

/// A refusal as it happens.
pub struct Refusal {
    pub reason: Reason,
    pub context: Context,
    /// The command, key, channel or database that was refused.
    pub object: Vec<u8>,
    pub username: Vec<u8>,
    /// The line of `CLIENT INFO`.
    pub client_info: Vec<u8>,
}

pub struct LogEntry {
    pub refusal: Refusal,
    pub count: u64,
    pub id: u64,
    pub created_ms: u64,
    pub updated_ms: u64,
}

/// Refusals since the start by reason, for `INFO`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Refused {
    pub auth: u64,
    pub command: u64,
    pub key: u64,
    pub channel: u64,
    pub database: u64,
}

pub struct AclLog {
    entries: VecDeque<LogEntry>,
    next_id: u64,
    /// `acllog-max-len`.
    pub len_max: usize,
    pub refused: Refused,
}

impl Default for AclLog {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            next_id: 0,
            len_max: 128,
            refused: Refused::default(),
        }
    }
}

impl AclLog {
    pub fn add(&mut self, refusal: Refusal, now_ms: u64) {
        let refused = &mut self.refused;
        *match refusal.reason {
            Reason::Auth => &mut refused.auth,
            Reason::Command => &mut refused.command,
            Reason::Key => &mut refused.key,
            Reason::Channel => &mut refused.channel,
            Reason::Database => &mut refused.database,
        } += 1;
        let like = self
            .entries
            .iter()
            .take(LOOK_BACK)
            .position(|entry| entry.is_like(&refusal, now_ms));
        if self.len_max == 0 {
        } else if let Some(mut entry) = like.and_then(|at| self.entries.remove(at)) {
            entry.count += 1;
            entry.updated_ms = now_ms;
            entry.refusal.client_info = refusal.client_info;
            self.entries.push_front(entry);
        } else {
            let id = self.next_id;
            self.next_id += 1;
            self.entries.push_front(LogEntry {
                refusal,
                count: 1,
                id,
                created_ms: now_ms,
                updated_ms: now_ms,
            });
        }
        self.entries.truncate(self.len_max);
    }

    pub fn reset(&mut self) {
        self.entries.clear();
    }

    /// Newest first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &LogEntry> {
        self.entries.iter()
    }
}

impl LogEntry {
    fn is_like(&self, other: &Refusal, now_ms: u64) -> bool {
        let own = &self.refusal;
        own.reason == other.reason
            && own.context == other.context
            && self.updated_ms.abs_diff(now_ms) <= SAME_WITHIN_MS
            && own.object == other.object
            && own.username == other.username
    }
}

//! Where a session stands in transactions and subscriptions, for those who only ask.

use super::session::Session;
use crate::command::Entry;

impl Session {
    pub fn in_multi(&self) -> bool {
        false
    }

    /// Commands that `MULTI` has taken in; -1 outside of it.
    pub fn queued_commands(&self) -> i64 {
        -1
    }

    pub fn queued_bytes(&self) -> usize {
        0
    }

    pub fn watched_keys(&self) -> usize {
        0
    }

    /// A watched key has changed: `EXEC` will refuse.
    pub fn watch_broken(&self) -> bool {
        false
    }

    /// Whether this is the `EXEC` of a transaction with a write in it.
    pub fn exec_would_write(&self, _entry: &Entry) -> bool {
        false
    }

    /// Channels, patterns and shard channels.
    pub fn subscriptions(&self) -> [usize; 3] {
        [0; 3]
    }

    /// Whether the user may listen to all that the session listens to.
    pub fn may_stay_subscribed(&self) -> bool {
        true
    }
}

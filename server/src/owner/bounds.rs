//! What a client may hold of this node: replies it does not read, requests it does not finish, idle time.
//!
//! Bytes are those that buffers really take. A client over its limit is dropped with its buffers: one that
//! does not read cannot be told.

use ruvio_core::command::Args;
use ruvio_core::engine::Door;
use ruvio_core::exec::Now;
use ruvio_core::options::{Id, OutputClass};

use super::Owner;
use super::connection::Hold;

/// How long a client that is being closed may take to read what it is owed.
const FAREWELL_MS: u64 = 10_000;
/// Connections looked at in one tick.
const LOOKS: usize = 256;

impl Owner {
    /// Drops the client if its unread replies are above the limits of its class. `false`: it is gone.
    pub(super) fn hold_to_output_limit(&mut self, index: u32, now: Now) -> bool {
        let Some(connection) = self.connections.get_mut(index) else {
            return false;
        };
        let waiting = connection.output_memory() as u64;
        if waiting == 0 {
            connection.over_soft_since_ms = None;
            return true;
        }
        if connection.closing {
            let since_ms = *connection.over_soft_since_ms.get_or_insert(now.ms());
            if now.ms().saturating_sub(since_ms) < FAREWELL_MS {
                return true;
            }
            self.abandon(index);
            return false;
        }
        let class = self.engine.output_class(connection.client);
        let limit = self.engine.output_limit(connection.client);
        let over = |bytes: u64| bytes > 0 && waiting > bytes;
        let mut drop = over(limit.hard_bytes);
        if over(limit.soft_bytes) {
            let since_ms = *connection.over_soft_since_ms.get_or_insert(now.ms());
            drop |= now.ms().saturating_sub(since_ms) >= limit.soft_seconds.saturating_mul(1000);
        } else {
            connection.over_soft_since_ms = None;
        }
        if drop {
            let class = if class == OutputClass::PubSub {
                "pubsub"
            } else {
                "normal"
            };
            tracing::warn!(
                bytes = waiting,
                class,
                "a client that does not read is dropped (client-output-buffer-limit)"
            );
            self.engine.world.stats.output_limit_disconnections += 1;
            self.abandon(index);
        }
        !drop
    }

    /// Has the sessions know what has gone over their sockets, if the command shows it.
    pub(super) fn note_traffic(&mut self, args: Args<'_>, now: Now) {
        if !shows_traffic(args) {
            return;
        }
        for index in self.connections.places() {
            if let Some(connection) = self.connections.get(index)
                && let Some(session) = self.engine.world.sessions.get_mut(connection.client)
            {
                let traffic = connection.traffic();
                if session.traffic.has_moved(&traffic) {
                    session.active_ms = now.ms();
                }
                session.traffic.moved = traffic.moved;
            }
        }
    }

    /// Closes at once, whatever it is owed.
    pub(super) fn abandon(&mut self, index: u32) {
        if let Some(connection) = self.connections.get_mut(index) {
            connection.closing = true;
            connection.drop_pending();
            connection.input = Vec::new();
            self.list(index);
        }
    }

    /// A few connections each tick: figures for `CLIENT LIST`, soft limits, idle time.
    pub(super) fn look_after_some(&mut self, now: Now) {
        let idle_max_ms = self
            .engine
            .world
            .options
            .idle_seconds_max()
            .map(|seconds| seconds * 1000);
        let places = self.connections.span();
        for _ in 0..LOOKS.min(places) {
            self.next_look = (self.next_look + 1) % places;
            let index = self.next_look as u32;
            let Some(connection) = self.connections.get_mut(index) else {
                continue;
            };
            connection.shrink_input();
            if connection.is_late() {
                self.abandon(index);
                continue;
            }
            let (client, hold) = (connection.client, connection.hold);
            let traffic = connection.traffic();
            let has_output = connection.output_memory() > 0;
            let (mut idle, mut is_link) = (false, false);
            if let Some(session) = self.engine.world.sessions.get_mut(client) {
                // Who sends a long request, or reads a long reply, is not idle.
                if session.traffic.has_moved(&traffic) {
                    session.active_ms = now.ms();
                }
                session.traffic = traffic;
                is_link = session.entrance.door == Door::Peer;
                idle = idle_max_ms.is_some_and(|max| now.ms().saturating_sub(session.active_ms) > max);
            }
            let waits = matches!(hold, Hold::Blocked | Hold::BlockedElsewhere);
            let spared = waits || is_link || self.engine.output_class(client) != OutputClass::Normal;
            if idle && !spared {
                self.abandon(index);
            } else if has_output {
                self.hold_to_output_limit(index, now);
            }
        }
    }

    /// Whether unfinished requests take more than `client-query-buffer-limit`.
    pub(super) fn is_over_input_limit(&self, index: u32) -> bool {
        let limit = self.engine.world.options.count(Id::ClientQueryBufferLimit);
        self.connections.get(index).is_some_and(|c| c.input.len() > limit)
    }
}

fn shows_traffic(args: Args<'_>) -> bool {
    let is = |at: usize, name: &str| {
        args.try_get(at)
            .is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    is(0, "INFO") || is(0, "CLIENT") && (is(1, "LIST") || is(1, "INFO"))
}

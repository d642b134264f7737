//! `CLIENT PAUSE`: commands that arrive meanwhile are kept and run, in the order they came, when it ends.
//!
//! A paused client is one whose command has not been looked at any further than that: when its turn comes
//! the command goes through every check again. Each client keeps one command; the caller reads no further.

use std::collections::VecDeque;

use super::course::whole_entry;
use super::roles::concerns_keys;
use super::session::{ClientId, ReplyMode};
use super::transaction::is_exec;
use super::{Door, Engine, Flow, Parcel, World};
use crate::command::spec::Flags;
use crate::command::{Args, COMMANDS, Entry};
use crate::exec::Now;
use crate::resp::Reply;

/// What waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Writes,
    All,
}

#[derive(Default)]
pub struct Pause {
    /// Until when, Unix milliseconds.
    until: Option<(u64, Scope)>,
    waiting: VecDeque<ClientId>,
}

impl Pause {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.until.is_some()
    }

    /// Keys must not go by themselves while writes wait: neither expire nor be evicted.
    pub fn holds_keys(&self) -> bool {
        self.is_on()
    }

    /// How long it lasts, for `INFO`: milliseconds left and what waits.
    pub fn left(&self, now: Now) -> Option<(u64, Scope)> {
        self.until
            .map(|(until, scope)| (until.saturating_sub(now.ms()), scope))
    }

    /// A longer pause is never made shorter, nor one for all commands one for writes.
    pub fn begin(&mut self, until_ms: u64, scope: Scope, now: Now) {
        let (known_ms, known) = self
            .until
            .filter(|(until, _)| *until > now.ms())
            .unwrap_or((0, Scope::Writes));
        let scope = if known == Scope::All { known } else { scope };
        self.until = Some((until_ms.max(known_ms), scope));
    }

    /// The next tick lets the waiting ones go on.
    pub fn end(&mut self) {
        self.until = None;
    }

    /// When those who wait may go on, Unix milliseconds.
    pub fn deadline_ms(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then(|| self.until.map_or(0, |(until, _)| until))
    }

    /// Some wait though the pause is over.
    fn is_due(&self, now: Now) -> bool {
        self.until.is_none_or(|(until, _)| until <= now.ms())
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|waiting| *waiting != client);
    }
}

impl World {
    /// Keeps the command if the pause holds it back.
    pub(super) fn hold_back(&mut self, client: ClientId, entry: &Entry, args: Args<'_>, now: Now) -> bool {
        if self.pause.is_due(now) {
            if self.pause.waiting.is_empty() {
                self.pause.end();
            }
            return false;
        }
        if !self.holds(client, entry) {
            return false;
        }
        let Some(session) = self.sessions.get_mut(client) else {
            return false;
        };
        // Its reply will be dropped, if so asked, when it runs.
        if session.reply_mode == ReplyMode::Skip {
            session.reply_mode = ReplyMode::SkipNext;
        }
        session.paused = Some(Box::new(args.to_owned()));
        self.pause.waiting.push_back(client);
        true
    }

    /// Whether a pause, while it lasts, is about the command. Other nodes' clients are paused where they are.
    fn holds(&self, client: ClientId, entry: &Entry) -> bool {
        let (Some(session), Some((_, scope))) = (self.sessions.get(client), self.pause.until) else {
            return false;
        };
        let writes = Flags::WRITE | Flags::MAY_REPLICATE;
        let is_write = entry.flags.any(writes) || session.exec_would_write(entry);
        session.entrance.door != Door::Peer && (is_write || scope == Scope::All)
    }
}

impl Engine {
    /// Whether the command, about to leave this node, has to stay until a pause is over.
    pub fn must_stay(&self, client: ClientId, args: Args<'_>, now: Now) -> bool {
        self.world.pause.is_on()
            && !self.world.pause.is_due(now)
            && self.is_routed(client)
            && COMMANDS.find(args.get(0)).is_some_and(|entry| {
                let entry = whole_entry(entry, args);
                (concerns_keys(entry) || is_exec(entry)) && self.world.holds(client, entry)
            })
    }

    /// Runs what was held back, once the pause is over.
    pub(super) fn resume(&mut self, now: Now) {
        if !self.world.pause.is_due(now) {
            return;
        }
        self.world.pause.end();
        // Those who are held back anew, by a pause that one of these commands begins, queue up behind.
        for _ in 0..self.world.pause.waiting.len() {
            let Some(client) = self.world.pause.waiting.pop_front() else {
                return;
            };
            let Some(args) = self.world.sessions.get_mut(client).and_then(|s| s.paused.take()) else {
                continue;
            };
            let mut reply = Reply::default();
            let before = self.world.outbox.len();
            let flow = self.run_here(client, args.view(), now, &mut reply);
            // What the command sent to its own client goes behind its reply.
            let bytes = reply.take().into();
            let answer = Parcel {
                client,
                is_answer: true,
                bytes,
            };
            self.world.outbox.insert(before, answer);
            match flow {
                Flow::Continue => self.world.unblocked.push(client),
                Flow::Blocked => {}
                // Whoever waits for the answer has to hear of it, too.
                Flow::Close => {
                    self.world.close(client);
                    self.world.unblocked.push(client);
                }
            }
        }
    }
}

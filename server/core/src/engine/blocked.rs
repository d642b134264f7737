//! Commands that wait for a key: who is served when it changes, in which order, and when time is up.
//!
//! A waiting command is kept whole and run again when one of its keys is touched and holds what it waits
//! for; it answers or goes on waiting, with its first deadline and its place in the queue. A command may also
//! name a time at which it wants to be tried again. Serving may touch
//! keys that others wait for (`BLMOVE`): that goes on until no key is ready. Deadlines stand in order, so
//! that neither asking for the next one nor serving it walks those who wait.

use super::Engine;
use super::dispatch::Standing;
use super::session::{Blocked, ClientId, ReplyMode};
use crate::command::spec::Group;
use crate::command::{Args, COMMANDS, Entry};
use crate::exec::{Block, Caller, Now, OnTimeout};
use crate::keyspace::interest::Ticket;
use crate::keyspace::{Db, Type};
use crate::resp::Reply;

impl Engine {
    pub(super) fn start_waiting(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        block: Block,
        now: Now,
    ) {
        let Some(session) = self.world.sessions.get_mut(client) else {
            return;
        };
        let ticket = self.shard.interest.take_ticket();
        for key in block.keys.view().iter() {
            self.shard.interest.block(session.db, key, ticket, client);
        }
        let number = self.world.wishes.note_wait(client, block.awaits);
        let blocked = Box::new(Blocked {
            command: entry.id,
            args: args.to_owned(),
            keys: block.keys,
            db: session.db,
            ticket,
            deadline_ms: block.deadline_ms,
            wake_ms: block.wake_ms,
            on_timeout: block.on_timeout,
            awaits: block.awaits,
            number,
            has_come: false,
            since_ms: now.ms(),
            silent: session.reply_mode != ReplyMode::On,
        });
        if let Some(next_ms) = blocked.next_ms() {
            self.world.deadlines.insert((next_ms, client));
        }
        session.blocked = Some(blocked);
        self.world.blocked_count += 1;
    }

    /// Takes the client out of every queue. `None` if it did not wait.
    pub(super) fn stop_waiting(&mut self, client: ClientId) -> Option<Box<Blocked>> {
        self.select_waiting(client);
        let blocked = self.world.sessions.get_mut(client)?.blocked.take()?;
        for key in blocked.keys.view().iter() {
            self.shard.interest.unblock(blocked.db, key, blocked.ticket);
        }
        if let Some(next_ms) = blocked.next_ms() {
            self.world.deadlines.remove(&(next_ms, client));
        }
        self.world.blocked_count -= 1;
        Some(blocked)
    }

    /// Ends a wait from outside: `write` says how (`CLIENT UNBLOCK`, a timeout). The command counts as a
    /// call that is over.
    pub(super) fn end_wait(&mut self, client: ClientId, write: impl FnOnce(&mut Reply)) -> bool {
        let Some(blocked) = self.stop_waiting(client) else {
            return false;
        };
        self.world.stats.commands[blocked.command as usize].calls += 1;
        self.release(client, &blocked, write);
        true
    }

    /// Sends the answer and lets the connection go on.
    fn release(&mut self, client: ClientId, blocked: &Blocked, write: impl FnOnce(&mut Reply)) {
        if let Some(session) = self.world.sessions.get_mut(client) {
            session.commands += 1;
        }
        if !blocked.silent {
            self.world.send_answer(client, write);
        }
        self.world.unblocked.push(client);
    }

    /// Runs again what waits for keys that changed, until no key is ready.
    pub(super) fn serve_ready(&mut self, now: Now) {
        while let Some((db, key)) = self.shard.interest.next_ready() {
            // Commands of a transaction share its time, but those who wait see how long it really took.
            let now = self.shard.advance(self.world.time_since(now));
            // Who begins to wait because of this very round is not part of it.
            let last = self.shard.interest.last_ticket();
            let mut at = Ticket::default();
            while let Some((ticket, client)) = self.shard.interest.next_waiting(db, &key, at)
                && ticket <= last
            {
                at = ticket;
                if self.concerns(client, db, &key, now) {
                    self.try_again(client, now, true);
                }
            }
        }
    }

    /// Whether what the key holds now is what the client's command waits for.
    fn concerns(&mut self, client: ClientId, db: u16, key: &[u8], now: Now) -> bool {
        let Some(blocked) = self.world.sessions.get(client).and_then(|s| s.blocked.as_ref()) else {
            return false;
        };
        let Some(wanted) = awaited(COMMANDS.get(blocked.command)) else {
            return true;
        };
        let mut db = Db {
            shard: &mut self.shard,
            index: db,
            now,
            no_touch: true,
        };
        let key = db.key(key);
        db.find_write(key)
            .is_some_and(|slot| Type::of(slot.kind()) == wanted)
    }

    /// Runs the client's waiting command once more. `may_block` off: it must answer now.
    pub(super) fn try_again(&mut self, client: ClientId, now: Now, may_block: bool) {
        self.select_waiting(client);
        let Some(session) = self.world.sessions.get_mut(client) else {
            return;
        };
        if session.closing {
            // It takes nothing from others any more.
            return;
        }
        let standing = Standing::of(session);
        let Some(blocked) = session.blocked.as_mut() else {
            return;
        };
        let args = std::mem::take(&mut blocked.args);
        let entry = COMMANDS.get(blocked.command);
        let mut reply = Reply::new(session.protocol);
        let caller = Caller {
            client,
            may_block,
            retry: true,
        };
        // Rules and memory may have changed meanwhile.
        let outcome = match self.admit(client, standing, entry, args.view(), now) {
            Ok(()) => self.call(standing, entry, args.view(), caller, now, &mut reply),
            Err(error) => {
                self.world.stats.commands[entry.id as usize].rejected += 1;
                self.reject(error, &mut reply);
                Ok(())
            }
        };
        match outcome {
            Ok(()) => {
                if let Some(blocked) = self.stop_waiting(client) {
                    let bytes = reply.take();
                    self.release(client, &blocked, |out| out.raw(&bytes));
                }
            }
            Err(block) => {
                if let Some(blocked) = self
                    .world
                    .sessions
                    .get_mut(client)
                    .and_then(|s| s.blocked.as_mut())
                {
                    blocked.args = args;
                    let before = blocked.next_ms();
                    // Later than now, so that time passes between two tries.
                    blocked.wake_ms = block.wake_ms.map(|wake_ms| wake_ms.max(now.ms() + 1));
                    let next = blocked.next_ms();
                    self.world.reschedule(client, before, next);
                }
            }
        }
    }

    /// Answers those whose time is up, in the order of their deadlines.
    pub(super) fn time_out(&mut self, now: Now) {
        while let Some((deadline_ms, client)) = self.world.deadlines.first().copied()
            && deadline_ms <= now.ms()
        {
            self.world.deadlines.pop_first();
            let blocked = self
                .world
                .sessions
                .get_mut(client)
                .and_then(|s| s.blocked.as_mut());
            let is_up = |blocked: &Blocked| blocked.deadline_ms.is_some_and(|at| at <= now.ms());
            match blocked.map(|blocked| is_up(blocked).then_some(blocked.on_timeout)) {
                None => {}
                Some(None) => self.try_again(client, now, true),
                Some(Some(OnTimeout::Null)) => drop(self.end_wait(client, Reply::null)),
                Some(Some(OnTimeout::NullArray)) => drop(self.end_wait(client, Reply::null_array)),
                Some(Some(OnTimeout::RunAgain)) => self.try_again(client, now, false),
            }
            self.settle(now);
        }
    }

    /// The earliest deadline among those who wait, Unix milliseconds.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let first = self.world.deadlines.first().map(|(deadline_ms, _)| *deadline_ms);
        let others = self
            .world
            .pause
            .deadline_ms()
            .into_iter()
            .chain(self.compaction_due_ms);
        first.into_iter().chain(others).min()
    }
}

/// The type that the command's keys must hold for it to be worth another try; `None`: it wants to see
/// every change, also that a key is gone.
fn awaited(entry: &Entry) -> Option<Type> {
    match entry.spec.group {
        Group::List => Some(Type::List),
        Group::SortedSet => Some(Type::SortedSet),
        Group::Stream if entry.spec.name == "xread" => Some(Type::Stream),
        _ => None,
    }
}

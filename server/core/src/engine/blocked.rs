//! Commands that wait for a key: who is served when it changes, in which order, and when time is up.
//!
//! A waiting command is kept whole and run again when one of its keys is touched; it answers or goes on
//! waiting, with its first deadline and its place in the queue.

use super::session::{Blocked, ClientId};
use super::{Engine, World};
use crate::command::{Args, COMMANDS, Entry};
use crate::error;
use crate::exec::{Block, Caller, Exec, Failure, Now, OnTimeout};
use crate::keyspace::Db;
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
        for key in block.keys.view().iter() {
            self.shard.interest.block(session.db, key, client);
        }
        session.blocked = Some(Box::new(Blocked {
            command: entry.id,
            args: args.to_owned(),
            keys: block.keys,
            db: session.db,
            deadline_ms: block.deadline_ms,
            on_timeout: block.on_timeout,
            since_ms: now.ms(),
        }));
        self.world.blocked_count += 1;
    }

    /// Takes the client out of every queue. `None` if it did not wait.
    pub(super) fn stop_waiting(&mut self, client: ClientId) -> Option<Box<Blocked>> {
        let blocked = self.world.sessions.get_mut(client)?.blocked.take()?;
        for key in blocked.keys.view().iter() {
            self.shard.interest.unblock(blocked.db, key, client);
        }
        self.world.blocked_count -= 1;
        Some(blocked)
    }

    /// Ends a wait from outside: `write` says how (`CLIENT UNBLOCK`, a timeout).
    pub(super) fn end_wait(&mut self, client: ClientId, write: impl FnOnce(&mut Reply)) -> bool {
        if self.stop_waiting(client).is_none() {
            return false;
        }
        self.world.send(client, write);
        self.world.unblocked.push(client);
        true
    }

    /// Marks watchers and runs again what waits for keys that changed, until no key is ready.
    pub(super) fn serve_ready(&mut self, now: Now) {
        self.shard.interest.dirty.clear();
        while let Some((db, key)) = self.shard.interest.ready.pop_front() {
            for client in self.shard.interest.waiting(db, &key) {
                self.try_again(client, now, true);
            }
        }
    }

    /// Runs the client's waiting command once more. `may_block` off: it must answer now.
    pub(super) fn try_again(&mut self, client: ClientId, now: Now, may_block: bool) {
        let Some(session) = self.world.sessions.get_mut(client) else {
            return;
        };
        let Some(mut blocked) = session.blocked.take() else {
            return;
        };
        let mut reply = Reply::new(session.protocol);
        let no_touch = session.no_touch;
        let entry = COMMANDS.get(blocked.command);
        let args = std::mem::take(&mut blocked.args);
        let db = Db {
            shard: &mut self.shard,
            index: blocked.db,
            now,
            no_touch,
        };
        let caller = Caller {
            client,
            may_block,
            retry: true,
        };
        let outcome = (entry.spec.run)(
            &mut Exec {
                now,
                caller,
                db,
                world: &mut self.world,
                reply: &mut reply,
            },
            args.view(),
        );
        let answered = match outcome {
            Ok(()) => true,
            Err(Failure::Block(_)) => false,
            // The key now holds another type: what is waited for may still come.
            Err(Failure::Error(error)) if error == error::WRONG_TYPE && may_block => false,
            Err(Failure::Error(error)) => {
                reply.truncate(0);
                self.reject(error, &mut reply);
                true
            }
        };
        blocked.args = args;
        restore(&mut self.world, client, blocked);
        if answered {
            let bytes = reply.take();
            self.end_wait(client, |out| out.raw(&bytes));
        }
    }

    /// Answers those whose time is up.
    pub(super) fn time_out(&mut self, now: Now) {
        if self.world.blocked_count == 0 {
            return;
        }
        let late: Vec<(ClientId, OnTimeout)> = self
            .world
            .sessions
            .iter()
            .filter_map(|s| {
                let blocked = s.blocked.as_ref()?;
                (blocked.deadline_ms? <= now.ms()).then_some((s.id, blocked.on_timeout))
            })
            .collect();
        for (client, on_timeout) in late {
            match on_timeout {
                OnTimeout::Null => drop(self.end_wait(client, |out| out.null())),
                OnTimeout::NullArray => drop(self.end_wait(client, |out| out.null_array())),
                OnTimeout::RunAgain => self.try_again(client, now, false),
            }
        }
        self.settle(now);
    }

    /// The earliest deadline among those who wait, Unix milliseconds.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        let pause = self.world.pause.deadline_ms();
        if self.world.blocked_count == 0 {
            return pause;
        }
        self.world
            .sessions
            .iter()
            .filter_map(|s| s.blocked.as_ref()?.deadline_ms)
            .chain(pause)
            .min()
    }
}

fn restore(world: &mut World, client: ClientId, blocked: Box<Blocked>) {
    if let Some(session) = world.sessions.get_mut(client) {
        session.blocked = Some(blocked);
    }
}

//! From a command's words to its function: the checks, in Valkey's order, and what follows a command.

use super::session::{ClientId, ReplyMode, Session};
use super::{Ahead, Engine, Flow};
use crate::command::{Args, COMMANDS, Entry};
use crate::error::{self, Error};
use crate::exec::{Caller, Exec, Failure, Now};
use crate::keyspace::Db;
use crate::resp::{Protocol, Reply};

impl Engine {
    /// Runs one command of `client` and appends its reply to `reply`.
    pub fn execute(&mut self, client: ClientId, args: Args<'_>, now: Now, reply: &mut Reply) -> Flow {
        let ahead = Ahead {
            entry: COMMANDS.find(args.get(0)),
            ..Ahead::default()
        };
        self.execute_ahead(client, args, ahead, now, reply)
    }

    /// The same for a command that was looked up ahead.
    pub fn execute_ahead(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let now = self.shard.advance(now);
        let Some(session) = self
            .world
            .sessions
            .get_mut(client)
            .filter(|session| !session.closing)
        else {
            return Flow::Close;
        };
        session.active_ms = now.ms();
        session.commands += 1;
        if session.reply_mode == ReplyMode::SkipNext {
            session.reply_mode = ReplyMode::Skip;
        }
        reply.set_proto(session.protocol);
        let start = reply.len();
        let waits = match resolve(ahead.entry, args) {
            Err(error) => {
                // Strangers are not told what there is.
                let error = self.check_login(client, ahead.entry).err().unwrap_or(error);
                self.reject(error, reply);
                false
            }
            Ok(entry) => {
                session.last_command = Some(entry.id);
                self.admit_and_run(client, entry, args, now, reply)
            }
        };
        self.settle(now);
        let Some(session) = self.world.sessions.get_mut(client) else {
            return Flow::Close;
        };
        match session.reply_mode {
            ReplyMode::On | ReplyMode::SkipNext => {}
            ReplyMode::Off => reply.truncate(start),
            ReplyMode::Skip => {
                reply.truncate(start);
                session.reply_mode = ReplyMode::On;
            }
        }
        match (session.closing, waits) {
            (true, _) => Flow::Close,
            (false, true) => Flow::Blocked,
            (false, false) => Flow::Continue,
        }
    }

    /// `true`: the client now waits.
    fn admit_and_run(
        &mut self,
        client: ClientId,
        entry: &'static Entry,
        args: Args<'_>,
        now: Now,
        reply: &mut Reply,
    ) -> bool {
        if let Err(error) = self.admit(client, entry, args, now) {
            self.world.stats.commands[entry.id as usize].rejected += 1;
            self.reject(error, reply);
            return false;
        }
        if self.world.pause.is_on() && self.world.hold_back(client, entry, args, now) {
            return true;
        }
        let caller = Caller {
            client,
            may_block: true,
            retry: false,
        };
        match self.call(entry, args, caller, now, reply) {
            Ok(()) => false,
            Err(block) => {
                self.start_waiting(client, entry, args, *block, now);
                true
            }
        }
    }

    /// May this command run at all, now?
    pub(super) fn admit(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Result<(), Error> {
        if !self
            .world
            .sessions
            .get(client)
            .is_some_and(|session| session.identity.is_unrestricted())
        {
            self.check_login(client, Some(entry))?;
            self.check_rules(client, entry, args, now)?;
        }
        if self.world.out_of_memory && entry.flags.has(crate::command::spec::Flags::DENYOOM) {
            return Err(error::OOM);
        }
        Ok(())
    }

    /// Runs the command's function and keeps its statistics. An error is written as the reply; `Err` is a
    /// wish to wait.
    pub(super) fn call(
        &mut self,
        entry: &'static Entry,
        args: Args<'_>,
        caller: Caller,
        now: Now,
        reply: &mut Reply,
    ) -> Result<(), Box<crate::exec::Block>> {
        let start = reply.len();
        let (index, no_touch) = self
            .world
            .sessions
            .get(caller.client)
            .map_or((0, false), |s| (s.db, s.no_touch));
        let db = Db {
            shard: &mut self.shard,
            index,
            now,
            no_touch,
        };
        let outcome = (entry.spec.run)(
            &mut Exec {
                now,
                caller,
                db,
                world: &mut self.world,
                reply: &mut *reply,
            },
            args,
        );
        let ended_us = self.world.host.clock_us();
        let elapsed_us = ended_us.saturating_sub(self.world.clock_us);
        self.world.clock_us = ended_us;
        let stats = &mut self.world.stats.commands[entry.id as usize];
        match outcome {
            Ok(()) => {}
            Err(Failure::Error(error)) => {
                stats.failed += 1;
                reply.truncate(start);
                self.reject(error, reply);
            }
            Err(Failure::Block(block)) => {
                reply.truncate(start);
                return Err(block);
            }
        }
        let stats = &mut self.world.stats.commands[entry.id as usize];
        stats.calls += 1;
        stats.usec += elapsed_us;
        self.world.stats.commands_processed += 1;
        Ok(())
    }

    /// Writes an error reply and counts it.
    pub(super) fn reject(&mut self, error: Error, reply: &mut Reply) {
        *self
            .world
            .stats
            .errors
            .entry(error.prefix().to_string())
            .or_default() += 1;
        reply.error(error.text());
    }

    /// What follows every command: watchers are told, those who wait are served, until nothing is left.
    pub(super) fn settle(&mut self, now: Now) {
        if !self.world.unblock_requests.is_empty() {
            self.serve_unblock_requests(now);
        }
        if !self.shard.interest.is_empty() {
            self.serve_ready(now);
        }
    }
}

/// The command's row, if the words name one and their number fits.
fn resolve(found: Option<&'static Entry>, args: Args<'_>) -> Result<&'static Entry, Error> {
    let Some(entry) = found else {
        return Err(unknown_command(args));
    };
    let entry = match args.try_get(1) {
        Some(sub) if entry.is_container() => match COMMANDS.subcommand(entry, sub) {
            Some(sub) => sub,
            None => return Err(Error::unknown_subcommand(sub, entry.spec.name)),
        },
        _ => entry,
    };
    if !entry.spec.arity_fits(args.len()) {
        return Err(Error::wrong_arity(&entry.full_name));
    }
    Ok(entry)
}

/// Names the command and the beginning of its arguments, 128 bytes each at the most, as Valkey does.
fn unknown_command(args: Args<'_>) -> Error {
    let name = String::from_utf8_lossy(&args.get(0)[..args.get(0).len().min(128)]).into_owned();
    let mut rest = String::new();
    for word in args.iter_from(1) {
        if rest.len() >= 128 {
            break;
        }
        let shown = &word[..word.len().min(128 - rest.len())];
        rest.push_str(&format!("'{}' ", String::from_utf8_lossy(shown)));
    }
    Error::from(format!(
        "ERR unknown command '{name}', with args beginning with: {rest}"
    ))
}

impl Session {
    pub fn is_resp3(&self) -> bool {
        self.protocol == Protocol::Resp3
    }
}

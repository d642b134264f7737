//! From a command's words to its function: the checks, in Valkey's order, and what follows a command.

use super::course::whole_entry;
use super::observe::Portion;
use super::session::{ClientId, ReplyMode, Session};
use super::stopwatch;
use super::{Ahead, Engine, Flow, Obstacle};
use crate::command::{Args, COMMANDS, Entry};
use crate::error::{self, Error};
use crate::exec::{Block, Caller, Exec, Failure, Now};
use crate::keyspace::{Db, Hint};
use crate::resp::{Protocol, Reply};

/// What of a session the running of a command depends on: read once.
#[derive(Clone, Copy, Default)]
pub(super) struct Standing {
    db: u16,
    no_touch: bool,
    unrestricted: bool,
    /// In a transaction, or listening: few commands do what they otherwise do.
    bound: bool,
}

impl Standing {
    pub(super) fn of(session: &Session) -> Self {
        Self {
            db: session.db,
            no_touch: session.no_touch,
            unrestricted: session.identity.is_unrestricted(),
            bound: session.in_multi() || session.is_subscribed(),
        }
    }

    pub(super) fn is_unrestricted(self) -> bool {
        self.unrestricted
    }

    pub(super) fn is_bound(self) -> bool {
        self.bound
    }
}

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
    #[inline]
    pub fn execute_ahead(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let now = self.shard.advance(now);
        if let Some(entry) = ahead.entry
            && entry.is_plain(args.len())
            && self.is_calm()
            && self.run_plain(client, entry, args, ahead.hint, now, reply)
        {
            return Flow::Continue;
        }
        self.execute_checked(client, args, ahead, now, reply)
    }

    /// Nothing is on that would have to be looked at before or after a command.
    #[inline]
    fn is_calm(&self) -> bool {
        let shard = &self.shard;
        shard.interest.is_empty()
            && shard.notify.is_empty()
            && !shard.eviction.is_on()
            && self.world.is_calm()
    }

    /// The short way of a quick keyspace command on a calm node, for a session with nothing special about
    /// it: what the checks would find is known beforehand. `false`: not that simple, nothing was done.
    #[inline]
    fn run_plain(
        &mut self,
        client: ClientId,
        entry: &'static Entry,
        args: Args<'_>,
        hint: Hint,
        now: Now,
        reply: &mut Reply,
    ) -> bool {
        let Some(session) = self.world.sessions.get_mut(client) else {
            return false;
        };
        if !session.is_plain() {
            return false;
        }
        session.active_ms = now.ms();
        session.commands += 1;
        session.last_command = Some(entry.id);
        reply.set_proto(session.protocol);
        let standing = Standing::of(session);
        self.shard.hint = hint;
        let caller = Caller {
            client,
            may_block: false,
            retry: false,
        };
        // A quick command never waits.
        let _ = self.call(standing, entry, args, caller, now, reply);
        self.shard.hint = Hint::NONE;
        true
    }

    /// The whole way: every check, in Valkey's order.
    fn execute_checked(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let Some(session) = self
            .world
            .sessions
            .get_mut(client)
            .filter(|session| !session.closing)
        else {
            return Flow::Close;
        };
        session.active_ms = now.ms();
        if session.reply_mode == ReplyMode::SkipNext {
            session.reply_mode = ReplyMode::Skip;
        }
        reply.set_proto(session.protocol);
        let start = reply.len();
        let waits = match resolve(ahead.entry, args) {
            Err(error) => {
                let known = ahead.entry.map(|entry| whole_entry(entry, args));
                if let Some(entry) = known.filter(|entry| !entry.arity_fits(args.len())) {
                    self.world.stats.commands[entry.id as usize].rejected += 1;
                }
                // Strangers are not told what there is.
                let error = self.check_login(client, ahead.entry).err().unwrap_or(error);
                self.refuse(client, ahead.entry, error, reply);
                false
            }
            Ok(entry) => {
                session.last_command = Some(entry.id);
                let standing = Standing::of(session);
                self.shard.hint = ahead.hint;
                let waits = self.admit_and_run(client, standing, entry, args, now, reply);
                self.shard.hint = Hint::NONE;
                waits
            }
        };
        self.settle(now);
        let Some(session) = self.world.sessions.get_mut(client) else {
            return Flow::Close;
        };
        // A command that waits is counted when it is done.
        session.commands += u64::from(!waits);
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
        standing: Standing,
        entry: &'static Entry,
        args: Args<'_>,
        now: Now,
        reply: &mut Reply,
    ) -> bool {
        if let Err(error) = self.admit(client, standing, entry, args, now) {
            self.world.stats.commands[entry.id as usize].rejected += 1;
            self.refuse(client, Some(entry), error, reply);
            return false;
        }
        if self.world.pause.is_on() && self.world.hold_back(client, entry, args, now) {
            return true;
        }
        if standing.bound && self.queue(client, entry, args, reply) {
            return false;
        }
        let caller = Caller {
            client,
            may_block: true,
            retry: false,
        };
        match self.call(standing, entry, args, caller, now, reply) {
            Ok(()) => false,
            Err(block) => {
                self.start_waiting(client, entry, args, *block, now);
                true
            }
        }
    }

    /// May this command run at all, now?
    #[inline]
    pub(super) fn admit(
        &mut self,
        client: ClientId,
        standing: Standing,
        entry: &Entry,
        args: Args<'_>,
        now: Now,
    ) -> Result<(), Error> {
        if !standing.unrestricted {
            self.check_login(client, Some(entry))?;
        }
        if standing.bound {
            self.check_no_multi(client, entry)?;
        }
        if !standing.unrestricted {
            self.check_rules(client, entry, args, now)?;
        }
        self.check_door(client, entry, args)?;
        self.check_role(client, entry, args)?;
        self.check_log_room(client, standing, entry)?;
        if self.needs_memory(client, standing, entry) {
            self.make_room_for_command(now);
            if self.world.obstacles.has(Obstacle::OutOfMemory) {
                return Err(error::OOM);
            }
        }
        if standing.bound {
            self.check_subscriber(client, entry)?;
        }
        self.check_loaded(client, entry)?;
        Ok(())
    }

    /// Runs the command's function and keeps its statistics. An error is written as the reply; `Err` is a
    /// wish to wait.
    pub(super) fn call(
        &mut self,
        standing: Standing,
        entry: &'static Entry,
        args: Args<'_>,
        caller: Caller,
        now: Now,
        reply: &mut Reply,
    ) -> Result<(), Box<Block>> {
        let quick = stopwatch::is_quick(entry, args.len())
            && args.extent() <= stopwatch::QUICK_EXTENT
            && !self.world.observer.looks_at_each();
        if !quick {
            self.world.settle_time();
        }
        let start = reply.len();
        let db = Db {
            shard: &mut self.shard,
            index: standing.db,
            now,
            no_touch: standing.no_touch,
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
        let failed = match outcome {
            Ok(()) => false,
            Err(Failure::Error(error)) => {
                reply.truncate(start);
                self.reject(error, reply);
                true
            }
            Err(Failure::Block(block)) => {
                reply.truncate(start);
                self.show_once(entry, args, caller, now);
                return Err(block);
            }
            Err(Failure::RunQueued) => {
                self.run_queued(caller.client, now, reply);
                false
            }
        };
        let counts = u64::from(self.world.observer.portion != Portion::Rest);
        let stats = &mut self.world.stats.commands[entry.id as usize];
        stats.calls += counts;
        stats.failed += u64::from(failed) & counts;
        self.world.stats.commands_processed += counts;
        if quick && reply.len() - start <= stopwatch::LARGE_REPLY {
            self.world.time_in_row(entry);
        } else {
            let took_us = self.world.lap_us();
            self.world.stats.commands[entry.id as usize].usec += took_us;
            let reply_bytes = reply.len() - start;
            self.world
                .observe(entry, args, caller.client, now, took_us, reply_bytes);
        }
        self.show_once(entry, args, caller, now);
        Ok(())
    }

    /// Shows the command to those who monitor: one that waited was shown when its wait began, one of another
    /// owner's client where it came from.
    #[inline]
    fn show_once(&mut self, entry: &Entry, args: Args<'_>, caller: Caller, now: Now) {
        let observer = &self.world.observer;
        if !observer.monitors.is_empty() && !caller.retry && observer.portion == Portion::Whole {
            self.world.show_to_monitors(entry, args, caller.client, now);
        }
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

    /// What follows every command: events are published, watchers are told, those who wait are served, until
    /// nothing is left.
    pub(super) fn settle(&mut self, now: Now) {
        self.publish_events();
        if !self.world.unblock_requests.is_empty() {
            self.serve_unblock_requests(now);
        }
        if !self.shard.interest.is_empty() {
            self.serve_ready(now);
            self.world.break_watches(&mut self.shard.interest);
            self.publish_events();
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
    if !entry.arity_fits(args.len()) {
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

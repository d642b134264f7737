//! Transactions: commands that `MULTI` takes in, keys that are watched, and `EXEC`, which runs it all.
//!
//! Invariants: whatever is checked of a command outside of a transaction is checked when it is taken in, and
//! rules of users once more when it runs. A transaction runs whole within one `Engine::execute`, with nobody
//! served in between, so its effects are one piece of the log. Sessions and the shard's `Interest` agree on
//! who watches what; a session hears of the first change to any of its keys and then watches nothing more.

use super::dispatch::Standing;
use super::roles::concerns_keys;
use super::session::{ClientId, Session};
use super::{Door, Engine, World};
use crate::command::spec::Flags;
use crate::command::{Args, COMMANDS, Entry, OwnedArgs};
use crate::error::Error;
use crate::exec::{Caller, Exec, Failure, Now, Outcome};
use crate::keyspace::{Db, Interest};
use crate::options::Id;
use crate::resp::Reply;
use crate::text::crc16::slot_of;

struct Queued {
    command: u16,
    args: OwnedArgs,
}

struct Watched {
    db: u16,
    key: Box<[u8]>,
}

/// A session's transaction: made by the first `WATCH` or `MULTI`, gone after `EXEC`, `DISCARD` or the like.
#[derive(Default)]
pub struct Transaction {
    /// `MULTI` was said.
    open: bool,
    queue: Vec<Queued>,
    /// Commands taken in; stays while they run.
    count: usize,
    /// All flags of the commands together.
    flags: Flags,
    /// One of them needs the keyspace to be there.
    looks: bool,
    /// One of them is about keys.
    touches: bool,
    queue_bytes: usize,
    watched: Vec<Watched>,
    watched_bytes: usize,
    /// A command was refused.
    spoiled: bool,
    /// What refused it, where nobody was told: of a shadow only the answer to `EXEC` is heard.
    unheard: Option<Error>,
    /// A watched key has changed.
    broken: bool,
}

impl Transaction {
    fn push(&mut self, entry: &Entry, args: Args<'_>) {
        let args = args.to_owned();
        self.queue_bytes += args.size() + size_of::<Queued>();
        self.flags = self.flags | entry.flags;
        self.looks |= !entry.flags.has(Flags::LOADING);
        self.touches |= concerns_keys(entry);
        self.count += 1;
        self.queue.push(Queued {
            command: entry.id,
            args,
        });
    }

    /// Held by commands and watched keys.
    fn bytes(&self) -> usize {
        self.queue_bytes + self.watched_bytes
    }

    /// It will not run: nothing of it needs to be kept but that.
    fn drop_queue(&mut self) {
        self.queue = Vec::new();
        self.count = 0;
        self.flags = Flags::none();
        self.looks = false;
        self.touches = false;
        self.queue_bytes = 0;
    }

    fn unwatch(&mut self, client: ClientId, interest: &mut Interest) {
        for watched in std::mem::take(&mut self.watched) {
            interest.unwatch(watched.db, &watched.key, client);
        }
        self.watched_bytes = 0;
    }
}

impl Watched {
    fn bytes(&self) -> usize {
        self.key.len() + size_of::<Self>()
    }
}

impl Session {
    #[inline]
    pub fn in_multi(&self) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.open)
    }

    /// Commands that `MULTI` has taken in; -1 outside of it.
    pub fn queued_commands(&self) -> i64 {
        match &self.transaction {
            Some(transaction) if transaction.open => transaction.count as i64,
            _ => -1,
        }
    }

    /// Bytes held by them, and by watched keys.
    pub fn queued_bytes(&self) -> usize {
        self.transaction.as_ref().map_or(0, |t| t.bytes())
    }

    pub fn watched_keys(&self) -> usize {
        self.transaction.as_ref().map_or(0, |t| t.watched.len())
    }

    /// The commands that were taken in, unless `EXEC` is to refuse them.
    pub(super) fn take_queue(&mut self) -> Option<Vec<OwnedArgs>> {
        let transaction = self.transaction.as_mut().filter(|t| t.open)?;
        if transaction.spoiled || transaction.broken {
            return None;
        }
        let queue = std::mem::take(&mut transaction.queue);
        Some(queue.into_iter().map(|queued| queued.args).collect())
    }

    /// A watched key has changed: `EXEC` will refuse.
    pub fn watch_broken(&self) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.broken)
    }

    /// Whether this is the `EXEC` of a transaction with a write in it.
    pub fn exec_would_write(&self, entry: &Entry) -> bool {
        self.exec_would(entry, Flags::WRITE | Flags::MAY_REPLICATE)
    }

    /// Whether this is the `EXEC` of a transaction with a command that must not run while the keyspace is loaded.
    pub(super) fn exec_would_look(&self, entry: &Entry) -> bool {
        is_exec(entry) && self.transaction.as_ref().is_some_and(|t| t.looks)
    }

    /// Whether this is the `EXEC` of a transaction with a command about keys.
    pub(super) fn exec_would_touch(&self, entry: &Entry) -> bool {
        is_exec(entry) && self.transaction.as_ref().is_some_and(|t| t.touches)
    }

    /// A command was refused that was meant for its transaction.
    pub(super) fn is_spoiled(&self) -> bool {
        self.transaction.as_ref().is_some_and(|t| t.spoiled)
    }

    /// The slot of the first key among the commands that were taken in.
    pub(super) fn queued_slot(&self) -> Option<u16> {
        let queue = &self.transaction.as_ref()?.queue;
        queue.iter().find_map(|Queued { command, args }| {
            let at = COMMANDS.get(*command).first_key(args.view())?;
            Some(slot_of(args.view().get(at)))
        })
    }

    /// A key that it watches.
    pub(super) fn watched_key(&self) -> Option<&[u8]> {
        let watched = &self.transaction.as_ref()?.watched;
        watched.first().map(|watched| &*watched.key)
    }

    /// Whether this is the `EXEC` of a transaction with a command of one of these flags in it.
    pub(super) fn exec_would(&self, entry: &Entry, flags: Flags) -> bool {
        is_exec(entry) && self.transaction.as_ref().is_some_and(|t| t.flags.any(flags))
    }
}

pub(super) fn is_exec(entry: &Entry) -> bool {
    entry.spec.name == "exec" && entry.parent.is_none()
}

/// Commands that are about the transaction, or the connection as a whole.
fn runs_at_once(entry: &Entry) -> bool {
    matches!(entry.spec.name, "exec" | "discard" | "quit" | "reset") && entry.parent.is_none()
}

impl World {
    /// What a client may have taken in by `MULTI` and `WATCH` before it is closed: as much as it may send
    /// of one request.
    fn transaction_bytes_max(&self) -> usize {
        self.options.count(Id::ClientQueryBufferLimit)
    }

    pub fn begin_transaction(&mut self, client: ClientId) {
        if let Some(session) = self.sessions.get_mut(client) {
            session.transaction.get_or_insert_default().open = true;
        }
    }

    /// Forgets the transaction and all watched keys.
    pub fn end_transaction(&mut self, client: ClientId, interest: &mut Interest) {
        let session = self.sessions.get_mut(client);
        if let Some(mut transaction) = session.and_then(|session| session.transaction.take()) {
            transaction.unwatch(client, interest);
        }
    }

    /// `UNWATCH`: what has changed so far is forgiven as well.
    pub fn unwatch(&mut self, client: ClientId, interest: &mut Interest) {
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        if let Some(transaction) = &mut session.transaction {
            transaction.unwatch(client, interest);
            transaction.broken = false;
            if !transaction.open {
                session.transaction = None;
            }
        }
    }

    /// Watches a key of the current database. One whose time has come is gone first: that is no change.
    pub fn watch(&mut self, client: ClientId, db: &mut Db<'_>, name: &[u8]) {
        let bytes_max = self.transaction_bytes_max();
        let Some(session) = self.sessions.get_mut(client) else {
            return;
        };
        let transaction = session.transaction.get_or_insert_default();
        if transaction.broken {
            return;
        }
        let key = db.key(name);
        db.is_live(key);
        if db.shard.interest.watch(db.index, name, client) {
            let watched = Watched {
                db: db.index,
                key: Box::from(name),
            };
            transaction.watched_bytes += watched.bytes();
            transaction.watched.push(watched);
            if transaction.bytes() > bytes_max {
                self.close(client);
            }
        }
    }

    /// Tells sessions that keys they watch have changed.
    pub(super) fn break_watches(&mut self, interest: &mut Interest) {
        while let Some(client) = interest.dirty.pop() {
            let session = self.sessions.get_mut(client);
            if let Some(transaction) = session.and_then(|s| s.transaction.as_mut()) {
                transaction.broken = true;
                transaction.unwatch(client, interest);
                transaction.drop_queue();
            }
        }
    }

    /// `EXEC`: refuses, or has the engine run what is queued.
    pub(crate) fn execute_transaction(x: &mut Exec<'_>) -> Outcome {
        let client = x.caller.client;
        let session = x.world.sessions.get_mut(client);
        let open = session.and_then(|s| s.transaction.as_mut()).filter(|t| t.open);
        let Some(transaction) = open else {
            return Err(Error::new("ERR EXEC without MULTI").into());
        };
        // A key whose time has come has changed, though nobody may have looked at it since.
        let watched = std::mem::take(&mut transaction.watched);
        for Watched { db, key } in &watched {
            let mut db = Db {
                shard: &mut *x.db.shard,
                index: *db,
                now: x.now,
                no_touch: true,
            };
            let key = db.key(key);
            db.is_live(key);
        }
        transaction.watched = watched;
        x.world.break_watches(&mut x.db.shard.interest);
        let Some(transaction) = x
            .world
            .sessions
            .get_mut(client)
            .and_then(|s| s.transaction.as_mut())
        else {
            return Ok(());
        };
        if transaction.spoiled {
            let why = transaction.unheard.take();
            x.world.end_transaction(client, &mut x.db.shard.interest);
            let aborted = Error::new("EXECABORT Transaction discarded because of previous errors.");
            return Err(why.map_or(aborted, refused_exec).into());
        }
        if transaction.broken {
            x.world.end_transaction(client, &mut x.db.shard.interest);
            x.reply.null_array();
            return Ok(());
        }
        // What the transaction itself changes is nobody else's doing.
        transaction.unwatch(client, &mut x.db.shard.interest);
        Err(Failure::RunQueued)
    }
}

/// What `EXEC` answers when this refuses it.
fn refused_exec(error: Error) -> Error {
    if matches!(error.prefix(), "MOVED" | "CLUSTERDOWN") {
        // As in Valkey: clients have to see it as it is.
        return error;
    }
    let why = error.text();
    let why = why.strip_prefix("ERR ").unwrap_or(why);
    Error::from(format!("EXECABORT Transaction discarded because of: {why}"))
}

impl Engine {
    /// Inside `MULTI` these may not even be asked for.
    pub(super) fn check_no_multi(&self, client: ClientId, entry: &Entry) -> Result<(), Error> {
        let in_multi = || self.world.sessions.get(client).is_some_and(Session::in_multi);
        if entry.flags.has(Flags::NO_MULTI) && in_multi() {
            return Err(Error::from(format!(
                "ERR Command '{}' not allowed inside a transaction",
                entry.full_name
            )));
        }
        Ok(())
    }

    /// Whether the command, or any that it would run, may need more memory.
    #[inline]
    pub(super) fn needs_memory(&self, client: ClientId, standing: Standing, entry: &Entry) -> bool {
        entry.flags.has(Flags::DENYOOM)
            || standing.is_bound() && {
                let session = self.world.sessions.get(client);
                session.is_some_and(|s| s.exec_would(entry, Flags::DENYOOM))
            }
    }

    /// A command that is refused before it runs spoils the transaction that it was meant for. A refused
    /// `EXEC` ends it.
    pub(super) fn refuse(
        &mut self,
        client: ClientId,
        entry: Option<&Entry>,
        error: Error,
        reply: &mut Reply,
    ) {
        if matches!(error.prefix(), "CLUSTERDOWN" | "LOADING")
            && let Some(session) = self.world.sessions.get_mut(client)
        {
            session.is_refusing = session.entrance.door == Door::Peer;
        }
        let error = if entry.is_some_and(is_exec) {
            self.world.end_transaction(client, &mut self.shard.interest);
            refused_exec(error)
        } else {
            let session = self.world.sessions.get_mut(client);
            let is_shadow = session.as_ref().is_some_and(|session| session.home.is_some());
            if let Some(transaction) = session.and_then(|s| s.transaction.as_mut()).filter(|t| t.open) {
                transaction.spoiled = true;
                if is_shadow {
                    transaction.unheard.get_or_insert_with(|| error.clone());
                }
                transaction.drop_queue();
            }
            error
        };
        self.reject(error, reply);
    }

    /// Takes the command into the client's transaction, if there is one and the command is of that sort.
    pub(super) fn queue(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        reply: &mut Reply,
    ) -> bool {
        let bytes_max = self.world.transaction_bytes_max();
        let session = self.world.sessions.get_mut(client);
        let Some(transaction) = session.and_then(|s| s.transaction.as_mut()).filter(|t| t.open) else {
            return false;
        };
        if runs_at_once(entry) {
            return false;
        }
        if !transaction.spoiled && !transaction.broken {
            transaction.push(entry, args);
            if transaction.bytes() > bytes_max {
                transaction.drop_queue();
                self.world.close(client);
                return true;
            }
        }
        reply.queued();
        true
    }

    /// Runs what was taken in, as commands like any other but that none may wait. Each answers for itself.
    pub(super) fn run_queued(&mut self, client: ClientId, now: Now, reply: &mut Reply) {
        let session = self.world.sessions.get_mut(client);
        let transaction = session.and_then(|s| s.transaction.as_mut());
        let queue = transaction.map_or(Vec::new(), |t| std::mem::take(&mut t.queue));
        let caller = Caller {
            client,
            may_block: false,
            retry: false,
        };
        reply.array(queue.len());
        for Queued { command, args } in queue {
            let entry = COMMANDS.get(command);
            // The command before may have changed who the client is, and where.
            let standing = self
                .world
                .sessions
                .get(client)
                .map_or(Standing::default(), Standing::of);
            let allowed = if standing.is_unrestricted() {
                Ok(())
            } else {
                self.check_rules_again(client, entry, args.view(), now)
            };
            match allowed {
                Err(error) => {
                    self.world.stats.commands[entry.id as usize].rejected += 1;
                    self.reject(error, reply);
                }
                Ok(()) => {
                    let called = self.call(standing, entry, args.view(), caller, now, reply);
                    if called.is_err() {
                        reply.null_array();
                    }
                }
            }
            self.publish_events();
        }
        self.world.end_transaction(client, &mut self.shard.interest);
    }
}

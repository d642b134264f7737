//! Where a command runs when the keyspace is spread over owners: here, elsewhere, in parts, or everywhere.
//!
//! It only decides. Whatever a single server would refuse is left to be refused where commands run, in its
//! words and its order; only what concerns the spread itself is refused here.

use super::door::{Door, one_slot};
use super::roles::concerns_keys;
use super::session::{ClientId, Session};
use super::spread::{is_populate, is_scan, named_slot, shard_of_cursor};
use super::{Ahead, Engine, How};
use crate::command::spec::{Find, Flags, Group, Join, KeySpec, Route};
use crate::command::{Args, COMMANDS, Entry, keys};
use crate::error::Error;
use crate::text::crc16::slot_of;
use crate::text::number::parse_u64;

/// No key that a shard could be told by.
pub const NO_SHARD: u16 = u16::MAX;

pub const CROSS_SLOT: Error = Error::new("CROSSSLOT Keys in request don't hash to the same slot");

/// What becomes of a command.
#[derive(Debug, PartialEq, Eq)]
pub enum Course {
    /// It runs here; its shard has been selected.
    Here,
    /// The spread does not allow it.
    Refuse(Error),
    /// It runs whole on another owner.
    There { owner: u16, then: Then },
    /// Keys of several shards: each part is a command of its own.
    Split { parts: Vec<Part> },
    /// Every owner has its part. `ordered`: all see such commands in one order.
    Everywhere { ordered: bool },
    /// What `MULTI` took in runs on another owner.
    Transaction { owner: u16 },
    /// It runs here, and the other owner forgets which keys the client watches.
    Unwatch { owner: u16 },
    /// It runs here, and all other owners forget the client.
    Forget,
    /// This owner has the shard, and it does not lead here, or commands before it are still under way.
    Away { shard: u16, then: Then },
    /// Each shard has its part, wherever it is led.
    Shards,
    /// A word of a link (see `link`).
    Link,
}

/// What of the client's further commands meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They go on.
    GoOn,
    /// They wait until it is answered.
    Wait,
}

/// One shard's part of a split command.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub owner: u16,
    pub shard: u16,
    /// The key's positions among the command's words, in order.
    pub keys: Vec<usize>,
    /// How many words belong to a key, itself included.
    pub step: usize,
}

impl Engine {
    /// Decides where the command runs. Called only where the keyspace is spread.
    #[inline]
    pub fn course(&mut self, client: ClientId, args: Args<'_>, ahead: &Ahead) -> Course {
        if let Some(entry) = ahead.entry
            && ahead.shard != NO_SHARD
            && has_one_key(entry)
            && self.world.sessions.get(client).is_some_and(Session::is_plain)
            && entry.is_plain(args.len())
        {
            return self.towards(client, entry, args, ahead.shard, Then::GoOn);
        }
        self.course_of(client, args, ahead)
    }

    pub(super) fn course_of(&mut self, client: ClientId, args: Args<'_>, ahead: &Ahead) -> Course {
        let Some(entry) = ahead.entry.map(|entry| whole_entry(entry, args)) else {
            let is_link = args.try_get(0) == Some(super::link::WORD) && self.may_be_link(client);
            return if is_link { Course::Link } else { Course::Here };
        };
        let Some(session) = self.world.sessions.get(client) else {
            return Course::Here;
        };
        let may_speak = session.identity.may_speak(self.world.users.default_user());
        if !entry.arity_fits(args.len()) || !may_speak {
            return Course::Here;
        }
        if session.in_multi() || entry.spec.group == Group::Transactions || is_reset(entry) {
            return self.course_in_transaction(client, entry, args);
        }
        let then = if entry.flags.any(Flags::BLOCKING) {
            Then::Wait
        } else {
            Then::GoOn
        };
        if self.world.cluster_of(client).is_some()
            && let Err(error) = self.check_slots(client, entry, args)
        {
            return Course::Refuse(error);
        }
        match entry.spec.route {
            Route::Local if is_populate(entry, args) => Course::Everywhere { ordered: true },
            Route::Local => match named_slot(entry, args) {
                Some(slot) => self.towards_place(self.world.topology.shard_of(slot), then),
                None => Course::Here,
            },
            Route::First if self.world.topology.me == 0 => Course::Here,
            Route::First => Course::There { owner: 0, then },
            Route::Keys => match self.shards_of(entry, args) {
                Shards::None => Course::Here,
                Shards::One(shard) => self.towards(client, entry, args, shard, then),
                Shards::Several => Course::Refuse(CROSS_SLOT),
            },
            Route::Split(_) => match self.shards_of(entry, args) {
                Shards::None => Course::Here,
                Shards::One(shard) => self.towards(client, entry, args, shard, then),
                Shards::Several => match self.parts(entry, args) {
                    Some(parts) => Course::Split { parts },
                    None => Course::Here,
                },
            },
            Route::Everywhere(_) if is_scan(entry) => {
                let cursor = args.try_get(1).and_then(parse_u64).unwrap_or(0);
                let shard = shard_of_cursor(cursor).min(self.world.topology.shards - 1);
                self.towards_scanned(client, shard, then)
            }
            Route::Everywhere(_) if self.is_of_shards(client, entry) => {
                match self
                    .world
                    .sessions
                    .get(client)
                    .and_then(|session| session.entrance.only)
                {
                    Some(shard) => self.towards_place(shard, then),
                    None => Course::Shards,
                }
            }
            Route::Everywhere(join) => Course::Everywhere {
                ordered: join == Join::Ok || (join == Join::Own && entry.flags.any(Flags::ADMIN)),
            },
        }
    }

    #[inline]
    fn towards(&mut self, client: ClientId, entry: &Entry, args: Args<'_>, shard: u16, then: Then) -> Course {
        let course = self.towards_place(shard, then);
        let is_open = course == Course::Here && self.shard.is_open;
        if is_open || !self.world.is_clustered() {
            return course;
        }
        self.towards_leader(client, entry, args, shard, course, then)
    }

    /// The owner of this node that has the shard, if any does.
    #[inline]
    fn towards_place(&mut self, shard: u16, then: Then) -> Course {
        let topology = self.world.topology;
        if topology.is_mine(shard) {
            self.select(shard);
            return Course::Here;
        }
        Course::There {
            owner: topology.owner_of(shard),
            then,
        }
    }

    /// The shard does not lead on this owner. `course` is towards the owner that has it.
    #[inline(never)]
    fn towards_leader(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        shard: u16,
        course: Course,
        then: Then,
    ) -> Course {
        let Some(table) = self.world.cluster_of(client) else {
            return self.towards_away(client, shard, course, then);
        };
        let entrance = self.world.sessions.get(client).map(|session| session.entrance);
        let (Some(entrance), Some(at)) = (entrance, entry.first_key(args)) else {
            return course;
        };
        let may_follow = entrance.reads_followers
            && !entry.flags.has(Flags::WRITE)
            && table.row(shard).is_some_and(|row| row.has_replica(table.me));
        if course == Course::Here || may_follow {
            // It is looked at there once more, with the role that the shard has then.
            return course;
        }
        match self.world.find_slot(table, entrance, slot_of(args.get(at))) {
            Ok(()) => course,
            Err(error) => Course::Refuse(error),
        }
    }

    /// For those who see the whole keyspace. The owner that has the shard knows where it is led.
    fn towards_away(&self, client: ClientId, shard: u16, course: Course, then: Then) -> Course {
        match course {
            Course::Here if !self.shard.is_open && self.is_routed(client) => Course::Away { shard, then },
            course => course,
        }
    }

    pub(super) fn is_routed(&self, client: ClientId) -> bool {
        let session = self.world.sessions.get(client);
        self.world.is_clustered() && session.is_some_and(|session| session.entrance.door == Door::Routed)
    }

    /// The command is about all keys, wherever they are: for a link, about those of the shard that it names.
    fn is_of_shards(&self, client: ClientId, entry: &Entry) -> bool {
        self.world.is_clustered() && concerns_keys(entry) && self.world.cluster_of(client).is_none()
    }

    /// `SCAN` by the cluster port walks the shards of this node alone.
    fn towards_scanned(&mut self, client: ClientId, shard: u16, then: Then) -> Course {
        let course = self.towards_place(shard, then);
        self.towards_away(client, shard, course, then)
    }

    /// What the cluster port asks of a command's keys, or channels of shards.
    fn check_slots(&self, client: ClientId, entry: &Entry, args: Args<'_>) -> Result<(), Error> {
        if entry.spec.group == Group::PubSub && !entry.spec.keys.is_empty() {
            // `SPUBLISH` has its message behind the channel.
            let names = if entry.spec.name == "spublish" {
                1
            } else {
                args.len() - 1
            };
            let slot = one_slot(args.iter_from(1).take(names))?;
            let session = self.world.sessions.get(client);
            return match (slot, self.world.cluster_of(client), session) {
                (Some(slot), Some(table), Some(session)) => {
                    self.world.find_slot(table, session.entrance, slot)
                }
                _ => Ok(()),
            };
        }
        let mut at = Vec::new();
        if keys::for_each_key(entry.spec, args, |key, _| at.push(key)).is_none() {
            // The command says so itself.
            return Ok(());
        }
        one_slot(at.into_iter().map(|at| args.get(at))).map(drop)
    }

    fn shards_of(&self, entry: &Entry, args: Args<'_>) -> Shards {
        let mut found = Shards::None;
        let known = keys::for_each_key(entry.spec, args, |at, _| {
            let shard = self.world.topology.shard_of_key(args.get(at));
            found = match found {
                Shards::None => Shards::One(shard),
                Shards::One(other) if other == shard => found,
                _ => Shards::Several,
            };
        });
        // Where the words make no sense the command says so itself.
        if known.is_none() { Shards::None } else { found }
    }

    /// The parts by shard. `None` where the words do not come out even: the command says so itself.
    fn parts(&self, entry: &Entry, args: Args<'_>) -> Option<Vec<Part>> {
        let [
            KeySpec {
                find: Find::Range { step, .. },
                ..
            },
        ] = entry.spec.keys
        else {
            return None;
        };
        let step = usize::from(*step).max(1);
        if !(args.len() - 1).is_multiple_of(step) {
            return None;
        }
        let topology = self.world.topology;
        let mut parts: Vec<Part> = Vec::new();
        for at in (1..args.len()).step_by(step) {
            let shard = topology.shard_of_key(args.get(at));
            match parts.iter_mut().find(|part| part.shard == shard) {
                Some(part) => part.keys.push(at),
                None => parts.push(Part {
                    owner: topology.owner_of(shard),
                    shard,
                    keys: vec![at],
                    step,
                }),
            }
        }
        Some(parts)
    }

    /// Inside of `MULTI`, and for the commands around it: all in one slot.
    fn course_in_transaction(&mut self, client: ClientId, entry: &Entry, args: Args<'_>) -> Course {
        let topology = self.world.topology;
        let Some(session) = self.world.sessions.get(client) else {
            return Course::Here;
        };
        let (in_multi, held, monitors) = (session.in_multi(), session.slot, session.monitors);
        let watches_here = session.watched_keys() > 0;
        let shard = held.map(|slot| topology.shard_of(slot));
        let owner = shard.map(|shard| topology.owner_of(shard));
        let elsewhere = owner.filter(|owner| *owner != topology.me);
        match entry.spec.name {
            "multi" => Course::Here,
            "exec" if !in_multi => Course::Here,
            "exec" => {
                if let Some(owner) = elsewhere {
                    return Course::Transaction { owner };
                }
                if let Some(shard) = shard
                    && !self.is_open(shard)
                    && !watches_here
                    && self.is_routed(client)
                {
                    let owner = topology.me;
                    return Course::Transaction { owner };
                }
                self.leave_slot(client);
                Course::Here
            }
            "discard" if !in_multi => Course::Here,
            "unwatch" if in_multi => Course::Here,
            "discard" | "unwatch" | "reset" => {
                self.leave_slot(client);
                if monitors && is_reset(entry) {
                    return Course::Forget;
                }
                elsewhere.map_or(Course::Here, |owner| Course::Unwatch { owner })
            }
            "watch" if in_multi => Course::Here,
            _ => self.course_of_queued(client, entry, args, held, in_multi),
        }
    }

    /// The transaction is over: its shard is at hand for what that takes, and the next may be elsewhere.
    fn leave_slot(&mut self, client: ClientId) {
        self.select_watched(client);
        if let Some(session) = self.world.sessions.get_mut(client) {
            session.slot = None;
        }
    }

    fn course_of_queued(
        &mut self,
        client: ClientId,
        entry: &Entry,
        args: Args<'_>,
        held: Option<u16>,
        in_multi: bool,
    ) -> Course {
        // One that will not run whatever comes holds to no slot.
        let is_spoiled = self.world.sessions.get(client).is_some_and(Session::is_spoiled);
        let mut slot = held.filter(|_| !is_spoiled);
        let is_spread = self.world.topology.is_spread() || self.world.cluster_of(client).is_some();
        let mut fits = true;
        keys::for_each_key(entry.spec, args, |at, _| {
            let of_key = slot_of(args.get(at));
            fits &= slot.is_none_or(|slot| slot == of_key || !is_spread);
            slot = slot.or(Some(of_key));
        });
        if !fits {
            return Course::Refuse(CROSS_SLOT);
        }
        if in_multi && !is_spread && self.world.is_clustered() {
            // All slots are of the one shard.
            slot = slot.or(Some(0));
        }
        let has_keys = !entry.spec.keys.is_empty();
        if is_spread && in_multi && !has_keys && !may_be_anywhere(entry) {
            return Course::Refuse(Error::from(format!(
                "ERR Command '{}' not allowed inside a transaction of a server with several shards",
                entry.full_name
            )));
        }
        let Some(shard) = slot.map(|slot| self.world.topology.shard_of(slot)) else {
            return Course::Here;
        };
        let course = match self.towards(client, entry, args, shard, Then::Wait) {
            // It is only taken in, whoever will run it.
            Course::There { .. } | Course::Away { .. } if in_multi => Course::Here,
            course => course,
        };
        if !is_spoiled
            && !matches!(course, Course::Refuse(_))
            && let Some(session) = self.world.sessions.get_mut(client)
        {
            session.slot = slot;
        }
        course
    }
}

impl Ahead {
    /// The command may leave its client waiting for ever.
    pub fn is_blocking(&self) -> bool {
        self.entry.is_some_and(|entry| entry.flags.any(Flags::BLOCKING))
    }

    /// A message for all who listen, at whichever node.
    pub fn is_message(&self) -> bool {
        self.entry
            .is_some_and(|entry| matches!(entry.spec.name, "publish" | "spublish"))
    }

    /// The command may show what has gone over the sockets: `session.traffic` has to be of now.
    #[inline]
    pub fn shows_traffic(&self) -> bool {
        self.entry.is_some_and(|entry| entry.shows_traffic)
    }

    /// How the answers of the command's parts become one.
    pub fn how(&self, args: Args<'_>) -> How {
        self.entry
            .map_or(How::First, |entry| How::of(whole_entry(entry, args)))
    }
}

#[derive(Clone, Copy)]
enum Shards {
    None,
    One(u16),
    Several,
}

/// With its sub-command.
pub(super) fn whole_entry(entry: &'static Entry, args: Args<'_>) -> &'static Entry {
    match args.try_get(1) {
        Some(sub) if entry.is_container() => COMMANDS.subcommand(entry, sub).unwrap_or(entry),
        _ => entry,
    }
}

fn is_reset(entry: &Entry) -> bool {
    entry.spec.name == "reset" && entry.parent.is_none()
}

/// Commands without keys that mean the same on any owner, and those that end a transaction.
fn may_be_anywhere(entry: &Entry) -> bool {
    let names = [
        "ping", "echo", "time", "select", "quit", "publish", "lolwut", "command",
    ];
    entry.parent.is_none() && names.contains(&entry.spec.name)
}

fn has_one_key(entry: &Entry) -> bool {
    matches!(
        entry.spec.keys,
        [KeySpec {
            find: Find::Range { last: 0, .. },
            ..
        }]
    )
}

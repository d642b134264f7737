//! The engine: one owner thread's world as a pure machine. A command goes in with the time; a reply and
//! parcels for other clients come out.
//!
//! It knows neither sockets nor threads. The server calls [`Engine::execute`] for each command in the
//! order of its turn, takes `world.outbox`, `world.closing` and `world.unblocked` after it, and calls
//! [`Engine::tick`] now and then.
//!
//! Invariant: the effects that one call of [`Engine::execute`] leaves in `shard.effects` belong together. A
//! transaction runs within one call, so whoever takes effects between calls never takes half of one.

mod away;
#[cfg(test)]
pub(crate) mod bench;
mod blocked;
mod configure;
pub mod course;
pub mod describe;
mod dispatch;
mod door;
#[cfg(test)]
mod door_tests;
pub mod errand;
mod figures;
pub mod host;
mod identity;
mod join;
pub mod link;
mod loaded;
mod logged;
pub mod observe;
mod obstacles;
mod paused;
mod permission;
pub mod product;
mod remote;
mod roles;
mod room;
#[cfg(test)]
mod room_tests;
#[cfg(test)]
mod routed_tests;
pub mod session;
mod spread;
#[cfg(test)]
mod spread_tests;
pub(crate) mod stopwatch;
#[cfg(test)]
mod subscription_tests;
mod subscriptions;
mod sum_figures;
#[cfg(test)]
pub(crate) mod testing;
mod transaction;
#[cfg(test)]
mod transaction_tests;
mod unblock;
mod wishes;
mod world;

pub use away::Away;
pub use door::{Door, Entrance};
pub use figures::{Cycles, MemoryUsage, Rates};
pub use host::{
    Certificate, CpuTimes, Host, ImageRuns, LoadingFigures, LogFigures, MemoryFigures, ProcessFacts,
};
pub use identity::Identity;
pub use join::How;
pub use logged::{Taken, Wait};
pub use obstacles::{Obstacle, Obstacles};
pub use paused::{Pause, Scope};
pub use permission::describe_denial;
pub use remote::{Departure, Passport};
pub use roles::Displaced;
pub use spread::Topology;
pub use unblock::UnblockAs;
pub use wishes::Wish;
pub use world::{CommandStats, Parcel, Stats, World};

use crate::command::{Args, COMMANDS, Entry};
use crate::exec::Now;
use crate::keyspace::{Hint, Shard};
use crate::options::{ClassLimit, OutputClass, OutputLimits};
use session::ClientId;

/// What the caller does with the connection after a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    Continue,
    /// The client waits: its further commands stay unread until it is among `world.unblocked`.
    Blocked,
    /// Close once the reply has been sent.
    Close,
}

/// What is known of a command before its turn: found while it is parsed, so that memory is asked for early.
#[derive(Clone, Copy, Default)]
pub struct Ahead {
    pub(crate) entry: Option<&'static Entry>,
    pub(crate) db: u16,
    /// The first key and its hash; no key, no hash.
    pub(crate) hint: Hint,
    /// The shard of that key, where there are several.
    pub(crate) shard: u16,
}

pub struct Engine {
    /// The one at hand, of those that this owner has.
    pub shard: Box<Shard>,
    pub world: World,
    bench: spread::Bench,
    shadows: remote::Shadows,
    /// When a shard wants its next slice of compaction. Unix milliseconds.
    compaction_due_ms: Option<u64>,
}

impl Engine {
    pub fn new(shard: Shard, host: Box<dyn Host>) -> Self {
        Self::spread(vec![shard], Topology::ALONE, host)
    }

    /// One of several owners, with its shards in order; it has at least one.
    pub fn spread(shards: Vec<Shard>, topology: Topology, host: Box<dyn Host>) -> Self {
        let (shard, bench) = spread::Bench::new(shards);
        let mut world = World::new(host);
        world.topology = topology;
        world.shard_at_hand = topology.me;
        world.sessions.number_for(topology);
        Self {
            shard,
            world,
            bench,
            shadows: remote::Shadows::default(),
            compaction_due_ms: None,
        }
    }

    /// A new connection; `addr` and `laddr` are its two ends as text.
    pub fn connect(&mut self, addr: String, laddr: String, fd: i32, now: Now) -> ClientId {
        self.world.stats.connections_received += 1;
        let default_user = self.world.users.default_user();
        self.world.sessions.open(addr, laddr, fd, now.ms(), default_user)
    }

    /// The connection is gone: forgets everything it held.
    pub fn disconnect(&mut self, client: ClientId) {
        self.stop_waiting(client);
        self.select_watched(client);
        self.world.pause.forget(client);
        self.world.stop_monitor(client);
        self.world.end_transaction(client, &mut self.shard.interest);
        self.world.unsubscribe_all(client);
        if let Some(session) = self.world.sessions.close(client) {
            self.world.moved_by_closed += session.traffic.moved;
        }
    }

    /// The database that the client has selected.
    pub fn database_of(&self, client: ClientId) -> u16 {
        self.world.sessions.get(client).map_or(0, |s| s.db)
    }

    /// Looks the command up, hashes its first key and asks memory for its bucket.
    #[inline]
    pub fn look_ahead(&self, db: u16, args: Args<'_>) -> Ahead {
        let Some(entry) = COMMANDS.find(args.get(0)) else {
            return Ahead::default();
        };
        let Some(at) = entry.first_key(args) else {
            return Ahead {
                entry: Some(entry),
                ..Ahead::default()
            };
        };
        let key = args.get(at);
        let hash = self.shard.heap.hash(key);
        self.shard.databases[db as usize].prefetch(&self.shard.heap, hash);
        Ahead {
            entry: Some(entry),
            db,
            hint: Hint::new(key, hash),
            shard: 0,
        }
    }

    /// Asks memory for the entry, its bucket having arrived.
    #[inline]
    pub fn prefetch_entry(&self, ahead: &Ahead) {
        if let Some(hash) = ahead.hint.hash() {
            self.shard.databases[ahead.db as usize].prefetch_entry(&self.shard.heap, hash);
            self.shard.uncommitted.prefetch(hash);
        }
    }

    pub fn is_authenticated(&self, client: ClientId) -> bool {
        let default_user = self.world.users.default_user();
        self.world
            .sessions
            .get(client)
            .is_some_and(|session| session.identity.may_speak(default_user))
    }

    /// `proto-max-bulk-len`, bytes.
    pub fn max_bulk_len(&self) -> u64 {
        self.world.options.max_bulk_len()
    }

    /// `tcp-keepalive`, `None` for off.
    pub fn keep_alive_seconds(&self) -> Option<u64> {
        self.world.options.keep_alive_seconds()
    }

    /// By which of `client-output-buffer-limit`'s classes the client is held.
    pub fn output_class(&self, client: ClientId) -> OutputClass {
        let session = self.world.sessions.get(client);
        session.map_or(OutputClass::Normal, session::Session::output_class)
    }

    /// How much may wait for the client. What another node passes on is bounded by that node, so a link has the default,
    /// whatever clients are granted here.
    pub fn output_limit(&self, client: ClientId) -> ClassLimit {
        let session = self.world.sessions.get(client);
        match session.is_some_and(|session| session.entrance.door == Door::Peer) {
            true => OutputLimits::default().of(OutputClass::Normal),
            false => self.world.options.output_limit(self.output_class(client)),
        }
    }

    /// Begins a turn: reads the clock from which the first command's time is counted.
    pub fn begin_turn(&mut self) {
        let now_us = self.world.host.clock_us();
        self.world.stopwatch.start(now_us);
        self.world
            .stats
            .cycles
            .begin(now_us, self.world.stats.commands_processed);
    }

    /// Ends a turn: puts down the time of its last commands.
    pub fn end_turn(&mut self) {
        let now_us = self.world.settle_turn();
        let stats = &mut self.world.stats;
        stats.cycles.end(now_us, stats.commands_processed);
    }

    /// Background work in a bounded slice: times out those who wait, removes keys whose time has come, makes
    /// room, frees what was deleted. `true` when there is more to do at once.
    pub fn tick(&mut self, now: Now) -> bool {
        let began_us = self.world.host.clock_us();
        self.world.stopwatch.start(began_us);
        self.resume(now);
        self.time_out(now);
        let is_round = self.world.sample(now.ms(), &self.shard);
        let mut more = false;
        self.compaction_due_ms = None;
        for place in 0..self.shard_count() {
            self.select_place(place);
            more |= self.tick_shard(now);
            let due_ms = self.shard.compaction.due_ms();
            self.compaction_due_ms = due_ms.into_iter().chain(self.compaction_due_ms).min();
        }
        self.world.parked_bytes = self.slab_bytes() - self.shard.heap.slab_bytes();
        let took_us = self.world.host.clock_us().saturating_sub(began_us);
        self.world.stats.cycles.note_background(took_us, is_round);
        more
    }

    fn tick_shard(&mut self, now: Now) -> bool {
        let mut more = false;
        if !self.world.pause.holds_keys() {
            let now = self.shard.advance(now);
            let began_us = self.world.host.clock_us();
            if !self.world.must_not_change() && self.shard.role.leads() {
                more = self.shard.expire_slice(now);
                let expired_us = self.world.note_event("expire-cycle", now, began_us);
                more |= self.make_room_in_tick(now);
                self.world.note_event("eviction-cycle", now, expired_us);
            }
            self.settle(now);
            self.shard.compact_slice(now);
        }
        self.shard.free_slice(TICK_BUDGET) || more
    }
}

/// Elements a tick may free: a fraction of a millisecond.
const TICK_BUDGET: usize = 2000;

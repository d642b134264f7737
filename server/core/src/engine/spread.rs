//! Several shards on several owner threads: which shard a command belongs to, and which of its shards an
//! owner has at hand.
//!
//! Invariants: whatever touches a keyspace touches `Engine::shard`, so the shard of a key is selected before
//! the key is looked at. A transaction and the keys it watches lie in one slot. With a single shard nothing
//! here is on a command's way.

use super::course::{NO_SHARD, whole_entry};
use super::observe::Portion;
use super::roles::concerns_keys;
use super::session::ClientId;
use super::{Ahead, Door, Engine, Flow, How};
use crate::command::spec::{Categories, Join, Route};
use crate::command::{Args, COMMANDS, Entry, OwnedArgs};
use crate::exec::Now;
use crate::keyspace::{Hint, Shard, ShardStats};
use crate::resp::Reply;
use crate::text::crc16::{SLOTS, slot_of};
use crate::text::fold;
use crate::text::number::parse_u64;

/// Where the shards of a node are. Owners and shards are numbered from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    pub shards: u16,
    pub owners: u16,
    /// The owner that reads this.
    pub me: u16,
}

impl Topology {
    /// One shard on one owner: plain Redis.
    pub const ALONE: Self = Self {
        shards: 1,
        owners: 1,
        me: 0,
    };

    #[inline]
    pub fn is_spread(self) -> bool {
        self.shards > 1
    }

    pub fn shard_of(self, slot: u16) -> u16 {
        (u32::from(slot) * u32::from(self.shards) / u32::from(SLOTS)) as u16
    }

    pub fn shard_of_key(self, key: &[u8]) -> u16 {
        self.shard_of(slot_of(key))
    }

    pub fn owner_of(self, shard: u16) -> u16 {
        shard % self.owners
    }

    /// The owner that gave the client its number, and has its connection.
    pub fn owner_of_client(self, client: ClientId) -> u16 {
        (client.serial().saturating_sub(1) % u64::from(self.owners)) as u16
    }

    pub fn is_mine(self, shard: u16) -> bool {
        self.owner_of(shard) == self.me
    }

    /// The shard's place among those of its owner.
    pub(super) fn place_of(self, shard: u16) -> usize {
        usize::from(shard / self.owners)
    }

    /// The shards of an owner, in order.
    pub fn shards_of(self, owner: u16) -> impl Iterator<Item = u16> {
        (owner..self.shards).step_by(usize::from(self.owners))
    }
}

/// Shards of this owner other than the selected one, by their places; the selected one's place is empty.
pub(super) struct Bench {
    places: Vec<Option<Box<Shard>>>,
    selected: usize,
}

impl Bench {
    /// The first of `shards` is selected. There is at least one.
    pub(super) fn new(mut shards: Vec<Shard>) -> (Box<Shard>, Self) {
        let first = Box::new(shards.remove(0));
        let rest = shards.into_iter().map(|shard| Some(Box::new(shard)));
        let bench = Self {
            places: std::iter::once(None).chain(rest).collect(),
            selected: 0,
        };
        (first, bench)
    }
}

impl Bench {
    /// All but the selected one.
    pub(super) fn others(&self) -> impl Iterator<Item = &Shard> {
        self.places.iter().flatten().map(|shard| &**shard)
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn has_others(&self) -> bool {
        self.places.len() > 1
    }

    /// All but the selected one, with their places.
    pub(super) fn others_by_place(&self) -> impl Iterator<Item = (usize, &Shard)> {
        let by_place = self.places.iter().enumerate();
        by_place.filter_map(|(place, shard)| Some((place, &**shard.as_ref()?)))
    }

    pub(super) fn others_mut(&mut self) -> impl Iterator<Item = &mut Shard> {
        self.places.iter_mut().flatten().map(|shard| &mut **shard)
    }
}

impl Engine {
    /// How many shards this owner has.
    pub fn shard_count(&self) -> usize {
        self.bench.places.len()
    }

    /// Brings the shard of that place to hand.
    pub fn select_place(&mut self, place: usize) {
        if place == self.bench.selected {
            return;
        }
        if let Some(shard) = self.bench.places.get_mut(place).and_then(Option::take) {
            let before = std::mem::replace(&mut self.shard, shard);
            self.bench.places[self.bench.selected] = Some(before);
            self.bench.selected = place;
            let topology = self.world.topology;
            self.world.shard_at_hand = topology.me + place as u16 * topology.owners;
            self.note_role();
        }
    }

    /// Brings a shard of this owner to hand.
    #[inline]
    pub(super) fn select(&mut self, shard: u16) {
        self.select_place(self.world.topology.place_of(shard));
    }

    /// Memory of the keys and small values of all shards.
    pub(super) fn slab_bytes(&self) -> usize {
        let others = self.bench.places.iter().flatten();
        self.shard.heap.slab_bytes() + others.map(|shard| shard.heap.slab_bytes()).sum::<usize>()
    }

    /// Brings the shard to hand in which the client watches keys, if that is one of this owner's.
    pub(super) fn select_watched(&mut self, client: ClientId) {
        let topology = self.world.topology;
        if !topology.is_spread() {
            return;
        }
        let slot = self.world.sessions.get(client).and_then(|session| session.slot);
        if let Some(shard) = slot.map(|slot| topology.shard_of(slot))
            && topology.is_mine(shard)
        {
            self.select(shard);
        }
    }

    /// Brings the shard to hand in which the client waits.
    pub(super) fn select_waiting(&mut self, client: ClientId) {
        if !self.world.topology.is_spread() {
            return;
        }
        let blocked = self.world.sessions.get(client).and_then(|s| s.blocked.as_ref());
        let key = blocked.and_then(|blocked| blocked.keys.view().try_get(0));
        if let Some(shard) = key.map(|key| self.world.topology.shard_of_key(key)) {
            self.select(shard);
        }
    }

    /// That of a place, wherever it is; `None` for a place that this owner does not have.
    pub(super) fn shard_of_place(&mut self, place: usize) -> Option<&mut Shard> {
        match self.bench.places.get_mut(place)? {
            Some(shard) => Some(shard),
            None => Some(&mut self.shard),
        }
    }

    pub(super) fn shard_at(&self, place: usize) -> &Shard {
        self.bench
            .places
            .get(place)
            .and_then(Option::as_deref)
            .unwrap_or(&self.shard)
    }

    /// `look_ahead` where there are several shards: memory is asked only for keys of this owner.
    pub fn look_ahead_spread(&self, db: u16, args: Args<'_>) -> Ahead {
        let mut ahead = Ahead {
            entry: COMMANDS.find(args.get(0)),
            db,
            shard: NO_SHARD,
            ..Ahead::default()
        };
        let whole = ahead.entry.map(|entry| whole_entry(entry, args));
        let Some(at) = whole.and_then(|entry| entry.first_key(args)) else {
            return ahead;
        };
        let (key, topology) = (args.get(at), self.world.topology);
        ahead.shard = topology.shard_of_key(key);
        if topology.is_mine(ahead.shard) {
            let shard = self.shard_at(topology.place_of(ahead.shard));
            let hash = shard.heap.hash(key);
            shard.databases[db as usize].prefetch(&shard.heap, hash);
            ahead.hint = Hint::new(key, hash);
        }
        ahead
    }

    /// `prefetch_entry` where there are several shards.
    pub fn prefetch_entry_spread(&self, ahead: &Ahead) {
        if let Some(hash) = ahead.hint.hash() {
            let shard = self.shard_at(self.world.topology.place_of(ahead.shard));
            shard.databases[ahead.db as usize].prefetch_entry(&shard.heap, hash);
            shard.uncommitted.prefetch(hash);
        }
    }

    /// Runs a command that is this owner's to run, on whichever of its shards that is.
    pub fn run_here(&mut self, client: ClientId, args: Args<'_>, now: Now, reply: &mut Reply) -> Flow {
        if !self.world.topology.is_spread() {
            return self.execute(client, args, now, reply);
        }
        let db = self.database_of(client);
        let ahead = self.look_ahead_spread(db, args);
        self.run_here_ahead(client, args, ahead, now, reply)
    }

    /// The same for a command, or a part of one, that has left its client's owner (see `remote`).
    pub fn run_departed(
        &mut self,
        runner: ClientId,
        args: Args<'_>,
        part: u16,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let entry = COMMANDS.find(args.get(0)).map(|entry| whole_entry(entry, args));
        let is_first = match entry {
            // Its parts are counted by their owners.
            Some(entry) if matches!(entry.spec.route, Route::Everywhere(_)) && !is_scan(entry) => {
                let session = self.world.sessions.get(runner);
                let is_of_one = session.is_some_and(|session| session.entrance.only.is_some());
                if is_of_one {
                    part == 0
                } else {
                    self.home_of(runner).is_none()
                }
            }
            _ => part == 0,
        };
        self.world.observer.portion = if is_first { Portion::First } else { Portion::Rest };
        let flow = self.run_here(runner, args, now, reply);
        self.world.observer.portion = Portion::Whole;
        flow
    }

    /// The same for a command that was looked up ahead.
    pub fn run_here_ahead(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        match ahead.entry {
            Some(entry) if entry.spec.route == Route::Keys && ahead.shard != NO_SHARD => {
                self.select(ahead.shard);
                self.execute_ahead(client, args, ahead, now, reply)
            }
            Some(entry) if is_scan(entry) => self.scan_here(client, args, now, reply),
            Some(entry)
                if self.world.topology.is_spread() && is_of_every_shard(whole_entry(entry, args), args) =>
            {
                self.run_on_all(client, args, ahead, now, reply)
            }
            _ => {
                match ahead.shard {
                    NO_SHARD if self.select_named_slot(ahead.entry, args) => {}
                    NO_SHARD => self.select_watched(client),
                    shard => self.select(shard),
                }
                if ahead.entry.is_some_and(|entry| entry.spec.name == "waitaof") {
                    self.world.wishes.is_synced &= !self.has_effects();
                }
                let flow = self.execute_ahead(client, args, ahead, now, reply);
                if ahead.entry.is_some_and(|entry| entry.spec.name == "config") {
                    self.spread_config(args);
                }
                flow
            }
        }
    }

    /// Brings the shard of the slot to hand that the command names by its number.
    fn select_named_slot(&mut self, entry: Option<&'static Entry>, args: Args<'_>) -> bool {
        let topology = self.world.topology;
        let slot = entry.and_then(|entry| named_slot(whole_entry(entry, args), args));
        match slot.map(|slot| topology.shard_of(slot)) {
            Some(shard) if topology.is_mine(shard) => {
                self.select(shard);
                true
            }
            _ => false,
        }
    }

    /// What `CONFIG` did for the owner and one shard holds for all of its shards.
    fn spread_config(&mut self, args: Args<'_>) {
        self.spread_options();
        if args.len() == 2 && args.get(1).eq_ignore_ascii_case(b"resetstat") {
            for place in 0..self.shard_count() {
                self.select_place(place);
                self.shard.stats = ShardStats {
                    changes: self.shard.stats.changes,
                    kept: self.shard.stats.kept,
                    ..ShardStats::default()
                };
            }
        }
    }

    /// Runs a command on every shard of this owner and joins the answers.
    fn run_on_all(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let mut parts = Vec::with_capacity(self.shard_count());
        let portion = self.world.observer.portion;
        let leads_only = ahead
            .entry
            .is_some_and(|entry| concerns_keys(whole_entry(entry, args)));
        let only = self
            .world
            .sessions
            .get(client)
            .and_then(|session| session.entrance.only);
        let only = only.filter(|shard| leads_only && self.world.topology.is_mine(*shard));
        for place in 0..self.shard_count() {
            if only.is_some_and(|shard| self.world.topology.place_of(shard) != place) {
                continue;
            }
            self.select_place(place);
            if leads_only && only.is_none() && !self.shard.role.leads() {
                continue;
            }
            if !parts.is_empty() {
                self.world.observer.portion = Portion::Rest;
            }
            self.world.parked_bytes = self.slab_bytes() - self.shard.heap.slab_bytes();
            let mut part = Reply::new(reply.proto());
            let flow = self.execute_ahead(client, args, ahead, now, &mut part);
            self.world.observer.portion = portion;
            if flow != Flow::Continue {
                reply.raw(part.as_slice());
                return flow;
            }
            parts.push(part.take());
        }
        if parts.is_empty() {
            return self.run_on_none(client, args, ahead, now, reply);
        }
        let how = ahead.how(args);
        let random = self.shard.random();
        let mut joined = how.of_shards().join(&parts, &[], random);
        if self.world.topology.owners == 1 && matches!(how, How::Memory(..)) {
            // There is nobody to join it further.
            joined = how.join(&[joined], &[], random);
        }
        reply.raw(&joined);
        Flow::Continue
    }

    /// What the command answers where there are no keys.
    fn run_on_none(
        &mut self,
        client: ClientId,
        args: Args<'_>,
        ahead: Ahead,
        now: Now,
        reply: &mut Reply,
    ) -> Flow {
        let empty = Box::new(Shard::with_databases(0, 1, self.shard.databases.len()));
        let here = std::mem::replace(&mut self.shard, empty);
        self.note_role();
        let flow = self.execute_ahead(client, args, ahead, now, reply);
        self.shard = here;
        self.note_role();
        flow
    }

    /// `SCAN`: the shard is in the upper bits of the cursor, and the shards are walked one after the other.
    fn scan_here(&mut self, client: ClientId, args: Args<'_>, now: Now, reply: &mut Reply) -> Flow {
        let cursor = args.try_get(1).and_then(parse_u64).unwrap_or(0);
        let topology = self.world.topology;
        let shard = shard_of_cursor(cursor).min(topology.shards - 1);
        self.select(shard);
        let mut inner = OwnedArgs::default();
        for (at, word) in args.iter().enumerate() {
            match at {
                1 if parse_u64(word).is_some() => {
                    inner.push(itoa::Buffer::new().format(cursor & CURSOR_MASK).as_bytes());
                }
                _ => inner.push(word),
            }
        }
        let mut answer = Reply::new(reply.proto());
        let session = self.world.sessions.get(client);
        // Another node has to know that these are not all.
        let is_peer = session.is_some_and(|session| session.entrance.door == Door::Peer);
        let flow = if is_peer || self.shard.role.leads() {
            self.execute(client, inner.view(), now, &mut answer)
        } else {
            let ahead = Ahead {
                entry: COMMANDS.find(args.get(0)),
                ..Ahead::default()
            };
            self.run_on_none(client, inner.view(), ahead, now, &mut answer)
        };
        let next = |inner: u64| match inner {
            0 if shard + 1 < topology.shards => u64::from(shard + 1) << CURSOR_BITS,
            0 => 0,
            more => u64::from(shard) << CURSOR_BITS | more,
        };
        reply.raw(&with_cursor(answer.as_slice(), next));
        flow
    }
}

/// A walk's position takes so many bits of its cursor; the shard stands above them.
const CURSOR_BITS: u32 = 48;
const CURSOR_MASK: u64 = (1 << CURSOR_BITS) - 1;

pub(super) fn shard_of_cursor(cursor: u64) -> u16 {
    (cursor >> CURSOR_BITS) as u16
}

pub(super) fn is_scan(entry: &Entry) -> bool {
    entry.spec.route == Route::Everywhere(Join::Own) && entry.full_name == "scan"
}

/// `CLUSTER COUNTKEYSINSLOT` and its like look at one slot.
pub(super) fn named_slot(entry: &Entry, args: Args<'_>) -> Option<u16> {
    if !matches!(
        &*entry.full_name,
        "cluster|countkeysinslot" | "cluster|getkeysinslot"
    ) {
        return None;
    }
    let slot = u16::try_from(parse_u64(args.try_get(2)?)?).ok()?;
    (slot < SLOTS).then_some(slot)
}

/// `DEBUG POPULATE` makes keys of every shard.
pub(super) fn is_populate(entry: &Entry, args: Args<'_>) -> bool {
    entry.full_name == "debug" && args.try_get(1).is_some_and(|sub| fold::is(sub, "POPULATE"))
}

/// The command is about every key or its memory, so every shard has its part in it; others that go everywhere
/// concern an owner as a whole.
fn is_of_every_shard(entry: &Entry, args: Args<'_>) -> bool {
    if is_populate(entry, args) {
        return true;
    }
    matches!(entry.spec.route, Route::Everywhere(_))
        && (entry.spec.acl.has(Categories::KEYSPACE)
            || entry.full_name == "info"
            || entry.full_name.starts_with("memory|"))
}

/// `*2 $n cursor …` with another cursor. Whatever else it is (an error) stays.
fn with_cursor(answer: &[u8], next: impl Fn(u64) -> u64) -> Vec<u8> {
    let rewritten = || {
        let rest = answer.strip_prefix(b"*2\r\n$")?;
        let line = rest.iter().position(|byte| *byte == b'\r')?;
        let len = parse_u64(&rest[..line])? as usize;
        let digits = rest.get(line + 2..line + 2 + len)?;
        let body = rest.get(line + 4 + len..)?;
        let mut out = Reply::default();
        out.array(2);
        out.bulk(itoa::Buffer::new().format(next(parse_u64(digits)?)).as_bytes());
        out.raw(body);
        Some(out.take())
    };
    rewritten().unwrap_or_else(|| answer.to_vec())
}

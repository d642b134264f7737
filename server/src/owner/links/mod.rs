//! Commands of the routed port whose shards other nodes lead: passed on over links, and kept while nobody leads them.
//!
//! An owner does this for the shards that it has, whoever's client it is: so all that a node's clients say about a
//! shard passes one thread, and keeps its order. Invariants: of one shard's commands no later one is sent to another node,
//! or run here, before the earlier ones have been answered where they were sent; a command that may have been executed is
//! never sent again if it writes. Knows nothing of how shards come to be led.

mod attend;
mod link;
mod names;
mod parcel;
mod pump;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use ruvio_core::cluster::NodeId;
use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Away, Door, Passport};
use ruvio_core::exec::Now;
use ruvio_core::options::Id;

use super::Owner;
use super::crossing::{Kind, Ticket};
use link::Link;
pub(super) use names::Names;
pub(super) use parcel::Parcel;

/// A client's own link: for what waits, and while it watches keys elsewhere.
#[derive(Default)]
struct Pin {
    link: Option<usize>,
    watches: bool,
    /// What it watched is watched no longer.
    broken: bool,
}

/// What is under way to other nodes of one shard's commands.
#[derive(Default)]
struct Flights {
    count: usize,
    node: NodeId,
}

#[derive(Default)]
pub(super) struct Links {
    links: Vec<Option<Link>>,
    shared: HashMap<NodeId, usize>,
    pins: HashMap<ClientId, Pin>,
    /// By shard, in order.
    waiting: BTreeMap<u16, VecDeque<Parcel>>,
    flights: HashMap<u16, Flights>,
    /// Nodes that are left alone until then, since they could not be reached.
    rests: HashMap<NodeId, Instant>,
    /// Shards whose commands were refused just now.
    pauses: HashMap<u16, Instant>,
    /// Links whose node leads nothing of what they were asked, since when.
    unled: HashMap<usize, Instant>,
    /// What clients of other owners sent of a transaction.
    assembled: HashMap<ClientId, Vec<OwnedArgs>>,
    /// Links that were opened and are not watched yet.
    fresh: Vec<usize>,
    /// Links that something has happened to.
    stirred: Vec<usize>,
    /// Parcels that are here, and their bytes.
    commands: usize,
    bytes: usize,
}

/// Parcels and their bytes above which the owner's own clients wait.
const COMMANDS: usize = 8192;
const BYTES: usize = 8 * 1024 * 1024;

impl Links {
    /// Something waits or is under way.
    pub fn is_busy(&self) -> bool {
        self.commands > 0 || !self.stirred.is_empty() || !self.fresh.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.commands >= COMMANDS || self.bytes >= BYTES
    }

    pub fn has_room(&self) -> bool {
        self.commands < COMMANDS / 2 && self.bytes < BYTES / 2
    }

    /// The socket of the link at that place may be read, or written.
    pub fn stir(&mut self, place: usize, peer_done: bool) {
        if let Some(Some(link)) = self.links.get_mut(place) {
            link.readable = true;
            link.peer_done |= peer_done;
            self.stirred.push(place);
        }
    }

    /// The client watches keys elsewhere, or did until its link was lost.
    #[inline]
    pub fn watches(&self, client: ClientId) -> bool {
        let pin = || self.pins.get(&client);
        !self.pins.is_empty() && pin().is_some_and(|pin| pin.watches || pin.broken)
    }

    /// Commands of the client are under way over links that all share.
    fn shares_any_of(&self, client: ClientId) -> bool {
        let mut shared = self.links.iter().flatten().filter(|link| link.client.is_none());
        shared.any(|link| link.has_any_of(client))
    }

    fn count_in(&mut self, parcel: &Parcel) {
        self.commands += 1;
        self.bytes += parcel.size();
    }

    fn count_out(&mut self, parcel: &Parcel) {
        self.commands -= 1;
        self.bytes = self.bytes.saturating_sub(parcel.size());
    }
}

impl Owner {
    /// Takes a command of the routed port on whose shard is not led here. `false`: it runs here.
    pub(super) fn take_away(
        &mut self,
        runner: ClientId,
        args: Args<'_>,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        now: Now,
    ) -> bool {
        if passport.entrance.door != Door::Routed || ticket.client == ClientId::NONE {
            return false;
        }
        if let Some(commands) = self.links.assembled.get_mut(&ticket.client) {
            if kind == Kind::Quiet {
                commands.push(args.to_owned());
            } else {
                let commands = self.links.assembled.remove(&ticket.client).unwrap_or_default();
                self.take_transaction_away(runner, commands, (kind, ticket, passport), now);
            }
            return true;
        }
        if kind == Kind::Quiet && args.len() == 1 {
            match args.get(0) {
                b"MULTI" => {
                    self.links.assembled.insert(ticket.client, Vec::new());
                    return true;
                }
                b"UNWATCH" => self.unpin(ticket.client),
                _ => {}
            }
        }
        let Some(away) = self.engine.describe_away(args, passport.entrance) else {
            return false;
        };
        if !self.engine.is_away(&away) {
            return false;
        }
        let parcel = self.parcel((kind, ticket, passport), away, vec![args.to_owned()]);
        self.forward(parcel);
        true
    }

    /// A transaction of another owner's client is complete.
    fn take_transaction_away(
        &mut self,
        runner: ClientId,
        commands: Vec<OwnedArgs>,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        now: Now,
    ) {
        let parcel = self.transaction((kind, ticket, passport), commands);
        let is_here = self.engine.is_open(parcel.away.shard) || self.engine.watches_here(runner);
        if is_here && !self.links.watches(ticket.client) {
            self.run_commands(runner, parcel, now);
        } else {
            self.forward(parcel);
        }
    }

    pub(super) fn transaction(
        &self,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        commands: Vec<OwnedArgs>,
    ) -> Parcel {
        let slot = passport.slot.unwrap_or(0);
        let of_keys = |words: &OwnedArgs| self.engine.describe_away(words.view(), passport.entrance);
        let away = Away {
            shard: self.engine.world.topology.shard_of(slot),
            writes: commands.iter().filter_map(of_keys).any(|away| away.writes),
            lingers: self.links.watches(ticket.client),
            watches: false,
        };
        Parcel {
            is_transaction: true,
            ..self.parcel((kind, ticket, passport), away, commands)
        }
    }

    pub(super) fn parcel(
        &self,
        (kind, ticket, passport): (Kind, Ticket, Passport),
        away: Away,
        commands: Vec<OwnedArgs>,
    ) -> Parcel {
        Parcel {
            kind,
            ticket,
            passport,
            away,
            commands,
            is_transaction: false,
            deadline: Instant::now() + self.routed_patience(),
            was_said: false,
        }
    }

    fn routed_patience(&self) -> Duration {
        Duration::from_millis(self.engine.world.options.number(Id::RoutedTimeout).max(0) as u64)
    }

    /// The command is to run where its shard is led, behind those that wait for the same.
    pub(super) fn forward(&mut self, parcel: Parcel) {
        self.links.count_in(&parcel);
        let shard = parcel.away.shard;
        self.links.waiting.entry(shard).or_default().push_back(parcel);
        self.engine.set_detained(shard, true);
    }

    /// The client is gone, or watches nothing more and waits for nothing.
    pub(super) fn unpin(&mut self, client: ClientId) {
        if self.links.pins.is_empty() {
            return;
        }
        if let Some(place) = self.links.pins.remove(&client).and_then(|pin| pin.link) {
            self.end_link(place);
        }
    }

    /// Nobody waits any longer for what the client asked.
    pub(super) fn forget_away(&mut self, client: ClientId) {
        self.links.assembled.remove(&client);
        self.unpin(client);
        if self.links.waiting.is_empty() {
            return;
        }
        let shards: Vec<u16> = self.links.waiting.keys().copied().collect();
        for shard in shards {
            let queue = self.links.waiting.remove(&shard).unwrap_or_default();
            let (gone, kept) = queue.into_iter().partition(|parcel| parcel.client() == client);
            let (gone, kept): (VecDeque<Parcel>, VecDeque<Parcel>) = (gone, kept);
            if !kept.is_empty() {
                self.links.waiting.insert(shard, kept);
            }
            for parcel in gone {
                self.links.count_out(&parcel);
                self.finish_part(parcel.ticket, 0, b"");
            }
            self.note_detained(shard);
        }
    }

    fn note_detained(&mut self, shard: u16) {
        let is_detained = self.links.waiting.contains_key(&shard) || self.links.flights.contains_key(&shard);
        self.engine.set_detained(shard, is_detained);
    }
}

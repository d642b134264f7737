//! Commands of the routed port whose shard is an owner's and is not led there: what has to be known of one to pass it
//! on, or to keep it until somebody leads the shard.

use super::Engine;
use super::course::whole_entry;
use super::door::{Door, Entrance};
use super::roles::concerns_keys;
use super::spread::{is_scan, shard_of_cursor};
use crate::command::spec::Flags;
use crate::command::{Args, COMMANDS};
use crate::text::number::parse_u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away {
    pub shard: u16,
    /// Whether it was done matters.
    pub writes: bool,
    /// It waits for keys, or watches them: others do not share its connection.
    pub lingers: bool,
    pub watches: bool,
}

impl Engine {
    /// The shard is not led on this owner, or commands that came before are still under way to it.
    pub fn is_away(&self, away: &Away) -> bool {
        !self.is_open(away.shard)
    }

    /// What there is to know of a command that came by the routed port and is about a shard of this owner's.
    pub fn describe_away(&self, args: Args<'_>, entrance: Entrance) -> Option<Away> {
        let entry = whole_entry(COMMANDS.find(args.try_get(0)?)?, args);
        if entrance.door != Door::Routed || !self.world.is_clustered() || !concerns_keys(entry) {
            return None;
        }
        let topology = self.world.topology;
        let shard = match entrance.only {
            Some(shard) => shard,
            None if is_scan(entry) => {
                let cursor = args.try_get(1).and_then(parse_u64).unwrap_or(0);
                shard_of_cursor(cursor).min(topology.shards - 1)
            }
            None => topology.shard_of_key(args.get(entry.first_key(args)?)),
        };
        let watches = entry.spec.name == "watch";
        topology.is_mine(shard).then_some(Away {
            shard,
            writes: entry.flags.any(Flags::WRITE | Flags::MAY_REPLICATE),
            lingers: watches || entry.flags.any(Flags::BLOCKING),
            watches,
        })
    }

    /// The shard, one of this owner's, leads here and nothing is under way to where it was led before.
    pub fn is_open(&self, shard: u16) -> bool {
        self.shard_at(self.world.topology.place_of(shard)).is_open
    }

    pub fn leads(&self, shard: u16) -> bool {
        self.shard_at(self.world.topology.place_of(shard)).role.leads()
    }

    /// Commands for the shard that came before are under way, or no more.
    pub fn set_detained(&mut self, shard: u16, is_detained: bool) {
        let place = self.world.topology.place_of(shard);
        if let Some(shard) = self.shard_of_place(place) {
            shard.is_detained = is_detained;
            shard.is_open = shard.role.leads() && !is_detained;
        }
    }

    /// Whether the client of another owner watches keys here.
    pub fn watches_here(&self, session: super::session::ClientId) -> bool {
        self.world
            .sessions
            .get(session)
            .is_some_and(|session| session.watched_keys() > 0)
    }
}

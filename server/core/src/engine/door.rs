//! The port that a client came by, and what that means for it in a cluster.
//!
//! By the routed port a client sees one server with the whole keyspace. By the cluster port it sees the node of
//! a Redis Cluster: one database, keys of one slot a command, and `MOVED` for what another node leads. Without a
//! table (`World::cluster`) both are plain Redis.

use std::sync::Arc;

use super::session::{ClientId, Session};
use super::{Engine, Obstacle, World};
use crate::cluster::Table;
use crate::error::{self, Error};
use crate::pubsub::Kind;
use crate::text::crc16::slot_of;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Door {
    #[default]
    Routed,
    Cluster,
    /// A client of another node's routed port, by a link (see `link`).
    Peer,
}

/// How a client came in, and what it said since of reading from followers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Entrance {
    pub door: Door,
    /// It is sent to TLS ports.
    pub is_tls: bool,
    /// `READONLY`: what it reads may come from a shard that follows.
    pub reads_followers: bool,
    /// Of every shard, this one alone is meant.
    pub only: Option<u16>,
    /// Of a link: see `link`.
    pub lap: u64,
}

impl World {
    /// The cluster as this client is to see it: `None` where it sees a single server.
    pub fn cluster_of(&self, client: ClientId) -> Option<&Arc<Table>> {
        let table = self.cluster.as_ref()?;
        let session = self.sessions.get(client)?;
        (session.entrance.door == Door::Cluster).then_some(table)
    }

    /// Databases that the client may select, of those that there are.
    pub fn databases_of(&self, client: ClientId, there_are: usize) -> usize {
        match self.cluster_of(client) {
            Some(_) => there_are.min(1),
            None => there_are,
        }
    }

    /// `mode` of `HELLO` and `redis_mode` of `INFO`.
    pub fn mode_for(&self, client: ClientId) -> &'static str {
        match self.cluster_of(client) {
            Some(_) => "cluster",
            None => "standalone",
        }
    }

    /// Where a client of the cluster port finds the slot, by the table: `Ok` is here.
    pub(super) fn find_slot(&self, table: &Table, entrance: Entrance, slot: u16) -> Result<(), Error> {
        let shard = self.topology.shard_of(slot);
        if table.leads(table.me, shard) {
            return Ok(());
        }
        Err(table.leader(shard).map_or(error::NOT_LED, |leader| {
            let port = leader.port_for(entrance.is_tls);
            Error::from(format!("MOVED {slot} {}:{port}", leader.host))
        }))
    }

    /// What a command for a slot that does not lead here is told.
    pub(super) fn not_led(&self, client: ClientId, slot: Option<u16>) -> Error {
        let entrance = self.sessions.get(client).map(|session| session.entrance);
        match (self.cluster_of(client), entrance, slot) {
            (Some(table), Some(entrance), Some(slot)) => {
                let found = self.find_slot(table, entrance, slot);
                found.err().unwrap_or(error::NOT_LED)
            }
            _ => error::NOT_LED,
        }
    }

    /// A client of the cluster port hears of channels only from the node that leads their shard.
    fn leave_channels(&mut self) {
        let Some(table) = self.cluster.clone() else {
            return;
        };
        let listens = |session: &&Session| {
            session.entrance.door == Door::Cluster && session.subscriptions()[Kind::ShardChannel as usize] > 0
        };
        let listeners: Vec<ClientId> = self.sessions.iter().filter(listens).map(|s| s.id).collect();
        for client in listeners {
            for name in self.subscribed(client, Kind::ShardChannel) {
                if table.leads(table.me, self.topology.shard_of_key(&name)) {
                    continue;
                }
                let count = self.unsubscribe(client, Kind::ShardChannel, &name);
                self.send(client, |out| {
                    out.push(3);
                    out.bulk(Kind::ShardChannel.unsubscribed());
                    out.bulk(&name);
                    out.count(count);
                });
            }
        }
    }
}

impl Engine {
    /// Another table, or the first. Listeners to channels of shards that this node no longer leads are told so.
    pub fn set_cluster(&mut self, table: Option<Arc<Table>>) {
        // Where owners and shards are one nobody else looks at a command's course.
        let is_late = table.is_some() && !self.world.topology.is_spread();
        self.world.obstacles.set(Obstacle::Doors, is_late);
        self.world.cluster = table;
        self.world.leave_channels();
    }

    /// By which port the client came. Said before its first command.
    pub fn set_door(&mut self, client: ClientId, door: Door, is_tls: bool) {
        if let Some(session) = self.world.sessions.get_mut(client) {
            session.entrance = Entrance {
                door,
                is_tls,
                ..Entrance::default()
            };
        }
    }
}

/// The slot that all keys have: `None` where there are none.
pub(super) fn one_slot<'a>(keys: impl Iterator<Item = &'a [u8]>) -> Result<Option<u16>, Error> {
    let mut slot = None;
    for key in keys {
        let of_key = slot_of(key);
        if slot.is_some_and(|slot| slot != of_key) {
            return Err(super::course::CROSS_SLOT);
        }
        slot = Some(of_key);
    }
    Ok(slot)
}

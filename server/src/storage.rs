//! What a node keeps: its data directory and its log, read at the start, written while it serves.
//!
//! With durability `memory` there is none of it: no file is ever opened.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use ruvio_core::effect::{self, Decoder};
use ruvio_core::keyspace::Shard;
use ruvio_core::options::{Durability, Id, Options};
use ruvio_server::datadir::{DataDir, Identity};
use ruvio_server::wal::disk::Folder;
use ruvio_server::wal::{ClusterId, LogIndex, NodeId, Recovery, Seating, Settings, ShardId, SyncMode, Wal};

use super::entropy;
use super::owner::Commit;

/// When a write counts as committed; `None`: it is kept nowhere.
pub fn commit_of(durability: Durability) -> Option<Commit> {
    match durability {
        Durability::Memory => None,
        Durability::Everysec => Some(Commit::Written),
        Durability::Always => Some(Commit::Durable),
    }
}

/// A data directory whose log was read and found in order; nothing has been changed yet.
pub struct Found {
    directory: DataDir,
    recovery: Recovery,
    durability: Durability,
}

/// A directory in use, and its log at work.
pub struct Storage {
    pub wal: Wal,
    _directory: DataDir,
}

impl Found {
    /// Claims the directory that the options name and reads its log. `None` where nothing is kept.
    pub fn read(options: &Options) -> anyhow::Result<Option<Self>> {
        let durability = options.durability();
        if durability == Durability::Memory {
            return Ok(None);
        }
        let fresh = Identity::new(ClusterId(random_bytes()?), NodeId(1), entropy()?);
        let path = options.shown_by(Id::Dir);
        let directory = DataDir::open(Path::new(&path), None, fresh)?;
        let disk = Arc::new(Folder::new(directory.log()));
        let recovery = Recovery::read(disk, directory.identity().cluster)?;
        Ok(Some(Self {
            directory,
            recovery,
            durability,
        }))
    }

    /// Applies the log's entries to the shards, which are all there are, in order.
    pub fn replay(&self, shards: &mut [Shard]) -> anyhow::Result<()> {
        let mut entries = self.recovery.entries();
        let mut count = 0_u64;
        while let Some(entry) = entries.next_entry()? {
            let place = || format!("entry {} of shard {} at {}", entry.id, entry.shard.0, entry.at);
            let shard = shards
                .get_mut(usize::from(entry.shard.0))
                .with_context(|| format!("{}: there is no such shard; was --shards changed?", place()))?;
            for decoded in Decoder::new(entry.payload) {
                let (db, effect) = decoded.with_context(place)?;
                effect::apply::apply(shard, db, &effect).with_context(place)?;
            }
            count += 1;
        }
        tracing::info!(entries = count, "the log was replayed");
        Ok(())
    }

    /// The last entry of a shard.
    pub fn last(&self, shard: u16) -> u64 {
        let known = self.recovery.shards().get(&ShardId(shard));
        known.map_or(LogIndex::default(), |state| state.last).0
    }

    /// Puts the log to work, with a lane for each owner.
    pub fn start(self, seatings: Vec<Seating>) -> anyhow::Result<Storage> {
        let Self {
            mut directory,
            recovery,
            durability,
        } = self;
        let sync = match durability {
            Durability::Always => SyncMode::Always,
            Durability::Everysec | Durability::Memory => SyncMode::EverySecond,
        };
        let settings = Settings::new(sync, seatings.len());
        let wal = recovery.start(&settings, seatings)?;
        directory
            .settle()
            .context("cannot write the identity of the data directory")?;
        Ok(Storage {
            wal,
            _directory: directory,
        })
    }
}

fn random_bytes() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&entropy()?.to_le_bytes());
    bytes[8..].copy_from_slice(&entropy()?.to_le_bytes());
    Ok(bytes)
}

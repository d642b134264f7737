//! What a node keeps: its data directory and its log, read at the start, written while it serves.
//!
//! With durability `memory` there is none of it: no file is ever opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ruvio_core::options::{Durability, Id, Options};
use ruvio_server::datadir::{DataDir, Identity, Refusal};
use ruvio_server::image::Image;
use ruvio_server::raft::{self, Store};
use ruvio_server::wal::disk::Folder;
use ruvio_server::wal::{ClusterId, NodeId, Recovery, Seating, Settings, ShardId, SyncMode, Vote, Wal};

use super::entropy;
use super::owners::topology;

/// A data directory that is this process's; nothing of its log has been read yet.
pub struct Claimed {
    directory: DataDir,
    durability: Durability,
}

/// The log of a directory, read and found in order; nothing has been changed yet.
pub struct Found {
    claimed: Claimed,
    recovery: Recovery,
}

/// A directory in use, and its log at work.
pub struct Storage {
    pub wal: Wal,
    _directory: DataDir,
}

/// The image lacks what the log has forgotten since it was in the image.
#[derive(Debug, thiserror::Error)]
#[error(
    "the image of shard {shard} ends with entry {held}, and the log begins behind entry {purged}: part of the directory \
     was deleted. Restore the folder image, or replace this node's volume"
)]
pub struct ImageBehind {
    shard: u16,
    held: u64,
    purged: u64,
}

impl Claimed {
    /// Claims the directory that the options name. `None` where nothing is kept.
    pub fn new(options: &Options) -> anyhow::Result<Option<Self>> {
        let durability = options.durability();
        if durability == Durability::Memory {
            // Somebody who forgot the option would take an empty keyspace for a loss.
            if Path::new(&options.shown_by(Id::Dir)).join("identity").exists() {
                tracing::warn!(
                    "durability is memory: what the folder of dir keeps is neither read nor changed"
                );
            }
            return Ok(None);
        }
        let fresh = Identity::new(
            ClusterId(random_bytes()?),
            NodeId(1),
            entropy()?,
            topology(options).shards,
        );
        Self::as_member(options, fresh).map(Some)
    }

    /// Claims the directory for a member of a cluster, with that identity if it is new.
    pub fn as_member(options: &Options, fresh: Identity) -> anyhow::Result<Self> {
        let path = options.shown_by(Id::Dir);
        let directory = DataDir::open(Path::new(&path), None, fresh)?;
        Ok(Self {
            directory,
            durability: options.durability(),
        })
    }

    /// Whether the directory is somebody's already.
    pub fn is_taken(options: &Options) -> bool {
        Path::new(&options.shown_by(Id::Dir)).join("identity").exists()
    }

    pub fn identity(&self) -> &Identity {
        self.directory.identity()
    }
}

impl Found {
    /// Reads and checks the whole log. `is_member`: of a node of a cluster.
    pub fn read(claimed: Claimed, is_member: bool) -> anyhow::Result<Self> {
        let disk = Arc::new(Folder::new(claimed.directory.log()));
        let recovery = Recovery::read(disk, claimed.directory.identity().cluster)?;
        let found = Self { claimed, recovery };
        found.check_kind(is_member)?;
        Ok(found)
    }

    /// Opens the image beside the log, of so many shards. They must fit: what the log forgot is in the image.
    pub fn open_image(&self, shards: u16) -> anyhow::Result<Image> {
        let ids: Vec<ShardId> = (0..shards).map(ShardId).collect();
        let folder = self.claimed.directory.image();
        self.check_image_is_there(&folder)?;
        let image = match Image::open(&folder, &ids) {
            // It needs little; without it nothing could be read.
            Err(error) if error.is_full() => {
                self.recovery.give_up_reserve().context("cannot make room")?;
                Image::open(&folder, &ids)
            }
            other => other,
        }?;
        for shard in self.leaving() {
            image.forget(shard)?;
        }
        for (shard, state) in self.recovery.shards() {
            let held = image.meta(*shard)?.map_or(0, |meta| meta.at.index);
            let purged = state.purged.index.0;
            if held < purged {
                return Err(ImageBehind {
                    shard: shard.0,
                    held,
                    purged,
                }
                .into());
            }
        }
        self.claimed.directory.name_holder();
        Ok(image)
    }

    /// Shards that are held here no longer, and whose image was yet to go when the node ended.
    pub fn leaving(&self) -> Vec<ShardId> {
        let shards = self.recovery.shards().iter();
        let leaving = shards.filter(|(_, state)| state.leaving);
        leaving.map(|(shard, _)| *shard).collect()
    }

    /// Before the store of rows is opened, which would begin a new one in the place of a part that was deleted and remove
    /// what it does not know.
    fn check_image_is_there(&self, folder: &Path) -> Result<(), ImageBehind> {
        let mut purged = self
            .recovery
            .shards()
            .iter()
            .filter(|(_, state)| state.purged.index.0 > 0);
        match purged.next() {
            Some((shard, state)) if !folder.join("rows").join("CURRENT").exists() => Err(ImageBehind {
                shard: shard.0,
                held: 0,
                purged: state.purged.index.0,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses the log of a node of a cluster to a server that stands alone, and the other way round: their entries
    /// would be written behind each other's.
    fn check_kind(&self, is_member: bool) -> Result<(), Refusal> {
        let shards = self.recovery.shards();
        let of_member = shards
            .values()
            .any(|state| state.vote != Vote::default() || state.membership.is_some());
        let is_written = shards.values().any(|state| state.last.0 > 0);
        match (is_member, of_member) {
            (false, true) => Err(Refusal::OfMember(self.claimed.directory.path().to_owned())),
            (true, false) if is_written => Err(Refusal::StoodAlone(self.claimed.directory.path().to_owned())),
            _ => Ok(()),
        }
    }

    /// Where images of other nodes arrive.
    pub fn arrivals_folder(&self) -> PathBuf {
        self.claimed.directory.image().join("arriving")
    }

    /// The directory itself.
    pub fn folder(&self) -> &Path {
        self.claimed.directory.path()
    }

    pub fn log_folder(&self) -> PathBuf {
        self.claimed.directory.log()
    }

    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Puts the log to work for groups: one lane, and a store of each shard.
    pub fn start_replicated(
        self,
        shards: &[ShardId],
        recent_bytes: usize,
    ) -> anyhow::Result<(Storage, Vec<Store>)> {
        let Self { claimed, recovery } = self;
        let mut directory = claimed.directory;
        let settings = Settings::new(sync_mode(claimed.durability), 1);
        let (wal, stores) = raft::open(recovery, &settings, shards, recent_bytes)?;
        directory
            .settle()
            .context("cannot write the identity of the data directory")?;
        let storage = Storage {
            wal,
            _directory: directory,
        };
        Ok((storage, stores))
    }

    /// Puts the log to work. A lane for each owner.
    pub fn start(self, seatings: Vec<Seating>) -> anyhow::Result<Storage> {
        let Self { claimed, recovery } = self;
        let mut directory = claimed.directory;
        let settings = Settings::new(sync_mode(claimed.durability), seatings.len());
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

fn sync_mode(durability: Durability) -> SyncMode {
    match durability {
        Durability::Always => SyncMode::Always,
        Durability::Everysec | Durability::Memory => SyncMode::EverySecond,
    }
}

fn random_bytes() -> anyhow::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&entropy()?.to_le_bytes());
    bytes[8..].copy_from_slice(&entropy()?.to_le_bytes());
    Ok(bytes)
}

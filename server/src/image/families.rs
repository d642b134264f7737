//! Which column family holds a shard's rows. A family is filled once and then advanced; an image that comes from
//! another node fills a family of its own, the next *generation*.
//!
//! Invariant: the highest generation that has a first row is the shard's. So the ingest that fills a new one is what
//! puts it in the place of the old one, all at once; a crash before it leaves an empty family, a crash after it an
//! old one, and the next start drops either.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rocksdb::{BoundColumnFamily, DBWithThreadMode, MultiThreaded, Options, ReadOptions};
use ruvio_core::image::{Meta, row};

use super::error::ImageError;
use crate::wal::ShardId;

/// Families come and go while others read.
pub(super) type DB = DBWithThreadMode<MultiThreaded>;

pub(super) struct Families {
    pub(super) db: DB,
    /// The generation of each shard that is its image.
    current: Mutex<BTreeMap<ShardId, u32>>,
}

impl Families {
    /// Of all families that there are. Drops those that are no shard's image.
    pub(super) fn new(db: DB, names: &[String]) -> Result<Self, ImageError> {
        let mut current = BTreeMap::<ShardId, u32>::new();
        let mut known: Vec<_> = names.iter().filter_map(|name| parse(name)).collect();
        known.sort_unstable();
        for (shard, generation) in &known {
            if !current.contains_key(shard) || meta_in(&db, *shard, *generation)?.is_some() {
                current.insert(*shard, *generation);
            }
        }
        for (shard, generation) in known {
            if current.get(&shard) != Some(&generation) {
                db.drop_cf(&name(shard, generation))?;
            }
        }
        Ok(Self {
            db,
            current: Mutex::new(current),
        })
    }

    /// Whether a family is a shard's, of whatever generation.
    pub(super) fn is_of(name: &str, shard: ShardId) -> bool {
        parse(name).is_some_and(|(of, _)| of == shard)
    }

    fn current(&self) -> MutexGuard<'_, BTreeMap<ShardId, u32>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn generation(&self, shard: ShardId) -> Result<u32, ImageError> {
        let generation = self.current().get(&shard).copied();
        generation.ok_or(ImageError::NoShard(shard.0))
    }

    /// Of the family that is the shard's image.
    pub(super) fn name(&self, shard: ShardId) -> Result<String, ImageError> {
        Ok(name(shard, self.generation(shard)?))
    }

    /// The family that is the shard's image. It stays readable for whoever has it.
    pub(super) fn family(&self, shard: ShardId) -> Result<Arc<BoundColumnFamily<'_>>, ImageError> {
        let family = self.db.cf_handle(&self.name(shard)?);
        family.ok_or(ImageError::NoShard(shard.0))
    }

    pub(super) fn meta(&self, shard: ShardId) -> Result<Option<Meta>, ImageError> {
        meta_in(&self.db, shard, self.generation(shard)?)
    }

    /// Bytes of its files.
    pub(super) fn bytes(&self, shard: ShardId) -> Result<u64, ImageError> {
        let family = self.family(shard)?;
        Ok(self.db.get_column_family_metadata_cf(&family).size)
    }

    /// An empty family that is to take the place of the shard's. One that was never filled is made anew.
    pub(super) fn make_next(&self, shard: ShardId, options: &Options) -> Result<Next<'_>, ImageError> {
        let generation = self.generation(shard)?.wrapping_add(1);
        let name = name(shard, generation);
        if self.db.cf_handle(&name).is_some() {
            self.db.drop_cf(&name)?;
        }
        self.db.create_cf(&name, options)?;
        let family = self.db.cf_handle(&name).ok_or(ImageError::NoShard(shard.0))?;
        Ok(Next { generation, family })
    }

    /// The next family is filled: it is the shard's from here on.
    pub(super) fn turn_to(&self, shard: ShardId, generation: u32) {
        self.current().insert(shard, generation);
    }

    /// The rows that another family has taken the place of. Whoever reads them still can.
    pub(super) fn drop_before(&self, shard: ShardId, generation: u32) -> Result<(), ImageError> {
        Ok(self.db.drop_cf(&name(shard, generation.wrapping_sub(1)))?)
    }
}

pub(super) struct Next<'f> {
    pub generation: u32,
    pub family: Arc<BoundColumnFamily<'f>>,
}

fn meta_in(db: &DB, shard: ShardId, generation: u32) -> Result<Option<Meta>, ImageError> {
    let mut reading = ReadOptions::default();
    reading.fill_cache(false);
    let family = db.cf_handle(&name(shard, generation));
    let family = family.ok_or(ImageError::NoShard(shard.0))?;
    let read = db.get_pinned_cf_opt(&family, row::META_KEY, &reading)?;
    let meta = read.map(|bytes| Meta::decode(&bytes)).transpose();
    meta.map_err(|source| ImageError::Meta {
        shard: shard.0,
        source,
    })
}

pub(super) fn name(shard: ShardId, generation: u32) -> String {
    match generation {
        0 => format!("shard-{}", shard.0),
        _ => format!("shard-{}.{generation}", shard.0),
    }
}

fn parse(name: &str) -> Option<(ShardId, u32)> {
    let rest = name.strip_prefix("shard-")?;
    let (shard, generation) = match rest.split_once('.') {
        Some((shard, generation)) => (shard, generation.parse().ok()?),
        None => (rest, 0),
    };
    Some((ShardId(shard.parse().ok()?), generation))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_shard_and_the_generation() {
        for (shard, generation, written) in [(0, 0, "shard-0"), (17, 0, "shard-17"), (17, 3, "shard-17.3")] {
            assert_eq!(name(ShardId(shard), generation), written);
            assert_eq!(parse(written), Some((ShardId(shard), generation)));
        }
        for other in ["default", "shard-", "shard-x", "shard-1.x", "shard-70000"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}

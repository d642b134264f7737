//! Makes a shard of what the image holds of it: one walk over its rows, which lie in the order in which they
//! fill its tables.

use rocksdb::ReadOptions;
use ruvio_core::image::{LoadError, Loader, Meta};
use ruvio_core::keyspace::Shard;

use super::error::ImageError;
use super::store::Image;
use crate::wal::ShardId;

pub(super) const READ_AHEAD_BYTES: usize = 4 << 20;

/// What was loaded.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The log is to be replayed from the entry after its index.
    pub meta: Meta,
    pub rows: u64,
}

impl Image {
    /// Fills a new shard, which was made with the seed of [`Image::meta`]; none if the image holds nothing.
    pub fn load(&self, id: ShardId, shard: &mut Shard) -> Result<Option<Loaded>, ImageError> {
        let Some(meta) = self.meta(id)? else {
            return Ok(None);
        };
        let rows = self.walk(id, meta.clone(), shard)?;
        Ok(Some(Loaded { meta, rows }))
    }

    fn walk(&self, id: ShardId, meta: Meta, shard: &mut Shard) -> Result<u64, ImageError> {
        let broken = |source: LoadError| ImageError::Rows { shard: id.0, source };
        if shard.heap.seed() != meta.seed {
            return Err(broken(LoadError::OtherSeed));
        }
        let mut reading = ReadOptions::default();
        reading.set_readahead_size(READ_AHEAD_BYTES);
        reading.fill_cache(false);
        let mut loader = Loader::new(meta, shard);
        let family = self.families.family(id)?;
        let mut rows = self.families.db.raw_iterator_cf_opt(&family, reading);
        rows.seek_to_first();
        while let Some((key, value)) = rows.item() {
            loader.row(shard, key, value).map_err(broken)?;
            rows.next();
        }
        rows.status()?;
        loader.finish(shard).map_err(broken)
    }
}

//! Reads the entries of a running log, for those who may outlive it.

use std::sync::{Arc, Weak};

use super::disk::Disk;
use super::failure::ReadError;
use super::ids::{ClusterId, LogIndex, Position, ShardId};
use super::scan::{Pin, Scan};
use super::shared::Shared;

/// See the module. Clones read the same log.
#[derive(Clone)]
pub struct Reader {
    disk: Arc<dyn Disk>,
    cluster: ClusterId,
    shared: Weak<Shared>,
}

impl Reader {
    pub(super) fn new(disk: &Arc<dyn Disk>, cluster: ClusterId, shared: &Arc<Shared>) -> Self {
        Self {
            disk: Arc::clone(disk),
            cluster,
            shared: Arc::downgrade(shared),
        }
    }

    /// Living entries of one shard from an index on, to what is written now.
    pub fn entries(&self, shard: ShardId, from: LogIndex) -> Result<Scan, ReadError> {
        let shared = self.shared.upgrade().ok_or(ReadError::Ended)?;
        entries(&self.disk, self.cluster, &shared, shard, from)
    }
}

pub(super) fn entries(
    disk: &Arc<dyn Disk>,
    cluster: ClusterId,
    shared: &Shared,
    shard: ShardId,
    from: LogIndex,
) -> Result<Scan, ReadError> {
    let mut catalog = shared.catalog();
    let at = match catalog.find(shard, from) {
        Some(run) => Position {
            segment: run.segment,
            offset: run.offset,
        },
        None if catalog.last(shard).is_none_or(|last| from > last) => catalog.tail(),
        None => return Err(ReadError::Gone { shard, index: from }),
    };
    let snapshot = catalog.part(shard, from);
    let pin = Pin::new(shared.catalog_handle(), &mut catalog, at.segment);
    drop(catalog);
    let only = Some((shard, from));
    Ok(Scan::new(disk, cluster, snapshot, at, only, Some(pin)))
}

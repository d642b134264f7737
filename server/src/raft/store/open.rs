//! From a log that was read to the stores of a node's shards over it.

use std::io;
use std::sync::Arc;

use super::{Parts, Store};
use crate::wal::{
    Completions, LogId, ReadError, Recovery, Safe, Seating, Settings, ShardId, ShardState, StartError,
    SyncMode, Wal,
};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the membership of shard {} does not decode: {source}", .shard.0)]
    Membership { shard: ShardId, source: io::Error },
}

/// Puts a log to work for groups: one lane for all, and a store for each shard, in the order of `shards`. They have
/// to be all that the cluster has: one that comes to this node later needs its place in the lane.
pub fn open(
    recovery: Recovery,
    settings: &Settings,
    shards: &[ShardId],
    recent_bytes: usize,
) -> Result<(Wal, Vec<Store>), OpenError> {
    let mut known: Vec<(ShardId, ShardState, Option<LogId>)> = Vec::new();
    for shard in shards {
        let state = recovery.shards().get(shard).cloned().unwrap_or_default();
        known.push((*shard, state, recovery.last_id(*shard)?));
    }
    let completions = Arc::new(Completions::default());
    let seating = Seating {
        shards: shards.to_vec(),
        wake: Arc::clone(&completions) as _,
    };
    let wal = recovery.start(settings, vec![seating])?;
    let lane = wal.lane(0);
    completions.attach(Arc::clone(&lane));
    let safe = match settings.sync {
        SyncMode::Always => Safe::Durable,
        SyncMode::EverySecond => Safe::Written,
    };
    let mut stores = Vec::new();
    for (shard, state, last) in known {
        let parts = Parts {
            shard,
            lane: Arc::clone(&lane),
            completions: Arc::clone(&completions),
            reader: wal.reader(),
            safe,
            recent_bytes,
            state,
            last,
        };
        stores.push(Store::new(parts).map_err(|source| OpenError::Membership { shard, source })?);
    }
    Ok((wal, stores))
}

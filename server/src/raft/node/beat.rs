//! One clock for the heartbeats of all shards, so that those to one peer are due at the same time and travel in one
//! message. The library's own clocks, one a shard, would spread them.

use std::time::Duration;

use futures_util::future::join_all;
use openraft::ServerState;
use openraft::async_runtime::watch::WatchReceiver;
use tokio::time::MissedTickBehavior;

use crate::raft::current::Current;
use crate::raft::group::Shard;

/// As long as the runtime lives.
pub(super) async fn beat(groups: Vec<Current>, every: Duration) {
    let mut clock = tokio::time::interval(every);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        clock.tick().await;
        let leads = |raft: &Shard| raft.server_metrics().borrow_watched().state == ServerState::Leader;
        let beats = groups
            .iter()
            .map(Current::raft)
            .filter(leads)
            .map(|raft| async move {
                // A core that has no room for it in time is busy, or has ended and was reported.
                let _ = tokio::time::timeout(every / 2, raft.trigger().heartbeat()).await;
            });
        join_all(beats).await;
    }
}

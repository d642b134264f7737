//! The keeper of a shard that the node holds no longer: log and image of it go, in an order that a start can finish.

use std::io;
use std::time::Duration;

use anyhow::Context;
use ruvio_server::raft::Before;
use ruvio_server::wal::{ShardId, Wal};

use tokio::sync::oneshot;

use super::Work;
use crate::painter::Painter;

/// Between two looks whether a record is durable.
const LOOK: Duration = Duration::from_millis(1);

impl Work {
    /// Nobody else reads the shard's image or log meanwhile: whoever does is this thread.
    pub(super) fn forget(
        painter: &Painter,
        shard: ShardId,
        before: Before,
        done: oneshot::Sender<io::Result<()>>,
    ) {
        let forgotten = before().and_then(|()| painter.drop_image(shard).map_err(io::Error::other));
        // Its group may have ended.
        let _ = done.send(forgotten);
    }

    /// Before anything else is written of shards whose image was yet to go when the node ended: it is gone by now.
    pub(super) fn finish_leaving(&self, wal: &Wal, shards: &[ShardId]) -> anyhow::Result<()> {
        let lane = wal.lane(0);
        for shard in shards {
            let ticket = lane.leave(*shard, false).map_err(|refused| refused.why);
            let ticket = ticket.with_context(|| format!("shard {} cannot be dropped", shard.0))?;
            lane.hasten();
            while lane.durable().0 < ticket && !lane.ended() {
                std::thread::sleep(LOOK);
            }
            tracing::info!(
                shard = shard.0,
                "what was left of a shard that is not held here was dropped"
            );
        }
        Ok(())
    }
}

//! When the image takes in what the log has beyond it, and what the log may forget afterwards.
//!
//! A run is made on a thread of lower priority; whoever asks for it waits. Only what is durable goes into
//! the image, so it is never ahead of the log.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use ruvio_core::engine::Topology;
use ruvio_core::image::window::Reach;
use ruvio_server::image::policy::{self, State};
use ruvio_server::image::{Image, ImageError, Tail, priority};
use ruvio_server::raft::Received;
use ruvio_server::wal::{Lane, LogId, LogIndex, Room, ShardId, Wal};

use super::host::Node;
use super::replicas::Groups;

/// After a run that had no room, so long until the next.
const ROOM_PAUSE: Duration = Duration::from_secs(5);
/// The log is looked at this often.
pub const LOOK: Duration = Duration::from_millis(250);

pub struct Painter {
    pub image: Image,
    topology: Topology,
    /// Where the log's segments are.
    log: PathBuf,
    /// Of each shard's hash, for an image that does not know it yet.
    seeds: Vec<u64>,
    /// The log's length when it was last looked at, and since when it has been that.
    length: u64,
    since: Instant,
    /// The disk was full: no run until then.
    rests_until: Option<Instant>,
    node: Arc<Node>,
    /// Where shards are replicated.
    groups: Option<Groups>,
}

impl Painter {
    pub fn new(image: Image, topology: Topology, log: PathBuf, node: Arc<Node>) -> Self {
        Self {
            image,
            topology,
            log,
            seeds: vec![0; topology.shards.into()],
            length: 0,
            since: Instant::now(),
            rests_until: None,
            node,
            groups: None,
        }
    }

    /// From now on the groups say what is committed, and what the log forgets.
    pub fn follow(&mut self, groups: Groups) {
        self.groups = Some(groups);
    }

    /// The groups end, before the log that they write to does.
    pub fn end_groups(&self) {
        if let Some(groups) = &self.groups {
            groups.raft.stop();
        }
    }

    /// Another node's image in the place of the shard's.
    pub fn install(&self, shard: ShardId, received: &Received) -> anyhow::Result<()> {
        let began = Instant::now();
        let meta = self.image.install(shard, &received.file)?;
        if let Some(groups) = &self.groups {
            groups.holdings.note(shard, received.at);
        }
        // What is left of it the next one removes.
        let _ = std::fs::remove_file(&received.file);
        tracing::info!(
            shard = shard.0,
            index = meta.at.index,
            took_ms = began.elapsed().as_millis() as u64,
            "the image was replaced by another node's"
        );
        Ok(())
    }

    /// A shard's image goes: the node holds it no longer.
    pub fn drop_image(&self, shard: ShardId) -> Result<(), ImageError> {
        if let Some(groups) = &self.groups {
            groups.holdings.clear(shard);
        }
        self.image.forget(shard)
    }

    /// What of a replicated shard was committed and given to its owner.
    pub fn given(&self, shard: ShardId) -> LogIndex {
        let groups = self.groups.as_ref();
        LogIndex(groups.map_or(u64::MAX, |groups| groups.given(shard)))
    }

    /// A shard was made anew.
    pub fn note_seed(&mut self, shard: u16, seed: u64) {
        self.seeds[usize::from(shard)] = seed;
    }

    /// Makes a run if one is wanted or due; whether there was one. Without room for it the log keeps what it has, and
    /// there is another run later.
    pub fn look(&mut self, wal: &Wal) -> anyhow::Result<bool> {
        if let Some(groups) = &self.groups {
            groups.look_at_room();
        }
        if self.node.runs.is_wanted() {
            let urgent = self.node.runs.take_urgent();
            return self.try_run(wal, urgent, "somebody asked for it").map(|()| true);
        }
        let rests = self.rests_until.is_some_and(|until| Instant::now() < until);
        let state = self.state(wal, false)?;
        let Some(due) = policy::due(&state).filter(|_| !rests) else {
            return Ok(false);
        };
        self.try_run(wal, false, &format!("{due:?}")).map(|()| true)
    }

    /// The last look, when nobody is served any more.
    pub fn look_at_end(&mut self, wal: &Wal) -> anyhow::Result<()> {
        let state = self.state(wal, true)?;
        if self.node.ends_with_image.load(Ordering::Relaxed) || policy::due(&state).is_some() {
            self.try_run(wal, true, "the node ends")?;
        }
        Ok(())
    }

    fn try_run(&mut self, wal: &Wal, urgent: bool, why: &str) -> anyhow::Result<()> {
        let node = Arc::clone(&self.node);
        let run = node.runs.begin();
        match self.run(wal, urgent) {
            Ok(()) => {
                run.succeed();
                Ok(())
            }
            Err(error) if is_full(&error) => {
                tracing::warn!("the disk is full: there is no room for the next rows of the image");
                self.rests_until = Some(Instant::now() + ROOM_PAUSE);
                Ok(())
            }
            other => other.with_context(|| format!("a run of the image ({why})")),
        }
    }

    fn state(&mut self, wal: &Wal, stopping: bool) -> anyhow::Result<State> {
        let mut state = State {
            stopping,
            disk_is_full: wal.room() == Room::Full,
            ..State::default()
        };
        let mut behind = false;
        for shard in self.shards() {
            state.image_bytes += self.image.live_bytes(shard)?;
            let meta = self.image.meta(shard)?;
            state.keys += meta.as_ref().map_or(0, |meta| meta.keys());
            let index = meta.map_or(0, |meta| meta.at.index);
            behind |= wal.range(shard).is_some_and(|(_, last)| last.0 > index);
        }
        let length = wal.watch().size_bytes();
        if length != self.length {
            (self.length, self.since) = (length, Instant::now());
        }
        state.tail_bytes = if behind { length } else { 0 };
        state.quiet_ms = self.since.elapsed().as_millis() as u64;
        Ok(state)
    }

    fn shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.topology.shards).map(ShardId)
    }

    /// Has the log forget what the image holds. A crash may have come between the two, and have taken the end of
    /// the log: then it goes on behind the image.
    pub fn purge(&self, wal: &Wal) -> anyhow::Result<()> {
        for shard in self.shards() {
            if let Some(meta) = self.image.meta(shard)? {
                let at = meta.at;
                let lane = wal.lane(self.topology.owner_of(shard.0).into());
                lane.purge(shard, LogId::new(at.term, at.node, at.index))
                    .map_err(|refused| refused.why)?;
            }
        }
        Ok(())
    }

    /// Takes in all that is durable when it begins, a shard after the other, and has the log forget it. `urgent`:
    /// somebody waits for it.
    fn run(&self, wal: &Wal, urgent: bool) -> anyhow::Result<()> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("image".into());
            let run = thread.spawn_scoped(scope, || {
                if !urgent {
                    priority::lower_thread();
                }
                // What is written meanwhile is for the next run: else one would not end while clients write.
                let goals: Vec<_> = self
                    .shards()
                    .map(|shard| (shard, self.goal(wal, shard)))
                    .collect();
                goals
                    .into_iter()
                    .try_for_each(|(shard, goal)| self.run_shard(wal, shard, goal))
            })?;
            run.join()
                .unwrap_or_else(|_| anyhow::bail!("the image's thread panicked"))
        })
    }

    /// The last entry that can be in the image: up to there nothing can be void after a crash.
    fn goal(&self, wal: &Wal, shard: ShardId) -> LogIndex {
        let progress = self.lane(wal, shard).progress(shard);
        let durable = progress.map_or(LogIndex::default(), |progress| progress.whole);
        match &self.groups {
            Some(groups) => durable.min(LogIndex(groups.given(shard))),
            None => durable,
        }
    }

    fn lane(&self, wal: &Wal, shard: ShardId) -> Arc<Lane> {
        match self.groups {
            // They share one.
            Some(_) => wal.lane(0),
            None => wal.lane(self.topology.owner_of(shard.0).into()),
        }
    }

    /// The image holds the log up to here, so the log may forget it. One whose queue is full is told with the
    /// next run.
    fn forget(&self, wal: &Wal, lane: &Lane, shard: ShardId, at: LogId) {
        match &self.groups {
            Some(groups) => groups.forget(shard, at, wal.watch().size_bytes()),
            None => {
                let _ = lane.purge(shard, at);
            }
        }
    }

    fn run_shard(&self, wal: &Wal, shard: ShardId, goal: LogIndex) -> anyhow::Result<()> {
        let began = Instant::now();
        let lane = self.lane(wal, shard);
        loop {
            let from = self.image.meta(shard)?.map_or(0, |meta| meta.at.index);
            if goal.0 <= from {
                return Ok(());
            }
            let scan = wal.entries(shard, LogIndex(from + 1))?;
            let mut tail = Tail::new(scan, self.log.clone(), goal);
            let seed = self.seeds[usize::from(shard.0)];
            let mut reach = Reach::Full;
            while reach == Reach::Full {
                let advanced = self.image.advance(shard, seed, &mut tail)?;
                reach = advanced.reach;
                let at = advanced.meta.at;
                tracing::info!(
                    shard = shard.0,
                    index = at.index,
                    bytes = advanced.file_bytes,
                    took_ms = began.elapsed().as_millis() as u64,
                    "the image took in the log"
                );
                self.forget(wal, &lane, shard, LogId::new(at.term, at.node, at.index));
            }
        }
    }
}

fn is_full(error: &anyhow::Error) -> bool {
    let mut causes = error.chain();
    causes.any(|cause| cause.downcast_ref().is_some_and(ImageError::is_full))
}

//! Memory backed ahead of need: page faults of a growing keyspace happen on a helper thread, not in a turn.
//!
//! A large page that is faulted in on the path of a command costs it milliseconds. The helper starts with
//! the first job, so a small cache has no such thread.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use ruvio_core::engine::Engine;
use ruvio_core::memory::Populate;

#[derive(Default)]
pub struct Populator {
    jobs: Option<SyncSender<Populate>>,
}

/// Between two steps of a job: long enough that the owner gets its core back where the two share one, short
/// enough that the helper backs gigabytes a second.
const REST: Duration = Duration::from_micros(200);
/// Jobs waiting: more would only say the same again.
const QUEUE: usize = 4;

impl Populator {
    /// Hands the helper what memory wants backed, if anything. Never waits: a full queue means that the
    /// helper is behind, and the turn then faults its own pages.
    pub fn offer(&mut self, engine: &mut Engine) {
        let Some(job) = engine.shard.heap.populate_ahead() else {
            return;
        };
        let jobs = self.jobs.get_or_insert_with(start);
        let _ = jobs.try_send(job);
    }
}

fn start() -> SyncSender<Populate> {
    let (send, jobs) = sync_channel::<Populate>(QUEUE);
    let helper = std::thread::Builder::new().name("memory".into());
    // Without the helper pages are faulted where they are first used.
    let _ = helper.spawn(move || {
        jobs.into_iter()
            .for_each(|job| job.run(|| std::thread::sleep(REST)))
    });
    send
}

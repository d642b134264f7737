//! CPU of the image a write, all of its threads and merges counted, and the memory of its runs; beside what
//! Valkey's child uses a key to rewrite its append-only file.

use std::time::Duration;

use anyhow::Result;

use super::{
    MIB, Overwrites, TAKEN_BYTES, WINDOW_BYTES, behind_the_scenes, keeping, lines_or_failure, log_bytes,
    rest, take_in, wait_until,
};
use crate::contest::{Pair, Settings, fill, median};
use crate::report::{Line, Target};
use crate::server::Server;
use crate::workload::fill_strings;

/// Enough for a merge of what runs left.
const WINDOWS: usize = 5;
const SMALL_KEYS: u64 = 1_000_000;
const SMALL_US_MAX: f64 = 0.25;
const MEMORY_MIB_MAX: f64 = 130.0;

pub(super) fn lines(settings: &Settings) -> Vec<Line> {
    [
        (SMALL_KEYS, Target::AtMost(SMALL_US_MAX)),
        (settings.keys_max, Target::RatioAtMost(1.0)),
    ]
    .into_iter()
    .flat_map(|(keys, target)| {
        let what = format!("{keys} keys, CPU of the image a SET (Valkey: of a rewrite, a key)");
        let lines = measure(settings, keys).map(|cost| cost.lines(&what, keys, target));
        lines_or_failure(&what, lines)
    })
    .collect()
}

struct Cost {
    rewrite_us: f64,
    image_us: f64,
    /// CPU of the log's threads a SET, and how far anonymous memory rose over idle in the worst run.
    log_us: f64,
    rise_bytes: u64,
    sets: u64,
}

impl Cost {
    fn lines(&self, what: &str, keys: u64, target: Target) -> Vec<Line> {
        let pair = |reference, subject| Pair { reference, subject };
        let note = format!(
            "{} SETs in {WINDOWS} windows of the log, merges waited for",
            self.sets
        );
        let memory = format!("{keys} keys, memory of a run over idle, without mapped files");
        vec![
            Line::new(what, "µs", pair(self.rewrite_us, self.image_us), Some(target)).note(note),
            Line::new(
                &memory,
                "MiB",
                pair(0.0, self.rise_bytes as f64 / MIB),
                Some(Target::AtMost(MEMORY_MIB_MAX)),
            )
            .note("the worst of the runs; anonymous memory, looked at every 5 ms"),
            Line::new(
                &format!("{keys} keys, CPU of the log's threads a SET, everysec, P=16"),
                "µs",
                pair(0.0, self.log_us),
                None,
            ),
        ]
    }
}

fn measure(settings: &Settings, keys: u64) -> Result<Cost> {
    let rewrite_us = rewrite(settings, keys)?;
    let server = Server::start(&keeping(settings), settings.cores)?;
    fill(&server, &fill_strings(keys, 16))?;
    take_in(&server)?;
    let mut overwrites = Overwrites::new(keys, 16);
    let (mut sets, mut image_ns, mut log_ns, mut rise_bytes) = (0, 0, 0, 0);
    for _ in 0..WINDOWS {
        let before = server.run_time()?;
        sets += overwrites.write_until(&server, WINDOW_BYTES)?;
        // The run begins within a second.
        let idle = server.anonymous_bytes()?;
        wait_until(
            &server,
            |server| Ok(log_bytes(server)? <= TAKEN_BYTES),
            |server| {
                rise_bytes = rise_bytes.max(server.anonymous_bytes()?.saturating_sub(idle));
                Ok(())
            },
        )?;
        rest(&server)?;
        let after = server.run_time()?;
        image_ns += behind_the_scenes(&before, &after);
        log_ns += after.log_ns - before.log_ns;
    }
    let per_set = |ns: u64| ns as f64 / sets.max(1) as f64 / 1e3;
    Ok(Cost {
        rewrite_us,
        image_us: per_set(image_ns),
        log_us: per_set(log_ns),
        rise_bytes,
        sets,
    })
}

/// CPU of Valkey's child that rewrites the append-only file, microseconds a key.
fn rewrite(settings: &Settings, keys: u64) -> Result<f64> {
    let server = Server::start(&settings.reference, settings.cores)?;
    fill(&server, &fill_strings(keys, 16))?;
    let mut times = Vec::new();
    for _ in 0..settings.rounds {
        let before = server.run_time()?.children_ns;
        server.client()?.call(&["BGREWRITEAOF"])?;
        std::thread::sleep(Duration::from_millis(100));
        wait_until(
            &server,
            |server| {
                let field = server.client()?.info("persistence", "aof_rewrite_in_progress")?;
                Ok(field.as_deref().map(str::trim) == Some("0"))
            },
            |_| Ok(()),
        )?;
        times.push((server.run_time()?.children_ns - before) as f64 / keys as f64 / 1e3);
    }
    Ok(median(times))
}

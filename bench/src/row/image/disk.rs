//! The disk under a long load of overwrites: log and image together stay in proportion to the data.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::{MIB, Overwrites, keeping, lines_or_failure, rest};
use crate::contest::{Pair, Settings, fill};
use crate::load::Stop;
use crate::report::{Line, Target};
use crate::server::{Server, usage};
use crate::workload::fill_strings;

/// Keys, and bytes of a value.
const SHAPES: [(u64, usize); 2] = [(1_000_000, 16), (200_000, 1024)];
const KEY_BYTES: u64 = 16;
const LOOK: Duration = Duration::from_millis(20);
/// As many windows as fit this take their turn.
const TIME: Duration = Duration::from_secs(30);

pub(super) fn lines(settings: &Settings) -> Vec<Line> {
    SHAPES
        .into_iter()
        .flat_map(|(keys, bytes)| {
            let what =
                format!("{keys} keys × {bytes} B, overwritten for {TIME:?}, log and image on the disk");
            lines_or_failure(
                &what,
                measure(settings, keys, bytes).map(|disk| disk.lines(&what)),
            )
        })
        .collect()
}

struct Disk {
    data_mib: f64,
    peak_mib: f64,
    rest_mib: f64,
    written_mib: f64,
}

impl Disk {
    fn lines(&self, what: &str) -> Vec<Line> {
        let max = (3.0 * self.data_mib + 512.0).round();
        let figures = Pair {
            reference: 0.0,
            subject: self.peak_mib,
        };
        let note = format!(
            "data {:.0} MiB; {:.0} MiB of log were written; {:.0} MiB at rest afterwards",
            self.data_mib, self.written_mib, self.rest_mib
        );
        vec![Line::new(what, "MiB", figures, Some(Target::AtMost(max))).note(note)]
    }
}

fn measure(settings: &Settings, keys: u64, bytes: usize) -> Result<Disk> {
    let server = Server::start(&keeping(settings), settings.cores)?;
    let done = AtomicBool::new(false);
    let directory = server.directory();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(usage::disk_bytes(directory));
                std::thread::sleep(LOOK);
            }
            peak
        });
        let filled = fill(&server, &fill_strings(keys, bytes));
        let mut overwrites = Overwrites::new(keys, bytes);
        let sent = filled.and_then(|_| overwrites.send(&server, 50, 16, Stop::After(TIME)));
        done.store(true, Ordering::Relaxed);
        let Ok(peak) = watcher.join() else {
            bail!("the watcher of the disk panicked");
        };
        sent?;
        rest(&server)?;
        let written = server.client()?.info("persistence", "log_written_bytes")?;
        Ok(Disk {
            data_mib: (keys * (KEY_BYTES + bytes as u64)) as f64 / MIB,
            peak_mib: peak as f64 / MIB,
            rest_mib: usage::disk_bytes(directory) as f64 / MIB,
            written_mib: written
                .and_then(|text| text.trim().parse::<f64>().ok())
                .unwrap_or(0.0)
                / MIB,
        })
    })
}

//! Measures what the log's way of filling files is worth on a disk, and what an entry costs.
//!
//! `cargo run --release -p ruvio-server --example log_disk -- DIR`: the latency of a write with its sync into a file
//! that grows, one with room set aside, one of zeros and one used before, in turns, so that a busy
//! neighbour meets all alike; then entries of one owner through the whole log.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::time::{ClockId, clock_gettime};
use ruvio_server::wal::disk::{Disk, File, Folder};
use ruvio_server::wal::{
    ClusterId, LogId, LogIndex, Recovery, Refused, Seating, Settings, ShardId, SyncMode, Wake,
};

const CLUSTER: ClusterId = ClusterId([1; 16]);

fn main() -> anyhow::Result<()> {
    let folder = std::env::args().nth(1).context("usage: log_disk DIR")?;
    let folder = Path::new(&folder).join("log-disk-bench");
    std::fs::create_dir_all(&folder)?;
    println!("| bytes a write | file | p50 µs | p99 µs | CPU µs |\n|---|---|---|---|---|");
    for (bytes, rounds) in [(4 << 10, 1500), (64 << 10, 400)] {
        compare(&folder, bytes, rounds)?;
    }
    println!(
        "\n| mode | entries/s | entries a sync | CPU of the log's threads, ns an entry |\n|---|---|---|---|"
    );
    for sync in [SyncMode::Always, SyncMode::EverySecond] {
        for waiting in [1, 16, 1024] {
            entries(&folder, sync, waiting)?;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

/// How a file is before it is written to.
const STATES: [&str; 4] = ["grows", "room set aside", "zeros", "used before"];

fn prepare(disk: &Folder, state: &str, bytes: u64) -> anyhow::Result<Arc<dyn File>> {
    let file = disk.create(state)?;
    let fill = |byte: u8| -> anyhow::Result<()> {
        let block = vec![byte; 1 << 20];
        for at in (0..bytes).step_by(1 << 20) {
            file.write_at(&[IoSlice::new(&block)], at)?;
        }
        Ok(())
    };
    match state {
        "room set aside" => file.allocate(0, bytes)?,
        "zeros" => {
            file.allocate(0, bytes)?;
            fill(0)?;
        }
        "used before" => fill(7)?,
        _ => {}
    }
    file.sync_all()?;
    Ok(file)
}

fn compare(folder: &Path, bytes: usize, rounds: usize) -> anyhow::Result<()> {
    let disk = Folder::new(folder);
    let files = STATES.map(|state| prepare(&disk, state, (bytes * rounds) as u64));
    let files = files.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let mut times: Vec<Vec<Duration>> = STATES.iter().map(|_| Vec::new()).collect();
    let mut cpu = [Duration::ZERO; 4];
    let block = vec![9; bytes];
    for round in 0..rounds {
        for (i, file) in files.iter().enumerate() {
            let (started, cpu_before) = (Instant::now(), cpu_time(ClockId::ThreadCPUTime));
            file.write_at(&[IoSlice::new(&block)], (round * bytes) as u64)?;
            file.sync()?;
            times[i].push(started.elapsed());
            cpu[i] += cpu_time(ClockId::ThreadCPUTime) - cpu_before;
        }
    }
    for (i, state) in STATES.iter().enumerate() {
        times[i].sort_unstable();
        let at = |percent: usize| times[i][rounds * percent / 100].as_micros();
        let cpu = cpu[i].as_micros() / rounds as u128;
        println!("| {bytes} | {state} | {} | {} | {cpu} |", at(50), at(99));
        disk.remove(state)?;
    }
    Ok(())
}

struct Owner(std::thread::Thread);

impl Wake for Owner {
    fn wake(&self) {
        self.0.unpark();
    }
}

/// One owner that keeps `waiting` entries of a small SET on their way.
fn entries(folder: &Path, sync: SyncMode, waiting: u64) -> anyhow::Result<()> {
    let folder = folder.join("wal");
    std::fs::create_dir_all(&folder)?;
    let recovery = Recovery::read(Arc::new(Folder::new(&folder)), CLUSTER)?;
    let seating = Seating {
        shards: vec![ShardId(0)],
        wake: Arc::new(Owner(std::thread::current())),
    };
    let wal = recovery.start(&Settings::new(sync, 1), vec![seating])?;
    let lane = wal.lane(0);
    let cpu = || {
        let own = cpu_time(ClockId::ThreadCPUTime);
        cpu_time(ClockId::ProcessCPUTime).saturating_sub(own)
    };
    let (started, cpu_before) = (Instant::now(), cpu());
    let (mut handed, mut done) = (0, 0);
    while started.elapsed() < Duration::from_secs(3) {
        while handed < done + waiting {
            let mut payload = lane.buffer();
            payload.resize(38, 5);
            match lane.append(ShardId(0), LogId::new(1, 0, handed + 1), payload) {
                Ok(_) => handed += 1,
                Err(Refused { why, .. }) => anyhow::bail!("{why}"),
            }
        }
        let progress = lane.progress(ShardId(0)).context("the shard is there")?;
        let LogIndex(now) = match sync {
            SyncMode::Always => progress.durable.0,
            SyncMode::EverySecond => progress.written.0,
        };
        if now == done {
            std::thread::park();
        }
        done = now;
        if done > 0 && done.is_multiple_of(1 << 16) {
            // As the image does: what it holds goes.
            lane.purge(ShardId(0), LogId::new(1, 0, done)).ok();
        }
    }
    let (took, cpu) = (started.elapsed(), cpu() - cpu_before);
    let counts = wal.counts();
    wal.stop()?;
    println!(
        "| {sync:?}, {waiting} on their way | {:.0} | {:.1} | {} |",
        done as f64 / took.as_secs_f64(),
        counts.entries as f64 / counts.syncs.max(1) as f64,
        cpu.as_nanos() / u128::from(done.max(1)),
    );
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

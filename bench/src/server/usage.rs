//! What the kernel says about a process: time on a core, time spent waiting for one, and resident memory.

use std::fs;
use std::ops::Sub;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Scheduler times of all threads of a process, from `/proc/PID/task/*/schedstat`.
/// A thread that ends between two looks takes its time with it; neither server ends threads under load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu {
    pub ran_ns: u64,
    /// Ready to run, but the core was somebody else's: how contended the measurement was.
    pub waited_ns: u64,
}

impl Cpu {
    pub fn of(pid: u32) -> Result<Self> {
        let mut sum = Self::default();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            match fs::read_to_string(task?.path().join("schedstat")) {
                Ok(text) => sum.add(&text)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(sum)
    }

    /// The calling thread's own.
    pub fn of_this_thread() -> Result<Self> {
        let mut own = Self::default();
        own.add(&fs::read_to_string("/proc/thread-self/schedstat")?)?;
        Ok(own)
    }

    fn add(&mut self, schedstat: &str) -> Result<()> {
        let mut fields = schedstat.split_whitespace().map(str::parse::<u64>);
        self.ran_ns += fields.next().context("empty schedstat")??;
        self.waited_ns += fields.next().context("short schedstat")??;
        Ok(())
    }
}

impl Sub for Cpu {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }
}

/// CPU of a process by who used it. Threads that have ended are in the process's own sum alone, which the kernel tells
/// in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTime {
    pub process_ns: u64,
    /// Children that have ended.
    pub children_ns: u64,
    /// Threads of owners and of the log, and the latter alone.
    pub serving_ns: u64,
    pub log_ns: u64,
}

impl RunTime {
    pub fn of(pid: u32) -> Result<Self> {
        let mut times = Self::default();
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = task?.path();
            // One that has just ended is none of those that serve.
            let (Ok(name), Ok(text)) = (
                fs::read_to_string(task.join("comm")),
                fs::read_to_string(task.join("schedstat")),
            ) else {
                continue;
            };
            let mut cpu = Cpu::default();
            cpu.add(&text)?;
            if name.starts_with("log-") {
                times.log_ns += cpu.ran_ns;
            }
            if name.starts_with("log-") || name.starts_with("owner-") {
                times.serving_ns += cpu.ran_ns;
            }
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // The name in parentheses may hold blanks; the fields after it do not.
        let (_, fields) = stat.rsplit_once(')').context("a stat without a name")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        let ticks = |at: usize| -> Result<u64> { Ok(fields.get(at).context("short stat")?.parse::<u64>()?) };
        times.process_ns = (ticks(11)? + ticks(12)?) * tick_ns;
        times.children_ns = (ticks(13)? + ticks(14)?) * tick_ns;
        Ok(times)
    }
}

/// Resident memory that is no file's: what was mapped of a file is the page cache's, and goes when others want it.
pub fn anonymous_bytes(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .context("no RssAnon in status")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

/// What the files below a folder take on the disk. Files come and go meanwhile.
pub fn disk_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

/// Memory by the server's allocator and by the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub used_bytes: u64,
    pub rss_bytes: u64,
}

pub fn rss_bytes(pid: u32) -> Result<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Rss:"))
        .context("no Rss in smaps_rollup")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_memory_of_this_process_are_seen() {
        let pid = std::process::id();
        let (cpu, rss) = (Cpu::of_this_thread().unwrap(), rss_bytes(pid).unwrap());
        let mut block = vec![1u8; 64 << 20];
        for round in 0..40u8 {
            block
                .iter_mut()
                .for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(round));
        }
        std::hint::black_box(&block);
        // schedstat counts up to the last tick; sleeping settles it.
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!((Cpu::of_this_thread().unwrap() - cpu).ran_ns > 1_000_000);
        assert!(Cpu::of(pid).unwrap().ran_ns >= Cpu::of_this_thread().unwrap().ran_ns / 2);
        assert!(rss_bytes(pid).unwrap() > rss + (48 << 20));
        assert!(anonymous_bytes(pid).unwrap() > 48 << 20);
        assert!(RunTime::of(pid).unwrap().process_ns > 0);
    }
}

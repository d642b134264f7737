//! What the kernel says about a process: time on a core, time spent waiting for one, and resident memory.

use std::fs;
use std::ops::Sub;

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
    }
}

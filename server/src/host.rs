//! What the core asks of the process: a clock for statistics, and memory figures.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Instant;

use ruvio_core::engine::{Host, MemoryFigures};
use tikv_jemalloc_ctl::thread::{ThreadLocal, allocatedp, deallocatedp};

/// The process as one owner thread sees it. Made on that thread: the allocator counts by thread.
pub struct Process {
    started: Instant,
    allocated: ThreadLocal<u64>,
    deallocated: ThreadLocal<u64>,
}

impl Process {
    pub fn new() -> anyhow::Result<Self> {
        let fail = |error| anyhow::anyhow!("the allocator does not count by thread: {error}");
        Ok(Self {
            started: Instant::now(),
            allocated: allocatedp::read().map_err(fail)?,
            deallocated: deallocatedp::read().map_err(fail)?,
        })
    }
}

impl Host for Process {
    fn clock_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    fn memory(&self) -> MemoryFigures {
        MemoryFigures {
            allocated: self.allocated(),
            resident: resident_bytes().unwrap_or(0),
        }
    }

    fn allocated(&self) -> usize {
        self.allocated.get().saturating_sub(self.deallocated.get()) as usize
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        std::fs::read(path).map_err(reason)
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        replace_file(Path::new(path), bytes).map_err(reason)
    }

    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; len];
        File::open("/dev/urandom")
            .and_then(|mut source| source.read_exact(&mut bytes))
            .map_err(reason)?;
        Ok(bytes)
    }
}

/// What clients are told: the words alone, without Rust's number behind them.
fn reason(error: io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

/// Writes beside the file, syncs, and moves it into its place, so that a crash leaves one or the other.
fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".tmp-{}", std::process::id()));
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| std::fs::rename(&beside, path)) {
        // The first error is the one to tell.
        let _ = std::fs::remove_file(&beside);
        return Err(error);
    }
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// The resident set from `/proc/self/statm`.
fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

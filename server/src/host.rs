//! What the core asks of the process: a clock for statistics, and memory figures.

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
            allocated: self.allocated.get().saturating_sub(self.deallocated.get()) as usize,
            resident: resident_bytes().unwrap_or(0),
        }
    }
}

/// The resident set from `/proc/self/statm`.
fn resident_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size())
}

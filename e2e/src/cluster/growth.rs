//! What nodes take of memory and disk: under faults as without, neither may grow without bound.

use std::fmt;
use std::fs::{Metadata, read_dir};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::Cluster;
use super::node::Node;

/// The most that any node was seen to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Resident memory, at its highest in a process's life.
    pub rss_bytes: u64,
    /// The log with its room ahead and its reserve.
    pub log_bytes: u64,
}

impl Growth {
    /// Counts what the nodes take now.
    pub fn look(&mut self, cluster: &Cluster) {
        for node in &cluster.nodes {
            // One that is not there takes no memory.
            let rss_bytes = node.rss_bytes_max().unwrap_or(0);
            self.rss_bytes = self.rss_bytes.max(rss_bytes);
            self.log_bytes = self.log_bytes.max(node.log_bytes());
        }
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rss_mib, log_mib) = (self.rss_bytes >> 20, self.log_bytes >> 20);
        write!(
            f,
            "a node took {rss_mib} MiB of memory and {log_mib} MiB of log at the most"
        )
    }
}

impl Node {
    /// The most of memory that its process ever had, as the kernel counts it.
    pub fn rss_bytes_max(&self) -> Result<u64> {
        self.status_bytes("VmHWM:")
    }

    /// What it has of memory now.
    pub fn rss_bytes(&self) -> Result<u64> {
        self.status_bytes("VmRSS:")
    }

    fn status_bytes(&self, field: &str) -> Result<u64> {
        let pid = self.pid().context("no process")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kib: u64 = line
            .context("no such field")?
            .trim()
            .trim_end_matches(" kB")
            .parse()?;
        Ok(kib << 10)
    }

    /// What its log takes of the disk.
    pub fn log_bytes(&self) -> u64 {
        bytes_in(&self.data().join("wal"))
    }
}

/// What the files of a folder take of the disk. Some may go meanwhile.
fn bytes_in(folder: &Path) -> u64 {
    let entries = read_dir(folder).into_iter().flatten().flatten();
    let taken = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => bytes_in(&entry.path()),
        Ok(found) => on_disk(&found),
        Err(_) => 0,
    };
    entries.map(taken).sum()
}

fn on_disk(found: &Metadata) -> u64 {
    found.blocks() * 512
}

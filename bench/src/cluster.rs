//! Three nodes of one kind on loopback: Ruvio, a Valkey primary with two replicas, or etcd.
//!
//! They may run on every core, for there are more of them than cores; all kinds alike. Whatever happens, they are
//! ended by their pids and their folder is removed.

mod etcd;
mod ruvio;
mod valkey;

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cores::{Cores, pin_to, pin_to_both};
use crate::server::usage::Cpu;
use crate::server::{DIRECTORY_PREFIX, orphan_safe};

pub use etcd::Etcd;
pub use ruvio::{Ruvio, Shard};
pub use valkey::Valkey;

pub const NODES: usize = 3;
/// How long three nodes may take until they serve.
const PATIENCE: Duration = Duration::from_secs(60);
/// Under the ports that the system gives away, so that a node finds its port free when it starts again.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A process that can be ended and started again on its folder.
pub struct Node {
    binary: PathBuf,
    arguments: Vec<String>,
    log: PathBuf,
    cores: Cores,
    child: Option<Child>,
}

impl Node {
    fn start(binary: &Path, arguments: Vec<String>, log: PathBuf, cores: Cores) -> Result<Self> {
        let mut node = Self {
            binary: binary.to_owned(),
            arguments,
            log,
            cores,
            child: None,
        };
        node.restart()?;
        Ok(node)
    }

    pub fn restart(&mut self) -> Result<()> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let mut command = orphan_safe(&self.binary);
        command.args(&self.arguments).stdin(Stdio::null());
        command.stderr(log.try_clone()?).stdout(log);
        pin_to_both(self.cores)?;
        let child = command.spawn();
        pin_to(self.cores.load)?;
        self.child = Some(child.with_context(|| format!("starting {}", self.binary.display()))?);
        Ok(())
    }

    /// SIGKILL: whatever it had not yet written is lost.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().ok();
            child.wait().ok();
        }
    }

    pub fn cpu(&self) -> Result<Cpu> {
        Cpu::of(self.child.as_ref().context("the node is down")?.id())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The folder of a cluster.
struct Folder(PathBuf);

impl Folder {
    fn new(kind: &str) -> Result<Self> {
        let name = format!(
            "{DIRECTORY_PREFIX}{}-{kind}-{}",
            std::process::id(),
            free_ports(1)?[0]
        );
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn text(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Ports that nobody listens on now.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let width = u32::from(PORTS.end - PORTS.start);
    let first = std::process::id().wrapping_mul(97) % width;
    let ports: Vec<u16> = (0..width)
        .map(|step| PORTS.start + ((first + step) % width) as u16)
        .filter(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .take(count)
        .collect();
    if ports.len() < count {
        bail!("no {count} free ports");
    }
    Ok(ports)
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Asks again until it is there.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let trouble = match ask() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => String::new(),
            Err(error) => format!(": {error:#}"),
        };
        if Instant::now() > deadline {
            bail!("{what}: not within {PATIENCE:?}{trouble}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How long this disk takes to make 4 KiB at the end of a file durable, sorted.
pub fn sync_times(count: usize) -> Result<Vec<u64>> {
    use std::io::Write;
    let folder = Folder::new("sync")?;
    let mut file = File::create(folder.file("file"))?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        file.write_all(&[b'x'; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        times.push(began.elapsed().as_nanos() as u64);
    }
    times.sort_unstable();
    Ok(times)
}

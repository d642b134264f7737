//! One server process on a free loopback port, pinned to its core, ended by its pid whatever happens.

pub mod binary;
pub mod usage;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::cores::{Cores, pin_to};
use usage::{Cpu, Memory, RunTime};

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Another process may take the port between our look and the server's bind.
const START_ATTEMPTS: usize = 3;

/// Then the bench's pid, a dash and the port.
pub const DIRECTORY_PREFIX: &str = "ruvio-bench-";

/// Which flags and which commands a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Valkey,
    Ruvio,
}

/// How it keeps what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    Memory,
    EverySecond,
    Always,
}

/// A server that can be started: what it is and where its binary lies.
#[derive(Clone, Debug)]
pub struct Model {
    pub kind: Kind,
    pub binary: PathBuf,
    pub kept: Kept,
}

pub struct Server {
    pub kind: Kind,
    pub address: SocketAddr,
    child: Child,
    directory: PathBuf,
}

impl Server {
    pub fn start(model: &Model, cores: Cores) -> Result<Self> {
        let mut last = None;
        for _ in 0..START_ATTEMPTS {
            match Self::attempt(model, cores) {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.context("no attempt")?).with_context(|| format!("starting {}", model.binary.display()))
    }

    fn attempt(model: &Model, cores: Cores) -> Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let directory = std::env::temp_dir().join(format!("{DIRECTORY_PREFIX}{}-{port}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let spawned = spawn(model, port, &directory, cores);
        let child = match spawned {
            Ok(child) => child,
            Err(error) => {
                std::fs::remove_dir_all(&directory).ok();
                return Err(error);
            }
        };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // From here on dropping ends the process.
        let mut server = Self {
            kind: model.kind,
            address,
            child,
            directory,
        };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                let log = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                let tail: Vec<&str> = log.lines().rev().take(5).collect();
                bail!("the server ended at once ({status}): {tail:?}");
            }
            // While it loads it answers with an error.
            if let Ok(mut client) = self.client()
                && client
                    .call(&["PING"])
                    .is_ok_and(|reply| reply.text() == Some("PONG"))
            {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("no answer to PING within {START_TIMEOUT:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends the process and starts it again on its directory; how long it took from the start until it answered.
    /// Valkey is killed, having saved before; Ruvio is told to stop.
    pub fn restart(&mut self, model: &Model, cores: Cores) -> Result<Duration> {
        let pid = Pid::from_child(&self.child);
        let signal = match self.kind {
            Kind::Valkey => Signal::KILL,
            Kind::Ruvio => Signal::TERM,
        };
        kill_process(pid, signal)?;
        self.child.wait()?;
        let began = Instant::now();
        self.child = spawn(model, self.address.port(), &self.directory, cores)?;
        self.wait_until_ready()?;
        Ok(began.elapsed())
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(self.address)
    }

    pub fn cpu(&self) -> Result<Cpu> {
        Cpu::of(self.child.id())
    }

    pub fn memory(&self) -> Result<Memory> {
        let used = self
            .client()?
            .info("memory", "used_memory")?
            .context("INFO has no used_memory")?;
        Ok(Memory {
            used_bytes: used.trim().parse()?,
            rss_bytes: usage::rss_bytes(self.child.id())?,
        })
    }

    /// CPU of the whole process, its ended threads included, and of its threads that serve.
    pub fn run_time(&self) -> Result<RunTime> {
        RunTime::of(self.child.id())
    }

    /// Resident memory that is no file's.
    pub fn anonymous_bytes(&self) -> Result<u64> {
        usage::anonymous_bytes(self.child.id())
    }

    /// Where it keeps its data.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The version that the server itself states.
    pub fn version(&self) -> Result<String> {
        let mut client = self.client()?;
        for field in ["ruvio_version", "valkey_version", "redis_version"] {
            if let Some(version) = client.info("server", field)? {
                return Ok(version);
            }
        }
        bail!("INFO server names no version")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
        std::fs::remove_dir_all(&self.directory).ok();
    }
}

/// Starts the process on the server's core. The bench's own thread moves there for the moment of the fork,
/// so that every thread of the server inherits the pinning from its first instruction.
fn spawn(model: &Model, port: u16, directory: &Path, cores: Cores) -> Result<Child> {
    let port = port.to_string();
    let mut command = orphan_safe(&model.binary);
    command
        .args([
            "--port",
            &port,
            "--bind",
            "127.0.0.1",
            "--maxclients",
            "10000",
            "--dir",
        ])
        .arg(directory);
    match model.kind {
        Kind::Valkey => {
            let (log, sync) = match model.kept {
                Kept::Memory => ("no", "everysec"),
                Kept::EverySecond => ("yes", "everysec"),
                Kept::Always => ("yes", "always"),
            };
            command.args(["--save", "", "--io-threads", "1"]);
            command.args(["--appendonly", log, "--appendfsync", sync]);
        }
        Kind::Ruvio => {
            let durability = match model.kept {
                Kept::Memory => "memory",
                Kept::EverySecond => "everysec",
                Kept::Always => "always",
            };
            command.args(["--durability", durability, "--owner-threads", "1"]);
        }
    }
    let log = std::fs::File::create(directory.join("log"))?;
    command.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
    pin_to(cores.server)?;
    let child = command.spawn();
    pin_to(cores.load)?;
    child.context("spawn")
}

/// Removes the directories of earlier runs that were killed.
pub fn remove_leftovers() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(DIRECTORY_PREFIX)?.split('-').next());
        let Some(pid) = pid.and_then(|pid| pid.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new(&format!("/proc/{pid}")).exists() {
            std::fs::remove_dir_all(entry.path()).ok();
        }
    }
}

/// `setpriv` (util-linux) makes the kernel end the server when the bench is killed and cannot clean up.
/// It replaces itself with the server, so the pid is the server's.
pub fn orphan_safe(binary: &Path) -> Command {
    let probe = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if probe.is_ok_and(|status| status.success()) {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(binary);
        return command;
    }
    Command::new(binary)
}

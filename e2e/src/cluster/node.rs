//! One node: a process that is started, ended, stopped for a while and started again over what it kept.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::clocks::Clocks;
use crate::disk::Disk;
use crate::server::{Kind, binary};
use crate::tracer::{self, Frozen};

pub struct Node {
    child: Option<Child>,
    home: PathBuf,
    /// What runs it where it belongs.
    prefix: Vec<String>,
    pub address: Ipv4Addr,
    /// Which node of its cluster it is.
    pub id: u64,
    /// It has a disk of its own, which can be filled.
    disk: Option<Disk>,
    /// Its clocks, if they were changed.
    clocks: Option<Clocks>,
    /// It was told to give its leaderships away.
    pub(super) is_drained: bool,
    /// It lost what it kept, and nobody has taken its place.
    pub(super) is_lost: bool,
    flags: Vec<String>,
    /// It was stopped by a signal, and lives.
    is_paused: bool,
    /// Its log's thread stands still, alone.
    stalled: Option<Frozen>,
    /// Its disk was made to fail.
    is_failing: bool,
}

const END_PATIENCE: Duration = Duration::from_secs(30);
/// As in sysexits.h: an error of input or output.
const EXIT_IO: i32 = 74;
const LOG_WRITER: &str = "log-writer";
/// Two nodes apart by a hundredth, in millionths: what a lease allows for.
const DRIFT: i64 = 5_000;
const BALLAST: &str = "ballast";
const WORDS_MAX: usize = 3000;

impl Node {
    pub fn new(id: u64, home: PathBuf, prefix: Vec<String>, address: Ipv4Addr, flags: Vec<String>) -> Node {
        Node {
            child: None,
            home,
            prefix,
            address,
            id,
            disk: None,
            clocks: None,
            is_drained: false,
            is_lost: false,
            flags,
            is_paused: false,
            stalled: None,
            is_failing: false,
        }
    }

    /// Its data lies on a disk of that size from its first start on.
    pub fn with_disk(mut self, bytes: u64) -> Result<Node> {
        let data = self.home.join("data");
        std::fs::create_dir_all(&data)?;
        let disk = Disk::new(bytes, &data)?;
        self.prefix.extend(disk.prefix());
        self.disk = Some(disk);
        Ok(self)
    }

    pub fn start(&mut self) -> Result<()> {
        let data = self.home.join("data");
        std::fs::create_dir_all(&data)?;
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.home.join("log"))?;
        let server = binary(Kind::Ruvio)?.display().to_string();
        let words: Vec<&String> = self.prefix.iter().chain([&server]).collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .args(&self.flags)
            .arg("--dir")
            .arg(&data);
        let child = command
            .env_remove("RUVIO_DURABILITY")
            .current_dir(&self.home)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .context("start a node")?;
        self.child = Some(child);
        self.is_paused = false;
        self.clocks = None;
        Ok(())
    }

    /// Starts it again where we ended it; if it ended by itself that is an error.
    pub fn start_unless_failed(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            let status = child.wait()?;
            self.ended(status)?;
        }
        self.start()
    }

    /// It ended by itself, which it may if it was told to or its disk fails.
    fn ended(&mut self, status: ExitStatus) -> Result<()> {
        let has_failed = std::mem::take(&mut self.is_failing) && status.code() == Some(EXIT_IO);
        if has_failed || status.success() {
            return Ok(());
        }
        bail!(
            "{} ended by itself, {status}:\n{}",
            self.address,
            self.last_words()
        );
    }

    /// One whose disk fails does not go on, also if it has not noticed.
    pub fn end_failing(&mut self) -> Result<()> {
        if self.is_failing && self.is_there() {
            self.is_failing = false;
            self.kill()?;
        }
        Ok(())
    }

    /// It runs, or stands still.
    pub fn is_there(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => false,
        }
    }

    /// Ends it as nothing can be prevented from it.
    pub fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            if let Some(status) = child.try_wait()? {
                return self.ended(status);
            }
            child.kill()?;
            // The process is not gone before its last thread is.
            self.stalled = None;
            child.wait()?;
        }
        Ok(())
    }

    /// Lets it end by itself, as long as that takes.
    pub fn stop(&mut self) -> Result<()> {
        self.resume()?;
        self.signal("TERM")?;
        let deadline = Instant::now() + END_PATIENCE;
        while self.is_there() {
            if Instant::now() > deadline {
                bail!("{} does not end:\n{}", self.address, self.last_words());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        match self.child.take() {
            Some(mut child) => {
                let status = child.wait()?;
                self.ended(status)
            }
            None => Ok(()),
        }
    }

    pub fn pause(&mut self) -> Result<()> {
        self.is_paused = true;
        self.signal("STOP")
    }

    /// Its disk takes nothing for a while: the thread that writes the log stands still.
    pub fn stall(&mut self) -> Result<()> {
        if self.stalled.is_none() && self.is_there() {
            let pid = self.child.as_ref().map(Child::id).context("a process")?;
            // A node that is being started has no such thread yet.
            self.stalled = tracer::freeze(pid, LOG_WRITER).ok();
        }
        Ok(())
    }

    /// Its disk fails at the next sync, of which it is to end.
    #[cfg(target_arch = "x86_64")]
    pub fn fail_disk(&mut self) -> Result<()> {
        self.resume()?;
        self.is_failing = match &self.child {
            Some(child) => tracer::fail_calls(child.id(), LOG_WRITER, tracer::Call::Sync).is_ok(),
            None => false,
        };
        Ok(())
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub fn fail_disk(&mut self) -> Result<()> {
        self.kill()
    }

    /// Its wall clock jumps.
    pub fn step_clock(&mut self, seconds: i64) -> Result<()> {
        self.with_clocks(|clocks| clocks.step(seconds))
    }

    /// The clock of its leases runs faster or slower.
    pub fn drift(&mut self, is_fast: bool) -> Result<()> {
        self.with_clocks(|clocks| clocks.drift(if is_fast { DRIFT } else { -DRIFT }))
    }

    fn with_clocks(&mut self, change: impl FnOnce(&mut Clocks) -> Result<()>) -> Result<()> {
        self.resume()?;
        // One whose disk is made to fail is held by a tracer, and about to end.
        let is_there = self.is_there() && !self.is_failing;
        let Some(pid) = self.pid().filter(|_| is_there) else {
            return Ok(());
        };
        let clocks = match self.clocks.take() {
            Some(clocks) => clocks,
            None => Clocks::of(pid)?,
        };
        change(self.clocks.insert(clocks))
    }

    /// Its disk takes nothing more, to the last page.
    pub fn fill_disk(&mut self) -> Result<()> {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(self.data().join(BALLAST))?;
        for size in [1 << 20, 64 << 10, 4 << 10] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        Ok(())
    }

    /// The disk has room again.
    pub fn empty_disk(&mut self) -> Result<()> {
        let ballast = self.data().join(BALLAST);
        if self.disk.is_some() && ballast.exists() {
            std::fs::remove_file(ballast)?;
        }
        Ok(())
    }

    /// Ends it, and all that it kept is gone.
    pub fn lose(&mut self) -> Result<()> {
        self.kill()?;
        self.is_lost = true;
        for entry in std::fs::read_dir(self.data())?.flatten() {
            match entry.file_type()?.is_dir() {
                true => std::fs::remove_dir_all(entry.path())?,
                false => std::fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    }

    /// Where it keeps its data; inside of its own disk, where it has one.
    pub fn data(&self) -> PathBuf {
        let data = self.home.join("data");
        match &self.disk {
            None => data,
            Some(disk) => disk.seen(&data),
        }
    }

    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    pub fn resume(&mut self) -> Result<()> {
        self.stalled = None;
        if std::mem::take(&mut self.is_paused) && self.is_there() {
            self.signal("CONT")?;
        }
        Ok(())
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let Some(child) = &self.child else {
            return Ok(());
        };
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
        if !sent.success() {
            bail!("kill -s {signal} {pid}: {sent}\n{}", self.last_words());
        }
        Ok(())
    }

    /// The end of what it said.
    pub fn last_words(&self) -> String {
        let log = std::fs::read(self.home.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&log[log.len().saturating_sub(WORDS_MAX)..]).into_owned()
    }

    pub fn log(&self) -> PathBuf {
        self.home.join("log")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It fails only where the process is gone already.
        let _ = self.kill();
    }
}

//! One node: a process that is started, ended, stopped for a while and started again over what it kept.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::server::{Kind, binary};
use crate::tracer::{self, Frozen};

pub struct Node {
    child: Option<Child>,
    home: PathBuf,
    /// What runs it where it belongs.
    prefix: Vec<String>,
    pub address: Ipv4Addr,
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
const WORDS_MAX: usize = 3000;

impl Node {
    pub fn new(home: PathBuf, prefix: Vec<String>, address: Ipv4Addr, flags: Vec<String>) -> Node {
        Node {
            child: None,
            home,
            prefix,
            address,
            flags,
            is_paused: false,
            stalled: None,
            is_failing: false,
        }
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

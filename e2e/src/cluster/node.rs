//! One node: a process that is started, ended, stopped for a while and started again over what it kept.

use std::fs::File;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::server::{Kind, binary};

pub struct Node {
    child: Option<Child>,
    home: PathBuf,
    /// What runs it where it belongs.
    prefix: Vec<String>,
    pub address: Ipv4Addr,
    flags: Vec<String>,
    /// It was stopped by a signal, and lives.
    is_paused: bool,
}

const END_PATIENCE: Duration = Duration::from_secs(30);
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
        if let Some(child) = &mut self.child {
            let status = child.wait()?;
            bail!(
                "{} ended by itself, {status}:\n{}",
                self.address,
                self.last_words()
            );
        }
        self.start()
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
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Lets it end by itself, as long as that takes.
    pub fn stop(&mut self) -> Result<()> {
        self.signal("TERM")?;
        let deadline = Instant::now() + END_PATIENCE;
        while self.is_there() {
            if Instant::now() > deadline {
                bail!("{} does not end:\n{}", self.address, self.last_words());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child = None;
        Ok(())
    }

    pub fn pause(&mut self) -> Result<()> {
        self.is_paused = true;
        self.signal("STOP")
    }

    pub fn resume(&mut self) -> Result<()> {
        if self.is_paused {
            self.is_paused = false;
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

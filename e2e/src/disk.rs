//! A disk of a server's own: a file system in memory, of a size, in a namespace of mounts that nobody else sees. It
//! outlives the server, so that one can be killed and started again on it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

pub struct Disk {
    /// Its namespaces are there as long as this process.
    holder: Child,
}

impl Disk {
    /// Mounts a disk over the folder.
    pub fn new(bytes: u64, over: &Path) -> Result<Self> {
        let script =
            format!("mount -t tmpfs -o size={bytes} none \"$1\" && echo mounted && exec sleep 100000");
        let mut command = Command::new("unshare");
        command.args(["-Urm", "sh", "-c", &script, "sh"]).arg(over);
        let holder = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("unshare")?;
        let mut disk = Self { holder };
        let mut told = String::new();
        let output = disk.holder.stdout.take().context("an output")?;
        BufReader::new(output).read_line(&mut told)?;
        ensure!(told == "mounted\n", "no file system could be mounted");
        Ok(disk)
    }

    /// What goes before a program and its arguments so that it sees the disk.
    pub fn prefix(&self) -> Vec<String> {
        let holder = self.holder.id().to_string();
        ["nsenter", "--preserve-credentials", "-U", "-m", "-t", &holder]
            .map(str::to_owned)
            .to_vec()
    }

    /// A path on it as all others see it.
    pub fn seen(&self, path: &Path) -> PathBuf {
        let inside = path.strip_prefix("/").unwrap_or(path);
        Path::new(&format!("/proc/{}/root", self.holder.id())).join(inside)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

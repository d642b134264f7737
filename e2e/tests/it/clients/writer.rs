//! A program of `e2e/suites/writers` at work: what it is told, and what it tells of what was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ruvio_e2e::client::Client;
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::repository;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    RedisPy,
    IoRedis,
    GoRedis,
}

/// How long a program may take for a step.
const PATIENCE: Duration = Duration::from_secs(60);
/// What it said and nobody has heard yet, lines.
const LINES: usize = 64 * 1024;
/// Keys of one `MGET` of the reading afterwards.
const READ_KEYS: usize = 500;

pub struct Writer {
    process: Child,
    lines: Receiver<String>,
    name: String,
}

/// A command that failed, and while what was done to the cluster.
#[derive(Debug)]
pub struct Failure {
    pub phase: String,
    pub what: String,
}

#[derive(Default)]
pub struct Told {
    pub failures: Vec<Failure>,
    /// Reads that gave something else than what had just been acknowledged.
    pub wrong: Vec<String>,
    sets: Vec<Sets>,
    counts: Vec<(usize, i64, i64)>,
}

struct Sets {
    worker: usize,
    tried: usize,
    lost: Vec<usize>,
}

fn cache() -> PathBuf {
    match std::env::var_os("RUVIO_CACHE") {
        Some(path) => PathBuf::from(path),
        None => repository().join(".cache"),
    }
}

fn is_installed(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg(if program == "go" { "version" } else { "--version" });
    asked.stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// What runs the library. `None`: its language is not on this machine, which is said.
fn command(library: Library) -> Result<Option<Command>> {
    let writers = repository().join("e2e/suites/writers");
    let lacks = |program: &str| {
        let lacks = !is_installed(program);
        if lacks {
            eprintln!("SKIPPED: {library:?}, since there is no `{program}` on this machine");
        }
        lacks
    };
    Ok(Some(match library {
        Library::RedisPy => {
            let python = std::env::var_os("RUVIO_PYTHON").map(PathBuf::from);
            let mut command = Command::new(python.unwrap_or(cache().join("venv/bin/python")));
            command.arg(writers.join("redis_py.py"));
            command.env("PYTHONDONTWRITEBYTECODE", "1");
            command
        }
        Library::IoRedis if lacks("node") => return Ok(None),
        Library::IoRedis => {
            let modules = cache().join("ioredis");
            if !modules.join("node_modules/ioredis").is_dir() {
                bail!("{} has no ioredis (`make setup` fetches it)", modules.display());
            }
            let mut command = Command::new("node");
            command.arg(writers.join("ioredis/writer.mjs"));
            command.env("RUVIO_NODE_MODULES", modules);
            command
        }
        Library::GoRedis if lacks("go") => return Ok(None),
        Library::GoRedis => {
            let program = cache().join("go_redis_writer");
            let built = Command::new("go")
                .args(["build", "-o"])
                .arg(&program)
                .arg(".")
                .current_dir(writers.join("go_redis"))
                .env("GOMODCACHE", cache().join("go"))
                .env("GOFLAGS", "-modcacherw -mod=readonly")
                .output()?;
            if !built.status.success() {
                let told = String::from_utf8_lossy(&built.stderr).into_owned();
                bail!("go build (`make setup` fetches the library): {told}");
            }
            Command::new(program)
        }
    }))
}

impl Writer {
    /// Begins to write at these doors; it does so once this returns. `None`: as `command`.
    pub fn start(library: Library, kind: &str, doors: &[SocketAddr]) -> Result<Option<Writer>> {
        let Some(mut command) = command(library)? else {
            return Ok(None);
        };
        let name = format!("{library:?}:{kind}");
        command
            .args([kind, &name])
            .args(doors.iter().map(SocketAddr::to_string));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command
            .spawn()
            .with_context(|| format!("{command:?} (make setup)"))?;
        let said = BufReader::new(process.stdout.take().context("its words")?);
        let (sender, lines) = sync_channel(LINES);
        std::thread::spawn(move || {
            for line in said.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let writer = Writer { process, lines, name };
        writer.hear("ready", &mut Told::default())?;
        Ok(Some(writer))
    }

    /// What fails from here on belongs to this phase.
    pub fn enter(&mut self, phase: &str, told: &mut Told) -> Result<()> {
        let words = self.process.stdin.as_mut().context("it hears")?;
        writeln!(words, "{phase}")?;
        self.hear(&format!("phase {phase}"), told)
    }

    /// Takes in what it says, to that line.
    fn hear(&self, last: &str, told: &mut Told) -> Result<()> {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.with_context(|| format!("{} does not come to say: {last}", self.name))?;
            if line == last {
                return Ok(());
            }
            told.note(&line)
                .with_context(|| format!("{} says: {line}", self.name))?;
        }
    }

    /// Has it end; then it has told everything.
    pub fn finish(mut self, told: &mut Told) -> Result<String> {
        drop(self.process.stdin.take());
        self.hear("done", told)?;
        self.process.wait()?;
        Ok(std::mem::take(&mut self.name))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It fails only where the process is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Told {
    fn note(&mut self, line: &str) -> Result<()> {
        let (word, rest) = line.split_once(' ').context("one word")?;
        let fields: Vec<&str> = rest.splitn(3, ' ').collect();
        match (word, &fields[..]) {
            ("failed", [phase, ..]) => self.failures.push(Failure {
                phase: (*phase).to_owned(),
                what: rest.to_owned(),
            }),
            ("wrong", _) => self.wrong.push(rest.to_owned()),
            ("set", [worker, tried, lost]) => {
                let lost = lost.split(',').filter(|lost| *lost != "-");
                self.sets.push(Sets {
                    worker: worker.parse()?,
                    tried: tried.parse()?,
                    lost: lost.map(str::parse).collect::<Result<_, _>>()?,
                });
            }
            ("count", [worker, counted, uncounted]) => {
                self.counts
                    .push((worker.parse()?, counted.parse()?, uncounted.parse()?));
            }
            _ => bail!("nobody knows what that means"),
        }
        Ok(())
    }

    pub fn in_phase(&self, phase: &str) -> impl Iterator<Item = &Failure> {
        let phase = phase.to_owned();
        self.failures.iter().filter(move |failure| failure.phase == phase)
    }

    /// Reads all of it by a plain client: how many writes were acknowledged. `repeats`: the library may send a command
    /// once more whose outcome it does not know.
    pub fn check(&self, name: &str, client: &mut Client, repeats: bool) -> Result<usize> {
        let mut acknowledged = 0;
        for Sets { worker, tried, lost } in &self.sets {
            let numbers: Vec<usize> = (0..*tried).filter(|number| !lost.contains(number)).collect();
            for numbers in numbers.chunks(READ_KEYS) {
                let keys = numbers.iter().map(|number| format!("{name}:{worker}:{number}"));
                let words: Vec<String> = std::iter::once("MGET".to_owned()).chain(keys).collect();
                let expected = numbers.iter().map(|n| Value::Bulk(n.to_string().into_bytes()));
                assert_eq!(client.call(&words)?, Value::Array(expected.collect()), "{name}");
            }
            acknowledged += numbers.len();
        }
        for (worker, counted, uncounted) in &self.counts {
            let value = client.call(&["GET", &format!("{name}:count:{worker}")])?;
            let text = String::from_utf8_lossy(value.text().unwrap_or(b"0")).into_owned();
            let value: i64 = text.parse()?;
            assert!(
                *counted <= value,
                "{name}: {counted} were counted, and there are {value}"
            );
            let most = counted + uncounted;
            assert!(
                repeats || value <= most,
                "{name}: {most} were sent, and there are {value}"
            );
            acknowledged += usize::try_from(*counted)?;
        }
        assert!(
            !self.sets.is_empty() && !self.counts.is_empty(),
            "{name} told nothing"
        );
        Ok(acknowledged)
    }
}

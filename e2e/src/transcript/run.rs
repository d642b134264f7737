//! Plays a transcript against a server that is started for it alone.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::pattern::Pattern;
use super::script::{Line, Script, Step};
use super::words;
use crate::client::{Client, PATIENCE, Received};
use crate::resp::Value;
use crate::server::{Kind, Server};

/// How long the end of a transcript waits for replies that nobody expected.
const LEFTOVER_WAIT: Duration = Duration::from_millis(10);

/// Runs the script; returns how many expectations it checked.
pub fn run(script: &Script, kind: Kind) -> Result<usize> {
    let flags: Vec<&str> = script.flags.iter().map(String::as_str).collect();
    let mut server = Server::start(kind, &flags)?;
    let mut stage = Stage {
        server: &server,
        people: HashMap::new(),
        saved: HashMap::new(),
        checked: 0,
    };
    for line in &script.steps {
        stage
            .play(line)
            .with_context(|| format!("line {}", line.number))?;
    }
    stage.nothing_left()?;
    let checked = stage.checked;
    ensure!(server.is_running(), "the server ended during the transcript");
    Ok(checked)
}

struct Person {
    client: Client,
    sent_at: Instant,
    within: Option<Duration>,
    not_before: Option<Duration>,
    last: Option<Value>,
}

struct Stage<'a> {
    server: &'a Server,
    people: HashMap<String, Person>,
    saved: HashMap<String, String>,
    checked: usize,
}

impl Stage<'_> {
    fn person(&mut self, name: &str) -> Result<&mut Person> {
        if !self.people.contains_key(name) {
            let client = self.server.client()?;
            let person = Person {
                client,
                sent_at: Instant::now(),
                within: None,
                not_before: None,
                last: None,
            };
            self.people.insert(name.to_owned(), person);
        }
        Ok(self.people.get_mut(name).expect("inserted above"))
    }

    fn play(&mut self, line: &Line) -> Result<()> {
        let millis = Duration::from_millis;
        match &line.step {
            Step::Command(text) => {
                let args = words::split(&words::substitute(text, &self.saved)?)?;
                let mut bytes = Vec::new();
                crate::client::encode(&args, &mut bytes);
                self.send(&line.client, &bytes)
            }
            Step::Raw(text) => {
                let bytes = words::unescape(words::substitute(text, &self.saved)?.as_bytes())?;
                self.send(&line.client, &bytes)
            }
            Step::Expect(pattern, text) => self.expect(&line.client, pattern, text),
            Step::ExpectClose => self.expect_close(&line.client),
            Step::Sleep(ms) => {
                std::thread::sleep(millis(*ms));
                Ok(())
            }
            Step::NoReplyWithin(ms) => {
                self.checked += 1;
                match self.person(&line.client)?.client.receive(millis(*ms))? {
                    Received::Nothing => Ok(()),
                    other => bail!("expected silence, got {other:?}"),
                }
            }
            Step::ReplyWithin(ms) => {
                self.person(&line.client)?.within = Some(millis(*ms));
                Ok(())
            }
            Step::ReplyAfter(ms) => {
                self.person(&line.client)?.not_before = Some(millis(*ms));
                Ok(())
            }
            Step::Save(name) => {
                let last = self
                    .person(&line.client)?
                    .last
                    .clone()
                    .context("no reply to save")?;
                let text = match &last {
                    Value::Integer(n) => n.to_string(),
                    other => String::from_utf8(other.text().context("not a text")?.to_vec())?,
                };
                self.saved.insert(name.clone(), text);
                Ok(())
            }
            Step::WaitBlocked(wanted) => self.wait_blocked(*wanted),
            Step::Connect => {
                self.people.remove(&line.client);
                self.person(&line.client).map(drop)
            }
            Step::Close => {
                self.people.remove(&line.client);
                Ok(())
            }
        }
    }

    fn send(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let person = self.person(name)?;
        person.sent_at = Instant::now();
        person.client.send_raw(bytes)
    }

    fn expect(&mut self, name: &str, pattern: &Pattern, text: &str) -> Result<()> {
        self.checked += 1;
        let person = self.person(name)?;
        let limit = person.within.take().unwrap_or(PATIENCE);
        let not_before = person.not_before.take();
        let value = match person.client.receive(limit)? {
            Received::Reply(value) => value,
            Received::Closed => bail!("expected {text}\n     but the connection is closed"),
            Received::Nothing => bail!("expected {text}\n     but nothing came within {limit:?}"),
        };
        ensure!(pattern.matches(&value), "expected {text}\n     got {value}");
        if let Some(early) = not_before.filter(|d| person.sent_at.elapsed() < *d) {
            bail!(
                "{value} came after {:?}, before {early:?}",
                person.sent_at.elapsed()
            );
        }
        person.last = Some(value);
        Ok(())
    }

    fn expect_close(&mut self, name: &str) -> Result<()> {
        self.checked += 1;
        match self.person(name)?.client.receive(PATIENCE)? {
            Received::Closed => {}
            other => bail!("expected a closed connection, got {other:?}"),
        }
        self.people.remove(name);
        Ok(())
    }

    /// Asks on a connection of its own, so that the clients of the transcript see nothing of it.
    fn wait_blocked(&self, wanted: u64) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let blocked: u64 = self.server.info("clients", "blocked_clients")?.parse()?;
            if blocked == wanted {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "{blocked} clients are blocked, not {wanted}"
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn nothing_left(&mut self) -> Result<()> {
        for (name, person) in &mut self.people {
            if let Received::Reply(value) = person.client.receive(LEFTOVER_WAIT)? {
                bail!("client {name:?} got a reply that the transcript does not expect: {value}");
            }
        }
        Ok(())
    }
}

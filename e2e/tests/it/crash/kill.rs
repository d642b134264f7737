//! The process is killed at any moment, under load; what it holds afterwards is compared with a model.
//!
//! `RUVIO_KILLS` says how many kills each of the four servers gets, `RUVIO_CRASH_SEED` repeats a run as far as
//! threads can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use ruvio_e2e::crash::{Observer, Tally, Writer};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::Server;
use ruvio_e2e::tracer::{Frozen, freeze};

use super::{ALONE, SPREAD, WRITER, keeping};

const WRITERS: usize = 3;
const GROUPS: usize = 3;
/// After so many rounds a directory begins anew, so that no start takes long.
const ROUNDS_A_DIRECTORY: u32 = 12;

fn kills() -> u32 {
    let told = std::env::var("RUVIO_KILLS");
    told.map_or(50, |text| text.parse().expect("RUVIO_KILLS is a number"))
}

pub(super) fn seed() -> u64 {
    let told = std::env::var("RUVIO_CRASH_SEED");
    told.map_or_else(
        |_| fastrand::u64(..),
        |text| text.parse().expect("RUVIO_CRASH_SEED is a number"),
    )
}

struct Lane {
    durability: &'static str,
    flags: &'static [&'static str],
    rng: Rng,
    kills: u32,
    tally: Tally,
    sights: u64,
}

impl Lane {
    /// One directory's life: rounds of load and an end, until there were enough.
    fn live(&mut self, enough: u32) -> Result<()> {
        let events = ["--notify-keyspace-events", "KEA"];
        let flags: Vec<&str> = self.flags.iter().copied().chain(events).collect();
        let mut server = keeping(self.durability, &flags)?;
        let mut writers: Vec<Writer> = (0..WRITERS)
            .map(|name| Writer::new(name, GROUPS, self.rng.u64(..)))
            .collect();
        for round in 0..ROUNDS_A_DIRECTORY {
            if self.kills >= enough {
                break;
            }
            let mut observers = self.round(&mut server, &mut writers)?;
            self.start_again(&mut server)?;
            let log = || format!("round {round}; the server's log:\n{}", server.log());
            let mut client = server.client()?;
            for writer in &mut writers {
                writer.settle(&mut client).with_context(log)?;
            }
            for observer in &mut observers {
                self.sights += observer.check(&mut client).with_context(log)?;
            }
            check_keys(&mut client, &writers)?;
        }
        for writer in &writers {
            self.tally.add(writer.tally);
        }
        Ok(())
    }

    /// Load, and the end of the process in the midst of it.
    fn round(&mut self, server: &mut Server, writers: &mut [Writer]) -> Result<Vec<Observer>> {
        let stop = Arc::new(AtomicBool::new(false));
        let addr = server.addr();
        let grown: Vec<String> = writers
            .iter()
            .flat_map(Writer::groups)
            .map(|group| group.key("m0"))
            .collect();
        let mut reader = Observer::new(grown.clone());
        let mut listener = Observer::new(grown);
        let subscription = listener.subscribe(addr)?;
        let seed = self.rng.u64(..);
        std::thread::scope(|scope| {
            let writing: Vec<_> = writers
                .iter_mut()
                .map(|writer| scope.spawn(|| writer.run(addr, &stop)))
                .collect();
            let looking = [
                scope.spawn(|| reader.read(addr, &stop, seed)),
                scope.spawn(|| listener.listen(subscription, &stop)),
            ];
            let ended = self.end(server);
            stop.store(true, Ordering::Relaxed);
            for thread in writing.into_iter().chain(looking) {
                thread.join().expect("a client does not panic")?;
            }
            ended
        })?;
        Ok(vec![reader, listener])
    }

    /// Mostly a kill; in half of them the log's writer has stood still for a while, so that much is executed and
    /// not written.
    fn end(&mut self, server: &mut Server) -> Result<()> {
        std::thread::sleep(Duration::from_millis(self.rng.u64(15..90)));
        match self.rng.u8(..12) {
            0 => {
                server.stop("TERM")?;
                return Ok(());
            }
            // While it ends, which is when the image is made and the log forgets.
            1 | 2 => {
                server.signal("TERM")?;
                std::thread::sleep(Duration::from_millis(self.rng.u64(..80)));
                self.kills += 1;
                return server.kill(None);
            }
            _ => {}
        }
        let mut frozen: Option<Frozen> = None;
        if self.rng.bool() {
            frozen = Some(freeze(server.pid(), WRITER)?);
            std::thread::sleep(Duration::from_millis(self.rng.u64(..15)));
        }
        self.kills += 1;
        server.kill(frozen)
    }

    /// Now and then it is killed while it starts.
    fn start_again(&mut self, server: &mut Server) -> Result<()> {
        while self.rng.u8(..4) == 0 {
            server.launch_again()?;
            std::thread::sleep(Duration::from_millis(self.rng.u64(..40)));
            self.kills += 1;
            server.kill(None)?;
        }
        server.start_again()
    }
}

/// No key is there that nobody has written.
pub(super) fn check_keys(client: &mut ruvio_e2e::client::Client, writers: &[Writer]) -> Result<()> {
    let Value::Array(keys) = client.say("KEYS *")? else {
        anyhow::bail!("KEYS answers an array");
    };
    for key in keys {
        let key = String::from_utf8_lossy(key.text().unwrap_or_default()).into_owned();
        ensure!(
            writers.iter().any(|writer| writer.owns(&key)),
            "nobody wrote {key}"
        );
    }
    Ok(())
}

fn test(durability: &'static str, flags: &'static [&'static str]) -> Result<()> {
    let seed = seed();
    let mut lane = Lane {
        durability,
        flags,
        rng: Rng::with_seed(seed),
        kills: 0,
        tally: Tally::default(),
        sights: 0,
    };
    let enough = kills();
    while lane.kills < enough {
        lane.live(enough)
            .with_context(|| format!("after {} kills, RUVIO_CRASH_SEED={seed}", lane.kills))?;
    }
    let (kills, sights) = (lane.kills, lane.sights);
    println!(
        "{durability} {flags:?}: {kills} kills, {sights} sights, {:?}",
        lane.tally
    );
    // Otherwise it has tested nothing.
    let Tally {
        acknowledged,
        unknown_found,
        unknown_lost,
        ..
    } = lane.tally;
    ensure!(acknowledged > 100 && sights > 0 && unknown_lost + unknown_found > 0);
    Ok(())
}

#[test]
fn nothing_acknowledged_is_lost_everysec() -> Result<()> {
    test("everysec", ALONE)
}

#[test]
fn nothing_acknowledged_is_lost_everysec_spread() -> Result<()> {
    test("everysec", SPREAD)
}

#[test]
fn nothing_acknowledged_is_lost_always() -> Result<()> {
    test("always", ALONE)
}

#[test]
fn nothing_acknowledged_is_lost_always_spread() -> Result<()> {
    test("always", SPREAD)
}

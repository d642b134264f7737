//! The power is cut at any moment, under load: of what was not synced the disk has a part, in any order. What a server
//! holds afterwards is compared with a model, by the promise of its durability.
//!
//! `RUVIO_CUTS` says how many cuts each of the four servers gets, `RUVIO_CRASH_SEED` repeats a run as far as threads
//! can be repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use ruvio_e2e::client::Client;
use ruvio_e2e::crash::{Observer, Tally, Writer};
use ruvio_e2e::power::Loss;
use ruvio_e2e::server::Server;

use super::kill::{check_keys, seed};
use super::{ALONE, SPREAD};

const WRITERS: usize = 3;
const GROUPS: usize = 3;
const ROUNDS_A_DIRECTORY: u32 = 10;
/// A sync begins at most a second after the oldest unsynced write, and takes its time.
const EVERYSEC_LOSES: Duration = Duration::from_secs(2);
/// So many of these fill more than a segment of the log.
const LARGE: usize = 1 << 20;
const LARGE_COUNT: usize = 70;

fn cuts() -> u32 {
    let told = std::env::var("RUVIO_CUTS");
    told.map_or(12, |text| text.parse().expect("RUVIO_CUTS is a number"))
}

struct Lane {
    durability: &'static str,
    flags: &'static [&'static str],
    rng: Rng,
    cuts: u32,
    loss: Loss,
    torn: u32,
    tally: Tally,
    images: u32,
}

impl Lane {
    fn live(&mut self, enough: u32) -> Result<()> {
        let flags = [&["--durability", self.durability], self.flags].concat();
        let mut server = Server::start_watched(&flags)?;
        let mut writers: Vec<Writer> = (0..WRITERS)
            .map(|name| {
                let writer = Writer::new(name, GROUPS, self.rng.u64(..));
                match self.durability {
                    "always" => writer,
                    _ => writer.may_lose(EVERYSEC_LOSES),
                }
            })
            .collect();
        for round in 0..ROUNDS_A_DIRECTORY {
            if self.cuts >= enough {
                break;
            }
            self.round(&mut server, &mut writers)
                .with_context(|| format!("round {round}; the server's log:\n{}", server.log()))?;
        }
        for writer in &writers {
            self.tally.add(writer.tally);
        }
        Ok(())
    }

    fn round(&mut self, server: &mut Server, writers: &mut [Writer]) -> Result<()> {
        let ends_itself = self.rng.u8(..8) == 0;
        let (crash, observer) = self.load(server, writers, ends_itself)?;
        while self.rng.u8(..5) == 0 {
            server.launch_again()?;
            std::thread::sleep(Duration::from_millis(self.rng.u64(..120)));
            self.cut(server, None)?;
        }
        server.start_again()?;
        self.torn += u32::from(server.log().contains("the tail of the log is torn"));
        let mut client = server.client()?;
        for writer in writers.iter_mut() {
            // After an end of its own nothing is lost, whatever the durability.
            let crash = if ends_itself {
                crash + EVERYSEC_LOSES
            } else {
                crash
            };
            writer.settle_after(&mut client, crash)?;
        }
        if self.durability == "always" || ends_itself {
            observer.check(&mut client)?;
        }
        client.say("DEL large")?;
        check_keys(&mut client, writers)
    }

    /// Load, images in the midst of it, and the end.
    fn load(
        &mut self,
        server: &mut Server,
        writers: &mut [Writer],
        ends_itself: bool,
    ) -> Result<(Instant, Observer)> {
        let stop = AtomicBool::new(false);
        let addr = server.addr();
        let mut observer = Observer::new(
            writers
                .iter()
                .flat_map(Writer::groups)
                .map(|group| group.key("m0"))
                .collect(),
        );
        let seed = self.rng.u64(..);
        std::thread::scope(|scope| {
            let (stop, looks) = (&stop, &mut observer);
            let mut clients: Vec<_> = writers
                .iter_mut()
                .map(|writer| scope.spawn(move || writer.run(addr, stop)))
                .collect();
            clients.push(scope.spawn(move || looks.read(addr, stop, seed)));
            let images = self.rng.u8(..3);
            if self.rng.u8(..6) == 0 {
                // More than a segment, so that the image lets the log forget one.
                clients.push(scope.spawn(move || write_large(addr)));
                std::thread::sleep(Duration::from_millis(self.rng.u64(100..900)));
            }
            let mut asking = server.client()?;
            for _ in 0..images {
                std::thread::sleep(Duration::from_millis(self.rng.u64(5..60)));
                // An image needs what is durable; somebody who asks for it makes it so.
                asking.send(&["BGSAVE"])?;
                self.images += 1;
            }
            std::thread::sleep(Duration::from_millis(self.rng.u64(10..130)));
            if self.durability == "everysec" && self.rng.u8(..4) == 0 {
                // Some of what was acknowledged is too old to be lost.
                std::thread::sleep(Duration::from_millis(2300));
            }
            let ended = self.cut(server, ends_itself.then_some("TERM"));
            stop.store(true, Ordering::Relaxed);
            for thread in clients {
                thread.join().expect("a client does not panic")?;
            }
            ended
        })
        .map(|crash| (crash, observer))
    }

    /// The moment of the end.
    fn cut(&mut self, server: &mut Server, signal: Option<&str>) -> Result<Instant> {
        let crash = Instant::now();
        let loss = server.cut_power(signal, &mut self.rng)?;
        self.loss.add(loss);
        self.cuts += 1;
        Ok(crash)
    }
}

/// Until the connection ends.
fn write_large(addr: std::net::SocketAddr) -> Result<()> {
    let Ok(mut client) = Client::connect(addr) else {
        return Ok(());
    };
    let value = vec![b'v'; LARGE];
    for _ in 0..LARGE_COUNT {
        if client.call(&[b"SET".as_slice(), b"large", &value]).is_err() {
            break;
        }
    }
    Ok(())
}

fn test(durability: &'static str, flags: &'static [&'static str]) -> Result<()> {
    let seed = seed();
    let mut lane = Lane {
        durability,
        flags,
        rng: Rng::with_seed(seed),
        cuts: 0,
        loss: Loss::default(),
        torn: 0,
        tally: Tally::default(),
        images: 0,
    };
    let enough = cuts();
    while lane.cuts < enough {
        lane.live(enough)
            .with_context(|| format!("after {} cuts, RUVIO_CRASH_SEED={seed}", lane.cuts))?;
    }
    let Lane {
        cuts,
        loss,
        torn,
        tally,
        images,
        ..
    } = lane;
    println!("{durability} {flags:?}: {cuts} cuts, {torn} torn tails, {images} images, {loss:?}, {tally:?}");
    // Otherwise it has tested nothing.
    ensure!(tally.acknowledged > 100 && loss.pieces > 0, "{loss:?} {tally:?}");
    if durability == "everysec" {
        // So the cut bites, and the same model held to `always` would have failed.
        ensure!(tally.acknowledged_lost > 0, "{loss:?} {tally:?}");
    }
    Ok(())
}

#[test]
fn what_is_acknowledged_survives_a_power_cut() -> Result<()> {
    test("always", ALONE)
}

#[test]
fn what_is_acknowledged_survives_a_power_cut_spread() -> Result<()> {
    test("always", SPREAD)
}

#[test]
fn a_power_cut_takes_no_more_than_the_last_moments() -> Result<()> {
    test("everysec", ALONE)
}

#[test]
fn a_power_cut_takes_no_more_than_the_last_moments_spread() -> Result<()> {
    test("everysec", SPREAD)
}

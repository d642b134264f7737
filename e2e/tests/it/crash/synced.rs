//! `WAITAOF` says what is durable, and nothing else: what it told is there after a power cut, and while the log stands
//! still it tells that nothing is.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use ruvio_e2e::client::{Client, Received};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};
use ruvio_e2e::tracer::freeze;

use super::kill::seed;
use super::{ALONE, SPREAD, WRITER, keeping};

const ROUNDS: usize = 8;
const CLIENTS: usize = 4;

/// A client that counts, and asks now and then whether it is durable.
struct Counter {
    key: String,
    /// What may be there, what was answered, and what was said to be durable.
    sent: i64,
    acknowledged: i64,
    durable: i64,
}

impl Counter {
    fn run(&mut self, addr: SocketAddr, stop: &AtomicBool, mut rng: Rng) -> Result<()> {
        let mut client = Client::connect(addr)?;
        while !stop.load(Ordering::Relaxed) {
            let asks = rng.u8(..40);
            let words: &[&str] = match asks {
                0 => &["WAITAOF", "1", "0", "0"],
                // A save is done when all that was acknowledged is durable.
                1 => &["SAVE"],
                _ => {
                    self.sent += 1;
                    &["INCR", &self.key]
                }
            };
            if client.send(words).is_err() {
                return Ok(());
            }
            match client.receive(Duration::from_secs(20)) {
                Ok(Received::Reply(Value::Integer(count))) => self.acknowledged = count,
                Ok(Received::Reply(answer)) => {
                    let words = answer.to_string();
                    ensure!(words == "[:1, :0]" || words == "+OK", "{words}");
                    self.durable = self.acknowledged;
                }
                Ok(Received::Nothing) => bail!("no answer"),
                Ok(Received::Closed) | Err(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// How many of the acknowledged ones are gone.
    fn check(&mut self, client: &mut Client) -> Result<i64> {
        let value = client.call(&["GET", &self.key])?;
        let found: i64 = match value.text() {
            None => 0,
            Some(text) => std::str::from_utf8(text)?.parse()?,
        };
        let (durable, sent) = (self.durable, self.sent);
        ensure!(
            (durable..=sent).contains(&found),
            "{} is {found}: {durable} were said to be durable, {sent} sent",
            self.key
        );
        let lost = (self.acknowledged - found).max(0);
        (self.sent, self.acknowledged, self.durable) = (found, found, found);
        Ok(lost)
    }
}

#[test]
fn what_is_said_to_be_durable_survives_a_power_cut() -> Result<()> {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    let (mut lost, mut kept) = (0, 0);
    for flags in [ALONE, SPREAD] {
        let all = [&["--durability", "everysec"], flags].concat();
        let mut server = Server::start_watched(&all)?;
        let mut counters: Vec<Counter> = (0..CLIENTS)
            .map(|name| Counter {
                key: format!("count{name}"),
                sent: 0,
                acknowledged: 0,
                durable: 0,
            })
            .collect();
        for round in 0..ROUNDS {
            let stop = AtomicBool::new(false);
            let addr = server.addr();
            std::thread::scope(|scope| -> Result<()> {
                let stop = &stop;
                let threads: Vec<_> = counters
                    .iter_mut()
                    .map(|counter| {
                        let rng = rng.fork();
                        scope.spawn(move || counter.run(addr, stop, rng))
                    })
                    .collect();
                std::thread::sleep(Duration::from_millis(rng.u64(60..200)));
                let ended = server.cut_power(None, &mut rng);
                stop.store(true, Ordering::Relaxed);
                for thread in threads {
                    thread.join().expect("a client does not panic")?;
                }
                ended.map(drop)
            })?;
            server.start_again()?;
            let mut client = server.client()?;
            for counter in &mut counters {
                kept += counter.durable;
                lost += counter
                    .check(&mut client)
                    .with_context(|| format!("{flags:?}, round {round}, RUVIO_CRASH_SEED={seed}"))?;
            }
        }
    }
    println!("{kept} said to be durable, {lost} others acknowledged and lost");
    ensure!(
        kept > 0 && lost > 0,
        "nothing was tested: {kept} durable, {lost} lost"
    );
    Ok(())
}

#[test]
fn while_the_log_stands_still_nothing_is_said_to_be_durable() -> Result<()> {
    for (durability, flags) in [("everysec", ALONE), ("always", ALONE), ("always", SPREAD)] {
        let server = keeping(durability, flags)?;
        let (mut writer, mut asking) = (server.client()?, server.client()?);
        writer.say("SET a 1")?;
        assert_eq!(asking.say("WAITAOF 1 0 10000")?.to_string(), "[:1, :0]");
        let frozen = freeze(server.pid(), WRITER)?;
        writer.send(&["SET", "a", "2"])?;
        // It has to be executed first.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(
            asking.say("WAITAOF 1 0 100")?.to_string(),
            "[:0, :0]",
            "{durability} {flags:?}"
        );
        drop(frozen);
        assert_eq!(writer.reply()?.to_string(), "+OK");
        assert_eq!(writer.say("WAITAOF 1 0 10000")?.to_string(), "[:1, :0]");
        // No replica ever says that it has it.
        assert_eq!(writer.say("WAITAOF 0 1 50")?.to_string(), "[:1, :0]");
        assert_eq!(writer.say("WAITAOF 0 0 0")?.to_string(), "[:1, :0]");
    }
    let nothing = Server::start(Kind::Ruvio, &["--durability", "memory"])?;
    let answer = nothing.client()?.say("WAITAOF 1 0 0")?.to_string();
    ensure!(answer.starts_with("-ERR WAITAOF cannot be used"), "{answer}");
    assert_eq!(nothing.client()?.say("WAITAOF 0 0 0")?.to_string(), "[:0, :0]");
    Ok(())
}

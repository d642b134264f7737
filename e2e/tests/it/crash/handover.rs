//! Work that is handed over, across kills and power cuts: what a consumer was given nobody is given again, what was
//! moved is in one place, and what was pushed is not lost.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fastrand::Rng;
use ruvio_e2e::client::{Client, Received};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::Server;
use ruvio_e2e::tracer::freeze;

use super::kill::seed;
use super::{ALONE, SPREAD, WRITER, keeping};

const QUEUES: usize = 3;
const ROUNDS: usize = 8;

/// An item by who made it, and as the how manieth.
type Item = (usize, u64);

fn place(queue: usize, side: &str) -> String {
    format!("{{queue{queue}}}:{side}")
}

/// Pushes items with rising numbers to one queue.
#[derive(Default)]
struct Producer {
    name: usize,
    queue: usize,
    next: u64,
    acknowledged: BTreeSet<Item>,
    unknown: BTreeSet<Item>,
}

/// Takes items out of one queue for good, or moves them behind it.
#[derive(Default)]
struct Consumer {
    queue: usize,
    moves: bool,
    got: Vec<Item>,
    /// It may have been given something of which it did not hear.
    is_unanswered: bool,
}

fn item(value: &Value) -> Result<Item> {
    let text = String::from_utf8(
        value
            .text()
            .with_context(|| format!("{value} is no item"))?
            .to_vec(),
    )?;
    let (name, number) = text.split_once('-').context("an item")?;
    Ok((name.parse()?, number.parse()?))
}

/// `None`: the connection has ended.
fn ask(client: &mut Client, words: &[&str]) -> Result<Option<Value>> {
    if client.send(words).is_err() {
        return Ok(None);
    }
    match client.receive(Duration::from_secs(20)) {
        Ok(Received::Reply(answer)) if answer.is_error() => bail!("{words:?} answered {answer}"),
        Ok(Received::Reply(answer)) => Ok(Some(answer)),
        Ok(Received::Nothing) => bail!("{words:?} is not answered"),
        Ok(Received::Closed) | Err(_) => Ok(None),
    }
}

impl Producer {
    fn run(&mut self, addr: SocketAddr, stop: &AtomicBool) -> Result<()> {
        let mut client = Client::connect(addr)?;
        while !stop.load(Ordering::Relaxed) {
            let item = (self.name, self.next);
            self.next += 1;
            let text = format!("{}-{}", item.0, item.1);
            self.unknown.insert(item);
            if ask(&mut client, &["RPUSH", &place(self.queue, "in"), &text])?.is_none() {
                break;
            }
            self.unknown.remove(&item);
            self.acknowledged.insert(item);
        }
        Ok(())
    }
}

impl Consumer {
    fn run(&mut self, addr: SocketAddr, stop: &AtomicBool) -> Result<()> {
        let mut client = Client::connect(addr)?;
        let (from, to) = (place(self.queue, "in"), place(self.queue, "out"));
        while !stop.load(Ordering::Relaxed) {
            let answer = if self.moves {
                ask(&mut client, &["BLMOVE", &from, &to, "LEFT", "RIGHT", "0.05"])?
            } else {
                ask(&mut client, &["BLPOP", &from, "0.05"])?
            };
            match answer {
                None => {
                    self.is_unanswered = true;
                    break;
                }
                Some(Value::Array(parts)) => self.got.push(item(&parts[1])?),
                Some(value) if value.text().is_some() => self.got.push(item(&value)?),
                Some(_) => {}
            }
        }
        Ok(())
    }
}

fn items(client: &mut Client, key: &str) -> Result<Vec<Item>> {
    match client.call(&["LRANGE", key, "0", "-1"])? {
        Value::Array(values) => values.iter().map(item).collect(),
        other => bail!("{key}: {other}"),
    }
}

/// Everything is in one place; of what was moved or left, the order is that of its maker.
fn check(
    client: &mut Client,
    producers: &mut [Producer],
    consumers: &[Consumer],
    gone: &mut BTreeSet<Item>,
) -> Result<()> {
    for queue in 0..QUEUES {
        let (left, moved) = (
            items(client, &place(queue, "in"))?,
            items(client, &place(queue, "out"))?,
        );
        let here: Vec<&Consumer> = consumers.iter().filter(|one| one.queue == queue).collect();
        let taken = here.iter().filter(|one| !one.moves).flat_map(|one| &one.got);
        let told: BTreeSet<Item> = here
            .iter()
            .filter(|one| one.moves)
            .flat_map(|one| one.got.clone())
            .collect();
        let mut seen = BTreeSet::new();
        for item in taken.clone().chain(&moved).chain(&left) {
            ensure!(seen.insert(*item), "{item:?} of queue {queue} is there twice");
        }
        for item in &told {
            ensure!(
                moved.contains(item),
                "{item:?} was moved, as a client was told, and was not"
            );
        }
        let mut missing = 0;
        for maker in producers.iter_mut().filter(|one| one.queue == queue) {
            let made = |item: &Item| maker.acknowledged.contains(item) || maker.unknown.contains(item);
            let of = |item: &&Item| item.0 == maker.name;
            for item in seen.iter().filter(of) {
                ensure!(made(item), "nobody made {item:?}");
                ensure!(!gone.contains(item), "{item:?} was gone, and is there again");
            }
            let lost = |item: &&Item| !seen.contains(item) && !gone.contains(item);
            let lost: Vec<Item> = maker.acknowledged.iter().filter(lost).copied().collect();
            missing += lost.len();
            gone.extend(lost);
            // What is not known becomes known here.
            let unknown = std::mem::take(&mut maker.unknown);
            let (there, never) = unknown
                .into_iter()
                .partition::<BTreeSet<_>, _>(|item| seen.contains(item));
            maker.acknowledged.extend(there);
            gone.extend(never);
        }
        let unheard = here.iter().filter(|one| !one.moves && one.is_unanswered).count();
        ensure!(
            missing <= unheard,
            "{missing} items of queue {queue} are lost; {unheard} takes were not answered"
        );
        for maker in producers.iter().filter(|one| one.queue == queue) {
            let of = |items: &[Item]| {
                items
                    .iter()
                    .filter(|item| item.0 == maker.name)
                    .copied()
                    .collect::<Vec<_>>()
            };
            let line = [of(&moved), of(&left)].concat();
            ensure!(line.is_sorted(), "{line:?} of queue {queue} are out of order");
            let first = of(&left).first().copied();
            let behind = taken
                .clone()
                .filter(|item| item.0 == maker.name && Some(**item) > first);
            ensure!(
                first.is_none() || behind.count() == 0,
                "{first:?} was passed over"
            );
        }
    }
    Ok(())
}

fn test(durability: &str, flags: &[&str]) -> Result<()> {
    let seed = seed();
    let mut rng = Rng::with_seed(seed);
    // What is acknowledged with `always` outlives a power cut as well.
    let all = [&["--durability", durability], flags].concat();
    let mut server = match durability {
        "always" => Server::start_watched(&all)?,
        _ => keeping(durability, flags)?,
    };
    let mut producers: Vec<Producer> = (0..2 * QUEUES)
        .map(|name| Producer {
            name,
            queue: name % QUEUES,
            ..Producer::default()
        })
        .collect();
    let mut consumers: Vec<Consumer> = (0..3 * QUEUES)
        .map(|name| Consumer {
            queue: name % QUEUES,
            moves: name < QUEUES,
            ..Consumer::default()
        })
        .collect();
    let (mut unheard, mut gone) = (0, BTreeSet::new());
    for round in 0..ROUNDS {
        let stop = AtomicBool::new(false);
        let addr = server.addr();
        std::thread::scope(|scope| -> Result<()> {
            let stop = &stop;
            let making = producers
                .iter_mut()
                .map(|one| scope.spawn(move || one.run(addr, stop)));
            let taking = consumers
                .iter_mut()
                .map(|one| scope.spawn(move || one.run(addr, stop)));
            let threads: Vec<_> = making.chain(taking).collect();
            std::thread::sleep(Duration::from_millis(rng.u64(60..250)));
            let ended = if durability == "always" {
                server.cut_power(None, &mut rng).map(drop)
            } else {
                let frozen = rng.bool().then(|| freeze(server.pid(), WRITER)).transpose()?;
                std::thread::sleep(Duration::from_millis(rng.u64(..15)));
                server.kill(frozen)
            };
            stop.store(true, Ordering::Relaxed);
            for thread in threads {
                thread.join().expect("a client does not panic")?;
            }
            ended
        })?;
        server.start_again()?;
        check(&mut server.client()?, &mut producers, &consumers, &mut gone)
            .with_context(|| format!("{durability} {flags:?}, round {round}, RUVIO_CRASH_SEED={seed}"))?;
        unheard += consumers.iter().filter(|one| one.is_unanswered).count();
        consumers.iter_mut().for_each(|one| one.is_unanswered = false);
    }
    let made: usize = producers.iter().map(|one| one.acknowledged.len()).sum();
    let got: usize = consumers.iter().map(|one| one.got.len()).sum();
    println!("{durability} {flags:?}: {made} made, {got} taken or moved, {unheard} takes without an answer");
    ensure!(made > 15 && got > 10 && unheard > 0, "nothing was tested");
    Ok(())
}

#[test]
fn what_is_handed_over_is_handed_over_once_everysec() -> Result<()> {
    test("everysec", ALONE)?;
    test("everysec", SPREAD)
}

#[test]
fn what_is_handed_over_is_handed_over_once_always() -> Result<()> {
    test("always", ALONE)?;
    test("always", SPREAD)
}

//! The disk is full, and not, and full again, and the process is killed in between: what was refused is never there,
//! what was acknowledged always, and a start on a full disk serves reads.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ruvio_e2e::client::Client;
use ruvio_e2e::crash::Writer;
use ruvio_e2e::server::Server;

use super::{ALONE, SPREAD};

/// The log sets 40 MiB of it aside.
const DISK: u64 = 120 << 20;
const PATIENCE: Duration = Duration::from_secs(20);

/// Takes all the room there is, to the last page.
fn fill(data: &Path) -> Result<()> {
    use std::io::Write;
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(data.join("ballast"))?;
    for size in [1 << 20, 64 << 10, 4 << 10] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
    Ok(())
}

fn write_for(server: &Server, writers: &mut [Writer], time: Duration) -> Result<()> {
    let stop = AtomicBool::new(false);
    let addr = server.addr();
    std::thread::scope(|scope| {
        let stop = &stop;
        let writing: Vec<_> = writers
            .iter_mut()
            .map(|writer| scope.spawn(move || writer.run(addr, stop)))
            .collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        writing
            .into_iter()
            .try_for_each(|thread| thread.join().expect("a client does not panic"))
    })
}

/// Large writes until one is refused.
fn exhaust(client: &mut Client) -> Result<()> {
    let value = vec![b'v'; 256 << 10];
    for _ in 0..2000 {
        if client.call(&[b"SET".as_slice(), b"filling", &value])?.is_error() {
            return Ok(());
        }
    }
    anyhow::bail!("the disk does not fill up")
}

fn refused(writers: &[Writer]) -> u64 {
    writers.iter().map(|writer| writer.tally.refused).sum()
}

fn acknowledged(writers: &[Writer]) -> u64 {
    writers.iter().map(|writer| writer.tally.acknowledged).sum()
}

fn test(durability: &str, flags: &[&str]) -> Result<()> {
    let all = [&["--durability", durability], flags].concat();
    let mut server = Server::start_on_disk(DISK, &all)?;
    let mut writers: Vec<Writer> = (0..2)
        .map(|name| Writer::new(name, 3, fastrand::u64(..)).may_be_refused())
        .collect();
    for round in 0..3 {
        let said = |server: &Server| format!("round {round}; its log:\n{}", server.log());
        write_for(&server, &mut writers, Duration::from_millis(100))?;
        fill(&server.data())?;
        exhaust(&mut server.client()?).with_context(|| said(&server))?;
        let before = refused(&writers);
        write_for(&server, &mut writers, Duration::from_millis(100)).with_context(|| said(&server))?;
        ensure!(refused(&writers) > before, "nothing was refused");
        // Long enough for the image to be tried, which the log's room depends on.
        std::thread::sleep(Duration::from_millis(1500));
        ensure!(server.is_running(), "{}", said(&server));
        ensure!(server.client()?.say("PING")?.to_string() == "+PONG");
        server.kill(None)?;
        // It finds the room that the log had set aside; whoever takes that as well leaves nothing to open the image with.
        server.start_again().context("on a full disk")?;
        let mut client = server.client()?;
        // What only looks needs no room, be it LIMIT or IDEM.
        for writer in &mut writers {
            writer.settle(&mut client).with_context(|| said(&server))?;
        }
        std::fs::remove_file(server.data().join("ballast"))?;
        let deadline = Instant::now() + PATIENCE;
        while client.say("SET filling 1")?.is_error() {
            ensure!(Instant::now() < deadline, "it does not heal: {}", said(&server));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let before = acknowledged(&writers);
    write_for(&server, &mut writers, Duration::from_millis(100))?;
    ensure!(acknowledged(&writers) > before, "nothing is written any more");
    // Nor does a full disk hinder a clean end.
    fill(&server.data())?;
    ensure!(server.stop("TERM")?.success(), "{}", server.log());
    std::fs::remove_file(server.data().join("ballast"))?;
    server.start_again()?;
    let mut client = server.client()?;
    writers
        .iter_mut()
        .try_for_each(|writer| writer.settle(&mut client))?;
    Ok(())
}

#[test]
fn what_a_full_disk_refuses_is_never_there() -> Result<()> {
    test("everysec", ALONE)?;
    test("always", SPREAD)
}

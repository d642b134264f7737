//! redis-cli and redis-benchmark as Debian has them, at both ports.

use std::net::SocketAddr;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use ruvio_e2e::cluster::Cluster;

use super::{CLUSTER, ROUTED, SHARDS, cluster, doors, wait_until_whole};

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

fn tool(name: &str, door: SocketAddr, words: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(["-h", &door.ip().to_string(), "-p", &door.port().to_string()]);
    command.args(words).stdin(Stdio::null());
    command
}

fn say(door: SocketAddr, words: &[&str]) -> Result<String> {
    let output = tool("redis-cli", door, words).output();
    Ok(told(&output.context("redis-cli runs (make setup)")?))
}

#[test]
fn redis_cli_finds_its_way_by_both_ports() -> Result<()> {
    let mut cluster = cluster()?;
    let (by_slots, routed) = (doors(&cluster, CLUSTER), doors(&cluster, ROUTED));
    let mut moved = 0;
    for round in 0..2 {
        for number in 0..12 {
            let (key, value) = (format!("key:{number}"), format!("{round}:{number}"));
            let door = by_slots[number % 3];
            assert_eq!(say(door, &["-c", "SET", &key, &value])?, "OK\n");
            for door in by_slots.iter().chain(&routed) {
                assert_eq!(say(*door, &["-c", "GET", &key])?, format!("{value}\n"));
            }
            moved += usize::from(say(door, &["GET", &key])?.starts_with("MOVED "));
            assert_eq!(say(routed[number % 3], &["GET", &key])?, format!("{value}\n"));
        }
        if round == 0 {
            cluster.nodes[2].kill()?;
            wait_for_others(&cluster)?;
            cluster.nodes[2].start()?;
            wait_until_whole(&cluster)?;
        }
    }
    assert!(moved > 0, "no node was asked for what another leads");
    let keys = |text: String| text.lines().filter(|line| line.starts_with("key:")).count();
    assert_eq!(keys(say(routed[1], &["--scan"])?), 12);
    Ok(())
}

/// The shards of the node that went away are led by others.
fn wait_for_others(cluster: &Cluster) -> Result<()> {
    std::thread::sleep(Duration::from_secs(2));
    cluster.wait_until_served()
}

/// It asks every node for `CLUSTER NODES`, and compares.
#[test]
fn redis_cli_finds_nothing_wrong_with_the_cluster() -> Result<()> {
    let cluster = cluster()?;
    let door = doors(&cluster, CLUSTER)[0];
    let address = door.to_string();
    let checked = say(door, &["--cluster", "check", &address])?;
    assert!(
        checked.contains("[OK] All nodes agree about slots configuration."),
        "{checked}"
    );
    assert!(checked.contains("[OK] All 16384 slots covered."), "{checked}");
    say(door, &["-c", "SET", "k", "v"])?;
    let info = say(door, &["--cluster", "info", &address])?;
    assert!(info.contains("[OK] 1 keys in "), "{info}");
    let called = say(door, &["--cluster", "call", &address, "PING"])?;
    assert_eq!(called.matches("PONG").count(), 3, "{called}");
    Ok(())
}

#[test]
fn redis_benchmark_runs_by_both_ports() -> Result<()> {
    let cluster = cluster()?;
    let tests = "ping_mbulk,set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,zadd,lrange_100";
    let words = [
        "-n", "1500", "-c", "12", "-P", "4", "-r", "100", "--csv", "-t", tests,
    ];
    for (port, more) in [(CLUSTER, &["--cluster"][..]), (ROUTED, &[])] {
        let door = doors(&cluster, port)[1];
        let output = tool("redis-benchmark", door, &[&words[..], more].concat()).output()?;
        let told = told(&output);
        assert!(output.status.success(), "{told}");
        assert!(!told.to_lowercase().contains("error"), "{told}");
        let rows = told.lines().filter(|line| line.starts_with('"')).count();
        assert!(rows > tests.split(',').count(), "{rows} rows:\n{told}");
    }
    Ok(())
}

/// It ends at the first error, so one that is there at the end has seen none.
#[test]
fn redis_benchmark_goes_on_while_leaderships_are_handed_over() -> Result<()> {
    let cluster = cluster()?;
    let words = ["-n", "1000000", "-c", "8", "-r", "1000", "-t", "set", "-l"];
    let mut running = Vec::new();
    for (port, more) in [(CLUSTER, &["--cluster"][..]), (ROUTED, &[])] {
        let mut command = tool(
            "redis-benchmark",
            doors(&cluster, port)[0],
            &[&words[..], more].concat(),
        );
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        running.push(command.spawn()?);
    }
    std::thread::sleep(Duration::from_secs(1));
    for shard in 0..SHARDS {
        for node in ["2", "3", "1"] {
            let _ = cluster.administer(&["transfer-leader", &shard.to_string(), "--to", node]);
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    for mut process in running {
        let ended = process.try_wait()?;
        if ended.is_none() {
            process.kill()?;
        }
        let told = told(&process.wait_with_output()?);
        assert_eq!(ended, None, "{told}");
    }
    Ok(())
}

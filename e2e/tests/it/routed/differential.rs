//! Random commands by the routed ports of a cluster, whose shards are led by three nodes: they are answered as by Valkey.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, encode};
use ruvio_e2e::resp::Value;

use super::{NODES, SHARDS, cluster, door, hand_over, spread, text};
use crate::sharded::differential::compare_in_slots;

/// Of a hundred steps each.
const ROUNDS: usize = 45;
const STAY: usize = 2000;
const SCAN_PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn replies_by_routed_ports_equal_valkey_s() -> Result<()> {
    let seed = std::env::var("RUVIO_DIFF_SEED").map_or(Ok(20_261_201), |seed| seed.parse())?;
    let cluster = cluster();
    spread(&cluster)?;
    let doors: Vec<_> = (0..NODES).map(|node| door(&cluster, node)).collect();
    compare_in_slots(&doors, ROUNDS, seed)
}

/// While others come and go, and while each shard is led by one node after the other.
#[test]
fn a_scan_finds_all_keys_that_stay() -> Result<()> {
    let cluster = cluster();
    spread(&cluster)?;
    let mut client = Client::connect(door(&cluster, 1))?;
    for from in (0..STAY).step_by(500) {
        let pairs = (from..from + 500).flat_map(|number| [format!("stay:{number}"), "v".to_owned()]);
        let words: Vec<String> = std::iter::once("MSET".to_owned()).chain(pairs).collect();
        client.call(&words)?;
    }
    let (mut found, mut cursor, mut round) = (vec![false; STAY], "0".to_owned(), 0);
    let deadline = Instant::now() + SCAN_PATIENCE;
    loop {
        let Value::Array(page) = client.call(&["SCAN", &cursor, "COUNT", "30"])? else {
            panic!("SCAN answers an array");
        };
        let Value::Array(keys) = &page[1] else {
            panic!("with keys");
        };
        for key in keys.iter().map(text) {
            if let Some(number) = key.strip_prefix("stay:") {
                found[number.parse::<usize>()?] = true;
            }
        }
        cursor = text(&page[0]);
        if cursor == "0" {
            break;
        }
        assert!(Instant::now() < deadline, "the scan does not end");
        let mut changes = Vec::new();
        for number in 0..30 {
            encode(
                &["SET", &format!("come:{}", 30 * round + number), "v"],
                &mut changes,
            );
            encode(&["DEL", &format!("come:{}", 10 * round + number)], &mut changes);
        }
        client.send_raw(&changes)?;
        for _ in 0..60 {
            client.reply()?;
        }
        if round % 10 == 9 {
            hand_over(&cluster, round / 10 % SHARDS, round / 10 % NODES)?;
        }
        round += 1;
    }
    let missing: Vec<usize> = (0..STAY).filter(|number| !found[*number]).collect();
    assert!(missing.is_empty(), "of {STAY}, after {round} pages: {missing:?}");
    Ok(())
}

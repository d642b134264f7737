//! `SCAN`, `KEYS` and `RANDOMKEY` over keyspaces that change, and flushes of large ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::bench::Bench;

/// The cursor and the names of one call.
fn scan(bench: &mut Bench, cursor: &str, options: &str) -> (String, Vec<String>) {
    let answer = bench.run(&format!("SCAN {cursor} {options}"));
    let mut words = answer.split("\r\n").filter(|word| !word.starts_with(['*', '$']));
    let cursor = words.next().expect("a cursor").to_string();
    (
        cursor,
        words.filter(|word| !word.is_empty()).map(String::from).collect(),
    )
}

#[test]
fn what_is_there_all_along_is_seen_once_whatever_comes_and_goes() {
    let mut bench = Bench::new();
    for nth in 0..2000 {
        bench.run(&format!("SET stays:{nth} v"));
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let (mut cursor, mut call) = ("0".to_string(), 0);
    loop {
        let (next, names) = scan(&mut bench, &cursor, "COUNT 25 MATCH stays:*");
        names
            .into_iter()
            .for_each(|name| *seen.entry(name).or_default() += 1);
        // The table grows to several times its size, then shrinks again.
        for nth in 0..200 {
            let verb = if call < 40 { "SET" } else { "DEL" };
            let value = if call < 40 { "v" } else { "" };
            bench.run(&format!("{verb} comes:{}:{nth} {value}", call % 40));
        }
        call += 1;
        if next == "0" {
            break;
        }
        cursor = next;
    }
    assert!(call > 60, "a call shows about as many as asked: {call} calls");
    assert_eq!(seen.len(), 2000);
    assert!(seen.values().all(|times| *times == 1));
}

#[test]
fn a_scan_shows_only_what_is_asked_for() {
    let mut bench = Bench::new();
    for nth in 0..50 {
        bench.run(&format!("SET s:{nth} v"));
        bench.run(&format!("RPUSH l:{nth} v"));
        bench.run(&format!("SET due:{nth} v PX 10"));
    }
    bench.pass_ms(20);
    let (cursor, names) = scan(&mut bench, "0", "COUNT 1000 TYPE list");
    assert_eq!(cursor, "0");
    assert_eq!(names.len(), 50);
    assert!(names.iter().all(|name| name.starts_with("l:")));
    let (_, names) = scan(&mut bench, "0", "COUNT 1000 MATCH s:?");
    assert_eq!(names.len(), 10);
    let (_, names) = scan(&mut bench, "0", "COUNT 1000");
    assert_eq!(names.len(), 100, "nothing past its time");
    assert_eq!(bench.run("DBSIZE"), ":100\r\n", "and the scan has removed it");
}

#[test]
fn random_keys_are_live_and_all_kinds_of_them() {
    let mut bench = Bench::new();
    for nth in 0..500 {
        bench.run(&format!("SET due:{nth} v PX 10"));
    }
    for nth in 0..10 {
        bench.run(&format!("SET k:{nth} v"));
    }
    bench.pass_ms(20);
    let seen: BTreeSet<String> = (0..200).map(|_| bench.run("RANDOMKEY")).collect();
    assert!(
        seen.iter().all(|answer| answer.starts_with("$3\r\nk:")),
        "{seen:?}"
    );
    assert!(seen.len() > 5, "{seen:?}");
}

#[test]
fn a_flush_of_many_keys_is_over_at_once() {
    let mut bench = Bench::with_follower(1);
    for nth in 0..5000 {
        bench.run(&format!("SET key:{nth} v"));
    }
    let before = bench.engine.shard.heap.live_bytes();
    assert_eq!(bench.run("FLUSHALL"), "+OK\r\n");
    assert_eq!(bench.run("DBSIZE"), ":0\r\n");
    assert!(
        bench.engine.shard.heap.live_bytes() > before / 2,
        "most of the memory is freed later"
    );
    bench.run("SET key:1 new");
    let now = bench.now();
    let mut ticks = 0;
    while bench.engine.tick(now) {
        ticks += 1;
    }
    assert!(ticks > 1, "in slices");
    assert_eq!(bench.run("GET key:1"), "$3\r\nnew\r\n");
    assert!(bench.engine.shard.heap.live_bytes() < before / 10);
    bench.assert_follower_equal();
}

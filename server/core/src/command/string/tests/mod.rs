//! The commands through the engine. Expected replies are Valkey 9.1.2's.

mod equality;
mod model;
mod shapes;

use crate::engine::bench::Bench;
use crate::keyspace::Classes;

/// The key's expiry in milliseconds from now; `None` without one.
fn ttl_ms(bench: &Bench, key: &str) -> Option<u64> {
    let shard = &bench.engine.shard;
    let entry = shard.databases[0].get(&shard.heap, shard.heap.hash(key.as_bytes()), key.as_bytes());
    let at = entry.expect("the key is there").expire_at_ms();
    at.map(|at| at - bench.now_ms)
}

#[test]
fn transcript() {
    Bench::with_follower(1).transcript(include_str!("../transcript.txt"));
}

/// Bitmaps and HyperLogLogs are strings, and their events are among these.
#[test]
fn events() {
    let mut bench = Bench::new();
    bench.listen(Classes(u16::MAX));
    let mut told = String::new();
    for line in include_str!("../events.txt").lines() {
        if let Some(command) = line.strip_prefix("> ") {
            bench.run(command);
            told = bench.events().join(", ");
        } else if let Some(wanted) = line.strip_prefix("! ") {
            assert_eq!(told, wanted, "before this line");
        }
    }
}

#[test]
fn times_of_keys() {
    let mut bench = Bench::with_follower(1);
    let steps: [(&str, Option<u64>); 19] = [
        ("SET k 1 EX 100", Some(100_000)),
        ("SET k 2 KEEPTTL", Some(100_000)),
        ("INCR k", Some(100_000)),
        ("INCRBY k 1000", Some(100_000)),
        ("INCRBYFLOAT k 0.5", Some(100_000)),
        ("APPEND k 5", Some(100_000)),
        ("SETRANGE k 0 7", Some(100_000)),
        ("SETBIT k 1 1", Some(100_000)),
        ("GETEX k", Some(100_000)),
        ("GETEX k PX 70", Some(70)),
        ("GETEX k PERSIST", None),
        ("SET k 1 PXAT 1700000000500", Some(500)),
        ("SET k 1 EXAT 1700000009", Some(9000)),
        ("SET k 1", None),
        ("SETEX k 3 1", Some(3000)),
        ("GETSET k 4", None),
        ("PSETEX k 3 1", Some(3)),
        ("MSETEX 1 k v KEEPTTL", Some(3)),
        ("MSET k v", None),
    ];
    for (command, wanted) in steps {
        bench.run(command);
        assert_eq!(ttl_ms(&bench, "k"), wanted, "{command}");
    }
    bench.assert_follower_equal();
}

#[test]
fn a_time_that_has_passed_ends_the_key() {
    let mut bench = Bench::with_follower(1);
    bench.transcript(
        "> SET k v
         < OK
         > GETEX k EXAT 1
         < \"v\"
         > GET k
         < nil
         > SET k v
         < OK
         > SET k w GET PXAT 1
         < \"v\"
         > GET k
         < nil
         > MSETEX 2 k 1 l 2 EXAT 1
         < 1
         > MGET k l
         < [nil nil]
         > SET k v PX 10
         < OK
         + 10
         > GET k
         < nil",
    );
    assert_eq!(bench.engine.shard.stats.expired, 5);
    bench.assert_follower_equal();
}

#[test]
fn no_string_grows_beyond_the_limit() {
    const TOO_LONG: &str = "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n";
    let mut bench = Bench::new();
    bench.engine.shard.limits.proto_max_bulk_len = 100;
    assert_eq!(bench.run("SETRANGE k 100 x"), TOO_LONG);
    assert_eq!(bench.run("SETRANGE k 9223372036854775807 x"), TOO_LONG);
    assert_eq!(bench.run("GET k"), "$-1\r\n");
    assert_eq!(bench.run("SETRANGE k 99 x"), ":100\r\n");
    assert_eq!(bench.run("APPEND k x"), TOO_LONG);
    assert_eq!(bench.run("APPEND k \"\""), ":100\r\n");
    let bad_bit = "-ERR bit offset is not an integer or out of range\r\n";
    assert_eq!(bench.run("SETBIT k 800 1"), bad_bit);
    assert_eq!(bench.run("SETBIT k 799 1"), ":0\r\n");
    assert_eq!(bench.run("BITFIELD k SET u8 #100 1"), bad_bit);
    assert_eq!(bench.run("BITFIELD k SET u8 #9223372036854775807 1"), bad_bit);
    assert_eq!(bench.run("STRLEN k"), ":100\r\n");
    bench.run("MSET a abcdef b abcdef");
    let refused = "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len\r\n";
    assert_eq!(bench.run("LCS a b LEN"), refused);
}

#[test]
fn a_command_that_changes_nothing_tells_nothing() {
    let mut bench = Bench::new();
    bench.run("MSET k v n 12");
    bench.run("PFADD h a");
    bench.engine.shard.effects.switch(true);
    let before = bench.engine.shard.stats.changes;
    for line in [
        "SET k w NX",
        "SET none w XX",
        "SET k w IFEQ other",
        "SETNX k w",
        "MSETNX k w other w",
        "MSETEX 1 k w NX",
        "DELIFEQ k other",
        "GETEX k",
        "GETEX k PERSIST",
        "GETDEL none",
        "SETRANGE k 3 \"\"",
        "SETRANGE none 3 \"\"",
        "SETBIT k 1 1",
        "BITFIELD k GET u8 0",
        "BITOP AND none none",
        "INCRBYFLOAT n inf",
        "INCRBY n 9223372036854775807",
        "PFADD h a",
        "PFCOUNT h",
    ] {
        bench.run(line);
        assert!(bench.engine.shard.effects.is_empty(), "{line}");
    }
    assert_eq!(bench.engine.shard.stats.changes, before);
}

/// A counter that is only ever incremented is a key in use.
#[test]
fn edits_in_place_count_as_uses() {
    let mut bench = Bench::new();
    bench.run("SET n 10");
    bench.pass_ms(500_000);
    bench.run("INCR n");
    let shard = &bench.engine.shard;
    let entry = shard.databases[0].get(&shard.heap, shard.heap.hash(b"n"), b"n");
    let access = entry.expect("the key is there").access();
    assert_eq!(crate::keyspace::access::idle_seconds(access, bench.now_ms), 0);
}

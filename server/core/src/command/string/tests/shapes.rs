//! How strings stand in memory and in the log.

use crate::effect::{Decoder, Effect};
use crate::engine::bench::Bench;
use crate::keyspace::kind;
use crate::value::string;

fn encoding(bench: &Bench, key: &str) -> &'static str {
    let shard = &bench.engine.shard;
    let entry = shard.databases[0].get(&shard.heap, shard.heap.hash(key.as_bytes()), key.as_bytes());
    string::encoding(entry.expect("the key is there"))
}

#[test]
fn encodings_as_object_encoding_names_them() {
    let mut bench = Bench::new();
    let steps = [
        ("SET k 12", "int"),
        ("SET k 9223372036854775807", "int"),
        ("SET k 9223372036854775808", "embstr"),
        ("SET k 012", "embstr"),
        ("SET k abc", "embstr"),
        ("APPEND k d", "raw"),
        ("GETSET k 5", "int"),
        ("APPEND k \"\"", "raw"),
        ("INCR k", "int"),
        ("SETRANGE k 0 7", "raw"),
        ("INCRBY k -7", "int"),
        ("SETRANGE k 0 \"\"", "int"),
        ("SETBIT k 7 1", "raw"),
        ("INCRBYFLOAT k 0.5", "embstr"),
        ("BITFIELD k SET u8 0 49", "raw"),
        ("BITOP NOT k k", "raw"),
        ("MSET k 3", "int"),
    ];
    for (command, wanted) in steps {
        bench.run(command);
        assert_eq!(encoding(&bench, "k"), wanted, "{command}");
    }
    bench.run("APPEND new 12");
    assert_eq!(encoding(&bench, "new"), "int");
    bench.run("SETBIT bits 9 1");
    assert_eq!(encoding(&bench, "bits"), "raw");
    bench.run("PFADD hll a");
    assert_eq!(encoding(&bench, "hll"), "raw");
}

/// Lengths of key and the longest embedded value, without and with an expiry, as measured on Valkey 9.1.2.
#[test]
fn where_raw_begins() {
    let mut bench = Bench::new();
    for (key_len, plain, expiring) in [
        (1, 112, 104),
        (20, 93, 85),
        (30, 83, 75),
        (40, 71, 63),
        (64, 47, 39),
    ] {
        let key = "k".repeat(key_len);
        for (len, options) in [(plain, ""), (expiring, "EX 100")] {
            bench.run(&format!("SET {key} {} {options}", "a".repeat(len)));
            assert_eq!(encoding(&bench, &key), "embstr", "{key_len} {len} {options}");
            bench.run(&format!("SET {key} {} {options}", "a".repeat(len + 1)));
            assert_eq!(encoding(&bench, &key), "raw", "{key_len} {len} {options}");
        }
    }
}

/// Each effect on one line.
fn told(bench: &mut Bench, line: &str) -> Vec<String> {
    bench.engine.shard.effects.switch(true);
    bench.run(line);
    let effects = Decoder::new(bench.engine.shard.effects.bytes());
    let told = effects.map(|effect| match effect.expect("effects decode").1 {
        Effect::Put {
            value, created, kind, ..
        } => {
            let raw = kind == kind::STRING_RAW;
            format!("put {} bytes, created {created}, raw {raw}", value.len())
        }
        Effect::Patch { offset, bytes, .. } => format!("patch {offset} {}", bytes.len()),
        other => format!("{other:?}"),
    });
    let told = told.collect();
    bench.engine.shard.effects.clear();
    told
}

#[test]
fn short_strings_are_told_whole_and_long_ones_in_part() {
    let mut bench = Bench::new();
    let long = "x".repeat(300);
    let steps: [(String, &[&str]); 14] = [
        ("APPEND s abc".into(), &["put 3 bytes, created true, raw false"]),
        ("APPEND s de".into(), &["put 5 bytes, created false, raw true"]),
        (
            "SETRANGE s 255 y".into(),
            &["put 256 bytes, created false, raw true"],
        ),
        ("SETRANGE s 256 y".into(), &["patch 256 1"]),
        ("SETRANGE s 1 abc".into(), &["patch 1 3"]),
        (format!("APPEND s {long}"), &["patch 257 300"]),
        ("SETBIT s 8007 1".into(), &["patch 1000 1"]),
        ("SETBIT new 7 1".into(), &["put 1 bytes, created true, raw true"]),
        (
            "SETBIT far 80007 1".into(),
            &["put 0 bytes, created true, raw true", "patch 10000 1"],
        ),
        (
            "BITFIELD s SET u8 0 1 GET u8 8 INCRBY i16 804 7".into(),
            &["patch 0 1", "patch 100 3"],
        ),
        (
            "SETRANGE fresh 1000 abc".into(),
            &["put 0 bytes, created true, raw true", "patch 1000 3"],
        ),
        ("INCR n".into(), &["put 1 bytes, created true, raw false"]),
        ("INCR n".into(), &["put 1 bytes, created false, raw false"]),
        (
            "INCRBYFLOAT n 1e3".into(),
            &["put 4 bytes, created false, raw false"],
        ),
    ];
    for (line, wanted) in &steps {
        assert_eq!(told(&mut bench, line), *wanted, "{line}");
    }
}

#[test]
fn registers_are_told_alone() {
    let mut bench = Bench::new();
    assert_eq!(
        told(&mut bench, "PFADD h a"),
        ["put 21 bytes, created true, raw true"]
    );
    assert_eq!(told(&mut bench, "PFADD h a"), Vec::<String>::new());
    assert_eq!(
        told(&mut bench, "PFDEBUG TODENSE h"),
        ["put 12304 bytes, created false, raw true"]
    );
    assert_eq!(told(&mut bench, "PFCOUNT h"), Vec::<String>::new());
    // Another server's count, which the next registers put out of date. They are 15780 and 8436.
    bench.run_words(&[b"SETRANGE", b"h", b"8", &[1, 0, 0, 0, 0, 0, 0, 0]]);
    assert_eq!(bench.run("PFCOUNT h"), ":1\r\n");
    bench.engine.shard.effects.clear();
    assert_eq!(
        told(&mut bench, "PFADD h b c"),
        ["patch 11851 1", "patch 6343 1", "patch 15 1"]
    );
    assert_eq!(
        told(&mut bench, "PFMERGE h"),
        ["put 12304 bytes, created false, raw true"]
    );
}

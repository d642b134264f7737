//! Hashes by command. The transcript was answered by Valkey 9.1.2; so were the events and encodings.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::engine::bench::{Bench, short};
use crate::keyspace::{Classes, compare};
use crate::value::hash;

#[test]
fn replies_are_valkeys() {
    Bench::with_follower(1).transcript(include_str!("transcript.txt"));
}

fn with_events() -> Bench {
    let mut bench = Bench::with_follower(1);
    bench.listen(Classes(Classes::HASH.0 | Classes::GENERIC.0 | Classes::SET.0));
    bench
}

#[test]
fn events_are_valkeys() {
    let mut bench = with_events();
    for (line, events) in [
        ("HSET h f 1 g 2 i 3 j 4 k 5", &["hset h"][..]),
        ("HEXPIRE h 100 FIELDS 2 f g", &["hexpire h"]),
        ("HEXPIRE h 100 NX FIELDS 2 f g", &[]),
        ("HEXPIRE h 0 FIELDS 1 f", &["hexpired h"]),
        ("HEXPIRE h 0 FIELDS 1 nf", &[]),
        ("HPERSIST h FIELDS 2 g nf", &["hpersist h"]),
        ("HPERSIST h FIELDS 1 g", &[]),
        ("HGETEX h EX 100 FIELDS 1 g", &["hexpire h"]),
        ("HGETEX h FIELDS 1 g", &[]),
        ("HGETEX h PERSIST FIELDS 1 g", &["hpersist h"]),
        ("HGETEX h PERSIST FIELDS 1 g", &[]),
        ("HGETEX h EXAT 1 FIELDS 1 g", &["hexpired h"]),
        ("HGETDEL h FIELDS 2 i nf", &["hdel h"]),
        ("HGETDEL h FIELDS 1 nf", &[]),
        ("HSETEX h EX 100 FIELDS 1 i 3", &["hset h", "hexpire h"]),
        ("HSETEX h KEEPTTL FIELDS 1 i 3", &["hset h"]),
        (
            "HSETEX h EXAT 1 FIELDS 1 i 3",
            &["hset h", "hexpire h", "hexpired h"],
        ),
        (
            "HSETEX h EXAT 1 FIELDS 2 new 3 new2 4",
            &["hset h", "hexpire h", "hexpired h"],
        ),
        (
            "HSETEX newh EXAT 1 FIELDS 1 a 1",
            &["hset newh", "hexpire newh", "hexpired newh", "del newh"],
        ),
        ("HEXPIREAT h 1 FIELDS 2 j k", &["hexpired h", "del h"]),
        ("HSET h a 1 b 2", &["hset h"]),
        ("HGETEX h EXAT 1 FIELDS 2 a b", &["hexpired h", "del h"]),
        ("HSET h a 1", &["hset h"]),
        ("HGETDEL h FIELDS 1 a", &["hdel h", "del h"]),
        ("HSET h a 1", &["hset h"]),
        ("HDEL h a nf", &["hdel h", "del h"]),
        ("HSETNX h a 1", &["hset h"]),
        ("HSETNX h a 1", &[]),
        ("HINCRBY h n 1", &["hincrby h"]),
        ("HINCRBYFLOAT h n 1", &["hincrbyfloat h"]),
        ("HMSET h a 1", &["hset h"]),
    ] {
        bench.run(line);
        assert_eq!(bench.events(), events, "after {line}");
    }
    bench.assert_follower_equal();
}

#[test]
fn a_field_past_its_time_is_told_when_it_is_overwritten_and_when_it_is_collected() {
    let mut bench = with_events();
    bench.run("HSETEX h PX 10 FIELDS 2 z 1 y 1");
    bench.run("HSET h keep 1");
    bench.pass_ms(10);
    bench.events();
    assert_eq!(bench.run("HLEN h"), ":1\r\n");
    bench.run("HSET h z 2");
    assert_eq!(bench.events(), ["hexpired h", "hset h"]);
    let now = bench.now();
    assert!(!bench.engine.shard.expire_fields(now, 1000));
    assert_eq!(bench.events(), ["hexpired h"]);
    assert_eq!(bench.engine.shard.stats.expired_fields, 1);
    assert!(
        bench.engine.shard.field_times.is_empty(),
        "no field has a time any more"
    );
    bench.assert_follower_equal();
}

#[test]
fn active_expiry_takes_the_key_with_its_last_field() {
    let mut bench = with_events();
    for nth in 0..300 {
        bench.run(&format!("HSETEX h{nth} PX {} FIELDS 2 a 1 b 2", 10 + nth));
    }
    bench.run("HSETEX renewed PX 5 FIELDS 1 a 1");
    bench.run("HEXPIRE renewed 1000 FIELDS 1 a");
    bench.events();
    bench.pass_ms(10 + 149);
    let mut slices = 0;
    while bench.engine.shard.expire_fields(bench.now(), 4) {
        slices += 1;
        assert!(slices < 10_000, "the cycle ends");
    }
    assert!(slices > 1, "a small budget takes several slices");
    let events = bench.events();
    assert_eq!(events.iter().filter(|e| e.starts_with("hexpired ")).count(), 150);
    assert_eq!(events.iter().filter(|e| e.starts_with("del ")).count(), 150);
    assert_eq!(bench.engine.shard.field_times.len(0), 151);
    assert_eq!(bench.engine.shard.databases[0].len(), 151);
    bench.assert_follower_equal();
}

#[test]
fn bug_report_39_a_string_over_a_hash_with_times() {
    let mut bench = Bench::new();
    bench.run("HSETEX h PX 10 FIELDS 1 f v");
    bench.run("SET h str");
    assert!(bench.engine.shard.field_times.is_empty());
    bench.pass_ms(20);
    let now = bench.now();
    assert!(!bench.engine.shard.expire_fields(now, 100));
    assert_eq!(bench.run("GET h"), "$3\r\nstr\r\n");
}

/// The encoding of key `h`, as `OBJECT ENCODING` would say.
fn encoding(bench: &mut Bench, key: &str) -> Option<&'static str> {
    let shard = &bench.engine.shard;
    let hash = shard.heap.hash(key.as_bytes());
    shard.databases[0]
        .get(&shard.heap, hash, key.as_bytes())
        .map(|entry| hash::encoding(&entry))
}

#[test]
fn a_hash_becomes_a_table_where_valkeys_does() {
    let mut bench = Bench::with_follower(1);
    bench.run(&format!("HSET value f {}", "x".repeat(64)));
    assert_eq!(encoding(&mut bench, "value"), Some("listpack"));
    bench.run(&format!("HSET value f {}", "x".repeat(65)));
    assert_eq!(encoding(&mut bench, "value"), Some("hashtable"));
    bench.run("HSET value f 1");
    assert_eq!(encoding(&mut bench, "value"), Some("hashtable"), "never back");
    bench.run(&format!("HSET name {} 1", "x".repeat(65)));
    assert_eq!(encoding(&mut bench, "name"), Some("hashtable"));
    for nth in 0..512 {
        bench.run(&format!("HSET many f{nth} {nth}"));
    }
    assert_eq!(encoding(&mut bench, "many"), Some("listpack"));
    bench.run("HSET many f511 again");
    assert_eq!(encoding(&mut bench, "many"), Some("listpack"));
    bench.run("HSET many f512 1");
    assert_eq!(encoding(&mut bench, "many"), Some("hashtable"));
    bench.run("HSETEX timed EX 100 FIELDS 1 f 1");
    bench.run("HPERSIST timed FIELDS 1 f");
    assert_eq!(encoding(&mut bench, "timed"), Some("hashtable"));
    bench.assert_follower_equal();
}

#[test]
fn a_scan_of_a_table_sees_every_field_that_stays() {
    let mut bench = Bench::new();
    for nth in 0..2000 {
        bench.run(&format!("HSET h stay{nth} {nth}"));
    }
    let mut seen = BTreeMap::new();
    let mut cursor = "0".to_string();
    let mut round = 0;
    loop {
        let reply = short(
            bench
                .run(&format!("HSCAN h {cursor} COUNT 50 NOVALUES"))
                .as_bytes(),
        );
        let mut words = reply
            .trim_matches(['[', ']'])
            .split(['[', ' '])
            .map(|w| w.trim_matches(['"', ']']));
        cursor = words.next().unwrap_or("0").to_string();
        for name in words.filter(|w| w.starts_with("stay")) {
            *seen.entry(name.to_string()).or_insert(0) += 1;
        }
        // Grow and shrink meanwhile.
        for nth in 0..200 {
            bench.run(&format!("HSET h extra{round}-{nth} 1"));
            bench.run(&format!("HDEL h extra{}-{nth}", round - 3));
        }
        round += 1;
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 2000);
}

#[test]
fn random_picks_are_fair_and_distinct() {
    let mut bench = Bench::new();
    for nth in 0..1000 {
        bench.run(&format!("HSET h f{nth} {nth}"));
    }
    let mut hits = vec![0u32; 1000];
    for _ in 0..200 {
        let reply = short(bench.run("HRANDFIELD h -100").as_bytes());
        for name in reply.trim_matches(['[', ']']).split(' ') {
            let nth: usize = name.trim_matches('"')[1..].parse().expect("a field");
            hits[nth] += 1;
        }
    }
    // 20 expected each; a fair pick leaves (5 to 50) once in some million fields.
    assert!(hits.iter().all(|h| (2..=60).contains(h)), "{hits:?}");
    for count in [10, 400, 999] {
        let reply = short(bench.run(&format!("HRANDFIELD h {count}")).as_bytes());
        let mut names: Vec<&str> = reply.trim_matches(['[', ']']).split(' ').collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Line(String),
    Pass(u64),
    Collect,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = (0u8..12).prop_map(|n| if n == 11 { "x".repeat(70) } else { format!("f{n}") });
    let value = prop_oneof![
        4 => (0i64..100).prop_map(|n| n.to_string()),
        1 => Just("y".repeat(65)),
        1 => Just("z".repeat(3000)),
    ];
    let key = prop_oneof![Just("h"), Just("g")];
    let line = (0u8..13, key, name.clone(), name, value, 1u64..40).prop_map(|(op, k, f, g, v, t)| match op {
        0 | 1 => format!("HSET {k} {f} {v} {g} {v}"),
        2 => format!("HDEL {k} {f} {g}"),
        3 => format!("HSETNX {k} {f} {v}"),
        4 => format!("HINCRBY {k} {f} {t}"),
        5 => format!("HPEXPIRE {k} {t} FIELDS 2 {f} {g}"),
        6 => format!("HSETEX {k} PX {t} FIELDS 2 {f} {v} {g} {v}"),
        7 => format!("HSETEX {k} FXX KEEPTTL FIELDS 1 {f} {v}"),
        8 => format!("HGETEX {k} PX {t} FIELDS 1 {f}"),
        9 => format!("HGETDEL {k} FIELDS 2 {f} {g}"),
        10 => format!("HPERSIST {k} FIELDS 2 {f} {g}"),
        11 => format!("HINCRBYFLOAT {k} {f} 1.5"),
        _ => format!("HEXPIRE {k} 0 FIELDS 1 {f}"),
    });
    let step = prop_oneof![
        10 => line.prop_map(Step::Line),
        2 => (1u64..20).prop_map(Step::Pass),
        1 => Just(Step::Collect),
    ];
    proptest::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Effects rebuild the hash, the index of times is exact, and no reply shows a field past its time.
    #[test]
    fn effects_make_an_equal_shard(steps in steps(), seed in 1u64..1000) {
        let mut bench = Bench::with_follower(seed);
        for step in steps {
            match step {
                Step::Line(line) => { bench.run(&line); }
                Step::Pass(ms) => bench.pass_ms(ms),
                Step::Collect => { bench.engine.shard.expire_fields(bench.now(), 100); }
            }
            let dump = compare::dump(&bench.engine.shard);
            let (mut timed, mut live) = (0, 0);
            for ((_, key), value) in &dump {
                let compare::Content::Hash(fields) = &value.content else { continue };
                prop_assert!(!fields.is_empty(), "an empty hash stayed");
                timed += usize::from(fields.values().any(|(_, at)| at.is_some()));
                if key == b"h" {
                    live = fields.values().filter(|(_, at)| at.is_none_or(|at| at > bench.now_ms)).count();
                }
            }
            prop_assert_eq!(bench.engine.shard.field_times.len(0), timed);
            prop_assert_eq!(bench.run("HLEN h"), format!(":{live}\r\n"));
            let all = bench.run("HGETALL h");
            let head = format!("*{}\r\n", live * 2);
            prop_assert!(all.starts_with(&head), "{} fields live, yet {}", live, all);
        }
        bench.assert_follower_equal();
    }
}

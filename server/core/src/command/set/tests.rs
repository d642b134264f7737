//! Sets by command. The transcript was answered by Valkey 9.1.2; so were the events and encodings.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::engine::bench::{Bench, short};
use crate::keyspace::Classes;
use crate::value::set;

#[test]
fn replies_are_valkeys() {
    Bench::with_follower(1).transcript(include_str!("transcript.txt"));
}

#[test]
fn events_are_valkeys() {
    let mut bench = Bench::with_follower(1);
    bench.listen(Classes(Classes::SET.0 | Classes::GENERIC.0));
    for (line, events) in [
        ("SADD s 1 2 3 4 5", &["sadd s"][..]),
        ("SADD s 1", &[]),
        ("SREM s 1 nf", &["srem s"]),
        ("SREM s nf", &[]),
        ("SPOP s", &["spop s"]),
        ("SPOP s 0", &[]),
        ("SPOP s 10", &["spop s", "del s"]),
        ("SADD s 1", &["sadd s"]),
        ("SPOP s", &["spop s", "del s"]),
        ("SADD s 1 2", &["sadd s"]),
        ("SMOVE s d 1", &["srem s", "sadd d"]),
        ("SMOVE s s 2", &[]),
        ("SMOVE s d 2", &["srem s", "del s", "sadd d"]),
        ("SADD s 1 2", &["sadd s"]),
        ("SINTERSTORE x s d", &["sinterstore x"]),
        ("SINTERSTORE x s nk", &["del x"]),
        ("SINTERSTORE x s nk", &[]),
        ("SUNIONSTORE x s nk", &["sunionstore x"]),
        ("SDIFFSTORE x s s", &["del x"]),
        ("SREM s 1 2", &["srem s", "del s"]),
    ] {
        bench.run(line);
        assert_eq!(bench.events(), events, "after {line}");
    }
    bench.assert_follower_equal();
}

fn encoding(bench: &Bench, key: &str) -> Option<&'static str> {
    let shard = &bench.engine.shard;
    let hash = shard.heap.hash(key.as_bytes());
    shard.databases[0]
        .get(&shard.heap, hash, key.as_bytes())
        .map(|entry| set::encoding(&entry))
}

fn words(prefix: &str, count: usize) -> String {
    (0..count).map(|nth| format!("{prefix}{nth} ")).collect()
}

#[test]
fn a_set_changes_its_form_where_valkeys_does() {
    let mut bench = Bench::with_follower(1);
    for (line, key, wanted) in [
        (format!("SADD ints {}", words("", 512)), "ints", "intset"),
        ("SADD ints 511".into(), "ints", "intset"),
        ("SADD ints 512".into(), "ints", "hashtable"),
        (
            format!("SADD manyints {}", words("", 513)),
            "manyints",
            "hashtable",
        ),
        (format!("SADD words {}", words("w", 128)), "words", "listpack"),
        ("SADD words w1".into(), "words", "listpack"),
        ("SADD words other".into(), "words", "hashtable"),
        (
            format!("SADD manywords {}", words("w", 129)),
            "manywords",
            "hashtable",
        ),
        (format!("SADD long {}", "x".repeat(64)), "long", "listpack"),
        (format!("SADD long {}", "x".repeat(65)), "long", "hashtable"),
        (format!("SADD mixed {} x", words("", 100)), "mixed", "listpack"),
        (format!("SADD mixed2 {}", words("", 200)), "mixed2", "intset"),
        ("SADD mixed2 x".into(), "mixed2", "hashtable"),
        ("SADD odd 01".into(), "odd", "listpack"),
        ("SADD a 1 2 3".into(), "a", "intset"),
        ("SADD b x 1 2".into(), "b", "listpack"),
        ("SREM b x".into(), "b", "listpack"),
        ("SUNIONSTORE u b".into(), "u", "intset"),
        ("SINTERSTORE i b a".into(), "i", "intset"),
        ("SUNIONSTORE u words".into(), "u", "hashtable"),
    ] {
        bench.run(&line);
        assert_eq!(encoding(&bench, key), Some(wanted), "after {line:.60}");
    }
    bench.assert_follower_equal();
}

fn elements(reply: &str) -> Vec<String> {
    let flat = reply.replace(['[', ']', '"'], " ");
    flat.split_ascii_whitespace().map(String::from).collect()
}

#[test]
fn picks_are_fair_in_every_form() {
    for members in [words("", 50), words("w", 50), words("w", 500)] {
        let mut bench = Bench::new();
        bench.run(&format!("SADD s {members}"));
        let count = members.split(' ').count() - 1;
        let mut hits = std::collections::BTreeMap::new();
        for _ in 0..200 {
            let reply = short(bench.run(&format!("SRANDMEMBER s -{}", count / 10)).as_bytes());
            for member in elements(&reply) {
                *hits.entry(member).or_insert(0u32) += 1;
            }
        }
        // 20 expected of each.
        assert_eq!(hits.len(), count);
        assert!(hits.values().all(|h| (2..=60).contains(h)), "{hits:?}");
    }
}

#[test]
fn pops_take_distinct_members_and_leave_the_rest() {
    for (members, count) in [
        (words("", 300), 120),
        (words("w", 100), 99),
        (words("w", 3000), 100),
        (words("w", 3000), 2500),
    ] {
        let mut bench = Bench::with_follower(3);
        bench.run(&format!("SADD s {members}"));
        let popped: BTreeSet<String> = elements(&short(bench.run(&format!("SPOP s {count}")).as_bytes()))
            .into_iter()
            .collect();
        assert_eq!(popped.len(), count);
        let rest: BTreeSet<String> = elements(&short(bench.run("SMEMBERS s").as_bytes()))
            .into_iter()
            .collect();
        assert!(popped.is_disjoint(&rest));
        let all: BTreeSet<String> = elements(&members).into_iter().collect();
        assert_eq!(popped.union(&rest).cloned().collect::<BTreeSet<_>>(), all);
        bench.assert_follower_equal();
    }
}

#[test]
fn a_scan_sees_every_member_that_stays() {
    let mut bench = Bench::new();
    bench.run(&format!("SADD s {}", words("stay", 3000)));
    let (mut cursor, mut seen, mut round) = ("0".to_string(), BTreeSet::new(), 0);
    loop {
        let mut found = elements(&short(
            bench
                .run(&format!("SSCAN s {cursor} COUNT 100 MATCH stay*"))
                .as_bytes(),
        ));
        cursor = found.remove(0);
        seen.extend(found);
        bench.run(&format!("SADD s {}", words(&format!("extra{round}-"), 300)));
        bench.run(&format!("SREM s {}", words(&format!("extra{}-", round - 2), 300)));
        round += 1;
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 3000);
}

#[derive(Clone, Debug)]
enum Step {
    Add(usize, Vec<String>),
    Remove(usize, Vec<String>),
    Move(usize, usize, String),
    Pop(usize, usize),
    Store(&'static str, usize, Vec<usize>),
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-5i64..30).prop_map(|n| n.to_string()),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(70_000), Just(1 << 40)].prop_map(|n| n.to_string()),
        2 => (0u8..20).prop_map(|n| format!("m{n}")),
        1 => Just("07".to_string()),
        1 => (0u8..4).prop_map(|n| format!("{n}{}", "x".repeat(70))),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0usize..3;
    let members = || proptest::collection::vec(member(), 1..6);
    let name = prop_oneof![Just("SINTER"), Just("SUNION"), Just("SDIFF")];
    let step = prop_oneof![
        5 => (key.clone(), members()).prop_map(|(k, m)| Step::Add(k, m)),
        3 => (key.clone(), members()).prop_map(|(k, m)| Step::Remove(k, m)),
        1 => (key.clone(), key.clone(), member()).prop_map(|(a, b, m)| Step::Move(a, b, m)),
        1 => (key.clone(), 0usize..4).prop_map(|(k, n)| Step::Pop(k, n)),
        2 => (name, key.clone(), proptest::collection::vec(key, 1..4)).prop_map(|(n, d, s)| Step::Store(n, d, s)),
    ];
    proptest::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A plain model agrees after every command, and effects rebuild the sets.
    #[test]
    fn sets_are_sets(steps in steps(), seed in 1u64..1000) {
        let mut bench = Bench::with_follower(seed);
        let mut model: [BTreeSet<String>; 3] = Default::default();
        for step in steps {
            match step {
                Step::Add(k, members) => {
                    let added = members.iter().filter(|m| model[k].insert((*m).clone())).count();
                    prop_assert_eq!(bench.run(&format!("SADD k{k} {}", members.join(" "))), format!(":{added}\r\n"));
                }
                Step::Remove(k, members) => {
                    let removed = members.iter().filter(|m| model[k].remove(*m)).count();
                    prop_assert_eq!(bench.run(&format!("SREM k{k} {}", members.join(" "))), format!(":{removed}\r\n"));
                }
                Step::Move(a, b, m) => {
                    let moved = model[a].remove(&m);
                    if moved {
                        model[b].insert(m.clone());
                    }
                    prop_assert_eq!(bench.run(&format!("SMOVE k{a} k{b} {m}")), format!(":{}\r\n", u8::from(moved)));
                }
                Step::Pop(k, count) => {
                    let popped = elements(&short(bench.run(&format!("SPOP k{k} {count}")).as_bytes()));
                    prop_assert_eq!(popped.len(), count.min(model[k].len()));
                    for member in popped {
                        prop_assert!(model[k].remove(&member));
                    }
                }
                Step::Store(name, d, sources) => {
                    let mut result = model[sources[0]].clone();
                    for s in &sources[1..] {
                        let other = &model[*s];
                        result = match name {
                            "SINTER" => result.intersection(other).cloned().collect(),
                            "SUNION" => result.union(other).cloned().collect(),
                            _ => result.difference(other).cloned().collect(),
                        };
                    }
                    let keys: String = sources.iter().map(|s| format!(" k{s}")).collect();
                    let answered: BTreeSet<String> =
                        elements(&short(bench.run(&format!("{name}{keys}")).as_bytes())).into_iter().collect();
                    prop_assert_eq!(&answered, &result);
                    prop_assert_eq!(bench.run(&format!("{name}STORE k{d}{keys}")), format!(":{}\r\n", result.len()));
                    model[d] = result;
                }
            }
            for (k, members) in model.iter().enumerate() {
                let own: BTreeSet<String> = elements(&short(bench.run(&format!("SMEMBERS k{k}")).as_bytes())).into_iter().collect();
                prop_assert_eq!(&own, members);
                prop_assert_eq!(bench.run(&format!("SCARD k{k}")), format!(":{}\r\n", members.len()));
            }
        }
        bench.assert_follower_equal();
    }
}

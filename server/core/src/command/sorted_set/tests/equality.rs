//! Properties over random commands: the packed and the large form answer alike, and the effects of a shard
//! applied to an empty one make it equal.

use proptest::prelude::*;

use super::all_large;
use crate::engine::bench::Bench;

fn key() -> impl Strategy<Value = String> {
    prop_oneof![Just("z1"), Just("z2"), Just("z3")].prop_map(String::from)
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![8 => (0..24u8).prop_map(|n| format!("m{n}")), 1 => (60usize..70).prop_map(|n| "l".repeat(n))]
}

/// Whole numbers and halves only, so that sums are the same in any order.
fn score() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (-4..5i32).prop_map(|n| n.to_string()),
        2 => (-40..40i32).prop_map(|n| (f64::from(n) / 2.0).to_string()),
        1 => prop_oneof![Just("inf"), Just("-inf")].prop_map(String::from),
    ]
}

fn option() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => Just("NX"), 1 => Just("XX"), 1 => Just("GT"), 1 => Just("LT CH"), 1 => Just("XX CH")]
}

fn bound() -> impl Strategy<Value = String> {
    prop_oneof![3 => score(), 1 => score().prop_map(|score| format!("({score}"))]
}

fn rank() -> impl Strategy<Value = i32> {
    -6..8i32
}

fn write() -> impl Strategy<Value = String> {
    let pairs = prop::collection::vec((score(), member()), 1..4);
    prop_oneof![
        8 => (key(), option(), pairs).prop_map(|(key, option, pairs)| {
            let pairs: Vec<String> = pairs.iter().map(|(score, member)| format!("{score} {member}")).collect();
            format!("ZADD {key} {option} {}", pairs.join(" "))
        }),
        2 => (key(), score(), member()).prop_map(|(k, s, m)| format!("ZINCRBY {k} {s} {m}")),
        2 => (key(), member(), member()).prop_map(|(k, a, b)| format!("ZREM {k} {a} {b}")),
        1 => (key(), rank(), rank()).prop_map(|(k, a, b)| format!("ZREMRANGEBYRANK {k} {a} {b}")),
        1 => (key(), bound(), bound()).prop_map(|(k, a, b)| format!("ZREMRANGEBYSCORE {k} {a} {b}")),
        1 => (key(), 0..4u8).prop_map(|(k, n)| format!("ZPOPMIN {k} {n}")),
        1 => (key(), 0..4u8).prop_map(|(k, n)| format!("ZPOPMAX {k} {n}")),
        1 => (key(), key(), 1..4u8).prop_map(|(a, b, n)| format!("ZMPOP 2 {a} {b} MAX COUNT {n}")),
        1 => (key(), key(), rank(), rank()).prop_map(|(d, s, a, b)| format!("ZRANGESTORE {d} {s} {a} {b} REV")),
        1 => (key(), key(), key()).prop_map(|(d, a, b)| format!("ZUNIONSTORE {d} 2 {a} {b} WEIGHTS 2 -1")),
        1 => (key(), key(), key()).prop_map(|(d, a, b)| format!("ZINTERSTORE {d} 2 {a} {b} AGGREGATE MAX")),
        1 => (key(), key(), key()).prop_map(|(d, a, b)| format!("ZDIFFSTORE {d} 2 {a} {b}")),
    ]
}

fn ask() -> impl Strategy<Value = String> {
    prop_oneof![
        (key(), member()).prop_map(|(k, m)| format!("ZSCORE {k} {m}")),
        (key(), member()).prop_map(|(k, m)| format!("ZRANK {k} {m} WITHSCORE")),
        (key(), member()).prop_map(|(k, m)| format!("ZREVRANK {k} {m}")),
        (key(), rank(), rank()).prop_map(|(k, a, b)| format!("ZRANGE {k} {a} {b} WITHSCORES")),
        (key(), rank(), rank()).prop_map(|(k, a, b)| format!("ZREVRANGE {k} {a} {b}")),
        (key(), bound(), bound()).prop_map(|(k, a, b)| format!("ZCOUNT {k} {a} {b}")),
        (key(), bound(), bound(), 0..3u8)
            .prop_map(|(k, a, b, n)| { format!("ZRANGE {k} {a} {b} BYSCORE REV LIMIT {n} 2 WITHSCORES") }),
        (key(), bound(), bound()).prop_map(|(k, a, b)| format!("ZRANGEBYSCORE {k} {a} {b} LIMIT 1 -1")),
        (key(), key()).prop_map(|(a, b)| format!("ZUNION 2 {a} {b} WITHSCORES")),
        (key(), key()).prop_map(|(a, b)| format!("ZINTER 2 {a} {b} AGGREGATE MIN WITHSCORES")),
        (key(), key()).prop_map(|(a, b)| format!("ZDIFF 2 {a} {b}")),
        key().prop_map(|k| format!("ZRANDMEMBER {k} 100 WITHSCORES")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn both_forms_answer_alike(lines in prop::collection::vec(prop_oneof![write(), ask()], 1..120)) {
        let (mut packed, mut large) = (Bench::new(), all_large());
        packed.engine.shard.limits.zset_max_listpack_value = 1000;
        for line in &lines {
            prop_assert_eq!(packed.run(line), large.run(line), "{}", line);
        }
    }

    #[test]
    fn effects_make_an_equal_shard(lines in prop::collection::vec(write(), 1..120), entries in 0usize..30) {
        let mut bench = Bench::with_follower(7);
        bench.engine.shard.limits.zset_max_listpack_entries = entries;
        for line in &lines {
            bench.run(line);
        }
        bench.assert_follower_equal();
    }
}

//! The effects of random commands on strings, bitmaps and HyperLogLogs, applied to an empty shard, make it
//! equal.

use proptest::prelude::*;

use crate::engine::bench::Bench;

fn key() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("b"), Just("c"), Just("h"), Just("list")]
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (-200i32..200).prop_map(|n| n.to_string()),
        2 => "[a-c]{0,5}",
        1 => (200usize..700).prop_map(|n| "v".repeat(n)),
    ]
}

fn options() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""), 1 => Just("NX"), 1 => Just("XX GET"), 1 => Just("KEEPTTL"), 1 => Just("EX 100"),
        1 => Just("PX 3"), 1 => Just("PXAT 1"), 1 => Just("IFEQ 1"),
    ]
}

fn string_line() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => (key(), value(), options()).prop_map(|(k, v, o)| format!("SET {k} \"{v}\" {o}")),
        1 => (key(), value()).prop_map(|(k, v)| format!("GETSET {k} \"{v}\"")),
        1 => (key(), value()).prop_map(|(k, v)| format!("SETNX {k} \"{v}\"")),
        1 => (key(), value()).prop_map(|(k, v)| format!("PSETEX {k} 5 \"{v}\"")),
        1 => key().prop_map(|k| format!("GETDEL {k}")),
        1 => (key(), value()).prop_map(|(k, v)| format!("DELIFEQ {k} \"{v}\"")),
        1 => (key(), prop_oneof![Just("PERSIST"), Just("EX 9"), Just("PX 2"), Just("EXAT 1")])
            .prop_map(|(k, o)| format!("GETEX {k} {o}")),
        1 => (key(), value(), key(), value()).prop_map(|(a, v, b, w)| format!("MSET {a} \"{v}\" {b} \"{w}\"")),
        1 => (key(), value(), key(), value()).prop_map(|(a, v, b, w)| format!("MSETNX {a} \"{v}\" {b} \"{w}\"")),
        1 => (key(), value(), key(), prop_oneof![Just("XX EX 50"), Just("NX"), Just("PXAT 3"), Just("KEEPTTL")])
            .prop_map(|(a, v, b, o)| format!("MSETEX 2 {a} \"{v}\" {b} 7 {o}")),
        4 => (key(), value()).prop_map(|(k, v)| format!("APPEND {k} \"{v}\"")),
        4 => (key(), 0usize..900, value()).prop_map(|(k, at, v)| format!("SETRANGE {k} {at} \"{v}\"")),
        2 => key().prop_map(|k| format!("INCR {k}")),
        1 => (key(), -500i32..500).prop_map(|(k, n)| format!("DECRBY {k} {n}")),
        1 => (key(), -500i32..500).prop_map(|(k, n)| format!("INCRBYFLOAT {k} {n}.25")),
    ]
}

fn bitmap_line() -> impl Strategy<Value = String> {
    let encoding = || prop_oneof![Just("u8"), Just("i5"), Just("u63"), Just("i64"), Just("u1")];
    let overflow = || prop_oneof![Just("WRAP"), Just("SAT"), Just("FAIL")];
    let operation = prop_oneof![Just("AND"), Just("OR"), Just("XOR")];
    prop_oneof![
        3 => (key(), 0usize..5000, 0..2u8).prop_map(|(k, at, bit)| format!("SETBIT {k} {at} {bit}")),
        1 => (operation, key(), key(), key()).prop_map(|(o, d, a, b)| format!("BITOP {o} {d} {a} {b}")),
        1 => (key(), key()).prop_map(|(d, s)| format!("BITOP NOT {d} {s}")),
        3 => (key(), overflow(), encoding(), 0usize..3000, -300i32..300, encoding())
            .prop_map(|(k, o, e, at, n, f)| {
                format!("BITFIELD {k} SET {e} {at} {n} GET {f} 3 OVERFLOW {o} INCRBY {f} #{} {n}", at % 40)
            }),
    ]
}

fn hyperloglog_line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (key(), 0u32..500, 0u32..60).prop_map(|(k, from, n)| {
            let elements: Vec<String> = (from..from + n).map(|e| e.to_string()).collect();
            format!("PFADD {k} {}", elements.join(" "))
        }),
        1 => (key(), key()).prop_map(|(d, s)| format!("PFMERGE {d} {s} h")),
        2 => key().prop_map(|k| format!("PFCOUNT {k}")),
        1 => key().prop_map(|k| format!("PFDEBUG TODENSE {k}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn effects_make_an_equal_shard(
        lines in prop::collection::vec(prop_oneof![3 => string_line(), 2 => bitmap_line(), 2 => hyperloglog_line()], 1..60),
        sparse_bytes_max in 0usize..400,
    ) {
        let mut bench = Bench::with_follower(7);
        bench.engine.shard.limits.hll_sparse_max_bytes = sparse_bytes_max;
        bench.run("PFADD h x");
        bench.run("RPUSH list x");
        for line in &lines {
            bench.run(line);
            bench.pass_ms(1);
        }
        bench.assert_follower_equal();
    }
}

//! The commands through the engine. Expected replies are Valkey 9.1.2's.

use proptest::prelude::*;

use crate::engine::bench::Bench;

#[test]
fn transcript() {
    Bench::with_follower(1).transcript(include_str!("transcript.txt"));
}

#[test]
fn a_far_bit_that_is_refused_takes_no_memory() {
    let mut bench = Bench::new();
    let before = bench.engine.shard.heap.live_bytes();
    bench.run("SETBIT k 4294967296 1");
    bench.run("SETBIT k 4294967295 2");
    bench.run("BITFIELD k SET u8 #536870912 1");
    bench.run("BITFIELD k SET u8 4294967295 x");
    assert_eq!(bench.engine.shard.heap.live_bytes(), before);
    assert_eq!(bench.run("GET k"), "$-1\r\n");
}

/// What an operation makes of a number, with nothing but wide integers.
fn model(signed: bool, width: u32, overflow: &str, wanted: i128) -> Option<i128> {
    let (min, max) = if signed {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, (1i128 << width) - 1)
    };
    if (min..=max).contains(&wanted) {
        return Some(wanted);
    }
    match overflow {
        "FAIL" => None,
        "SAT" => Some(if wanted > max { max } else { min }),
        _ => Some((wanted - min).rem_euclid(1i128 << width) + min),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn fields_agree_with_wide_integers(
        signed: bool,
        width in 1u32..=63,
        offset in 0u64..100,
        overflow in prop_oneof![Just("WRAP"), Just("SAT"), Just("FAIL")],
        steps in prop::collection::vec(prop_oneof![any::<i64>(), -9i64..9], 1..8),
    ) {
        let mut bench = Bench::new();
        let field = format!("{}{width} {offset}", if signed { 'i' } else { 'u' });
        let mut now = 0;
        for step in steps {
            let outcome = model(signed, width, overflow, now + i128::from(step));
            let reply = bench.run(&format!("BITFIELD k OVERFLOW {overflow} INCRBY {field} {step}"));
            let answer = outcome.map_or("$-1\r\n".to_string(), |n| format!(":{n}\r\n"));
            prop_assert_eq!(reply, format!("*1\r\n{answer}"));
            now = outcome.unwrap_or(now);
            prop_assert_eq!(bench.run(&format!("BITFIELD_RO k GET {field}")), format!("*1\r\n:{now}\r\n"));
        }
    }
}

/// Valkey overflows when it looks whether such a number fits, and stores the greatest one.
#[test]
fn the_least_number_of_all_is_saturated_to_the_least_of_its_field() {
    let mut bench = Bench::new();
    for width in 1..=64 {
        let line = format!(
            "BITFIELD k OVERFLOW SAT SET i{width} 0 {} GET i{width} 0",
            i64::MIN
        );
        bench.run("DEL k");
        let least = model(true, width, "SAT", i128::from(i64::MIN)).expect("it is saturated");
        assert_eq!(bench.run(&line), format!("*2\r\n:0\r\n:{least}\r\n"));
    }
}

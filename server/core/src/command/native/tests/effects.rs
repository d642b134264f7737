//! What a follower is given makes it equal, whatever was done in whatever order.

use proptest::prelude::*;

use crate::engine::bench::Bench;

fn idem() -> impl Strategy<Value = String> {
    let begin = (0..3u8, 0..2u8, 0..2u8, 1..60u64, 1..60u64)
        .prop_map(|(k, f, o, l, t)| format!("IDEM BEGIN i{k} f{f} OWNER o{o} LEASE {l} TTL {t}"));
    let fence = 1..8u64;
    let holder = (0..3u8, 0..2u8, fence).prop_map(|(k, o, f)| format!("i{k} o{o} {f}"));
    let finish = (holder, 0..3u8).prop_map(|(holder, which)| match which {
        0 => format!("IDEM COMPLETE {holder} result TTL 50"),
        1 => format!("IDEM ABORT {holder}"),
        _ => format!("IDEM EXTEND {holder} LEASE 40"),
    });
    prop_oneof![2 => begin, 3 => finish]
}

fn limit() -> impl Strategy<Value = String> {
    let one = (0..3u8, 1..4u64, 0..5u64, any::<bool>()).prop_map(|(k, n, c, rate)| {
        let form = if rate { "RATE" } else { "WINDOW" };
        format!("LIMIT {}{k} {form} {n} PER 60 COST {c}", &form[..1])
    });
    let other = (0..3u8, 0..6u8).prop_map(|(k, which)| match which {
        0 => format!("LIMIT RESET R{k}"),
        1 => format!("LIMIT REFUND R{k} COST 1"),
        2 => format!("LIMIT REFUND W{k} COST 1"),
        3 => format!("CL.THROTTLE R{k} 3 5 1"),
        4 => "LIMIT MULTI 2 R1 RATE 3 PER 50 W1 WINDOW 3 PER 50".to_string(),
        _ => format!("DEL R{k} W{k} i{k}"),
    });
    prop_oneof![one, other]
}

fn increx() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        Just(""),
        Just("BYINT -2"),
        Just("BYFLOAT 0.5"),
        Just("BYINT 7 UBOUND 9 SATURATE")
    ];
    let time = prop_oneof![
        Just(""),
        Just("PX 40"),
        Just("PX 20 ENX"),
        Just("PERSIST"),
        Just("EXAT 1")
    ];
    (0..2u8, step, time).prop_map(|(k, step, time)| format!("INCREX n{k} {step} {time}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_follower_is_equal(
        lines in prop::collection::vec((prop_oneof![idem(), limit(), increx()], 0..30u64), 1..60),
    ) {
        let mut bench = Bench::with_follower(7);
        for (line, ms) in &lines {
            bench.run(line);
            bench.pass_ms(*ms);
        }
        bench.assert_follower_equal();
    }
}

/// A charge of a limit and the answer of a `BEGIN` reach the follower as whole rows, the fence by itself.
#[test]
fn a_new_lease_is_a_fence_and_a_row() {
    use crate::effect::{Decoder, Effect};
    use crate::keyspace::kind;
    let mut bench = Bench::new();
    bench.engine.shard.effects.switch(true);
    bench.run("IDEM BEGIN k f OWNER me LEASE 100 TTL 1000");
    let effects: Vec<_> = Decoder::new(bench.engine.shard.effects.bytes())
        .map(|effect| effect.expect("decodes").1)
        .collect();
    let expire_at = Some(bench.now_ms + 1100);
    assert!(
        matches!(
            effects[..],
            [
                Effect::Fence { fence: 1 },
                Effect::Put { key: b"k", kind: kind::IDEM, expire_at: at, created: true, .. },
            ] if at == expire_at
        ),
        "{effects:?}"
    );
}

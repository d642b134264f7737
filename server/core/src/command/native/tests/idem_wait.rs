//! Rule 5: `IDEM BEGIN … BLOCK` waits for the result, or for the lease to end.

use super::{ask, ask_as, bench, got};
use crate::engine::bench::{Bench, START_MS};
use crate::engine::session::ClientId;
use crate::engine::testing::connect;

/// A key that `me` is at for 100 ms, and two others.
fn busy() -> (Bench, ClientId, ClientId) {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me LEASE 100");
    let (one, two) = (connect(&mut b.engine), connect(&mut b.engine));
    (b, one, two)
}

fn tick(b: &mut Bench) {
    let now = b.now();
    b.engine.tick(now);
}

#[test]
fn the_result_wakes_all_who_wait() {
    let (mut b, one, two) = busy();
    assert_eq!(ask_as(&mut b, one, "IDEM BEGIN k f BLOCK 0"), "");
    assert_eq!(ask_as(&mut b, two, "IDEM BEGIN k f BLOCK 50"), "");
    b.pass_ms(20);
    ask(&mut b, "IDEM COMPLETE k me 1 r");
    let done = format!("[\"DONE\" \"r\" {}]", START_MS + 20);
    assert_eq!(got(&mut b, one), done);
    assert_eq!(got(&mut b, two), done);
    assert_eq!(b.engine.next_deadline_ms(), None);
}

#[test]
fn the_end_of_the_lease_wakes_the_first_and_the_second_goes_on_waiting() {
    let (mut b, one, two) = busy();
    ask_as(&mut b, one, "IDEM BEGIN k f OWNER one LEASE 30 BLOCK 0");
    ask_as(&mut b, two, "IDEM BEGIN k f OWNER two BLOCK 1000");
    assert_eq!(b.engine.next_deadline_ms(), Some(START_MS + 100));
    b.pass_ms(99);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "");
    b.pass_ms(1);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "[\"NEW\" 2 \"one\"]");
    assert_eq!(
        got(&mut b, two),
        "",
        "somebody else holds it now, and there is time left"
    );
    assert_eq!(b.engine.next_deadline_ms(), Some(START_MS + 130));
    b.pass_ms(30);
    tick(&mut b);
    assert_eq!(got(&mut b, two), "[\"NEW\" 3 \"two\"]");
}

#[test]
fn whoever_waited_long_enough_is_told_busy() {
    let (mut b, one, _) = busy();
    ask_as(&mut b, one, "IDEM BEGIN k f BLOCK 40");
    b.pass_ms(39);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "");
    b.pass_ms(1);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "[\"BUSY\" 1 60]");
}

#[test]
fn a_lease_that_is_extended_is_waited_for() {
    let (mut b, one, _) = busy();
    ask_as(&mut b, one, "IDEM BEGIN k f OWNER one BLOCK 150");
    b.pass_ms(90);
    ask(&mut b, "IDEM EXTEND k me 1 LEASE 100");
    b.pass_ms(10);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "");
    assert_eq!(
        b.engine.next_deadline_ms(),
        Some(START_MS + 150),
        "the first time limit stays"
    );
    b.pass_ms(50);
    tick(&mut b);
    assert_eq!(got(&mut b, one), "[\"BUSY\" 1 40]");
}

#[test]
fn a_key_that_goes_wakes_the_first() {
    for gone in ["IDEM ABORT k me 1", "DEL k", "FLUSHALL", "SET k v"] {
        let (mut b, one, two) = busy();
        ask_as(&mut b, one, "IDEM BEGIN k f OWNER one BLOCK 0");
        ask_as(&mut b, two, "IDEM BEGIN k f OWNER two BLOCK 0");
        ask(&mut b, gone);
        if gone.starts_with("SET") {
            assert!(got(&mut b, one).starts_with("-WRONGTYPE "), "{gone}");
        } else {
            assert_eq!(got(&mut b, one), "[\"NEW\" 2 \"one\"]", "{gone}");
            assert_eq!(got(&mut b, two), "", "{gone}");
        }
    }
}

#[test]
fn another_fingerprint_does_not_wait() {
    let (mut b, one, two) = busy();
    assert!(ask_as(&mut b, one, "IDEM BEGIN k g BLOCK 0").starts_with("-MISMATCH "));
    ask_as(&mut b, two, "IDEM BEGIN k f BLOCK 0");
    ask(&mut b, "IDEM ABORT k me 1");
    assert!(got(&mut b, two).starts_with("[\"NEW\""));
}

#[test]
fn unblock_and_disconnect_end_the_wait() {
    let (mut b, one, two) = busy();
    ask_as(&mut b, one, "IDEM BEGIN k f BLOCK 0");
    ask_as(&mut b, two, "IDEM BEGIN k f BLOCK 0");
    assert_eq!(ask(&mut b, &format!("CLIENT UNBLOCK {}", one.serial())), "1");
    assert_eq!(got(&mut b, one), "[\"BUSY\" 1 100]");
    ask_as(&mut b, one, "IDEM BEGIN k f BLOCK 0");
    ask(&mut b, &format!("CLIENT UNBLOCK {} ERROR", one.serial()));
    assert!(got(&mut b, one).starts_with("-UNBLOCKED "));
    b.engine.disconnect(two);
    assert_eq!(b.engine.next_deadline_ms(), None);
    assert!(b.engine.shard.interest.is_empty());
}

#[test]
fn a_transaction_does_not_wait() {
    let (mut b, one, _) = busy();
    ask_as(&mut b, one, "MULTI");
    assert_eq!(ask_as(&mut b, one, "IDEM BEGIN k f BLOCK 0"), "QUEUED");
    assert_eq!(ask_as(&mut b, one, "EXEC"), "[[\"BUSY\" 1 100]]");
}

/// Rule 8: what a transaction writes beside the result is one entry with it.
#[test]
fn a_change_and_its_result_are_one_entry() {
    use crate::effect::{Decoder, Effect};
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN pay:{1} f OWNER me");
    ask(&mut b, "MULTI");
    ask(&mut b, "SET order:{1} paid");
    ask(&mut b, "IDEM COMPLETE pay:{1} me 1 receipt");
    b.engine.shard.effects.clear();
    assert_eq!(ask(&mut b, "EXEC"), "[OK OK]");
    let effects: Vec<_> = Decoder::new(b.engine.shard.effects.bytes())
        .map(|effect| effect.expect("decodes").1)
        .collect();
    assert!(
        matches!(
            effects[..],
            [
                Effect::Put {
                    key: b"order:{1}",
                    ..
                },
                Effect::Put {
                    key: b"pay:{1}",
                    created: false,
                    ..
                }
            ]
        ),
        "{effects:?}"
    );
}

/// A completed record is not what a transaction that watched it has seen.
#[test]
fn watch_sees_what_changes_and_not_what_is_only_asked() {
    let (mut b, one, _) = busy();
    for (line, outcome) in [
        ("IDEM BEGIN k f", "[PONG]"),
        ("IDEM BEGIN k g", "[PONG]"),
        ("IDEM COMPLETE k you 1 r", "[PONG]"),
        ("IDEM EXTEND k me 1 LEASE 100", "nil"),
        ("IDEM COMPLETE k me 1 r", "nil"),
        ("IDEM COMPLETE k me 1 r", "[PONG]"),
    ] {
        ask_as(&mut b, one, "WATCH k");
        ask(&mut b, line);
        ask_as(&mut b, one, "MULTI");
        ask_as(&mut b, one, "PING");
        assert_eq!(ask_as(&mut b, one, "EXEC"), outcome, "{line}");
    }
}

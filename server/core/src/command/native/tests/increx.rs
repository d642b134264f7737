//! `INCREX` as Redis 8.8 documents it; Valkey 9.1 has no such command yet.

use super::{ask, ask_idly, bench};
use crate::engine::bench::START_MS;

fn ttl(b: &mut crate::engine::bench::Bench) -> String {
    ask(b, "PTTL k")
}

#[test]
fn it_counts_in_integers_and_floats() {
    let mut b = bench();
    assert_eq!(ask(&mut b, "INCREX k"), "[1 1]");
    assert_eq!(b.events(), ["incrby k"]);
    assert_eq!(ask(&mut b, "INCREX k BYINT -3"), "[-2 -3]");
    assert_eq!(ask(&mut b, "increx k byfloat 0.5"), "[\"-1.5\" \"0.5\"]");
    assert_eq!(b.events(), ["incrby k", "incrbyfloat k"]);
    assert_eq!(
        ask_idly(&mut b, "INCREX k BYINT 1"),
        "-ERR value is not an integer or out of range"
    );
    assert_eq!(ask(&mut b, "INCREX k BYFLOAT 1.5"), "[\"0\" \"1.5\"]");
    assert_eq!(ask(&mut b, "INCREX k"), "[1 1]");
    ask(&mut b, "HELLO 3");
    assert_eq!(b.run("INCREX k BYFLOAT 0.1"), "*2\r\n,1.1\r\n,0.1\r\n");
}

#[test]
fn out_of_bounds_changes_nothing() {
    let mut b = bench();
    ask(&mut b, "SET k 10 PX 500");
    for (line, reply) in [
        ("INCREX k BYINT 6 UBOUND 15 EX 100", "[10 0]"),
        ("INCREX k BYINT -6 LBOUND 5 PERSIST", "[10 0]"),
        ("INCREX k BYINT 9223372036854775807", "[10 0]"),
        ("INCREX k BYFLOAT 5.5 UBOUND 15 EX 9 ENX", "[\"10\" \"0\"]"),
        ("INCREX k BYFLOAT inf", "[\"10\" \"0\"]"),
        ("INCREX k BYFLOAT -inf LBOUND -inf", "[\"10\" \"0\"]"),
        ("INCREX new BYINT 15 UBOUND 10", "[0 0]"),
        ("INCREX new BYFLOAT 15.5 UBOUND 10", "[\"0\" \"0\"]"),
    ] {
        assert_eq!(ask_idly(&mut b, line), reply, "{line}");
    }
    assert_eq!(ttl(&mut b), "500");
    assert_eq!(ask(&mut b, "EXISTS new"), "0");
    assert_eq!(ask(&mut b, "INCREX k BYINT 5 LBOUND 15 UBOUND 15"), "[15 5]");
}

#[test]
fn saturate_stops_at_the_bound() {
    let mut b = bench();
    for (stored, options, reply) in [
        ("10", "BYINT 100 UBOUND 15 SATURATE", "[15 5]"),
        ("10", "LBOUND 8 SATURATE BYINT -9", "[8 -2]"),
        ("20", "BYINT -5 UBOUND 10 SATURATE", "[10 -10]"),
        (
            "9223372036854775800",
            "BYINT 100 SATURATE",
            "[9223372036854775807 7]",
        ),
        (
            "-9223372036854775800",
            "BYINT -100 SATURATE",
            "[-9223372036854775808 -8]",
        ),
        ("10", "BYFLOAT 100 UBOUND 42.5 SATURATE", "[\"42.5\" \"32.5\"]"),
        (
            "1.5",
            "BYFLOAT -0.25 LBOUND 1.375 SATURATE",
            "[\"1.375\" \"-0.125\"]",
        ),
    ] {
        ask(&mut b, &format!("SET k {stored}"));
        assert_eq!(
            ask(&mut b, &format!("INCREX k {options}")),
            reply,
            "{stored} {options}"
        );
    }
    ask(&mut b, "SET k -9223372036854775808");
    assert_eq!(
        ask_idly(&mut b, "INCREX k LBOUND 9223372036854775807 SATURATE"),
        "-ERR applied increment would overflow"
    );
}

#[test]
fn the_expiry_is_kept_set_or_taken_away() {
    let mut b = bench();
    for (stored, options, left) in [
        ("SET k 5", "", "-1"),
        ("SET k 5 PX 500", "", "500"),
        ("SET k 5 PX 500", "PERSIST", "-1"),
        ("SET k 5", "PERSIST", "-1"),
        ("SET k 5 PX 500", "EX 2", "2000"),
        ("SET k 5", "PX 70", "70"),
        ("SET k 5 PX 500", "EX 2 ENX", "500"),
        ("SET k 5", "EX 2 ENX", "2000"),
        ("DEL k", "ENX PX 70", "70"),
        ("SET k 5 PX 500", "EXAT 1 ENX", "500"),
    ] {
        ask(&mut b, stored);
        let reply = ask(&mut b, &format!("INCREX k {options}"));
        assert!(
            reply == "[6 1]" || reply == "[1 1]",
            "{stored}, {options}: {reply}"
        );
        assert_eq!(ttl(&mut b), left, "{stored}, {options}");
    }
    let at = START_MS + 1234;
    ask(&mut b, &format!("INCREX k PXAT {at}"));
    assert_eq!(ttl(&mut b), "1234");
    b.events();
    assert_eq!(ask(&mut b, "INCREX k EXAT 1 UBOUND 100"), "[8 1]");
    assert_eq!(b.events(), ["expired k"]);
    assert_eq!(ask(&mut b, "EXISTS k"), "0");
    ask(&mut b, "INCREX k EX 5");
    ask(&mut b, "INCREX k PERSIST");
    assert_eq!(b.events(), ["incrby k", "expire k", "incrby k", "persist k"]);
}

#[test]
fn errors_have_their_own_words() {
    let mut b = bench();
    ask(&mut b, "SET k word");
    let syntax = "-ERR syntax error";
    for (options, error) in [
        ("FOO", syntax),
        ("BYINT", syntax),
        ("BYINT 1 BYINT 2", syntax),
        ("BYINT 1 BYFLOAT 2", syntax),
        ("LBOUND 1 LBOUND 2", syntax),
        ("UBOUND 1 UBOUND 2", syntax),
        ("SATURATE SATURATE", syntax),
        ("EX 1 PX 1", syntax),
        ("EX 1 PERSIST", syntax),
        ("PERSIST EX 1", syntax),
        ("PERSIST PERSIST", syntax),
        ("PERSIST ENX", syntax),
        ("ENX PERSIST", syntax),
        ("ENX ENX EX 1", syntax),
        ("ENX", "-ERR ENX flag requires an expiration"),
        ("BYINT 1.5", "-ERR Increment is not an integer or out of range"),
        ("BYFLOAT x", "-ERR Increment is not a valid float"),
        ("LBOUND 1.5", "-ERR LBOUND is not an integer or out of range"),
        ("BYFLOAT 1 UBOUND x", "-ERR UBOUND is not a valid float"),
        ("LBOUND 10 UBOUND 5", "-ERR LBOUND can't be greater than UBOUND"),
        (
            "BYFLOAT 1 LBOUND 10.5 UBOUND 1.5",
            "-ERR LBOUND can't be greater than UBOUND",
        ),
        (
            "BYFLOAT 1 LBOUND 1e4932 UBOUND -1e4932",
            "-ERR LBOUND can't be greater than UBOUND",
        ),
        ("EX 0", "-ERR invalid expire time in 'increx' command"),
        ("EX x", "-ERR value is not an integer or out of range"),
        ("BYINT 1", "-ERR value is not an integer or out of range"),
        ("BYFLOAT 1", "-ERR value is not a valid float"),
    ] {
        assert_eq!(
            ask_idly(&mut b, &format!("INCREX k {options}")),
            error,
            "{options}"
        );
    }
    assert_eq!(
        ask(&mut b, "INCREX"),
        "-ERR wrong number of arguments for 'increx' command"
    );
}

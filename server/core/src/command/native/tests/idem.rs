//! `IDEM` by its rules.

use super::{ask, ask_idly, bench};
use crate::engine::bench::START_MS;

#[test]
fn begin_complete_and_ask_again() {
    let mut b = bench();
    assert_eq!(ask(&mut b, "IDEM BEGIN k f OWNER me"), "[\"NEW\" 1 \"me\"]");
    assert_eq!(b.events(), ["idem-begin k"]);
    assert_eq!(ask(&mut b, "TYPE k"), "idem");
    b.pass_ms(10);
    assert_eq!(ask_idly(&mut b, "IDEM BEGIN k f"), "[\"BUSY\" 1 29990]");
    assert_eq!(ask(&mut b, "IDEM COMPLETE k me 1 result"), "OK");
    assert_eq!(b.events(), ["idem-complete k"]);
    let done = format!("[\"DONE\" \"result\" {}]", START_MS + 10);
    assert_eq!(ask_idly(&mut b, "IDEM BEGIN k f OWNER me"), done);
    assert_eq!(ask_idly(&mut b, "IDEM BEGIN k f"), done);
}

/// A token that the server makes is as good as one that was brought.
#[test]
fn a_token_is_made_for_who_brings_none() {
    let mut b = bench();
    let reply = ask(&mut b, "IDEM BEGIN k f");
    let token = reply.split('"').nth(3).expect("a token").to_string();
    assert!(
        token.len() == 32 && token.bytes().all(|c| c.is_ascii_hexdigit()),
        "{reply}"
    );
    let other = ask(&mut b, "IDEM BEGIN k2 f");
    assert!(!other.contains(&token), "another token each time");
    assert_eq!(ask(&mut b, &format!("IDEM COMPLETE k {token} 1 r")), "OK");
}

/// Rule 1: also after an abort, an expiry, a deletion and a flush.
#[test]
fn the_fence_only_grows() {
    let mut b = bench();
    let mut last = 0;
    for between in ["PING", "DEL k", "FLUSHALL", "FLUSHDB", "SELECT 3", "SWAPDB 3 4"] {
        ask(&mut b, between);
        let reply = ask(&mut b, "IDEM BEGIN k f OWNER o LEASE 5 TTL 5");
        let fence: u64 = reply
            .split(' ')
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("a fence");
        assert!(fence > last, "{fence} after {last}, {between}");
        last = fence;
        ask(&mut b, "DEL k");
    }
    assert_eq!(ask(&mut b, "IDEM BEGIN k f OWNER o"), "[\"NEW\" 7 \"o\"]");
    assert_eq!(ask(&mut b, "IDEM ABORT k o 7"), "OK");
    assert_eq!(
        ask(&mut b, "IDEM BEGIN k f LEASE 5 TTL 5 OWNER o"),
        "[\"NEW\" 8 \"o\"]"
    );
    b.pass_ms(10);
    assert_eq!(ask(&mut b, "EXISTS k"), "0");
    assert_eq!(ask(&mut b, "IDEM BEGIN k g OWNER o"), "[\"NEW\" 9 \"o\"]");
}

/// Rule 2.
#[test]
fn begin_is_safe_to_repeat() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me LEASE 100");
    b.pass_ms(99);
    assert_eq!(
        ask_idly(&mut b, "IDEM BEGIN k f OWNER me LEASE 100"),
        "[\"NEW\" 1 \"me\"]"
    );
    assert_eq!(ask_idly(&mut b, "IDEM BEGIN k f OWNER you"), "[\"BUSY\" 1 1]");
    b.pass_ms(1);
    assert_eq!(ask(&mut b, "IDEM BEGIN k f OWNER me"), "[\"NEW\" 2 \"me\"]");
}

/// Rule 3.
#[test]
fn complete_is_safe_to_repeat() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me");
    assert_eq!(ask(&mut b, "IDEM COMPLETE k me 1 r"), "OK");
    b.pass_ms(60_000);
    assert_eq!(ask_idly(&mut b, "IDEM COMPLETE k me 1 r"), "OK");
    for other in ["k me 1 s", "k you 1 r", "k me 2 r"] {
        let reply = ask_idly(&mut b, &format!("IDEM COMPLETE {other}"));
        assert!(reply.starts_with("-STALE "), "{other}: {reply}");
    }
    for late in ["IDEM ABORT k me 1", "IDEM EXTEND k me 1 LEASE 10"] {
        assert!(ask_idly(&mut b, late).starts_with("-STALE "), "{late}");
    }
}

/// Rule 4, and the very millisecond in which the lease ends.
#[test]
fn who_lost_the_lease_is_stale() {
    let late = [
        "IDEM COMPLETE k me 1 r",
        "IDEM EXTEND k me 1 LEASE 10",
        "IDEM ABORT k me 1",
    ];
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me LEASE 100 TTL 1000");
    b.pass_ms(100);
    for line in late {
        assert!(ask_idly(&mut b, line).starts_with("-STALE "), "{line}");
    }
    assert!(ask_idly(&mut b, "IDEM BEGIN k other").starts_with("-MISMATCH "));
    assert_eq!(
        ask(&mut b, "IDEM BEGIN k f OWNER you LEASE 100 TTL 1000"),
        "[\"NEW\" 2 \"you\"]"
    );
    for line in late {
        assert!(ask_idly(&mut b, line).starts_with("-STALE "), "{line}");
    }
    b.pass_ms(99);
    assert_eq!(ask(&mut b, "IDEM COMPLETE k you 2 r"), "OK");
}

#[test]
fn a_record_without_a_lease_stays_for_its_time() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f LEASE 100 TTL 1000");
    b.pass_ms(1099);
    assert!(ask_idly(&mut b, "IDEM BEGIN k g").starts_with("-MISMATCH "));
    b.pass_ms(1);
    assert!(ask(&mut b, "IDEM BEGIN k g").starts_with("[\"NEW\" 2 "));
}

#[test]
fn a_result_is_kept_from_its_completion_on() {
    for (begin, complete, kept_ms) in [
        ("", "", 86_400_000),
        (" TTL 500", "", 500),
        (" TTL 500", " TTL 900", 900),
    ] {
        let mut b = bench();
        ask(&mut b, &format!("IDEM BEGIN k f OWNER me{begin}"));
        b.pass_ms(400);
        ask(&mut b, &format!("IDEM COMPLETE k me 1 r{complete}"));
        b.pass_ms(kept_ms - 1);
        assert!(
            ask(&mut b, "IDEM BEGIN k f").starts_with("[\"DONE\""),
            "{begin}{complete}"
        );
        b.pass_ms(1);
        assert!(
            ask(&mut b, "IDEM BEGIN k f").starts_with("[\"NEW\""),
            "{begin}{complete}"
        );
    }
}

#[test]
fn a_lease_is_extended_from_now() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me LEASE 100");
    b.pass_ms(60);
    b.events();
    assert_eq!(ask(&mut b, "IDEM EXTEND k me 1 LEASE 100"), "[1 100]");
    assert_eq!(b.events(), ["idem-extend k"]);
    b.pass_ms(99);
    assert_eq!(ask(&mut b, "IDEM BEGIN k f"), "[\"BUSY\" 1 1]");
    assert!(ask_idly(&mut b, "IDEM EXTEND k you 1 LEASE 100").starts_with("-STALE "));
    assert_eq!(ask(&mut b, "IDEM COMPLETE k me 1 r"), "OK");
}

#[test]
fn abort_frees_the_key() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me");
    b.events();
    assert!(ask_idly(&mut b, "IDEM ABORT k me 2").starts_with("-STALE "));
    assert_eq!(ask(&mut b, "IDEM ABORT k me 1"), "OK");
    assert_eq!(b.events(), ["idem-abort k", "del k"]);
    for gone in ["ABORT k me 1", "COMPLETE k me 1 r", "EXTEND k me 1 LEASE 9"] {
        assert!(
            ask_idly(&mut b, &format!("IDEM {gone}")).starts_with("-NOTFOUND "),
            "{gone}"
        );
    }
    assert_eq!(ask(&mut b, "IDEM BEGIN k other OWNER you"), "[\"NEW\" 2 \"you\"]");
}

#[test]
fn get_shows_how_it_stands() {
    let mut b = bench();
    assert_eq!(ask(&mut b, "IDEM GET k"), "nil");
    ask(&mut b, "IDEM BEGIN k print OWNER me LEASE 100 TTL 1000");
    b.pass_ms(40);
    assert_eq!(
        ask_idly(&mut b, "IDEM GET k"),
        "[\"status\" \"running\" \"fingerprint\" \"print\" \"fence\" 1 \"lease_ms\" 60 \"ttl_ms\" 1060]"
    );
    ask(&mut b, "IDEM COMPLETE k me 1 r");
    b.pass_ms(1);
    let done = format!(
        "[\"status\" \"done\" \"fingerprint\" \"print\" \"fence\" 1 \"completed_unix_ms\" {} \"ttl_ms\" 999]",
        START_MS + 40
    );
    assert_eq!(ask_idly(&mut b, "IDEM GET k"), done);
    ask(&mut b, "HELLO 3");
    assert!(b.run("IDEM GET k").starts_with("%5\r\n"), "a map");
}

/// Rule 6: what runs stays under every policy; what is done, or lost its lease, goes under the volatile ones.
#[test]
fn what_runs_is_not_evicted() {
    use crate::keyspace::evict::Policy;
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN over f OWNER me LEASE 10");
    ask(&mut b, "IDEM BEGIN done f OWNER me");
    ask(&mut b, "IDEM COMPLETE done me 2 r");
    ask(&mut b, "IDEM BEGIN runs f OWNER me");
    b.pass_ms(10);
    let now = b.now();
    for (policy, goes) in [
        (Policy::AllKeysRandom, 0),
        (Policy::AllKeysLru, 0),
        (Policy::VolatileTtl, 2),
        (Policy::VolatileRandom, 0),
        (Policy::VolatileLru, 0),
    ] {
        let shard = &mut b.engine.shard;
        shard.set_eviction_policy(policy);
        let gone = (0..20).filter(|_| shard.evict_one(now)).count();
        assert_eq!(gone, goes, "{policy:?}");
    }
    assert_eq!(ask(&mut b, "EXISTS over done"), "0");
    assert_eq!(ask(&mut b, "IDEM COMPLETE runs me 3 r"), "OK");
}

#[test]
fn other_types_are_told_apart() {
    let mut b = bench();
    ask(&mut b, "SET s v");
    ask(&mut b, "IDEM BEGIN i f OWNER me");
    let all = [
        "IDEM BEGIN s f",
        "IDEM COMPLETE s t 1 r",
        "IDEM ABORT s t 1",
        "IDEM EXTEND s t 1 LEASE 1",
        "IDEM GET s",
        "GET i",
        "LIMIT i RATE 1 PER 1000",
        "LIMIT RESET i",
        "LIMIT REFUND i COST 1",
        "LIMIT MULTI 1 i WINDOW 1 PER 1000",
        "CL.THROTTLE i 1 1 1",
        "INCREX i",
    ];
    for line in all {
        assert!(ask_idly(&mut b, line).starts_with("-WRONGTYPE "), "{line}");
    }
}

#[test]
fn every_limit_has_its_own_error() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me");
    let long = "x".repeat(65);
    let fingerprint = "-ERR the fingerprint must have from 1 to 64 bytes";
    let token = "-ERR the token must have from 1 to 64 bytes";
    let fence = "-ERR the fence must be an integer from 1 to 9223372036854775807";
    let lease = "-ERR LEASE must be an integer of milliseconds from 1 to 86400000";
    let ttl = "-ERR TTL must be an integer of milliseconds from 1 to 31536000000";
    let block = "-ERR BLOCK must be an integer of milliseconds, 0 for no limit";
    for (line, error) in [
        (format!("BEGIN k {long}"), fingerprint),
        (format!("BEGIN k f OWNER {long}"), token),
        (format!("COMPLETE k {long} 1 r"), token),
        ("BEGIN k f LEASE 0".into(), lease),
        ("BEGIN k f LEASE 86400001".into(), lease),
        ("BEGIN k f LEASE 1.5".into(), lease),
        ("EXTEND k me 1 LEASE -1".into(), lease),
        ("BEGIN k f TTL 0".into(), ttl),
        ("BEGIN k f TTL 31536000001".into(), ttl),
        ("COMPLETE k me 1 r TTL x".into(), ttl),
        ("BEGIN k f BLOCK -1".into(), block),
        ("BEGIN k f BLOCK 9223372036854775808".into(), block),
        ("ABORT k me 0".into(), fence),
        ("ABORT k me 9223372036854775808".into(), fence),
        ("COMPLETE k me one r".into(), fence),
        ("BEGIN k f LEASE".into(), "-ERR syntax error"),
        ("BEGIN k f LEASE 1 LEASE 1".into(), "-ERR syntax error"),
        ("BEGIN k f NOW 1".into(), "-ERR syntax error"),
        ("COMPLETE k me 1 r TTL".into(), "-ERR syntax error"),
        ("EXTEND k me 1 FOR 1".into(), "-ERR syntax error"),
        (
            "BEGIN k".into(),
            "-ERR wrong number of arguments for 'idem|begin' command",
        ),
        (
            "GET k k".into(),
            "-ERR wrong number of arguments for 'idem|get' command",
        ),
        ("NO k".into(), "-ERR unknown subcommand 'NO'. Try IDEM HELP."),
    ] {
        assert_eq!(ask_idly(&mut b, &format!("IDEM {line}")), error, "{line}");
    }
    let empty = b.run_words(&[b"IDEM", b"BEGIN", b"k", b""]);
    assert_eq!(String::from_utf8_lossy(&empty), format!("{fingerprint}\r\n"));
    b.engine.shard.limits.idem_max_result = 3;
    assert_eq!(
        ask_idly(&mut b, "IDEM COMPLETE k me 1 long"),
        "-ERR the result is longer than idem-max-result allows (3 bytes)"
    );
    assert_eq!(ask(&mut b, "IDEM COMPLETE k me 1 fit"), "OK");
}

#[test]
fn the_largest_of_everything_is_taken() {
    let mut b = bench();
    let (long, result) = ("x".repeat(64), "r".repeat(64 * 1024));
    let begin = format!("IDEM BEGIN k {long} OWNER {long} LEASE 86400000 TTL 31536000000");
    assert_eq!(ask(&mut b, &begin), format!("[\"NEW\" 1 \"{long}\"]"));
    assert_eq!(ask(&mut b, &format!("IDEM COMPLETE k {long} 1 {result}")), "OK");
    assert!(ask(&mut b, &begin).contains(&result));
}

#[test]
fn without_memory_the_result_is_still_taken() {
    let mut b = bench();
    ask(&mut b, "IDEM BEGIN k f OWNER me");
    // Less than there is, under a policy that evicts nothing.
    b.engine.shard.eviction.limit_bytes = 1;
    assert!(ask(&mut b, "IDEM BEGIN k2 f").starts_with("-OOM "));
    assert_eq!(ask(&mut b, "IDEM COMPLETE k me 1 r"), "OK");
}

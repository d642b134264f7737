//! `LIMIT` and `CL.THROTTLE` by their rules. The arithmetic has its own tests beside the value.

use super::{ask, ask_idly, bench};
use crate::command::OwnedArgs;
use crate::engine::bench::{Bench, short};
use crate::exec::Now;
use crate::resp::Reply;

#[test]
fn a_rate_admits_a_burst_and_then_its_rate() {
    let mut b = bench();
    let line = "LIMIT k RATE 10 PER 1000 BURST 2";
    assert_eq!(ask(&mut b, line), "[1 2 1 0 100]");
    assert_eq!(b.events(), ["limit-charge k"]);
    assert_eq!(ask(&mut b, "TYPE k"), "limit");
    assert_eq!(ask(&mut b, line), "[1 2 0 0 200]");
    assert_eq!(ask_idly(&mut b, line), "[0 2 0 100 200]");
    b.pass_ms(99);
    assert_eq!(ask_idly(&mut b, line), "[0 2 0 1 101]");
    b.pass_ms(1);
    assert_eq!(ask(&mut b, line), "[1 2 0 0 200]");
    b.pass_ms(200);
    assert_eq!(ask(&mut b, "EXISTS k"), "0", "full again, so gone");
}

#[test]
fn burst_is_the_rate_unless_given_and_cost_is_one() {
    let mut b = bench();
    assert_eq!(ask(&mut b, "LIMIT k RATE 5 PER 1000"), "[1 5 4 0 200]");
    assert_eq!(ask(&mut b, "limit k rate 5 per 1000 cost 4"), "[1 5 0 0 1000]");
    assert_eq!(
        ask_idly(&mut b, "LIMIT k RATE 5 PER 1000 COST 6"),
        "[0 5 0 -1 1000]"
    );
    assert_eq!(
        ask_idly(&mut b, "LIMIT new RATE 5 PER 1000 COST 6"),
        "[0 5 5 -1 0]"
    );
}

#[test]
fn peek_and_a_cost_of_zero_change_nothing() {
    let mut b = bench();
    assert_eq!(ask_idly(&mut b, "LIMIT k RATE 5 PER 1000 PEEK"), "[1 5 5 0 0]");
    assert_eq!(ask_idly(&mut b, "LIMIT k RATE 5 PER 1000 COST 0"), "[1 5 5 0 0]");
    ask(&mut b, "LIMIT k RATE 5 PER 1000 COST 5");
    assert_eq!(
        ask_idly(&mut b, "LIMIT k RATE 5 PER 1000 PEEK COST 2"),
        "[0 5 0 400 1000]"
    );
    assert_eq!(
        ask_idly(&mut b, "LIMIT k RATE 5 PER 1000 COST 0"),
        "[1 5 0 0 1000]"
    );
    assert_eq!(ask_idly(&mut b, "LIMIT w WINDOW 5 PER 1000 PEEK"), "[1 5 5 0 0]");
}

#[test]
fn a_window_begins_with_the_first_call() {
    let mut b = bench();
    let line = "LIMIT k WINDOW 2 PER 1000";
    assert_eq!(ask(&mut b, line), "[1 2 1 0 1000]");
    b.pass_ms(400);
    assert_eq!(ask(&mut b, line), "[1 2 0 0 600]");
    b.pass_ms(599);
    assert_eq!(ask_idly(&mut b, line), "[0 2 0 1 1]");
    b.pass_ms(1);
    assert_eq!(ask(&mut b, line), "[1 2 1 0 1000]");
    assert_eq!(
        ask_idly(&mut b, "LIMIT k WINDOW 2 PER 1000 COST 3"),
        "[0 2 1 -1 1000]"
    );
}

#[test]
fn another_rate_goes_on_from_what_is_stored() {
    let mut b = bench();
    ask(&mut b, "LIMIT k RATE 10 PER 1000 COST 10");
    // Full in 1000 ms, whichever rate asks: 4 tokens of 250 ms each are missing.
    assert_eq!(
        ask_idly(&mut b, "LIMIT k RATE 4 PER 1000 BURST 8 PEEK"),
        "[1 8 4 0 1000]"
    );
    assert_eq!(ask(&mut b, "LIMIT k RATE 4 PER 1000 BURST 8"), "[1 8 3 0 1250]");
    assert_eq!(
        ask_idly(&mut b, "LIMIT k RATE 4 PER 1000 BURST 2"),
        "[0 2 0 1000 1250]"
    );
}

#[test]
fn a_key_counts_by_one_form() {
    let mut b = bench();
    ask(&mut b, "LIMIT r RATE 1 PER 1000");
    ask(&mut b, "LIMIT w WINDOW 1 PER 1000");
    let error = "-ERR this key counts by the other of RATE and WINDOW: LIMIT RESET lets it begin anew";
    for line in [
        "LIMIT r WINDOW 1 PER 1000",
        "LIMIT w RATE 1 PER 1000",
        "LIMIT MULTI 1 w RATE 1 PER 1000",
        "CL.THROTTLE w 1 1 1",
    ] {
        assert_eq!(ask_idly(&mut b, line), error, "{line}");
    }
    ask(&mut b, "LIMIT RESET r");
    assert_eq!(ask(&mut b, "LIMIT r WINDOW 1 PER 1000"), "[1 1 0 0 1000]");
}

#[test]
fn refund_gives_back_and_never_above_full() {
    let mut b = bench();
    assert_eq!(ask_idly(&mut b, "LIMIT REFUND k COST 1"), "nil");
    ask(&mut b, "LIMIT k RATE 10 PER 1000 COST 8");
    b.events();
    assert_eq!(ask(&mut b, "LIMIT REFUND k COST 3"), "[1 10 5 0 500]");
    assert_eq!(b.events(), ["limit-refund k"]);
    assert_eq!(ask_idly(&mut b, "LIMIT REFUND k COST 0"), "[1 10 5 0 500]");
    assert_eq!(
        ask(&mut b, "LIMIT REFUND k COST 9007199254740992"),
        "[1 10 10 0 0]"
    );
    assert_eq!(b.events(), ["limit-refund k", "del k"]);
    assert_eq!(ask(&mut b, "EXISTS k"), "0");
    ask(&mut b, "LIMIT w WINDOW 10 PER 1000 COST 8");
    assert_eq!(ask(&mut b, "LIMIT REFUND w COST 3"), "[1 10 5 0 1000]");
    assert_eq!(ask(&mut b, "LIMIT REFUND w COST 6"), "[1 10 10 0 0]");
}

#[test]
fn reset_says_whether_there_was_one() {
    let mut b = bench();
    assert_eq!(ask_idly(&mut b, "LIMIT RESET k"), "0");
    ask(&mut b, "LIMIT k RATE 1 PER 1000");
    b.events();
    assert_eq!(ask(&mut b, "LIMIT RESET k"), "1");
    assert_eq!(b.events(), ["limit-reset k", "del k"]);
    assert_eq!(ask(&mut b, "LIMIT k RATE 1 PER 1000"), "[1 1 0 0 1000]");
}

#[test]
fn multi_charges_all_or_none() {
    let mut b = bench();
    let both = "LIMIT MULTI 2 user RATE 2 PER 1000 all WINDOW 3 PER 60000";
    assert_eq!(ask(&mut b, both), "[1 0 2 1 0 500]");
    assert_eq!(b.events(), ["limit-charge user", "limit-charge all"]);
    assert_eq!(ask(&mut b, both), "[1 0 2 0 0 1000]");
    assert_eq!(ask_idly(&mut b, both), "[0 0 2 0 500 1000]");
    assert_eq!(
        ask_idly(&mut b, "LIMIT all WINDOW 3 PER 60000 PEEK"),
        "[1 3 1 0 60000]"
    );
    b.pass_ms(1000);
    assert_eq!(ask(&mut b, both), "[1 1 3 0 0 59000]", "the least that remains");
    assert_eq!(
        ask_idly(&mut b, both),
        "[0 1 3 0 59000 59000]",
        "the one that denies"
    );
    assert_eq!(
        ask_idly(&mut b, "LIMIT user RATE 2 PER 1000 PEEK"),
        "[1 2 1 0 500]"
    );
}

#[test]
fn multi_takes_options_for_each_key() {
    let mut b = bench();
    let line =
        "LIMIT MULTI 3 a RATE 5 PER 1000 BURST 9 COST 3 NOWAIT b RATE 5 PER 1000 PEEK c WINDOW 8 PER 1000";
    assert_eq!(ask(&mut b, line), "[1 1 5 5 0 0]");
    assert_eq!(
        ask(&mut b, "LIMIT a RATE 5 PER 1000 BURST 9 PEEK"),
        "[1 9 6 0 600]"
    );
    assert_eq!(ask(&mut b, "EXISTS b"), "0");
}

/// A key may be named like anything.
#[test]
fn keys_named_like_words() {
    let mut b = bench();
    for key in [
        "MULTI", "REFUND", "RESET", "RATE", "WINDOW", "COST", "PEEK", "PER",
    ] {
        assert_eq!(
            ask(&mut b, &format!("LIMIT {key} RATE 1 PER 1000")),
            "[1 1 0 0 1000]",
            "{key}"
        );
        assert_eq!(
            ask(&mut b, &format!("COMMAND GETKEYS LIMIT {key} WINDOW 1 PER 9")),
            format!("[\"{key}\"]")
        );
        assert_eq!(ask(&mut b, &format!("LIMIT RESET {key}")), "1", "{key}");
    }
    let odd =
        "LIMIT MULTI 4 RATE RATE 1 PER 9 PEEK WINDOW 1 PER 9 COST RATE 1 PER 9 COST 1 NOWAIT RATE 1 PER 9";
    assert_eq!(
        ask(&mut b, &format!("COMMAND GETKEYS {odd}")),
        "[\"RATE\" \"PEEK\" \"COST\" \"NOWAIT\"]"
    );
    assert_eq!(ask(&mut b, odd), "[1 0 1 0 0 9]");
    assert_eq!(ask(&mut b, "DBSIZE"), "4");
}

#[test]
fn keys_are_found_in_every_form() {
    let mut b = bench();
    for (line, keys) in [
        ("LIMIT k RATE 1 PER 1", "[\"k\"]"),
        ("LIMIT RESET k", "[\"k\"]"),
        ("LIMIT REFUND k COST 1", "[\"k\"]"),
        (
            "LIMIT MULTI 2 a RATE 1 PER 1 b WINDOW 1 PER 1 COST 2",
            "[\"a\" \"b\"]",
        ),
        ("IDEM BEGIN k f", "[\"k\"]"),
        ("IDEM COMPLETE k t 1 r", "[\"k\"]"),
        ("CL.THROTTLE k 1 1 1", "[\"k\"]"),
        ("INCREX k BYINT 2", "[\"k\"]"),
    ] {
        assert_eq!(ask(&mut b, &format!("COMMAND GETKEYS {line}")), keys, "{line}");
    }
    ask(&mut b, "ACL SETUSER u on nopass +@all ~mine:*");
    for (line, word) in [
        ("limit mine:a RATE 1 PER 1", "OK"),
        ("limit RESET other", "no permissions"),
        ("limit REFUND other COST 1", "no permissions"),
        (
            "limit MULTI 2 mine:a RATE 1 PER 1 other RATE 1 PER 1",
            "no permissions",
        ),
        ("idem begin other f", "no permissions"),
    ] {
        let reply = ask(&mut b, &format!("ACL DRYRUN u {line}"));
        assert!(reply.contains(word), "{line}: {reply}");
    }
}

#[test]
fn categories_open_and_close_the_families() {
    let mut b = bench();
    ask(&mut b, "ACL SETUSER u on nopass -@all +@limit +@idempotency ~*");
    for line in [
        "limit k RATE 1 PER 1",
        "cl.throttle k 1 1 1",
        "idem begin k f",
        "idem get k",
    ] {
        assert_eq!(ask(&mut b, &format!("ACL DRYRUN u {line}")), "OK", "{line}");
    }
    ask(&mut b, "ACL SETUSER u +@all -@write");
    for line in [
        "limit k RATE 1 PER 1",
        "idem begin k f",
        "idem abort k t 1",
        "increx k",
    ] {
        assert!(
            ask(&mut b, &format!("ACL DRYRUN u {line}")).contains("no permissions"),
            "{line}"
        );
    }
    assert_eq!(ask(&mut b, "ACL DRYRUN u idem get k"), "OK");
}

#[test]
fn every_limit_has_its_own_error() {
    let mut b = bench();
    let count = "-ERR the number of a RATE or WINDOW must be an integer from 1 to 9007199254740992";
    let per = "-ERR PER must be an integer of milliseconds from 1 to 9007199254740992";
    let burst = "-ERR BURST must be an integer from 1 to 9007199254740992";
    let cost = "-ERR COST must be an integer from 0 to 9007199254740992";
    let multi = "-ERR LIMIT MULTI takes an integer from 1 to 32 and as many keys";
    let syntax = "-ERR syntax error";
    for (line, error) in [
        ("k RATE 0 PER 1", count),
        ("k RATE 9007199254740993 PER 1", count),
        ("k WINDOW x PER 1", count),
        ("k RATE 1 PER 0", per),
        ("k WINDOW 1 PER 1.5", per),
        ("k RATE 1 PER 1 BURST 0", burst),
        (
            "k WINDOW 1 PER 1 BURST 1",
            "-ERR BURST belongs to RATE, a WINDOW has none",
        ),
        ("k RATE 1 PER 1 COST -1", cost),
        ("REFUND k COST 9007199254740993", cost),
        ("k RATE 1 IN 1", syntax),
        ("k RATE 1 PER 1 COST", syntax),
        ("k RATE 1 PER 1 COST 1 COST 1", syntax),
        ("k RATE 1 PER 1 SOON", syntax),
        ("k RATE", syntax),
        ("k BUCKET 1 PER 1", syntax),
        ("REFUND k FOR 1", syntax),
        ("MULTI 0 k RATE 1 PER 1", multi),
        ("MULTI 33 k RATE 1 PER 1", multi),
        ("MULTI x k RATE 1 PER 1", multi),
        (
            "MULTI 2 k RATE 1 PER 1",
            "-ERR LIMIT MULTI has not as many keys as it says",
        ),
        ("MULTI 1 a RATE 1 PER 1 b RATE 1 PER 1", syntax),
        (
            "MULTI 2 a RATE 1 PER 1 a WINDOW 1 PER 1",
            "-ERR LIMIT MULTI names a key twice",
        ),
        (
            "RESET a b",
            "-ERR wrong number of arguments for 'limit|reset' command",
        ),
        (
            "REFUND k",
            "-ERR wrong number of arguments for 'limit|refund' command",
        ),
        ("k", "-ERR wrong number of arguments for 'limit' command"),
    ] {
        assert_eq!(ask_idly(&mut b, &format!("LIMIT {line}")), error, "{line}");
    }
    for (line, error) in [
        (
            "k -1 1 1",
            "-ERR max_burst must be an integer from 0 to 9007199254740991",
        ),
        (
            "k 9007199254740992 1 1",
            "-ERR max_burst must be an integer from 0 to 9007199254740991",
        ),
        (
            "k 1 0 1",
            "-ERR count must be an integer from 1 to 9007199254740992",
        ),
        (
            "k 1 1 0",
            "-ERR period must be an integer of seconds from 1 to 9007199254740",
        ),
        (
            "k 1 1 9007199254741",
            "-ERR period must be an integer of seconds from 1 to 9007199254740",
        ),
        (
            "k 1 1 1 -1",
            "-ERR quantity must be an integer from 0 to 9007199254740992",
        ),
        (
            "k 1 1 1 1 1",
            "-ERR wrong number of arguments for 'cl.throttle' command",
        ),
    ] {
        assert_eq!(ask_idly(&mut b, &format!("CL.THROTTLE {line}")), error, "{line}");
    }
}

/// The conversation of redis-cell's manual, then denial, whole seconds and a look without a charge.
#[test]
fn throttle_answers_as_redis_cell() {
    let mut b = bench();
    assert_eq!(ask(&mut b, "CL.THROTTLE user123 15 30 60 1"), "[0 16 15 -1 2]");
    assert_eq!(ask(&mut b, "CL.THROTTLE user123 15 30 60 15"), "[0 16 0 -1 32]");
    assert_eq!(ask_idly(&mut b, "CL.THROTTLE user123 15 30 60"), "[1 16 0 2 32]");
    b.pass_ms(500);
    assert_eq!(ask_idly(&mut b, "CL.THROTTLE user123 15 30 60"), "[1 16 0 1 31]");
    assert_eq!(
        ask_idly(&mut b, "CL.THROTTLE user123 15 30 60 17"),
        "[1 16 0 -1 31]"
    );
    assert_eq!(
        ask_idly(&mut b, "CL.THROTTLE user123 15 30 60 0"),
        "[0 16 0 -1 31]"
    );
    assert_eq!(ask(&mut b, "TYPE user123"), "limit");
}

fn run_at_us(b: &mut Bench, line: &str, us: u64) -> String {
    let args = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
    let mut reply = Reply::default();
    b.engine.execute(b.client, args.view(), Now { us }, &mut reply);
    short(reply.as_slice())
}

/// A clock that goes back brings nothing, and one that jumps ahead fills the bucket at most to full.
#[test]
fn the_clock_never_runs_backwards() {
    let mut b = bench();
    let start = 1_700_000_000_000_000;
    let line = "LIMIT k RATE 2 PER 1000";
    assert_eq!(run_at_us(&mut b, line, start), "[1 2 1 0 500]");
    assert_eq!(run_at_us(&mut b, line, start - 3_600_000_000), "[1 2 0 0 1000]");
    assert_eq!(run_at_us(&mut b, line, start - 1), "[0 2 0 500 1000]");
    assert_eq!(run_at_us(&mut b, line, start + 499_999), "[0 2 0 1 501]");
    assert_eq!(run_at_us(&mut b, line, start + 500_000), "[1 2 0 0 1000]");
    assert_eq!(run_at_us(&mut b, line, start + 3_600_000_000), "[1 2 1 0 500]");
    assert_eq!(
        run_at_us(&mut b, "LIMIT w WINDOW 1 PER 10", start),
        "[1 1 0 0 10]"
    );
    assert_eq!(
        run_at_us(&mut b, "LIMIT w WINDOW 1 PER 10", start - 20_000),
        "[0 1 0 10 10]"
    );
}

/// A million denied calls would leave as little behind as these.
#[test]
fn a_flood_of_denied_calls_leaves_no_trace() {
    let mut b = bench();
    ask(&mut b, "LIMIT k RATE 1 PER 86400000");
    let bytes = b.engine.shard.effects.bytes().to_vec();
    let changes = b.engine.shard.stats.changes;
    for _ in 0..1000 {
        assert!(ask(&mut b, "LIMIT k RATE 1 PER 86400000").starts_with("[0 "));
    }
    assert_eq!(b.engine.shard.effects.bytes(), bytes);
    assert_eq!(b.engine.shard.stats.changes, changes);
}

#[test]
fn with_nowait_the_answer_waits_for_no_commit_and_the_charge_is_logged_all_the_same() {
    let mut b = bench();
    b.engine.log_changes();
    b.engine.begin_logged_turn(3);
    ask(&mut b, "LIMIT k RATE 5 PER 1000");
    assert_eq!(b.engine.take_wait().turn, 3, "a charge is waited for");
    assert_eq!(ask(&mut b, "LIMIT k RATE 5 PER 1000 NOWAIT"), "[1 5 3 0 400]");
    assert_eq!(b.engine.take_wait().turn, 0);
    assert!(b.engine.has_effects());
    b.engine.begin_logged_turn(4);
    // What was said before it is waited for as ever.
    ask(&mut b, "SET other v");
    ask(&mut b, "LIMIT k RATE 5 PER 1000 NOWAIT");
    assert_eq!(b.engine.take_wait().turn, 4);
    assert_eq!(
        ask(
            &mut b,
            "LIMIT MULTI 2 k RATE 5 PER 1000 NOWAIT l RATE 5 PER 1000 NOWAIT"
        ),
        "[1 0 5 1 0 800]"
    );
    assert_eq!(b.engine.take_wait().turn, 0);
    ask(&mut b, "LIMIT MULTI 2 k RATE 5 PER 1000 NOWAIT l RATE 5 PER 1000");
    assert_eq!(b.engine.take_wait().turn, 4, "one of them is to be waited for");
    ask(&mut b, "LIMIT k RATE 5 PER 1000");
    assert_eq!(
        b.engine.take_wait().turn,
        4,
        "who asks later waits for the charges before"
    );
}

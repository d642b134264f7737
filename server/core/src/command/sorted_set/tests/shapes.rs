//! The shapes of replies in RESP2 and RESP3, and what waits.

use super::{all_large, speak_resp3};
use crate::command::OwnedArgs;
use crate::engine::Flow;
use crate::engine::bench::{Bench, START_MS};
use crate::engine::session::ClientId;
use crate::exec::Now;
use crate::resp::Reply;

#[test]
fn resp3_has_doubles_and_pairs() {
    for mut bench in [Bench::new(), all_large()] {
        speak_resp3(&mut bench);
        for (line, reply) in [
            ("ZADD z INCR 0.5 c", ",0.5\r\n"),
            ("ZADD z 1 a 2 b", ":2\r\n"),
            ("ZSCORE z c", ",0.5\r\n"),
            ("ZSCORE z no", "_\r\n"),
            ("ZMSCORE z a no", "*2\r\n,1\r\n_\r\n"),
            ("ZINCRBY z 1 a", ",2\r\n"),
            ("ZRANGE z 0 0 WITHSCORES", "*1\r\n*2\r\n$1\r\nc\r\n,0.5\r\n"),
            ("ZRANGE z 0 0", "*1\r\n$1\r\nc\r\n"),
            ("ZREVRANGE z 0 0 WITHSCORES", "*1\r\n*2\r\n$1\r\nb\r\n,2\r\n"),
            ("ZRANK z a WITHSCORE", "*2\r\n:1\r\n,2\r\n"),
            ("ZRANK z no WITHSCORE", "_\r\n"),
            (
                "ZUNION 1 z WITHSCORES",
                "*3\r\n*2\r\n$1\r\nc\r\n,0.5\r\n*2\r\n$1\r\na\r\n,2\r\n*2\r\n$1\r\nb\r\n,2\r\n",
            ),
            ("ZSCAN nokey 0", "*2\r\n$1\r\n0\r\n*0\r\n"),
            ("ZPOPMIN z", "*2\r\n$1\r\nc\r\n,0.5\r\n"),
            ("ZPOPMAX z 1", "*1\r\n*2\r\n$1\r\nb\r\n,2\r\n"),
            (
                "ZRANDMEMBER z -2 WITHSCORES",
                "*2\r\n*2\r\n$1\r\na\r\n,2\r\n*2\r\n$1\r\na\r\n,2\r\n",
            ),
            ("ZRANDMEMBER nokey", "_\r\n"),
            ("ZMPOP 1 z MIN", "*2\r\n$1\r\nz\r\n*1\r\n*2\r\n$1\r\na\r\n,2\r\n"),
            ("ZMPOP 1 z MIN", "_\r\n"),
            ("ZPOPMIN z", "*0\r\n"),
            ("ZADD z 1 a 2 b", ":2\r\n"),
            ("BZPOPMIN z 0", "*3\r\n$1\r\nz\r\n$1\r\na\r\n,1\r\n"),
            (
                "BZMPOP 0 1 z MAX COUNT 5",
                "*2\r\n$1\r\nz\r\n*1\r\n*2\r\n$1\r\nb\r\n,2\r\n",
            ),
        ] {
            assert_eq!(bench.run(line), reply, "{line}");
        }
    }
}

#[test]
fn pops_in_resp2() {
    for mut bench in [Bench::new(), all_large()] {
        bench.transcript(
            "> ZADD z 1 a 2 b 3 c 4 d 5 e
             < 5
             > ZPOPMIN z
             < [\"a\" \"1\"]
             > ZPOPMAX z 2
             < [\"e\" \"5\" \"d\" \"4\"]
             > ZPOPMIN z 0
             < []
             > ZPOPMIN z -1
             < -ERR value is out of range, must be positive
             > ZPOPMIN z x
             < -ERR value is out of range, must be positive
             > ZPOPMIN z 1 2
             < -ERR syntax error
             > ZMPOP 2 nokey z MAX COUNT 10
             < [\"z\" [[\"c\" \"3\"] [\"b\" \"2\"]]]
             > ZMPOP 1 z MIN
             < nil
             > ZMPOP 0 z MIN
             < -ERR numkeys should be greater than 0
             > ZMPOP 1 z MIN COUNT 0
             < -ERR count should be greater than 0
             > ZMPOP 1 z MIN COUNT 1 COUNT 1
             < -ERR syntax error
             > ZMPOP 1 z FOO
             < -ERR syntax error
             > ZMPOP 9 z MIN
             < -ERR syntax error
             > BZMPOP x 0 z MIN
             < -ERR numkeys should be greater than 0
             > BZMPOP x 1 z MIN
             < -ERR timeout is not a float or out of range
             > BZPOPMIN z -1
             < -ERR timeout is negative
             > SET s x
             < OK
             > BZPOPMIN nokey s 0
             < -WRONGTYPE Operation against a key holding the wrong kind of value
             > ZPOPMIN s 0
             < -WRONGTYPE Operation against a key holding the wrong kind of value",
        );
    }
}

fn run_as(bench: &mut Bench, client: ClientId, line: &str) -> (Flow, String) {
    let args = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
    let mut reply = Reply::default();
    let flow = bench
        .engine
        .execute(client, args.view(), Now::from_ms(START_MS), &mut reply);
    (flow, String::from_utf8_lossy(reply.as_slice()).into_owned())
}

#[test]
fn who_waits_is_served_when_a_member_comes() {
    let mut bench = Bench::new();
    let waiter = bench
        .engine
        .connect("w".into(), "s".into(), 9, Now::from_ms(START_MS));
    assert_eq!(
        run_as(&mut bench, waiter, "BZPOPMAX other z 0"),
        (Flow::Blocked, String::new())
    );
    assert_eq!(bench.run("SET z text"), "+OK\r\n");
    assert!(bench.engine.world.outbox.is_empty(), "another type does not wake");
    assert_eq!(bench.run("ZUNIONSTORE z 1 nokey"), ":0\r\n");
    assert_eq!(bench.run("ZADD z 1 a 2 b"), ":2\r\n");
    let parcel = bench.engine.world.outbox.pop().expect("an answer");
    assert_eq!(parcel.client, waiter);
    assert_eq!(*parcel.bytes, *b"*3\r\n$1\r\nz\r\n$1\r\nb\r\n$1\r\n2\r\n");
    assert_eq!(bench.run("ZCARD z"), ":1\r\n");
}

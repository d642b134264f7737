//! What the commands do and refuse, in both forms.

use super::{all_large, encoding, listen};
use crate::engine::bench::Bench;

fn both(text: &str) {
    Bench::new().transcript(text);
    all_large().transcript(text);
}

#[test]
fn conditions_of_zadd() {
    both(
        "> ZADD z 1 a 2 b
         < 2
         > ZADD z XX 5 a 5 new
         < 0
         > ZADD z XX CH 6 a 5 new
         < 1
         > ZADD z NX 9 a 3 c
         < 1
         > ZADD z GT CH 1 a 7 b
         < 1
         > ZADD z LT CH 1 a 100 b
         < 1
         > ZADD z GT 1 fresh
         < 1
         > ZRANGE z 0 -1 WITHSCORES
         < [\"a\" \"1\" \"fresh\" \"1\" \"c\" \"3\" \"b\" \"7\"]
         > ZADD z XX INCR 1 nosuch
         < nil
         > ZADD z NX INCR 3 a
         < nil
         > ZADD z GT INCR -1 a
         < nil
         > ZADD z LT INCR -1 a
         < \"0\"
         > ZADD nokey XX 1 a
         < 0
         > ZADD nokey XX INCR 1 a
         < nil
         > ZCARD nokey
         < 0",
    );
}

#[test]
fn zadd_refuses_before_it_changes() {
    both(
        "> ZADD z 1 a 2
         < -ERR syntax error
         > ZADD z NX XX 1 a
         < -ERR XX and NX options at the same time are not compatible
         > ZADD z GT LT 1 a
         < -ERR GT, LT, and/or NX options at the same time are not compatible
         > ZADD z GT NX 1 a
         < -ERR GT, LT, and/or NX options at the same time are not compatible
         > ZADD z INCR 1 a 2 b
         < -ERR INCR option supports a single increment-element pair
         > ZADD z 1 a nan b
         < -ERR value is not a valid float
         > ZADD z 1e400 a
         < -ERR value is not a valid float
         > ZADD z 0x10 a
         < -ERR value is not a valid float
         > ZINCRBY z x a
         < -ERR value is not a valid float
         > ZINCRBY z nx a
         < -ERR syntax error
         > ZCARD z
         < 0
         > ZADD z +inf a
         < 1
         > ZINCRBY z -inf a
         < -ERR resulting score is not a number (NaN)
         > ZSCORE z a
         < \"inf\"
         > SET s x
         < OK
         > ZADD s 1 a
         < -WRONGTYPE Operation against a key holding the wrong kind of value
         > ZADD s x a
         < -ERR value is not a valid float",
    );
}

/// Case 12: GT never lowers and LT never raises, whatever the form.
#[test]
fn gt_and_lt_in_a_set_of_two_hundred() {
    let mut bench = Bench::new();
    for n in 0..200 {
        bench.run(&format!("ZADD z {n} m{n}"));
    }
    assert_eq!(encoding(&bench, b"z"), "skiplist");
    bench.transcript(
        "> ZADD z GT CH 1 m150
         < 0
         > ZADD z LT CH 999 m150
         < 0
         > ZSCORE z m150
         < \"150\"",
    );
}

/// Case 21.
#[test]
fn scores_as_they_are_printed() {
    both(
        "> ZADD z 3.0 b 1e21 d -0 f 1e23 h 0.1 c
         < 5
         > ZRANGE z 0 -1 WITHSCORES
         < [\"f\" \"0\" \"c\" \"0.1\" \"b\" \"3\" \"d\" \"1e+21\" \"h\" \"99999999999999990000000\"]",
    );
}

#[test]
fn ranks_and_counts() {
    both(
        "> ZADD z 1 a 2 b 2 bb 3 c
         < 4
         > ZRANK z bb
         < 2
         > ZREVRANK z bb
         < 1
         > ZRANK z bb WITHSCORE
         < [2 \"2\"]
         > ZRANK z no WITHSCORE
         < nil
         > ZRANK z a FOO
         < -ERR syntax error
         > ZRANK z a WITHSCORE more
         < -ERR wrong number of arguments for 'zrank' command
         > ZCOUNT z (1 2
         < 2
         > ZCOUNT z 5 1
         < 0
         > ZCOUNT z 10 +inf
         < 0
         > ZCOUNT z a 1
         < -ERR min or max is not a float
         > ZMSCORE z a no c
         < [\"1\" nil \"3\"]
         > ZMSCORE nokey a
         < [nil]
         > ZADD l 0 a 0 b 0 c
         < 3
         > ZLEXCOUNT l - +
         < 3
         > ZLEXCOUNT l (a [c
         < 2
         > ZLEXCOUNT l + -
         < 0
         > ZLEXCOUNT l a +
         < -ERR min or max not valid string range item",
    );
}

#[test]
fn ranges_by_rank_score_and_name() {
    both(
        "> ZADD z 1 a 2 b 3 c 4 d
         < 4
         > ZRANGE z 1 2
         < [\"b\" \"c\"]
         > ZRANGE z 0 1 REV
         < [\"d\" \"c\"]
         > ZREVRANGE z 1 -1
         < [\"c\" \"b\" \"a\"]
         > ZRANGE z 5 9
         < []
         > ZRANGE z (1 3 BYSCORE
         < [\"b\" \"c\"]
         > ZRANGE z 3 (1 BYSCORE REV WITHSCORES
         < [\"c\" \"3\" \"b\" \"2\"]
         > ZRANGEBYSCORE z -inf +inf LIMIT 1 2
         < [\"b\" \"c\"]
         > ZREVRANGEBYSCORE z +inf -inf LIMIT 1 -1
         < [\"c\" \"b\" \"a\"]
         > ZRANGE z -inf +inf BYSCORE LIMIT 0 0
         < []
         > ZRANGE z 0 -1 LIMIT 0 -1
         < [\"a\" \"b\" \"c\" \"d\"]
         > ZRANGE z 0 -1 LIMIT 0 1
         < -ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
         > ZRANGE z - + BYLEX WITHSCORES
         < -ERR syntax error, WITHSCORES not supported in combination with BYLEX
         > ZRANGE z 0 1 BYSCORE BYLEX
         < -ERR syntax error
         > ZRANGE z 0 1 REV REV
         < -ERR syntax error
         > ZREVRANGE z 0 1 REV
         < -ERR syntax error
         > ZRANGEBYSCORE z 0 1 LIMIT 0
         < -ERR syntax error
         > ZRANGE nokey 0 -1
         < []
         > ZADD l 0 a 0 b 0 c
         < 3
         > ZRANGEBYLEX l [b +
         < [\"b\" \"c\"]
         > ZREVRANGEBYLEX l + (a
         < [\"c\" \"b\"]
         > ZRANGE l [c - BYLEX REV LIMIT 1 1
         < [\"b\"]",
    );
}

/// Seen on Valkey: only its large form counts a negative offset from the end of the range.
#[test]
fn negative_offsets() {
    let text = |first: &str, second: &str| {
        format!(
            "> ZADD z 0 a 1 b 2 c
             < 3
             > ZRANGE z 0 1 BYSCORE LIMIT -1 1
             < {first}
             > ZRANGE z 0 1 BYSCORE LIMIT -2 -1
             < {second}
             > ZRANGE z 0 1 BYSCORE LIMIT -3 -1
             < []"
        )
    };
    Bench::new().transcript(&text("[]", "[]"));
    all_large().transcript(&text("[\"b\"]", "[\"a\" \"b\"]"));
}

/// Case 14 among others.
#[test]
fn stores_replace_or_delete_their_target() {
    both(
        "> ZADD src 1 a 2 b 3 c
         < 3
         > SET dst old
         < OK
         > ZRANGESTORE dst src 0 -1 LIMIT 0 1
         < -ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX
         > ZRANGESTORE dst src foo bar BYSCORE
         < -ERR min or max is not a float
         > ZRANGESTORE dst src 0 -1 WITHSCORES
         < -ERR syntax error
         > GET dst
         < \"old\"
         > ZRANGESTORE dst src 0 1 REV
         < 2
         > ZRANGE dst 0 -1 WITHSCORES
         < [\"b\" \"2\" \"c\" \"3\"]
         > ZRANGESTORE dst src 7 9
         < 0
         > ZCARD dst
         < 0
         > ZUNIONSTORE src 2 src src WEIGHTS 1 10
         < 3
         > ZRANGE src 0 -1 WITHSCORES
         < [\"a\" \"11\" \"b\" \"22\" \"c\" \"33\"]
         > ZDIFFSTORE src 2 src src
         < 0
         > ZCARD src
         < 0",
    );
}

#[test]
fn removals() {
    both(
        "> ZADD z 1 a 2 b 3 c 4 d 5 e 6 f
         < 6
         > ZREM z a nosuch a
         < 1
         > ZREMRANGEBYRANK z -1 -1
         < 1
         > ZREMRANGEBYSCORE z (2 3
         < 1
         > ZRANGE z 0 -1
         < [\"b\" \"d\" \"e\"]
         > ZREMRANGEBYSCORE z 9 1
         < 0
         > ZREMRANGEBYRANK z 0 -1
         < 3
         > ZCARD z
         < 0
         > ZADD l 0 a 0 b 0 c
         < 3
         > ZREMRANGEBYLEX l (a [b
         < 1
         > ZREM l a c
         < 2
         > ZREM l a
         < 0
         > ZREMRANGEBYRANK l x 1
         < -ERR value is not an integer or out of range
         > ZREMRANGEBYLEX l a b
         < -ERR min or max not valid string range item",
    );
}

#[test]
fn unions_intersections_differences() {
    both(
        "> ZADD a 1 x 2 y 3 z
         < 3
         > ZADD b 10 y 20 z 30 w
         < 3
         > ZUNION 2 a b WITHSCORES
         < [\"x\" \"1\" \"y\" \"12\" \"z\" \"23\" \"w\" \"30\"]
         > ZINTER 2 a b WITHSCORES WEIGHTS 2 1 AGGREGATE MIN
         < [\"y\" \"4\" \"z\" \"6\"]
         > ZINTER 2 a b AGGREGATE MAX WITHSCORES
         < [\"y\" \"10\" \"z\" \"20\"]
         > ZDIFF 2 a b WITHSCORES
         < [\"x\" \"1\"]
         > ZDIFF 2 nokey a
         < []
         > ZINTER 2 a nokey
         < []
         > ZINTERCARD 2 a b
         < 2
         > ZINTERCARD 2 a b LIMIT 1
         < 1
         > ZUNION 0 a
         < -ERR at least 1 input key is needed for 'zunion' command
         > ZUNIONSTORE d 0 a
         < -ERR at least 1 input key is needed for 'zunionstore' command
         > ZUNION 1
         < -ERR wrong number of arguments for 'zunion' command
         > ZUNION 3 a b
         < -ERR syntax error
         > ZUNION 1 a WEIGHTS x
         < -ERR weight value is not a float
         > ZUNION 1 a WEIGHTS
         < -ERR syntax error
         > ZUNION 1 a AGGREGATE foo
         < -ERR syntax error
         > ZUNIONSTORE d 1 a WITHSCORES
         < -ERR syntax error
         > ZDIFF 1 a WEIGHTS 1
         < -ERR syntax error
         > ZINTERCARD 1 a LIMIT -1
         < -ERR LIMIT can't be negative
         > SET s x
         < OK
         > ZUNIONSTORE d 2 a s WEIGHTS x y
         < -WRONGTYPE Operation against a key holding the wrong kind of value
         > ZADD i inf m
         < 1
         > ZADD j -inf m
         < 1
         > ZUNION 2 i j WITHSCORES
         < [\"m\" \"0\"]
         > ZUNION 1 i WEIGHTS 0 WITHSCORES
         < [\"m\" \"0\"]",
    );
}

/// Members of sets count as scored 1, in each form that a set has.
#[test]
fn sets_as_inputs() {
    for (members, packed_max) in [("1 2 3", 128), ("1 2 x", 128), ("1 2 x", 0)] {
        for mut bench in [Bench::new(), all_large()] {
            bench.engine.shard.limits.set_max_listpack_entries = packed_max;
            assert_eq!(bench.run(&format!("SADD s {members}")), ":3\r\n");
            bench.transcript(
                "> ZADD z 5 1 7 9
                 < 2
                 > ZINTER 2 z s WITHSCORES
                 < [\"1\" \"6\"]
                 > ZINTER 2 s z WITHSCORES WEIGHTS 10 1
                 < [\"1\" \"15\"]
                 > ZINTERCARD 2 s z
                 < 1
                 > ZDIFF 2 z s WITHSCORES
                 < [\"9\" \"7\"]
                 > ZUNIONSTORE d 2 s z AGGREGATE MAX
                 < 4
                 > ZRANGE d 0 0 WITHSCORES
                 < [\"2\" \"1\"]
                 > ZSCORE d 9
                 < \"7\"",
            );
        }
    }
}

#[test]
fn events_and_conversions() {
    let mut bench = Bench::new();
    listen(&mut bench);
    let mut told = |line: &str| {
        bench.run(line);
        bench.events().join(", ")
    };
    assert_eq!(told("ZADD z 1 a 2 b 3 c"), "zadd z");
    assert_eq!(told("ZADD z 1 a"), "");
    assert_eq!(told("ZINCRBY z 5 a"), "zincr z");
    assert_eq!(told("ZREM z nosuch"), "");
    assert_eq!(told("ZREM z a"), "zrem z");
    assert_eq!(told("ZRANGESTORE d z 0 -1"), "zrangestore d");
    assert_eq!(told("ZUNIONSTORE d 1 z"), "zunionstore d");
    assert_eq!(told("ZINTERSTORE d 1 z"), "zinterstore d");
    assert_eq!(told("ZDIFFSTORE d 1 z"), "zdiffstore d");
    assert_eq!(told("ZDIFFSTORE d 2 z z"), "del d");
    assert_eq!(told("ZDIFFSTORE d 2 z z"), "");
    assert_eq!(told("ZPOPMIN z"), "zpopmin z");
    assert_eq!(told("BZPOPMAX z 0"), "zpopmax z, del z");
    assert_eq!(told("ZADD z 1 a 2 b 3 c"), "zadd z");
    assert_eq!(told("ZREMRANGEBYRANK z 0 0"), "zremrangebyrank z");
    assert_eq!(told("ZREMRANGEBYSCORE z 2 2"), "zremrangebyscore z");
    assert_eq!(told("ZREMRANGEBYLEX z - +"), "zremrangebylex z, del z");
    assert_eq!(told("ZREMRANGEBYLEX z - +"), "");

    bench.run("ZADD e 1 a");
    assert_eq!(encoding(&bench, b"e"), "listpack");
    bench.run(&format!("ZADD e 1 {}", "m".repeat(64)));
    assert_eq!(encoding(&bench, b"e"), "listpack");
    bench.run(&format!("ZADD e 1 {}", "m".repeat(65)));
    assert_eq!(encoding(&bench, b"e"), "skiplist");
    bench.run("ZRANGESTORE f e 0 0");
    assert_eq!(encoding(&bench, b"f"), "listpack");
    for n in 1..128 {
        bench.run(&format!("ZADD f 1 m{n}"));
    }
    assert_eq!(
        (bench.run("ZCARD f").as_str(), encoding(&bench, b"f")),
        (":128\r\n", "listpack")
    );
    bench.run("ZADD f 1 last");
    assert_eq!(encoding(&bench, b"f"), "skiplist");
}

#[test]
fn random_members() {
    for mut bench in [Bench::new(), all_large()] {
        bench.transcript(
            "> ZRANDMEMBER nokey
             < nil
             > ZRANDMEMBER nokey 2
             < []
             > ZADD z 1 a 2 b 3 c
             < 3
             > ZRANDMEMBER z 0
             < []
             > ZRANDMEMBER z 10 WITHSCORES
             < [\"c\" \"3\" \"b\" \"2\" \"a\" \"1\"]
             > ZRANDMEMBER z x
             < -ERR value is not an integer or out of range
             > ZRANDMEMBER z 1 FOO
             < -ERR syntax error
             > ZRANDMEMBER z -9223372036854775808
             < -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
             > ZRANDMEMBER z -4611686018427387905 WITHSCORES
             < -ERR value is out of range",
        );
        for n in 0..60 {
            bench.run(&format!("ZADD many {n} m{n}"));
        }
        for wanted in [1, 5, 30, 59] {
            let reply = bench.run(&format!("ZRANDMEMBER many {wanted}"));
            let members: std::collections::HashSet<&str> =
                reply.split("\r\n").filter(|w| w.starts_with('m')).collect();
            assert_eq!(members.len(), wanted, "{reply}");
        }
        let mut seen = std::collections::HashSet::new();
        for _ in 0..600 {
            seen.insert(bench.run("ZRANDMEMBER many"));
        }
        assert!(seen.len() > 50, "{} of 60 were ever drawn", seen.len());
        assert!(bench.run("ZRANDMEMBER many -200").starts_with("*200\r\n"));
    }
}

#[test]
fn scans() {
    let mut bench = Bench::new();
    bench.transcript(
        "> ZSCAN nokey 0
         < [\"0\" []]
         > ZSCAN nokey x
         < -ERR invalid cursor
         > ZADD z 0.1 a 1 b
         < 2
         > ZSCAN z 0
         < [\"0\" [\"a\" \"0.1\" \"b\" \"1\"]]
         > ZSCAN z 0 MATCH b NOSCORES
         < [\"0\" [\"b\"]]
         > ZSCAN z 0 COUNT 0
         < -ERR syntax error
         > ZSCAN z 0 COUNT x
         < -ERR value is not an integer or out of range
         > ZSCAN z 0 MATCH
         < -ERR syntax error
         > ZSCAN z 0 NOVALUES
         < -ERR NOVALUES option can only be used in HSCAN",
    );
    for n in 0..1000 {
        bench.run(&format!("ZADD big 0.1 m{n}"));
    }
    let mut cursor = "0".to_string();
    let mut seen = std::collections::HashSet::new();
    let mut calls = 0;
    loop {
        let reply = bench.run(&format!("ZSCAN big {cursor} COUNT 20"));
        let words: Vec<&str> = reply.split("\r\n").collect();
        assert!(
            words
                .iter()
                .filter(|w| w.starts_with('m'))
                .all(|w| seen.insert(w.to_string()))
        );
        assert!(
            words
                .iter()
                .filter(|w| w.starts_with("0.1"))
                .all(|w| *w == "0.10000000000000001")
        );
        cursor = words[2].to_string();
        calls += 1;
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(seen.len(), 1000);
    assert!((25..=55).contains(&calls), "{calls} calls of 20");
}

//! Lists through the engine. Replies were seen on Valkey 9.1.2.

use proptest::prelude::*;

use crate::engine::bench::{Bench, START_MS, short};
use crate::engine::session::ClientId;
use crate::engine::{Engine, Flow};
use crate::exec::Now;
use crate::resp::{Protocol, Reply};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";

fn engine() -> Engine {
    Bench::new().engine
}

fn connect(engine: &mut Engine) -> ClientId {
    engine.connect(String::new(), String::new(), 4, Now::from_ms(START_MS))
}

fn run(engine: &mut Engine, client: ClientId, line: &str) -> String {
    run_at(engine, client, START_MS, line)
}

/// The reply as [`short`] shows it; `(waits)` if the client now waits.
fn run_at(engine: &mut Engine, client: ClientId, at_ms: u64, line: &str) -> String {
    let words = crate::command::OwnedArgs::from_words(line.split_ascii_whitespace().map(str::as_bytes));
    let mut reply = Reply::new(Protocol::Resp2);
    match engine.execute(client, words.view(), Now::from_ms(at_ms), &mut reply) {
        Flow::Blocked => "(waits)".into(),
        _ => short(reply.as_slice()),
    }
}

/// What was sent to other clients since the last call, in order.
fn sent(engine: &mut Engine) -> Vec<(ClientId, String)> {
    engine.world.unblocked.clear();
    engine
        .world
        .outbox
        .drain(..)
        .map(|parcel| (parcel.client, short(&parcel.bytes)))
        .collect()
}

/// `line => reply` pairs, one a line, on one engine.
fn transcript(text: &str) {
    let mut bench = Bench::with_follower(1);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((command, reply)) = line.split_once(" => ") else {
            panic!("no reply in {line}")
        };
        let reply = if reply == "WRONGTYPE" { WRONG_TYPE } else { reply };
        assert_eq!(short(bench.run(command).as_bytes()), reply, "{command}");
    }
    bench.assert_follower_equal();
}

#[test]
fn pushes_and_pops() {
    transcript(
        r#"LPUSH l b a => 2
         RPUSH l c => 3
         LRANGE l 0 -1 => ["a" "b" "c"]
         LPUSHX l z => 4
         RPUSHX nokey z => 0
         LPOP l => "z"
         RPOP l 2 => ["c" "b"]
         LPOP l 0 => []
         LLEN l => 1
         LPOP l 5 => ["a"]
         LLEN l => 0
         LPOP l => nil
         LPOP l 1 => nil
         LPOP l 0 => nil
         LPOP l -1 => -ERR value is out of range, must be positive
         LPOP l x => -ERR value is out of range, must be positive
         LPOP l 1 2 => -ERR wrong number of arguments for 'lpop' command
         SET s v => OK
         LPUSH s a => WRONGTYPE
         LPUSHX s a => WRONGTYPE
         LPOP s => WRONGTYPE
         LLEN s => WRONGTYPE"#,
    );
}

#[test]
fn reads() {
    transcript(
        r#"RPUSH l a b c b d b => 6
         LINDEX l 0 => "a"
         LINDEX l -1 => "b"
         LINDEX l -6 => "a"
         LINDEX l 6 => nil
         LINDEX l -7 => nil
         LINDEX l x => -ERR value is not an integer or out of range
         LINDEX nokey x => nil
         LRANGE l 1 2 => ["b" "c"]
         LRANGE l -2 100 => ["d" "b"]
         LRANGE l 3 2 => []
         LRANGE l 6 9 => []
         LRANGE l -100 0 => ["a"]
         LRANGE l 0 -9223372036854775808 => []
         LRANGE l 0 x => -ERR value is not an integer or out of range
         LRANGE nokey 0 -1 => []
         LPOS l b => 1
         LPOS l b RANK 2 => 3
         LPOS l b RANK -1 => 5
         LPOS l b RANK 4 => nil
         LPOS l b COUNT 2 => [1 3]
         LPOS l b COUNT 0 RANK -2 => [3 1]
         LPOS l b COUNT 0 MAXLEN 4 => [1 3]
         LPOS l b RANK -1 MAXLEN 1 COUNT 0 => [5]
         LPOS l d MAXLEN 2 => nil
         LPOS l nosuch COUNT 0 => []
         LPOS nokey b => nil
         LPOS nokey b COUNT 1 => []
         LPOS l b RANK 0 => -ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list
         LPOS l b RANK -9223372036854775808 => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
         LPOS l b COUNT -1 => -ERR COUNT can't be negative
         LPOS l b MAXLEN x => -ERR MAXLEN can't be negative
         LPOS l b RANK => -ERR syntax error
         LPOS l b FIRST 1 => -ERR syntax error"#,
    );
}

#[test]
fn edits() {
    transcript(
        r#"RPUSH l a b c => 3
         LINSERT l BEFORE b x => 4
         LINSERT l after b y => 5
         LINSERT l AFTER nosuch y => -1
         LINSERT nokey AFTER a y => 0
         LINSERT l ON a y => -ERR syntax error
         LRANGE l 0 -1 => ["a" "x" "b" "y" "c"]
         LSET l 1 X => OK
         LSET l -1 C => OK
         LSET l 5 C => -ERR index out of range
         LSET l -6 C => -ERR index out of range
         LSET l x C => -ERR value is not an integer or out of range
         LSET nokey x C => -ERR no such key
         LRANGE l 0 -1 => ["a" "X" "b" "y" "C"]
         RPUSH l b b => 7
         LREM l -1 b => 1
         LREM l 0 nosuch => 0
         LREM l 1 b => 1
         LRANGE l 0 -1 => ["a" "X" "y" "C" "b"]
         LREM l -9223372036854775808 b => -ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807
         LTRIM l 1 -2 => OK
         LRANGE l 0 -1 => ["X" "y" "C"]
         LTRIM l 5 1 => OK
         LLEN l => 0
         LTRIM nokey 0 1 => OK
         RPUSH m a a => 2
         LREM m 0 a => 2
         LLEN m => 0
         LREM m 0 a => 0"#,
    );
}

#[test]
fn moves() {
    transcript(
        r#"RPUSH l a b c => 3
         LMOVE l m LEFT RIGHT => "a"
         RPOPLPUSH l m => "c"
         LRANGE m 0 -1 => ["c" "a"]
         LMOVE m m left right => "c"
         LRANGE m 0 -1 => ["a" "c"]
         RPOPLPUSH l l => "b"
         LRANGE l 0 -1 => ["b"]
         LMOVE l m RIGHT LEFT => "b"
         LLEN l => 0
         LMOVE nokey m LEFT LEFT => nil
         LMOVE l m LEFT UP => -ERR syntax error
         SET s v => OK
         RPOPLPUSH m s => WRONGTYPE
         RPOPLPUSH s m => WRONGTYPE
         RPOPLPUSH nokey s => nil
         LMPOP 2 nokey m LEFT => ["m" ["b"]]
         LMPOP 1 m RIGHT COUNT 9 => ["m" ["c" "a"]]
         LMPOP 1 m RIGHT => nil
         LMPOP 2 s m LEFT => WRONGTYPE
         LMPOP 0 m LEFT => -ERR numkeys should be greater than 0
         LMPOP x m LEFT => -ERR numkeys should be greater than 0
         LMPOP 9223372036854775807 m LEFT => -ERR syntax error
         LMPOP 2 m LEFT => -ERR syntax error
         LMPOP 1 m LEFT COUNT 0 => -ERR count should be greater than 0
         LMPOP 1 m LEFT COUNT 1 COUNT 1 => -ERR syntax error"#,
    );
}

#[test]
fn those_who_wait_are_served_in_the_order_in_which_they_came() {
    let mut engine = engine();
    let [a, b, c, writer] = [(); 4].map(|()| connect(&mut engine));
    assert_eq!(run(&mut engine, a, "BLPOP k1 k2 0"), "(waits)");
    assert_eq!(run(&mut engine, b, "BRPOP k2 0"), "(waits)");
    assert_eq!(run(&mut engine, c, "BLMPOP 0 1 k2 LEFT COUNT 5"), "(waits)");
    assert_eq!(run(&mut engine, writer, "RPUSH k2 1 2 3 4"), "4");
    assert_eq!(
        sent(&mut engine),
        [
            (a, r#"["k2" "1"]"#.into()),
            (b, r#"["k2" "4"]"#.into()),
            (c, r#"["k2" ["2" "3"]]"#.into())
        ]
    );
    assert_eq!(run(&mut engine, writer, "LLEN k2"), "0");
    assert!(engine.shard.interest.is_empty());
    assert_eq!(engine.world.blocked_count, 0);
}

#[test]
fn a_client_that_is_killed_takes_nothing_more() {
    let mut engine = engine();
    let (a, b) = (connect(&mut engine), connect(&mut engine));
    assert_eq!(run(&mut engine, a, "BLPOP k 0"), "(waits)");
    let kill = format!("CLIENT KILL ID {}", a.serial());
    assert_eq!(run(&mut engine, b, &kill), "1");
    assert_eq!(run(&mut engine, b, "RPUSH k x"), "1");
    assert_eq!(run(&mut engine, b, "LLEN k"), "1");
}

#[test]
fn one_element_serves_one() {
    let mut engine = engine();
    let [a, b, writer] = [(); 3].map(|()| connect(&mut engine));
    run(&mut engine, a, "BLPOP k 0");
    run(&mut engine, b, "BLPOP k 0");
    run(&mut engine, writer, "LPUSH k x");
    assert_eq!(sent(&mut engine), [(a, r#"["k" "x"]"#.into())]);
    run(&mut engine, writer, "LPUSH k y z");
    assert_eq!(sent(&mut engine), [(b, r#"["k" "z"]"#.into())]);
    assert_eq!(run(&mut engine, writer, "LRANGE k 0 -1"), r#"["y"]"#);
}

#[test]
fn a_move_wakes_who_waits_for_its_target() {
    let mut engine = engine();
    let [a, b, c, writer] = [(); 4].map(|()| connect(&mut engine));
    assert_eq!(run(&mut engine, a, "BLPOP three 0"), "(waits)");
    assert_eq!(run(&mut engine, b, "BRPOPLPUSH two three 0"), "(waits)");
    assert_eq!(run(&mut engine, c, "BLMOVE one two LEFT RIGHT 0"), "(waits)");
    run(&mut engine, writer, "RPUSH one x");
    assert_eq!(
        sent(&mut engine),
        [
            (c, r#""x""#.into()),
            (b, r#""x""#.into()),
            (a, r#"["three" "x"]"#.into())
        ]
    );
    assert_eq!(engine.shard.databases[0].len(), 0);
}

#[test]
fn a_wait_ends_at_its_first_deadline() {
    let mut engine = engine();
    let [a, b, c, writer] = [(); 4].map(|()| connect(&mut engine));
    assert_eq!(run(&mut engine, a, "BLPOP l 0.5"), "(waits)");
    assert_eq!(run(&mut engine, b, "BLMOVE l m LEFT LEFT 0.2"), "(waits)");
    assert_eq!(run(&mut engine, c, "BRPOP l 0"), "(waits)");
    assert_eq!(engine.next_deadline_ms(), Some(START_MS + 200));
    engine.tick(crate::exec::Now::from_ms(START_MS + 199));
    assert_eq!(sent(&mut engine), []);
    engine.tick(crate::exec::Now::from_ms(START_MS + 200));
    assert_eq!(sent(&mut engine), [(b, "nil".into())]);
    // Touched while the list is not there: goes on waiting, as long as at first.
    run_at(&mut engine, writer, START_MS + 400, "SET l v");
    assert_eq!(engine.next_deadline_ms(), Some(START_MS + 500));
    engine.tick(crate::exec::Now::from_ms(START_MS + 501));
    assert_eq!(sent(&mut engine), [(a, "nil".into())]);
    assert_eq!(engine.next_deadline_ms(), None);
    engine.disconnect(c);
    assert!(engine.shard.interest.is_empty());
    assert_eq!(engine.world.blocked_count, 0);
}

#[test]
fn an_error_ends_a_wait() {
    let mut engine = engine();
    let [a, b, writer] = [(); 3].map(|()| connect(&mut engine));
    run(&mut engine, writer, "SET s v");
    assert_eq!(run(&mut engine, a, "BLMOVE l s LEFT LEFT 0"), "(waits)");
    assert_eq!(run(&mut engine, b, "BLPOP l 0"), "(waits)");
    run(&mut engine, writer, "RPUSH l x");
    assert_eq!(
        sent(&mut engine),
        [(a, WRONG_TYPE.into()), (b, r#"["l" "x"]"#.into())]
    );
}

#[test]
fn what_is_there_is_taken_at_once() {
    transcript(
        r#"RPUSH l a b c d => 4
         BLPOP nokey l 0 => ["l" "a"]
         BRPOP l 0 => ["l" "d"]
         BLMOVE l m LEFT LEFT 0 => "b"
         BRPOPLPUSH l m 0 => "c"
         BLMPOP 0 2 l m LEFT COUNT 9 => ["m" ["c" "b"]]
         SET s v => OK
         BLPOP s l 0 => WRONGTYPE
         BLMOVE s l LEFT LEFT 0 => WRONGTYPE
         BLPOP l -1 => -ERR timeout is negative
         BLPOP l x => -ERR timeout is not a float or out of range
         BLPOP l 1e300 => -ERR timeout is out of range
         BLMOVE l m LEFT UP x => -ERR syntax error
         BLMOVE l m LEFT LEFT x => -ERR timeout is not a float or out of range
         BLMPOP x 1 l LEFT COUNT => -ERR syntax error
         BLMPOP 0 1 l UP => -ERR syntax error"#,
    );
}

/// Which kind of null each command answers, RESP2.
#[test]
fn null_shapes() {
    let mut bench = Bench::new();
    for (line, reply) in [
        ("LPOP nokey", "$-1\r\n"),
        ("LPOP nokey 0", "*-1\r\n"),
        ("RPOP nokey 1", "*-1\r\n"),
        ("LMPOP 1 nokey LEFT", "*-1\r\n"),
        ("LMOVE nokey m LEFT LEFT", "$-1\r\n"),
        ("RPOPLPUSH nokey m", "$-1\r\n"),
        ("LPOS nokey a", "$-1\r\n"),
        ("LINDEX nokey 0", "$-1\r\n"),
    ] {
        assert_eq!(bench.run(line), reply, "{line}");
    }
    let Bench {
        mut engine, client, ..
    } = bench;
    let mut now_ms = START_MS;
    for (line, reply) in [
        ("BLPOP nokey 0.1", "*-1\r\n"),
        ("BLMPOP 0.1 1 nokey LEFT", "*-1\r\n"),
        ("BLMOVE nokey m LEFT LEFT 0.1", "*-1\r\n"),
        ("BRPOPLPUSH nokey m 0.1", "*-1\r\n"),
    ] {
        assert_eq!(run(&mut engine, client, line), "(waits)");
        now_ms += 100;
        engine.tick(Now::from_ms(now_ms));
        let replies: Vec<Vec<u8>> = engine
            .world
            .outbox
            .drain(..)
            .map(|parcel| parcel.bytes.to_vec())
            .collect();
        assert_eq!(replies, [reply.as_bytes()], "{line}");
    }
}

#[test]
fn encodings_change_where_valkeys_do() {
    let mut bench = Bench::new();
    let encoding = |bench: &mut Bench| {
        let key = bench.engine.shard.heap.hash(b"l");
        let entry = bench.engine.shard.databases[0].get(&bench.engine.shard.heap, key, b"l");
        entry.map(|entry| super::view(entry).encoding())
    };
    bench.engine.shard.limits.list_max_listpack_size = 4;
    bench.run("RPUSH l a b c d");
    assert_eq!(encoding(&mut bench), Some("listpack"));
    bench.run("RPUSH l e");
    assert_eq!(encoding(&mut bench), Some("quicklist"));
    bench.run("LPOP l 2");
    assert_eq!(encoding(&mut bench), Some("quicklist"));
    bench.run("RPOP l");
    assert_eq!(encoding(&mut bench), Some("listpack"));
    bench.engine.shard.limits.list_max_listpack_size = -2;
    bench.run(&format!("RPUSH l {}", "x".repeat(8000)));
    assert_eq!(encoding(&mut bench), Some("listpack"));
    bench.run(&format!("LSET l 0 {}", "y".repeat(180)));
    assert_eq!(encoding(&mut bench), Some("quicklist"));
    bench.run("LTRIM l 0 -2");
    assert_eq!(encoding(&mut bench), Some("listpack"));
    bench.run(&format!("LSET l 0 {}", "y".repeat(9000)));
    assert_eq!(encoding(&mut bench), Some("quicklist"));
}

#[test]
fn events_are_told_in_order() {
    use crate::keyspace::Classes;
    let mut bench = Bench::new();
    bench.listen(Classes(Classes::LIST.0 | Classes::GENERIC.0));
    for line in [
        "RPUSH l a b",
        "LPUSHX nokey a",
        "LMOVE l m LEFT RIGHT",
        "RPOPLPUSH l m",
        "LINSERT m AFTER b c",
        "LINSERT m AFTER nosuch c",
        "LSET m 0 x",
        "LREM m 0 nosuch",
        "LREM m 1 x",
        "LTRIM m 0 0",
        "BLMPOP 0 1 m LEFT",
        "LPOP m",
        "RPUSH l a",
        "LTRIM l 1 0",
    ] {
        bench.run(line);
    }
    let events = [
        "rpush l",
        "rpush m",
        "lpop l",
        "lpush m",
        "rpop l",
        "del l",
        "linsert m",
        "lset m",
        "lrem m",
        "ltrim m",
        "lpop m",
        "del m",
        "rpush l",
        "ltrim l",
        "del l",
    ];
    assert_eq!(bench.events(), events);
}

fn any_line() -> impl Strategy<Value = String> {
    let key = || prop::sample::select(vec!["k", "l", "m"]);
    let value = || {
        prop_oneof![
            6 => prop::sample::select(vec!["a", "b", "7", "-300", "long-element"]).prop_map(str::to_string),
            1 => (60usize..700).prop_map(|n| "x".repeat(n)),
        ]
    };
    let end = || prop::sample::select(vec!["LEFT", "RIGHT"]);
    prop_oneof![
        8 => (prop::sample::select(vec!["LPUSH", "RPUSH"]), key(), prop::collection::vec(value(), 1..6))
            .prop_map(|(push, k, values)| format!("{push} {k} {}", values.join(" "))),
        2 => (prop::sample::select(vec!["LPOP", "RPOP"]), key(), 0usize..5)
            .prop_map(|(pop, k, n)| format!("{pop} {k} {n}")),
        4 => (key(), prop::sample::select(vec!["BEFORE", "AFTER"]), value(), value())
            .prop_map(|(k, at, pivot, v)| format!("LINSERT {k} {at} {pivot} {v}")),
        2 => (key(), -8i64..8, value()).prop_map(|(k, at, v)| format!("LSET {k} {at} {v}")),
        2 => (key(), -2i64..3, value()).prop_map(|(k, n, v)| format!("LREM {k} {n} {v}")),
        1 => (key(), -20i64..3, -5i64..20).prop_map(|(k, a, b)| format!("LTRIM {k} {a} {b}")),
        3 => (key(), key(), end(), end()).prop_map(|(k, to, a, b)| format!("LMOVE {k} {to} {a} {b}")),
        1 => (key(), end(), 1usize..4).prop_map(|(k, e, n)| format!("LMPOP 2 {k} m {e} COUNT {n}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn effects_make_an_equal_shard(
        lines in prop::collection::vec(any_line(), 1..150),
        fill in prop::sample::select(vec![-2i64, -1, 1, 3, 20]),
    ) {
        let mut bench = Bench::with_follower(3);
        bench.engine.shard.limits.list_max_listpack_size = fill;
        for line in &lines {
            let reply = bench.run(line);
            prop_assert!(!reply.starts_with("-ERR syntax"), "{line}: {reply}");
        }
        bench.assert_follower_equal();
    }
}

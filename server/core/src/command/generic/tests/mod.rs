//! Generic commands. The transcripts, events and encodings are what Valkey 9.1.2 answered.

mod copies;
mod walks;

use crate::engine::bench::Bench;
use crate::engine::testing::{connect, engine, run};
use crate::keyspace::Classes;

#[test]
fn replies_are_valkeys() {
    for text in [
        include_str!("keys.txt"),
        include_str!("expire.txt"),
        include_str!("sort.txt"),
    ] {
        let mut bench = Bench::with_follower(1);
        bench.transcript(text);
        bench.assert_follower_equal();
    }
}

fn all_events(bench: &mut Bench) {
    let classes = [
        Classes::GENERIC,
        Classes::LIST,
        Classes::EXPIRED,
        Classes::EVICTED,
        Classes::KEY_MISS,
        Classes::NEW,
    ];
    let all = classes.iter().fold(0, |all, class| all | class.0);
    bench.listen(Classes(all));
}

#[test]
fn events_are_valkeys() {
    let mut bench = Bench::with_follower(1);
    all_events(&mut bench);
    for (line, events) in [
        ("SET a 1", &["new a"][..]),
        ("SET b 2", &["new b"]),
        ("RENAME a b", &["new b", "rename_from a", "rename_to b"]),
        ("RENAME b b", &[]),
        ("RENAMENX b c", &["new c", "rename_from b", "rename_to c"]),
        ("COPY c d", &["new d", "copy_to d"]),
        ("COPY c d REPLACE", &["new d", "copy_to d"]),
        ("COPY c e DB 1", &["new e", "copy_to e"]),
        ("MOVE c 2", &["new c", "move_from c", "move_to c"]),
        ("DEL d nokey", &["del d"]),
        ("SET a 1", &["new a"]),
        ("UNLINK a", &["del a"]),
        ("SET a 1", &["new a"]),
        ("EXPIRE a 100", &["expire a"]),
        ("EXPIRE a 100 NX", &[]),
        ("PERSIST a", &["persist a"]),
        ("PERSIST a", &[]),
        ("EXPIRE a -1", &["expired a"]),
        ("SET a 1", &["new a"]),
        ("EXPIREAT a 1", &["expired a"]),
        ("TTL a", &["keymiss a"]),
        ("EXISTS a", &["keymiss a"]),
        ("TOUCH a", &["keymiss a"]),
        ("TYPE a", &["keymiss a"]),
        ("COPY a b", &["keymiss a"]),
        ("SORT a", &["keymiss a"]),
        ("OBJECT ENCODING a", &[]),
        ("EXPIRE a 10", &[]),
        ("PERSIST a", &[]),
        ("RENAME a b", &[]),
        ("MOVE a 1", &[]),
        ("RPUSH l 2 1", &["new l", "rpush l"]),
        ("SORT l STORE s", &["new s", "sortstore s"]),
        ("SORT nokey STORE s", &["keymiss nokey", "del s"]),
        ("SWAPDB 0 1", &[]),
        ("FLUSHALL", &[]),
    ] {
        bench.run(line);
        assert_eq!(bench.events(), events, "events of {line}");
    }
}

#[test]
fn a_key_past_its_time_goes_with_an_event_and_is_counted() {
    let mut bench = Bench::with_follower(1);
    all_events(&mut bench);
    for (line, events) in [
        ("GET k", &["expired k", "keymiss k"][..]),
        ("DEL k", &["expired k"]),
        ("EXPIRE k 10", &["expired k"]),
        ("RENAME k l", &["expired k"]),
        ("OBJECT ENCODING k", &["expired k"]),
        ("SCAN 0", &["expired k"]),
    ] {
        bench.run("SET k v PX 10");
        bench.events();
        bench.pass_ms(10);
        let before = bench.engine.shard.stats.expired;
        bench.run(line);
        assert_eq!(bench.events(), events, "{line}");
        assert_eq!(bench.engine.shard.stats.expired, before + 1, "{line}");
        bench.assert_follower_equal();
    }
    bench.run("SET k v PX 10");
    bench.pass_ms(10);
    let now = bench.now();
    bench.events();
    bench.engine.tick(now);
    assert_eq!(bench.events(), ["expired k"], "nobody asked for it");
    assert_eq!(bench.run("DBSIZE"), ":0\r\n");
    bench.assert_follower_equal();
}

/// Answers of Valkey 9.1.2: how long a value may be to stand beside its key, by the key's length.
#[test]
fn short_strings_stand_beside_their_keys() {
    let mut bench = Bench::new();
    for (key, longest, with_expiry) in [
        (1, 112, 104),
        (10, 103, 95),
        (30, 83, 75),
        (50, 61, 53),
        (100, 11, 3),
    ] {
        let name = "k".repeat(key);
        for (len, option, name_of_form) in [
            (longest, "", "embstr"),
            (longest + 1, "", "raw"),
            (with_expiry, "EX 100", "embstr"),
            (with_expiry + 1, "EX 100", "raw"),
        ] {
            bench.run(&format!("SET {name} {} {option}", "a".repeat(len)));
            let answer = bench.run(&format!("OBJECT ENCODING {name}"));
            assert!(answer.contains(name_of_form), "{key} {len} {option}: {answer}");
        }
    }
}

#[test]
fn patterns_of_sort_are_for_those_who_may_read_all() {
    let mut engine = engine();
    let (admin, client) = (connect(&mut engine), connect(&mut engine));
    run(&mut engine, admin, "ACL SETUSER u on nopass +@all ~c ~w_*");
    run(&mut engine, client, "AUTH u x");
    run(&mut engine, client, "RPUSH c 2 1");
    for (line, answer) in [
        ("SORT c", "*2\r\n$1\r\n1\r\n$1\r\n2\r\n"),
        ("SORT c BY nosort", "*2\r\n$1\r\n2\r\n$1\r\n1\r\n"),
        (
            "SORT c BY w_*",
            "-ERR BY option of SORT denied due to insufficient ACL permissions.\r\n",
        ),
        (
            "SORT_RO c GET w_*",
            "-ERR GET option of SORT denied due to insufficient ACL permissions.\r\n",
        ),
        ("SORT c FOO BY w_*", "-ERR syntax error\r\n"),
    ] {
        assert_eq!(run(&mut engine, client, line), answer, "{line}");
    }
    run(&mut engine, admin, "ACL SETUSER u %R~*");
    assert!(run(&mut engine, client, "SORT c BY w_* GET #").starts_with("*2\r\n"));
}

#[test]
fn object_tells_idle_time_or_frequency_but_not_both() {
    let mut bench = Bench::new();
    bench.run("SET k v");
    bench.pass_ms(7_000);
    assert_eq!(bench.run("OBJECT IDLETIME k"), ":7\r\n");
    assert!(
        bench
            .run("OBJECT FREQ k")
            .starts_with("-ERR An LFU maxmemory policy is not selected, ")
    );
    bench.run("TTL k");
    assert_eq!(
        bench.run("OBJECT IDLETIME k"),
        ":7\r\n",
        "TTL does not count as use"
    );
    bench.run("TOUCH k");
    assert_eq!(bench.run("OBJECT IDLETIME k"), ":0\r\n");
    bench
        .engine
        .shard
        .set_eviction_policy(crate::keyspace::evict::Policy::AllKeysLfu);
    bench.run("SET k v");
    bench.run("SET new v");
    assert_eq!(
        bench.run("OBJECT FREQ new"),
        ":5\r\n",
        "a new key is not the first to go"
    );
    assert!(
        bench
            .run("OBJECT IDLETIME k")
            .starts_with("-ERR An LFU maxmemory policy is selected, ")
    );
}

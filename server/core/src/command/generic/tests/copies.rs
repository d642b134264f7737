//! Every type under another name, in another database, and copied, with a follower that must agree.

use crate::engine::bench::{Bench, short};

/// A command that makes `{}`, one that reads all of it, and one that changes it.
const KINDS: [(&str, &str, &str); 9] = [
    ("SET {} v EX 100", "GET {}", "SET {} other"),
    ("SADD {} 3 1 2", "SORT {}", "SADD {} 7"),
    ("SADD {} a b", "SORT {} ALPHA", "SREM {} a"),
    ("RPUSH {} a b c", "LRANGE {} 0 -1", "LPUSH {} x"),
    ("ZADD {} 1 a 2 b", "ZRANGE {} 0 -1 WITHSCORES", "ZADD {} 9 a"),
    ("HSET {} f v g w", "HMGET {} f g h", "HDEL {} f"),
    ("HSETEX {} EX 50 FIELDS 1 f v", "HPTTL {} FIELDS 1 f", "HDEL {} f"),
    ("BIG-HASH {}", "HLEN {}", "HSET {} 1 2"),
    ("BIG-SET {}", "SCARD {}", "SADD {} x"),
];

fn run(bench: &mut Bench, line: &str, key: &str) -> String {
    let line = line.replace("{}", key);
    if let Some(key) = line.strip_prefix("BIG-") {
        let (family, key) = key.split_once(' ').expect("a key");
        let elements: Vec<String> = (0..1000).map(|nth| format!("element:{nth}")).collect();
        let name = if family == "HASH" { "HSET" } else { "SADD" };
        return bench.run(&format!("{name} {key} {}", elements.join(" ")));
    }
    short(bench.run(&line).as_bytes())
}

fn make_large(bench: &mut Bench) {
    bench.engine.shard.limits.zset_max_listpack_entries = 1;
    bench.engine.shard.limits.list_max_listpack_size = 2;
    bench.engine.shard.limits.set_max_listpack_entries = 1;
    bench.engine.shard.limits.hash_max_listpack_entries = 1;
}

#[test]
fn a_copy_is_equal_and_a_thing_of_its_own() {
    for large in [false, true] {
        for (make, read, change) in KINDS {
            let mut bench = Bench::with_follower(1);
            if large {
                make_large(&mut bench);
            }
            run(&mut bench, make, "k");
            let content = run(&mut bench, read, "k");
            let form = bench.run("OBJECT ENCODING k");
            assert_eq!(bench.run("COPY k copy"), ":1\r\n");
            assert_eq!(bench.run("COPY k k DB 3"), ":1\r\n");
            assert_eq!(run(&mut bench, read, "copy"), content, "{make}");
            assert_eq!(bench.run("OBJECT ENCODING copy"), form, "{make}");
            assert_eq!(bench.run("TTL copy"), bench.run("TTL k"), "{make}");
            run(&mut bench, change, "copy");
            assert_eq!(
                run(&mut bench, read, "k"),
                content,
                "{make}: the first stays as it was"
            );
            bench.assert_follower_equal();
            bench.run("SWAPDB 0 3");
            assert_eq!(run(&mut bench, read, "k"), content, "{make}");
            bench.run("FLUSHALL");
            bench.assert_follower_equal();
            while bench.engine.shard.free_slice(100) {}
            assert_eq!(
                bench.engine.shard.heap.live_bytes(),
                0,
                "{make}: all memory came back"
            );
        }
    }
}

#[test]
fn what_moves_stays_what_it_is() {
    for large in [false, true] {
        for (make, read, change) in KINDS {
            let mut bench = Bench::with_follower(1);
            if large {
                make_large(&mut bench);
            }
            run(&mut bench, make, "k");
            run(&mut bench, make, "in:the:way");
            let (content, ttl) = (run(&mut bench, read, "k"), bench.run("TTL k"));
            bench.run("RENAME k in:the:way");
            assert_eq!(run(&mut bench, read, "in:the:way"), content, "{make}");
            assert_eq!(bench.run("EXISTS k"), ":0\r\n");
            bench.run("MOVE in:the:way 9");
            bench.run("SWAPDB 9 0");
            assert_eq!(run(&mut bench, read, "in:the:way"), content, "{make}");
            assert_eq!(bench.run("TTL in:the:way"), ttl, "{make}");
            run(&mut bench, change, "in:the:way");
            bench.assert_follower_equal();
        }
    }
}

#[test]
fn fields_with_a_time_go_wherever_their_hash_is() {
    let mut bench = Bench::with_follower(1);
    for (nth, way) in ["RENAME h to", "COPY h to", "MOVE h 1", "SWAPDB 0 1"]
        .iter()
        .enumerate()
    {
        bench.run("FLUSHALL");
        bench.run("HSETEX h PX 50 FIELDS 1 f v");
        bench.run("HSET h stays v");
        bench.run(way);
        bench.pass_ms(200);
        let before = bench.engine.shard.stats.expired_fields;
        let now = bench.now();
        bench.engine.tick(now);
        let gone = bench.engine.shard.stats.expired_fields - before;
        assert_eq!(gone, if nth == 1 { 2 } else { 1 }, "{way}");
        bench.assert_follower_equal();
    }
}

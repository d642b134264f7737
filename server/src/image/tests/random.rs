//! Random commands, windows and reopenings. Core holds all commands to a model of the image; this holds
//! RocksDB to what that model takes for granted: merges, ranges, files over files, compaction.

use super::history::{History, SHARD, Scratch};
use crate::image::Image;

const COMMANDS: usize = 6_000;

/// `%` is one of some keys or members, `#` a number.
const LINES: [&str; 36] = [
    "SET s% v#",
    "SET s% v# EX 100",
    "APPEND big% abc#",
    "APPEND big% abc#",
    "SETRANGE big% 400 xyz#",
    "EXPIRE big% 1#",
    "EXPIRE s% 1#",
    "PERSIST big%",
    "PEXPIREAT h% 1800000000000",
    "DEL big% s%",
    "GETEX big% PX 5#",
    "HSET h% f% v# f% w#",
    "HSET h% f% v#",
    "HPEXPIRE h% 20000 FIELDS 1 f%",
    "HDEL h% f% f% f%",
    "DEL h%",
    "SADD m% a% b% 12#",
    "SREM m% a% b% a%",
    "SPOP m% 2",
    "SUNIONSTORE m% m% m%",
    "ZADD z% # a% # b%",
    "ZREM z% a% b%",
    "ZUNIONSTORE z% 2 z% z%",
    "RPUSH l% v# w#",
    "LPUSH l% v#",
    "LPOP l%",
    "RPOP l% 3",
    "LINSERT l% BEFORE v# in#",
    "LSET l% 0 v#",
    "RENAME l% l%",
    "RENAME h% h%",
    "SET h% string",
    "COPY z% z% REPLACE",
    "IDEM BEGIN i% f OWNER o LEASE 50 TTL 900",
    "LIMIT t% RATE 5 PER 1000",
    "MOVE h% 1",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        ruvio_core::keyspace::Shard::mix(&mut self.0) % bound
    }

    fn line(&mut self) -> String {
        // Whole databases go now and then only, or nothing would ever grow.
        match self.below(700) {
            0 => return "FLUSHDB".into(),
            1 => return "SWAPDB 0 1".into(),
            2 => return format!("SELECT {}", self.below(2)),
            _ => {}
        }
        let line = LINES[self.below(LINES.len() as u64) as usize];
        let mut out = String::new();
        for c in line.chars() {
            match c {
                '%' => out.push_str(&self.below(9).to_string()),
                '#' => out.push_str(&self.below(60).to_string()),
                c => out.push(c),
            }
        }
        out
    }
}

#[test]
fn image_and_log_make_the_shard_that_is_in_memory() {
    for seed in 1..=3 {
        let scratch = Scratch::new();
        let mut image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
        let mut random = Random(seed);
        let mut history = History::new();
        for key in 0..9 {
            history.run(&format!("SET big{key} {}", "x".repeat(300)));
        }
        let mut merges = 0;
        for _ in 0..COMMANDS {
            history.run(&random.line());
            history.pass_ms(random.below(30));
            if random.below(4) > 0 {
                history.end_entry();
            }
            if random.below(200) == 0 {
                history.end_entry();
                let held = image
                    .meta(SHARD)
                    .expect("readable")
                    .map_or(0, |meta| meta.at.index);
                let to = history.last() - random.below(2) * random.below(history.last() - held);
                merges += history.advance(&image, to).counts.merges;
                match random.below(6) {
                    0 => image.compact(SHARD).expect("a compaction"),
                    1 => {
                        drop(image);
                        image = Image::open(&scratch.0, &[SHARD]).expect("opens again");
                    }
                    _ => {}
                }
                history.assert_started(&image);
            }
        }
        assert!(merges > 10, "{merges} merges");
        history.end_entry();
        history.advance(&image, history.last());
        image.compact(SHARD).expect("a compaction");
        history.assert_started(&image);
    }
}

//! What particular histories come to: how many rows are written, and which.

use super::model::{Log, Rows};
use crate::engine::bench::Bench;
use crate::image::window::{Counts, WindowError, gather};
use crate::image::{LoadError, Unreadable};
use crate::keyspace::compare::assert_equal;

const SEED: u64 = 9;

/// A bench, its log and its image.
struct History {
    bench: Bench,
    log: Log,
    rows: Rows,
}

impl History {
    fn new() -> Self {
        let mut bench = Bench::with_seed(SEED);
        bench.engine.shard.effects.switch(true);
        Self {
            bench,
            log: Log::default(),
            rows: Rows::default(),
        }
    }

    /// Runs commands, each an entry.
    fn run(&mut self, lines: &[&str]) -> &mut Self {
        for line in lines {
            let reply = self.bench.run(line);
            assert!(!reply.starts_with('-'), "{line}: {reply}");
            self.log.append(self.bench.engine.shard.effects.bytes());
            self.bench.engine.shard.effects.clear();
        }
        self
    }

    /// Puts, merges, deletes and ranges of the window up to here. The image then makes the same shard.
    #[track_caller]
    fn window(&mut self) -> (u64, u64, u64, u64) {
        let counts: Counts = self.rows.advance(&self.log, SEED, self.log.last(), 64 << 20);
        assert_equal(&self.rows.start(&self.log, SEED), &self.bench.engine.shard);
        (counts.puts, counts.merges, counts.deletes, counts.ranges)
    }
}

#[test]
fn what_comes_and_goes_within_a_window_writes_nothing() {
    let mut history = History::new();
    history.run(&[
        "SET k v",
        "DEL k",
        "RPUSH q a b c",
        "LPOP q 3",
        "SADD s 1 x",
        "DEL s",
    ]);
    assert_eq!(history.window(), (0, 0, 0, 0));
    history.run(&[
        "HSET h f 1 g 2",
        "HDEL h f",
        "ZADD z 1 a 2 b",
        "ZREM z a",
        "EXPIRE h 10",
    ]);
    assert_eq!(history.window(), (4, 0, 0, 0), "two headers and an element each");
    history.run(&["HDEL h g", "ZADD z 5 b", "SET k v", "EXPIRE k 5", "DEL k"]);
    assert_eq!(
        history.window(),
        (1, 0, 1, 1),
        "a score; a header and its elements go"
    );
}

#[test]
fn a_queue_that_goes_on_writes_what_is_left_of_it() {
    let mut history = History::new();
    history.run(&["RPUSH q first", "RPUSH keep x"]);
    history.window();
    for nth in 0..100 {
        history.run(&[&format!("RPUSH q {nth}"), "LPOP q"]);
    }
    assert_eq!(history.window(), (1, 0, 1, 0));
    assert_eq!(history.rows.elements(), 2);
}

#[test]
fn one_change_of_a_large_collection_is_one_row() {
    let mut history = History::new();
    for nth in 0..500 {
        history.run(&[&format!("HSET h f{nth} {nth}"), &format!("RPUSH l {nth}")]);
    }
    history.window();
    history.run(&["HSET h f7 new"]);
    assert_eq!(history.window(), (1, 0, 0, 0));
    history.run(&[
        "RPUSH l new",
        "LINSERT l BEFORE 250 in",
        "LINSERT l BEFORE 250 between",
    ]);
    assert_eq!(history.window(), (3, 0, 0, 0));
    history.run(&["RENAME h other"]);
    assert_eq!(
        history.window(),
        (1, 0, 1, 0),
        "a header, wherever its elements are"
    );
    history.run(&["SET other string"]);
    assert_eq!(history.window(), (1, 0, 0, 1), "its elements go with it");
}

#[test]
fn parts_of_strings_and_expiries_find_their_rows() {
    let long = "x".repeat(300);
    let mut history = History::new();
    history.run(&[&format!("SET k {long}"), "SET short v", "SET there v"]);
    history.window();
    history.run(&[
        "APPEND k yy",
        "SETRANGE k 3 abc",
        "EXPIRE k 100",
        "EXPIRE k 200",
        "SETBIT k 7 1",
    ]);
    history.run(&[
        "EXPIRE there 9",
        "PERSIST there",
        "EXPIRE short 3",
        "APPEND short w",
    ]);
    assert_eq!(history.window(), (1, 2, 0, 0), "what is short is told whole");
    history.run(&[&format!("SET k {long}"), "APPEND k z", "EXPIRE k 7"]);
    assert_eq!(history.window(), (1, 0, 0, 0), "joined with the whole row");
}

#[test]
fn databases_are_emptied_and_exchanged() {
    let mut history = History::new();
    history.run(&[
        "SET a 0",
        "HSET h f v",
        "SELECT 1",
        "SET a 1",
        "SADD s m",
        "SWAPDB 0 1",
    ]);
    assert_eq!(history.window(), (6, 0, 0, 0));
    history.run(&["SET b in-what-was-0", "SWAPDB 0 1", "FLUSHDB", "SET c 1"]);
    assert_eq!(history.window(), (2, 0, 0, 2));
    history.run(&[
        "SELECT 0",
        "FLUSHALL",
        "SET a again",
        "FLUSHALL",
        "SET last one",
        "MOVE last 3",
    ]);
    assert_eq!(history.window(), (1, 0, 0, 4));
    assert_eq!(history.rows.0.len(), 2, "the meta row and one key");
}

#[test]
fn a_moved_collection_is_one_of_the_other_database() {
    let mut history = History::new();
    history.run(&["HSET h f v", "EXPIRE h 100", "HSET stay f v"]);
    history.window();
    history.run(&["MOVE h 2", "FLUSHDB"]);
    history.window();
    assert_eq!(history.rows.elements(), 1);
}

#[test]
fn the_log_has_no_gaps_and_holds_effects() {
    let mut history = History::new();
    history.run(&["SET a 1", "SET b 2", "SET c 3"]);
    let meta = history.rows.meta(SEED);
    let result = gather(&mut history.log.tail(1, 3), &meta);
    assert!(matches!(result, Err(WindowError::Gap { .. })));
    history.log.append(&[0x3F, 0, 1, b'x']);
    let result = gather(&mut history.log.tail(0, 4), &meta);
    assert!(matches!(result, Err(WindowError::Entry { at, .. }) if at.index == 4));
}

#[test]
fn rows_that_are_missing_or_left_over_are_noticed() {
    let mut history = History::new();
    history.run(&["SET a 1", "HSET h f v", "SADD s m"]);
    history.window();
    let rows: Vec<Vec<u8>> = history.rows.0.keys().cloned().collect();
    assert_eq!(rows.len(), 6);
    for row in &rows[1..] {
        let mut damaged = history.rows.clone();
        damaged.0.remove(row);
        assert!(damaged.load(SEED).is_err(), "without {row:?}");
    }
    for (at, byte) in rows
        .iter()
        .flat_map(|row| (0..row.len()).map(move |byte| (row, byte)))
    {
        if rows[0] == *at {
            continue;
        }
        let mut damaged = history.rows.clone();
        let value = damaged.0.remove(at).expect("a row");
        let mut key = at.clone();
        key[byte] ^= 1;
        damaged.0.insert(key, value);
        // Another field or member, or another place of it, is for the checksums of files to notice.
        let is_of_element = at[0] == 2 && byte >= 13;
        assert!(
            damaged.load(SEED).is_err() || is_of_element,
            "byte {byte} of {at:?}"
        );
    }
    let mut orphan = history.rows.clone();
    orphan.0.insert(
        rows[1].clone(),
        crate::image::merge::merge_or_orphan(None, [].into_iter()),
    );
    assert_eq!(
        orphan.load(SEED).err(),
        Some(LoadError::Unreadable(Unreadable::Orphan))
    );
    assert_eq!(history.rows.load(SEED + 1).err(), Some(LoadError::OtherSeed));
}

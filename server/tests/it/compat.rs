//! Logs that earlier versions wrote are read by this one. Each folder of `tests/compat` has the files of a
//! version and what is in them.
//!
//! `UPDATE=1` writes the folder of the present format where it is missing; it is never written again.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ruvio_core::effect::{Effect, Effects};
use ruvio_server::wal::disk::{Disk, Folder};
use ruvio_server::wal::{
    Bounds, ClusterId, LogId, LogIndex, NodeId, Recovery, Seating, Settings, ShardId, SyncMode, Term, Vote,
    Wake, dump,
};

use crate::threads::Scratch;

const CLUSTER: ClusterId = ClusterId(*b"ruvio-compat-set");

struct Silent;

impl Wake for Silent {
    fn wake(&self) {}
}

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/compat")
        .join(version)
}

/// Every kind of record, over several segments, the first of which are gone.
fn write_log(path: &Path) {
    let recovery = Recovery::read(Arc::new(Folder::new(path)), CLUSTER).expect("the folder is empty");
    let settings = Settings {
        sync: SyncMode::Always,
        segment_bytes: 8 << 10,
        ahead_bytes: 4 << 10,
        reserve_bytes: 4 << 10,
        bounds: Bounds {
            records: 1000,
            bytes: 1 << 20,
        },
    };
    let seating = Seating {
        shards: vec![ShardId(0), ShardId(7)],
        wake: Arc::new(Silent),
    };
    let wal = recovery.start(&settings, vec![seating]).expect("it starts");
    let lane = wal.lane(0);
    let (zero, seven) = (ShardId(0), ShardId(7));
    let mut effects = Effects::default();
    let wait = |index| {
        while lane.progress(zero).expect("it is ours").durable.0 < LogIndex(index) {
            std::thread::yield_now();
        }
    };
    for index in 1..=40u64 {
        effects.clear();
        let key = format!("key-{index}");
        let put = Effect::Put {
            key: key.as_bytes(),
            kind: 0,
            value: &[b'v'; 200],
            expire_at: (index % 2 == 0).then_some(1_700_000_000_000 + index),
            created: true,
        };
        effects.push((index % 3) as u16, &put);
        lane.append(zero, LogId::new(1, 0, index), effects.bytes().to_vec())
            .expect("there is room");
        wait(index);
        if index == 20 {
            let membership = b"a membership".to_vec();
            lane.save_membership(seven, LogId::new(5, 2, 9), membership)
                .expect("there is room");
            let vote = Vote {
                term: Term(6),
                node: NodeId(2),
                committed: true,
            };
            lane.save_vote(seven, vote).expect("there is room");
            lane.append_raft(seven, LogId::new(5, 2, 1), b"blank".to_vec())
                .expect("there is room");
            lane.append_raft(seven, LogId::new(5, 2, 2), b"void".to_vec())
                .expect("there is room");
            lane.truncate(seven, LogIndex(2)).expect("there is room");
            lane.purge(zero, LogId::new(1, 0, 5)).expect("there is room");
        }
    }
    lane.save_committed(zero, LogId::new(1, 0, 39))
        .expect("there is room");
    wal.stop().expect("nothing failed");
}

/// All that a log holds, as text.
fn told(path: &Path) -> String {
    let disk: Arc<dyn Disk> = Arc::new(Folder::read_only(path));
    let mut printed = Vec::new();
    dump(&*disk, &mut printed).expect("it is readable");
    let mut text = String::from_utf8(printed).expect("a dump is text");
    let recovery = Recovery::read(disk, CLUSTER).expect("the log is in order");
    for (shard, state) in recovery.shards() {
        writeln!(text, "shard {}: {:?} {state:?}", shard.0, recovery.range(*shard)).expect("text grows");
    }
    let mut scan = recovery.entries();
    while let Some(entry) = scan.next_entry().expect("it is readable") {
        let bytes = entry.payload.escape_ascii();
        writeln!(text, "{:?} {} {} {bytes}", entry.kind, entry.shard.0, entry.id).expect("text grows");
    }
    text
}

#[test]
fn the_log_of_version_1_is_read() {
    let (log, expected) = (folder("v1").join("wal"), folder("v1").join("expected.txt"));
    if !log.exists() && std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(&log).expect("a folder");
        write_log(&log);
        // It holds nothing.
        let _ = fs::remove_file(log.join("reserve"));
        fs::write(&expected, told(&log)).expect("it is writable");
    }
    let expected = fs::read_to_string(&expected).expect("it is kept");
    assert!(expected.lines().count() > 100);
    let found = told(&log);
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", at + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

/// A log of an old version is not only read but gone on with.
#[test]
fn the_log_of_version_1_is_gone_on_with() {
    let scratch = Scratch::new("compat");
    for entry in fs::read_dir(folder("v1").join("wal")).expect("it is kept") {
        let from = entry.expect("it is readable").path();
        let name = from.file_name().expect("a file has a name");
        fs::copy(&from, scratch.0.join(name)).expect("it is writable");
    }
    let before = Recovery::read(Arc::new(Folder::new(&scratch.0)), CLUSTER).expect("it is in order");
    let last = before.shards()[&ShardId(0)].last;
    let seating = Seating {
        shards: vec![ShardId(0), ShardId(7)],
        wake: Arc::new(Silent),
    };
    let wal = before
        .start(&Settings::new(SyncMode::Always, 1), vec![seating])
        .expect("it starts");
    let id = LogId::new(2, 0, last.0 + 1);
    wal.lane(0)
        .append(ShardId(0), id, b"more".to_vec())
        .expect("there is room");
    wal.stop().expect("nothing failed");
    let after = Recovery::read(Arc::new(Folder::new(&scratch.0)), CLUSTER).expect("it is in order");
    assert_eq!(after.shards()[&ShardId(0)].last, id.index);
    assert_eq!(after.shards()[&ShardId(7)].vote.term, Term(6));
}

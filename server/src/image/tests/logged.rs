//! The image of a log on a disk: two shards in one log of small segments, read while it grows, purged up to
//! what the image holds.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::history::{History, SEED, SHARD, Scratch};
use crate::image::{Image, Tail};
use crate::wal::disk::Folder;
use crate::wal::{
    ClusterId, Lane, LogId, LogIndex, Recovery, Seating, Settings, ShardId, SyncMode, Ticket, Wake, Wal,
};

const OTHER: ShardId = ShardId(9);
const SEGMENT_BYTES: u64 = 64 << 10;
const ENTRIES: u64 = 1500;

struct Silent;

impl Wake for Silent {
    fn wake(&self) {}
}

struct Node {
    folder: PathBuf,
    wal: Wal,
    lane: Arc<Lane>,
}

impl Node {
    fn start(scratch: &Scratch) -> Self {
        let folder = scratch.0.join("wal");
        fs::create_dir_all(&folder).expect("a folder");
        let recovery = Recovery::read(Arc::new(Folder::new(folder.clone())), ClusterId([7; 16]));
        let mut settings = Settings::new(SyncMode::Always, 1);
        settings.segment_bytes = SEGMENT_BYTES;
        settings.ahead_bytes = 16 << 10;
        let seating = Seating {
            shards: vec![SHARD, OTHER],
            wake: Arc::new(Silent),
        };
        let started = recovery.expect("a new log").start(&settings, vec![seating]);
        let wal = started.expect("a log at work");
        let lane = wal.lane(0);
        Self { folder, wal, lane }
    }

    fn append(&self, shard: ShardId, index: u64, payload: &[u8]) -> Ticket {
        let appended = self.lane.append(shard, LogId::new(1, 1, index), payload.to_vec());
        appended.expect("room in the lane")
    }

    fn wait(&self, ticket: Ticket) {
        let started = Instant::now();
        while self.lane.durable().0 < ticket {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "it never became durable"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn tail(&self, image: &Image, to: u64) -> Tail {
        let held = image
            .meta(SHARD)
            .expect("readable")
            .map_or(0, |meta| meta.at.index);
        let scan = self.wal.entries(SHARD, LogIndex(held + 1)).expect("in the log");
        Tail::new(scan, self.folder.clone(), LogIndex(to))
    }

    fn segments(&self) -> usize {
        let (head, tail) = self.wal.extent();
        (tail.segment - head.segment) as usize + 1
    }
}

#[test]
fn an_image_is_made_of_the_log_and_the_log_purged_to_it() {
    let scratch = Scratch::new();
    let node = Node::start(&scratch);
    let image = Image::open(&scratch.0.join("image"), &[SHARD, OTHER]).expect("a new image");
    let mut history = History::new();
    let mut last = Ticket(0);
    for index in 1..=ENTRIES {
        history.run(&format!(
            "SET k{} {}",
            index % 97,
            "v".repeat(index as usize % 200)
        ));
        history.run(&format!("HSET h{} f{} v{index}", index % 5, index % 61));
        history.run(&format!("APPEND long {index}"));
        last = node.append(SHARD, index, history.engine.shard.effects.bytes());
        history.end_entry();
        // Of another shard's entries nothing comes into this one's image.
        node.append(OTHER, index, b"not effects");
        if index % 400 == 0 {
            node.wait(last);
            let to = index - 7;
            let advanced = image
                .advance(SHARD, SEED, &mut node.tail(&image, to))
                .expect("a run");
            assert_eq!(advanced.meta.at.index, to, "nothing that is not committed");
            assert_eq!(advanced.meta.at.term, 1);
            history.assert_started(&image);
        }
    }
    node.wait(last);
    let before = node.segments();
    assert!(before > 4, "{before} segments");
    let held = image
        .advance(SHARD, SEED, &mut node.tail(&image, ENTRIES))
        .expect("a run");
    assert_eq!(held.meta.at.index, ENTRIES);
    let purge = |shard| node.lane.purge(shard, LogId::new(1, 1, ENTRIES)).expect("room");
    purge(OTHER);
    node.wait(purge(SHARD));
    history.assert_started(&image);
    let ended = image
        .advance(SHARD, SEED, &mut node.tail(&image, ENTRIES))
        .expect("a run");
    assert_eq!(ended.counts.entries, 0);
    node.wal.stop().expect("a clean end");
}

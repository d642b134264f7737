//! The log on a real disk, with its threads, and several owners at once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use ruvio_server::wal::disk::Folder;
use ruvio_server::wal::{
    Bounds, ClusterId, Kind, Lane, LogId, LogIndex, Position, Recovery, Refused, Room, Seating, Settings,
    ShardId, SyncMode, Wake, Wal, Why,
};

const CLUSTER: ClusterId = ClusterId([4; 16]);

/// A folder that goes with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ruvio-wal-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind it harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Wakes a thread that waits for the log.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
    count: AtomicU64,
}

impl Bell {
    fn wait(&self) {
        let rung = self.rung.lock().expect("nobody panicked");
        let (mut rung, timeout) = self
            .changed
            .wait_timeout_while(rung, Duration::from_secs(30), |rung| !*rung)
            .expect("nobody panicked");
        assert!(!timeout.timed_out(), "the log wakes its owners");
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
        *self.rung.lock().expect("nobody panicked") = true;
        self.changed.notify_all();
    }
}

fn settings(sync: SyncMode) -> Settings {
    Settings {
        sync,
        segment_bytes: 256 << 10,
        ahead_bytes: 32 << 10,
        reserve_bytes: 64 << 10,
        bounds: Bounds {
            records: 64,
            bytes: 64 << 10,
        },
    }
}

fn start(scratch: &Scratch, sync: SyncMode, lanes: u16) -> (Wal, Vec<Arc<Bell>>) {
    let disk = Arc::new(Folder::new(&scratch.0));
    let recovery = Recovery::read(disk, CLUSTER).expect("the log is in order");
    let bells: Vec<Arc<Bell>> = (0..lanes).map(|_| Arc::default()).collect();
    let seatings = bells.iter().enumerate().map(|(lane, bell)| Seating {
        shards: vec![ShardId(lane as u16)],
        wake: Arc::clone(bell) as Arc<dyn Wake>,
    });
    let wal = recovery
        .start(&settings(sync), seatings.collect())
        .expect("it starts");
    (wal, bells)
}

fn payload(lane: &Lane, shard: u16, index: u64) -> Vec<u8> {
    let mut payload = lane.buffer();
    payload.extend_from_slice(format!("{shard}/{index}").as_bytes());
    payload.resize(20 + (index as usize * 37) % 3000, b'.');
    payload
}

/// Hands over entries as fast as the lane takes them, until all are durable.
fn own(lane: &Lane, bell: &Bell, shard: u16, count: u64) {
    for index in 1..=count {
        let mut entry = payload(lane, shard, index);
        while let Err(Refused { why, payload }) = lane.append(ShardId(shard), LogId::new(1, 1, index), entry)
        {
            assert_eq!(why, Why::Full);
            entry = payload;
            bell.wait();
        }
        if index % 100 == 0 {
            lane.purge(ShardId(shard), LogId::new(1, 1, index - 50))
                .map(drop)
                .unwrap_or_else(|refused| {
                    assert_eq!(refused.why, Why::Full);
                });
        }
    }
    let durable = || {
        lane.progress(ShardId(shard))
            .expect("the shard is ours")
            .durable
            .0
    };
    while durable() < LogIndex(count) {
        bell.wait();
    }
}

#[test]
fn owners_share_a_log_and_find_their_entries_again() {
    for sync in [SyncMode::Always, SyncMode::EverySecond] {
        let scratch = Scratch::new(&format!("owners-{sync:?}"));
        let (wal, bells) = start(&scratch, sync, 3);
        std::thread::scope(|scope| {
            for (shard, bell) in bells.iter().enumerate() {
                let lane = wal.lane(shard);
                scope.spawn(move || own(&lane, bell, shard as u16, 400));
            }
        });
        assert_eq!(wal.room(), Room::Open);
        let counts = wal.counts();
        assert_eq!(counts.entries, 1200, "{counts:?}");
        assert!(counts.syncs <= counts.writes, "{counts:?}");
        wait_for_retired(&wal);
        let mut scan = wal.scan(Position::default());
        let mut found = 0;
        while let Some(entry) = scan.next_entry().expect("it is readable") {
            let lane = wal.lane(usize::from(entry.shard.0));
            assert_eq!(entry.payload, payload(&lane, entry.shard.0, entry.id.index.0));
            found += 1;
        }
        drop(scan);
        let one = wal.entries(ShardId(1), LogIndex(390)).expect("they are there");
        assert_eq!(count(one), 11);
        let id = wal.id_of(ShardId(1), LogIndex(390)).expect("it is readable");
        assert_eq!(id, Some(LogId::new(1, 1, 390)));
        assert!(
            wal.id_of(ShardId(1), LogIndex(401))
                .expect("it is readable")
                .is_none()
        );
        assert!(wal.id_of(ShardId(1), LogIndex(1)).is_err(), "it was purged");
        wal.stop().expect("nothing failed");

        let recovery = Recovery::read(Arc::new(Folder::new(&scratch.0)), CLUSTER).expect("it is in order");
        assert_eq!(recovery.torn(), None, "it was closed");
        assert_eq!(count(recovery.entries()), found);
        for shard in 0..3 {
            let last = recovery.range(ShardId(shard)).map(|(_, last)| last);
            assert_eq!(last, Some(LogIndex(400)));
        }
    }
}

/// Purged segments go some time after their purge is durable.
fn wait_for_retired(wal: &Wal) {
    let started = Instant::now();
    while wal.extent().0.segment == 1 || wal.counts().recycled + wal.counts().deleted == 0 {
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", wal.counts());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn count(mut scan: ruvio_server::wal::Scan) -> usize {
    let mut count = 0;
    while let Some(entry) = scan.next_entry().expect("it is readable") {
        assert_eq!(entry.kind, Kind::Entry);
        count += 1;
    }
    count
}

/// A lone write is not held back for others, and in `everysec` its sync comes by itself.
#[test]
fn nothing_waits_for_a_timer_but_the_sync_of_every_second() {
    let scratch = Scratch::new("alone");
    let (wal, bells) = start(&scratch, SyncMode::EverySecond, 1);
    let lane = wal.lane(0);
    let started = Instant::now();
    own(&lane, &bells[0], 0, 1);
    let took = started.elapsed();
    assert!(took > Duration::from_millis(500), "durable after {took:?}");
    assert!(
        bells[0].count.load(Ordering::Relaxed) >= 2,
        "told when written, and when durable"
    );
    wal.stop().expect("nothing failed");
    let after = lane.append(ShardId(0), LogId::new(1, 1, 2), vec![]);
    assert_eq!(after.map_err(|refused| refused.why), Err(Why::Ended));
}

/// An owner whose bell breaks the thread that rings it.
struct Broken;

impl Wake for Broken {
    fn wake(&self) {
        assert!(std::thread::panicking(), "the bell is broken");
    }
}

#[test]
fn a_thread_that_panics_ends_the_log() {
    let scratch = Scratch::new("panics");
    let recovery = Recovery::read(Arc::new(Folder::new(&scratch.0)), CLUSTER).expect("it is empty");
    let seating = Seating {
        shards: vec![ShardId(0)],
        wake: Arc::new(Broken),
    };
    let wal = recovery
        .start(&settings(SyncMode::Always), vec![seating])
        .expect("it starts");
    let lane = wal.lane(0);
    lane.append(ShardId(0), LogId::new(1, 1, 1), vec![])
        .expect("there is room");
    let started = Instant::now();
    while !lane.ended() {
        assert!(started.elapsed() < Duration::from_secs(20), "the log ends");
        std::thread::sleep(Duration::from_millis(1));
    }
    let end = wal.stop().expect_err("it has failed");
    assert_eq!(end.to_string(), "a thread of the log panicked");
}

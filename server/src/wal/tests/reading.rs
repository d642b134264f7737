//! Reading while the log is written: places to go on from, one shard's entries, and what purges free.

use std::collections::BTreeMap;

use super::super::disk::simulated::{Dice, Simulated};
use super::super::scan::Scan;
use super::super::*;
use super::model::{CLUSTER, Rig, Sent, images, recover, settings, without_unfinished, workload};

fn indices(mut scan: Scan) -> Vec<u64> {
    let mut found = Vec::new();
    while let Some(entry) = scan.next_entry().expect("the log is readable") {
        found.push(entry.id.index.0);
    }
    found
}

/// What `Wal` does, on a log without threads.
fn of_shard(rig: &Rig, shard: u16, from: u64) -> Scan {
    let catalog = rig.parts().shared.catalog().clone();
    let run = catalog
        .find(ShardId(shard), LogIndex(from))
        .expect("the entry is there");
    let at = Position {
        segment: run.segment,
        offset: run.offset,
    };
    let disk = std::sync::Arc::new(rig.disk.clone()) as std::sync::Arc<dyn disk::Disk>;
    Scan::new(
        &disk,
        CLUSTER,
        catalog,
        at,
        Some((ShardId(shard), LogIndex(from))),
        None,
    )
}

#[test]
fn a_shard_is_read_from_any_of_its_entries() {
    for seed in 0..10 {
        let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
        rig.start();
        workload(&mut rig, seed, 40);
        for (lane, shard) in [(0, 0), (0, 1), (1, 2)] {
            let images = rig.books[lane].images(rig.books[lane].sent.len());
            let Some(image) = images.get(&ShardId(shard)) else {
                continue;
            };
            let all: Vec<u64> = image.entries.keys().copied().collect();
            for (i, from) in all.iter().enumerate() {
                assert_eq!(indices(of_shard(&rig, shard, *from)), all[i..]);
            }
        }
    }
}

#[test]
fn a_scan_goes_on_from_where_an_entry_ended() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    workload(&mut rig, 3, 40);
    // Whatever parts came last have their end.
    for (lane, shard) in [(0, 0), (0, 1), (1, 2)] {
        rig.send_entry(lane, shard, 10);
    }
    rig.turn();
    let recovery = recover(&rig.disk).expect("the log is in order");
    for (lane, shard) in [(0, 0), (0, 1), (1, 2)] {
        let images = without_unfinished(&rig.books[lane].images(rig.books[lane].sent.len()));
        let last = images
            .get(&ShardId(shard))
            .and_then(|image| image.entries.values().next_back());
        let found = recovery.last_id(ShardId(shard)).expect("the log is readable");
        assert_eq!(found, last.map(|(id, _, _)| *id));
    }
    let mut ends = Vec::new();
    let mut scan = recovery.entries();
    while let Some(entry) = scan.next_entry().expect("the log is readable") {
        ends.push(entry.end);
    }
    assert!(ends.len() > 8, "{}", ends.len());
    let catalog = rig.parts().shared.catalog().clone();
    let disk = std::sync::Arc::new(rig.disk.clone()) as std::sync::Arc<dyn disk::Disk>;
    for (i, end) in ends.iter().enumerate() {
        let scan = Scan::new(&disk, CLUSTER, catalog.clone(), *end, None, None);
        assert_eq!(indices(scan).len(), ends.len() - i - 1);
    }
}

/// Sends entries of shard 0 and purges all but the last few of them, again and again.
fn churn(rig: &mut Rig, rounds: u64) {
    for round in 1..=rounds {
        rig.send_entry(0, 0, 3000);
        if round % 5 == 0 {
            let last = rig.sent_state(0, ShardId(0)).last.0;
            let purge = Sent {
                shard: ShardId(0),
                kind: Kind::Purge,
                id: LogId::new(3, 1, last - 1),
                payload: vec![],
            };
            rig.send(0, purge).expect("there is room in the lane");
        }
        rig.turn();
        rig.fill();
    }
}

#[test]
fn purged_segments_are_used_again_and_the_disk_stays_small() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    churn(&mut rig, 40);
    let used = rig.disk.used();
    churn(&mut rig, 200);
    assert!(rig.running(), "{:?}", rig.failure);
    assert!(
        rig.disk.used() <= used + (16 << 10),
        "{} after {used}",
        rig.disk.used()
    );
    let counts = rig.parts().shared.counters.read();
    assert!(counts.recycled > 20, "{counts:?}");
    // A shard that says little keeps its segment, until it is purged as well.
    rig.send_entry(1, 2, 10);
    churn(&mut rig, 100);
    assert!(
        rig.disk.used() > used + (100 << 10),
        "{} after {used}",
        rig.disk.used()
    );
    // What a segment said of shards was said again before it went.
    let vote = Sent {
        shard: ShardId(1),
        kind: Kind::Vote,
        id: LogId::new(8, 2, 0),
        payload: vec![1],
    };
    rig.send(0, vote).expect("there is room in the lane");
    let purge = Sent {
        shard: ShardId(2),
        kind: Kind::Purge,
        id: LogId::new(3, 1, 1),
        payload: vec![],
    };
    rig.send(1, purge).expect("there is room in the lane");
    churn(&mut rig, 60);
    assert!(
        rig.disk.used() <= used + (16 << 10),
        "{} after {used}",
        rig.disk.used()
    );
    rig.die();
    rig.disk.crash(1);
    let recovery = recover(&rig.disk).expect("the log is in order");
    for lane in 0..2 {
        let book = &rig.books[lane];
        assert_eq!(images(&recovery, lane), book.images(book.sent.len()));
    }
}

#[test]
fn a_pinned_segment_stays_as_it_is() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    rig.send_entry(0, 0, 3000);
    rig.turn();
    let mut scan = of_shard(&rig, 0, 1);
    let pin = {
        let handle = rig.parts().shared.catalog_handle().clone();
        let mut held = handle.lock().expect("nobody panicked");
        super::super::scan::Pin::new(&handle, &mut held, 1)
    };
    churn(&mut rig, 60);
    assert_eq!(
        scan.next_entry().expect("it is readable").map(|e| e.id.index.0),
        Some(1)
    );
    assert!(rig.disk.contents(&segment::name(1)).is_some());
    drop(pin);
    churn(&mut rig, 10);
    assert!(rig.disk.contents(&segment::name(1)).is_none());
}

#[test]
fn a_record_larger_than_a_segment_has_one_of_its_own() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    for len in [10, 60_000, 10, 40_000, 20] {
        rig.send_entry(1, 2, len);
        rig.turn();
        rig.fill();
    }
    assert!(rig.running(), "{:?}", rig.failure);
    assert_eq!(rig.books[1].durable, 5);
    let recovery = recover(&rig.disk).expect("the log is in order");
    assert_eq!(images(&recovery, 1), rig.books[1].images(5));
}

/// A reader that asks for far more than there is must not make the log read or hold it.
#[test]
fn a_lane_is_bounded_and_gives_back_what_it_does_not_take() {
    let mut small = settings(SyncMode::Always);
    small.bounds = Bounds {
        records: 3,
        bytes: 1000,
    };
    let mut rig = Rig::with(Simulated::default(), small);
    rig.start();
    let lane = rig.lane(0);
    let append = |index, len| lane.append(ShardId(0), LogId::new(1, 1, index), vec![0; len]);
    assert!(append(1, 5000).is_ok(), "a large one passes alone");
    let refused = append(2, 1).expect_err("the lane is full");
    assert_eq!((refused.why, refused.payload.len()), (Why::Full, 1));
    rig.turn();
    assert!(append(2, 1).is_ok() && append(3, 1).is_ok() && append(4, 1).is_ok());
    assert_eq!(append(5, 1).map_err(|r| r.why), Err(Why::Full));
    rig.turn();
    assert!(matches!(append(9, 1).map_err(|r| r.why), Err(Why::Order(_))));
    let other = lane.append(ShardId(2), LogId::new(1, 1, 1), vec![]);
    assert!(matches!(other.map_err(|r| r.why), Err(Why::Shard(_))));
    let progress = lane.progress(ShardId(0)).expect("it is a shard of the lane");
    assert_eq!(progress.durable, Durable(LogIndex(4)));
    lane.truncate(ShardId(0), LogIndex(3)).expect("there is room");
    let progress = lane.progress(ShardId(0)).expect("it is a shard of the lane");
    assert_eq!(
        progress.durable,
        Durable(LogIndex(2)),
        "what is void is not durable"
    );
}

#[test]
fn marks_never_run_ahead_of_a_truncation() {
    let mut dice = Dice(4);
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    let lane = rig.lane(0);
    let mut last = BTreeMap::from([(0u16, 0u64)]);
    for _ in 0..500 {
        let tip = last.get_mut(&0).expect("it was put there");
        if *tip > 3 && dice.below(4) == 0 {
            *tip -= dice.below(3) + 1;
            lane.truncate(ShardId(0), LogIndex(*tip + 1))
                .expect("there is room");
        } else {
            *tip += 1;
            lane.append(ShardId(0), LogId::new(1, 1, *tip), vec![1])
                .expect("there is room");
        }
        let tip = *tip;
        if dice.below(3) == 0 {
            rig.turn();
        }
        let progress = lane.progress(ShardId(0)).expect("it is a shard of the lane");
        assert!(progress.durable.0.0 <= tip && progress.written.0.0 <= tip);
    }
}

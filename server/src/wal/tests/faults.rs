//! Calls that fail: the log ends at the first and completes nothing after it, but for a full disk, which it
//! sees coming.

use std::io::ErrorKind;

use super::super::disk::simulated::{Fault, Simulated};
use super::super::*;
use super::model::{Rig, images, recover, settings, workload};

const TURNS: u32 = 25;

/// A run with a fault at `call`; whether it got that far. What was promised has to be there, whether the
/// power goes after it or only the process.
fn fault_at(call: u64, fault: Fault, sync: SyncMode, power: bool) -> bool {
    let disk = Simulated::default();
    disk.arm(call, fault);
    let mut rig = Rig::new(disk, sync);
    rig.start();
    workload(&mut rig, call, TURNS);
    let reached = rig.disk.calls() >= call;
    let what = format!("{fault:?} at call {call}, {sync:?}, power cut: {power}");
    rig.die();
    rig.disk.repair();
    if power {
        rig.disk.crash(call);
    }
    let recovery = recover(&rig.disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    let unfinished: Vec<_> = recovery.unfinished.iter().map(|(shard, _)| *shard).collect();
    let mut places = [0; 2];
    for (lane, (book, settled)) in rig.books.iter().zip(&mut places).enumerate() {
        let found = images(&recovery, lane);
        *settled = book
            .place(&found, Some(&unfinished), book.durable)
            .or_else(|| book.place(&found, None, book.durable))
            .unwrap_or_else(|| panic!("{what}: lane {lane}: {} promised, found {found:#?}", book.durable));
    }
    // What was read back after a failed sync must not have been in memory alone.
    for (book, place) in rig.books.iter_mut().zip(places) {
        book.sent.truncate(place);
    }
    rig.start();
    assert!(rig.running(), "{what}: {:?}", rig.failure);
    rig.die();
    rig.disk.crash(call + 1);
    let again = recover(&rig.disk).unwrap_or_else(|error| panic!("{what}, again: {error}"));
    for (lane, (book, settled)) in rig.books.iter().zip(places).enumerate() {
        let place = book.place(&images(&again, lane), None, settled);
        assert_eq!(place, Some(settled), "{what}: what was read is there for good");
    }
    reached
}

#[test]
fn a_call_that_fails_anywhere_costs_nothing_that_was_promised() {
    let faults = [
        Fault::Short,
        Fault::Error(ErrorKind::StorageFull),
        Fault::Error(ErrorKind::Other),
    ];
    for fault in faults {
        for sync in [SyncMode::Always, SyncMode::EverySecond] {
            let mut call = 1;
            while fault_at(call, fault, sync, call % 2 == 0) {
                call += 1;
            }
            assert!(call > 60, "the workload makes {call} calls");
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_completed_and_nothing_is_tried_again() {
    let disk = Simulated::default();
    let mut rig = Rig::new(disk.clone(), SyncMode::Always);
    rig.start();
    rig.fill();
    rig.send_entry(0, 0, 10);
    rig.turn();
    let before = rig.books[0].durable;
    rig.send_entry(0, 0, 10);
    // The write, then the sync.
    disk.arm(disk.calls() + 2, Fault::Error(ErrorKind::Other));
    rig.turn();
    assert!(
        matches!(rig.failure, Some(Fatal::Io { doing: "sync", .. })),
        "{:?}",
        rig.failure
    );
    assert_eq!(rig.books[0].durable, before);
    assert_eq!(
        rig.books[0].written, before,
        "a write that was not synced is not complete"
    );
}

#[test]
fn a_short_write_is_fatal() {
    let disk = Simulated::default();
    let mut rig = Rig::new(disk.clone(), SyncMode::EverySecond);
    rig.start();
    rig.fill();
    rig.send_entry(0, 0, 10);
    disk.arm(disk.calls() + 1, Fault::Short);
    rig.turn();
    assert!(
        matches!(rig.failure, Some(Fatal::Short { .. })),
        "{:?}",
        rig.failure
    );
    assert_eq!(rig.books[0].written, 0);
}

#[test]
fn a_full_disk_is_said_before_a_write_fails_and_heals_when_there_is_room() {
    let disk = Simulated::default();
    let mut rig = Rig::with(disk.clone(), settings(SyncMode::Always));
    rig.start();
    rig.fill();
    assert_eq!(rig.parts().ahead.reserve.room(), Room::Open);
    disk.set_capacity(Some(disk.used() + 6000));
    let mut sent = 0;
    while rig.parts().ahead.reserve.room() == Room::Open {
        rig.send_entry(0, 0, 700);
        rig.turn();
        rig.fill();
        sent += 1;
        assert!(sent < 100, "the disk gets full");
    }
    // What was executed already still goes in, at the price of the reserve.
    for _ in 0..20 {
        rig.send_entry(0, 0, 700);
        rig.turn();
        rig.fill();
    }
    assert!(rig.running(), "{:?}", rig.failure);
    assert_eq!(
        rig.books[0].durable,
        rig.books[0].sent.len(),
        "all of it is durable"
    );
    assert_eq!(rig.parts().ahead.reserve.room(), Room::Full);
    // The image takes over, its segments are freed: there is room again.
    let last = rig.sent_state(0, ShardId(0)).last;
    let purge = super::model::Sent {
        shard: ShardId(0),
        kind: Kind::Purge,
        id: LogId::new(3, 1, last.0),
        payload: vec![],
    };
    rig.send(0, purge).expect("there is room in the lane");
    rig.turn();
    disk.set_capacity(Some(disk.used() + (64 << 10)));
    rig.fill();
    assert_eq!(rig.parts().ahead.reserve.room(), Room::Open);
    rig.close();
    let recovery = recover(&disk).expect("the log is in order");
    let found = images(&recovery, 0);
    assert_eq!(found, rig.books[0].images(rig.books[0].sent.len()));
}

#[test]
fn a_start_on_a_full_disk_takes_no_writes_and_can_be_read() {
    let disk = Simulated::default();
    let mut rig = Rig::new(disk.clone(), SyncMode::Always);
    rig.start();
    rig.send_entry(0, 0, 10);
    rig.turn();
    rig.die();
    disk.replace("reserve", None);
    disk.set_capacity(Some(disk.used()));
    rig.start();
    assert!(rig.running(), "{:?}", rig.failure);
    assert_eq!(rig.parts().ahead.reserve.room(), Room::Full);
    disk.set_capacity(None);
    rig.fill();
    assert_eq!(rig.parts().ahead.reserve.room(), Room::Open);
}

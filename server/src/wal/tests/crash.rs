//! Power cuts: at every call to the disk, with any part of what was not synced, and again while recovering.

use proptest::prelude::*;

use super::super::SyncMode;
use super::super::disk::simulated::{Fault, Simulated};
use super::model::{Book, Rig, images, recover, workload};

const TURNS: u32 = 40;

/// Reads a log back and checks it against the books; the state then counts as the start of a new run.
fn check(rig: &mut Rig, promised: impl Fn(&Book) -> usize, what: &str) {
    let recovery = recover(&rig.disk).unwrap_or_else(|error| panic!("{what}: {error}"));
    for (lane, book) in rig.books.iter_mut().enumerate() {
        let found = images(&recovery, lane);
        let least = promised(book);
        let unfinished: Vec<_> = recovery.unfinished.iter().map(|(shard, _)| *shard).collect();
        // Several counts may leave the same; the log itself may have been about to void what is unfinished.
        let exactly = book.place(&found, Some(&unfinished), least);
        let place = exactly.or_else(|| book.place(&found, None, least));
        let Some(place) = place else {
            panic!(
                "{what}: lane {lane}: {least} of {} records were promised, found {found:#?}",
                book.sent.len()
            );
        };
        book.sent.truncate(place);
    }
}

/// Cuts the power at `call`, and sees what is there; then the same with a second cut while it starts.
fn cut_at(call: u64, sync: SyncMode, seed: u64) -> bool {
    let disk = Simulated::default();
    disk.arm(call, Fault::PowerCut);
    let mut rig = Rig::new(disk.clone(), sync);
    rig.start();
    workload(&mut rig, seed, TURNS);
    let reached = rig.failure.is_some();
    for throw in 0..3 {
        let what = format!("{sync:?}, power cut at call {call}, throw {throw}");
        let mut after = Rig::new(disk.fork(), sync);
        after.books = rig.books.clone();
        after.disk.crash(throw);
        check(&mut after, |book| book.durable, &what);
        // What was read must be the truth from now on, however the start itself is cut.
        let at = after.disk.calls() + 1 + throw * 3;
        after.disk.arm(at, Fault::PowerCut);
        after.start();
        after.die();
        after.disk.crash(throw + 100);
        check(&mut after, |book| book.sent.len(), &format!("{what}, cut again"));
        // And the log goes on from there.
        after.start();
        let durable = |rig: &Rig| rig.books.clone().map(|book| book.sent.len());
        let before = durable(&after);
        go_on(&mut after, seed + 1);
        after.close();
        assert!(durable(&after) != before, "{what}: something more was sent");
        check(&mut after, |book| book.sent.len(), &format!("{what}, gone on"));
    }
    reached
}

fn go_on(rig: &mut Rig, seed: u64) {
    rig.send_entry(0, 0, 10);
    rig.send_entry(1, 2, 10);
    workload(rig, seed, 4);
    assert!(rig.running(), "{:?}", rig.failure);
}

fn sweep(sync: SyncMode, seed: u64, every: u64) {
    let mut call = 1;
    while cut_at(call, sync, seed) {
        call += every;
    }
    assert!(call > 100, "the workload makes {call} calls");
}

#[test]
fn a_power_cut_at_any_call_loses_nothing_that_was_promised() {
    sweep(SyncMode::Always, 1, 1);
    sweep(SyncMode::EverySecond, 2, 1);
}

#[test]
fn the_end_of_the_process_loses_nothing_that_was_written() {
    for seed in 0..40 {
        for sync in [SyncMode::Always, SyncMode::EverySecond] {
            let mut rig = Rig::new(Simulated::default(), sync);
            rig.start();
            workload(&mut rig, seed, TURNS / 2);
            assert!(rig.running());
            rig.die();
            check(&mut rig, |book| book.written, "killed");
            // What was recovered from memory alone is promised again, so it has to be durable now.
            rig.start();
            rig.die();
            rig.disk.crash(seed);
            check(&mut rig, |book| book.sent.len(), "killed, started, power cut");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_with_any_crash_is_read_back(seed: u64, throw: u64, turns in 1u32..60, always: bool, steps in 0u64..400) {
        let sync = if always { SyncMode::Always } else { SyncMode::EverySecond };
        let disk = Simulated::default();
        disk.arm(1 + steps, Fault::PowerCut);
        let mut rig = Rig::new(disk, sync);
        rig.start();
        workload(&mut rig, seed, turns);
        rig.die();
        rig.disk.crash(throw);
        check(&mut rig, |book| book.durable, "crash");
    }
}

//! Damage to what was durable is always seen, and never taken for a torn tail.

use super::super::disk::simulated::{Dice, Simulated};
use super::super::*;
use super::model::{Book, Images, Rig, images, recover, workload};

/// A log of a few segments that was closed, with its books.
fn closed(seed: u64, turns: u32) -> (Simulated, [Book; 2]) {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    workload(&mut rig, seed, turns);
    rig.close();
    assert!(rig.failure.is_none());
    (rig.disk, rig.books)
}

fn whole(books: &[Book; 2]) -> [Images; 2] {
    [0, 1].map(|lane| books[lane].images(books[lane].sent.len()))
}

fn segments(disk: &Simulated) -> Vec<(u64, Vec<u8>)> {
    (1..100)
        .filter_map(|sequence| Some((sequence, disk.contents(&segment::name(sequence))?)))
        .collect()
}

fn flipped(disk: &Simulated, sequence: u64, contents: &[u8], bit: usize) -> Simulated {
    let broken = disk.fork();
    let mut contents = contents.to_vec();
    contents[bit / 8] ^= 1 << (bit % 8);
    broken.replace(&segment::name(sequence), Some(contents));
    broken
}

#[test]
fn no_flipped_bit_of_a_closed_log_goes_unseen_or_costs_an_entry() {
    let (disk, books) = closed(5, 12);
    let expected = whole(&books);
    let mut dice = Dice(1);
    let mut refused = 0;
    for (sequence, contents) in segments(&disk) {
        for byte in 0..contents.len() {
            let bit = byte * 8 + dice.below(8) as usize;
            match recover(&flipped(&disk, sequence, &contents, bit)) {
                Ok(recovery) => {
                    let found = [images(&recovery, 0), images(&recovery, 1)];
                    assert_eq!(found, expected, "segment {sequence}, byte {byte}");
                }
                Err(RecoverError::Corrupt { at, .. }) => {
                    refused += 1;
                    let here = Position {
                        segment: sequence,
                        offset: byte as u64,
                    };
                    // An opening record is also the end of the segment before it.
                    assert!(at <= here || at.segment == sequence, "{at} for damage at {here}");
                }
                Err(RecoverError::Header { .. } | RecoverError::OtherCluster { .. }) => {
                    assert!(byte < 4096);
                    refused += 1;
                }
                Err(error) => panic!("segment {sequence}, byte {byte}: {error}"),
            }
        }
    }
    assert!(refused > 5000, "{refused} of the flips were refused");
}

#[test]
fn damage_says_where_it_is_and_has_its_own_exit_code() {
    let (disk, _) = closed(6, 30);
    let (sequence, contents) = segments(&disk).swap_remove(0);
    let broken = flipped(&disk, sequence, &contents, 4200 * 8);
    let Err(error) = recover(&broken) else {
        panic!("damage in the first segment is seen")
    };
    assert_eq!(error.exit_code(), EXIT_CORRUPT);
    let text = error.to_string();
    assert!(
        text.contains(&segment::name(sequence)) && text.contains("byte"),
        "{text}"
    );
    let before = broken.contents(&segment::name(sequence));
    assert_eq!(
        before.map(|b| b.len()),
        Some(contents.len()),
        "nothing is changed"
    );
}

/// The last records of an open log, cut at every byte, with every kind of rest behind the cut.
#[test]
fn a_tail_torn_at_any_byte_keeps_the_whole_records_before_it() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    workload(&mut rig, 9, 3);
    let name = segment::name(rig.parts().shared.catalog().tail().segment);
    let start = rig.parts().shared.catalog().tail().offset as usize;
    let before = rig.disk.contents(&name).expect("the segment is there");
    let sent = rig.books[1].sent.len();
    let mut ends = vec![start];
    for len in [0, 30, 700] {
        rig.send_entry(1, 2, len);
    }
    rig.turn();
    let after = rig.disk.contents(&name).expect("the segment is there");
    for placed in &rig.books[1].sent[sent..] {
        // Head, kind, shard, term, node, index, lag and payload: all numbers here are small or two bytes.
        let lag = ends[ends.len() - 1] - start;
        let index = if placed.id.index.0 < 128 { 1 } else { 2 };
        let fields = 8 + 4 + index + if lag < 128 { 1 } else { 2 };
        ends.push(ends[ends.len() - 1] + fields + placed.payload.len());
    }
    let end = ends[3];
    let mut dice = Dice(3);
    for cut in start..end {
        for rest in ["old", "noise", "kept"] {
            let mut torn = before.clone();
            torn[..cut].copy_from_slice(&after[..cut]);
            match rest {
                "noise" => torn[cut..].fill_with(|| dice.throw() as u8),
                // One byte was lost, those behind it were not.
                "kept" => {
                    torn.copy_from_slice(&after);
                    torn[cut] = !torn[cut];
                }
                _ => {}
            }
            let disk = rig.disk.fork();
            disk.replace(&name, Some(torn));
            let recovery = recover(&disk).unwrap_or_else(|error| panic!("cut at {cut}, {rest}: {error}"));
            let whole = ends.iter().skip(1).filter(|end| **end <= cut).count();
            let found = images(&recovery, 1);
            assert_eq!(found, rig.books[1].images(sent + whole), "cut at {cut}, {rest}");
            let told = recovery.torn().map(|torn| torn.at.offset as usize);
            let boundary = ends.contains(&cut) && rest == "old";
            assert!(
                told == Some(ends[whole]) || boundary,
                "cut at {cut}, {rest}: {told:?}"
            );
        }
    }
}

#[test]
fn a_segment_that_is_gone_is_missed() {
    let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
    rig.start();
    for _ in 0..30 {
        rig.send_entry(0, 0, 3000);
        rig.turn();
        rig.fill();
    }
    rig.close();
    let all = segments(&rig.disk);
    assert!(all.len() > 4);
    let last = all.len() as u64;
    for sequence in 1..=last {
        let disk = rig.disk.fork();
        disk.replace(&segment::name(sequence), None);
        let result = recover(&disk);
        match result {
            Err(RecoverError::MissingEntries { .. }) => assert_eq!(sequence, 1),
            Err(RecoverError::MissingSegment(missing)) => assert_eq!(missing, sequence),
            // The last one was made ahead and is empty.
            Ok(_) => assert_eq!(sequence, last),
            Err(error) => panic!("{sequence}: {error}"),
        }
    }
    let renamed = rig.disk.fork();
    renamed.replace(&segment::name(1), renamed.contents(&segment::name(2)));
    assert!(matches!(
        recover(&renamed),
        Err(RecoverError::Renamed { sequence: 1, was: 2 })
    ));
}

/// Records behind a torn place were not read; they must not be there when others are written before them.
#[test]
fn what_was_cut_is_gone_for_good() {
    for throw in 0..20 {
        let mut rig = Rig::new(Simulated::default(), SyncMode::Always);
        rig.start();
        rig.send_entry(0, 0, 10);
        rig.turn();
        let start = rig.parts().shared.catalog().tail().offset as usize;
        for _ in 0..5 {
            rig.send_entry(0, 0, 600);
        }
        rig.turn();
        let name = segment::name(1);
        let mut torn = rig.disk.contents(&name).expect("the segment is there");
        torn[start] = !torn[start];
        rig.die();
        rig.disk.replace(&name, Some(torn));
        rig.start();
        rig.die();
        rig.disk.crash(throw);
        let left = rig.disk.contents(&name).expect("the segment is there");
        assert!(left.len() >= start);
        assert!(left[start..].iter().all(|byte| *byte == 0), "throw {throw}");
    }
}

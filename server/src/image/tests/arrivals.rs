//! What a node takes of a stream that another sends, and what it refuses.

use std::fs;

use bytes::Bytes;

use super::history::{SHARD, Scratch};
use crate::image::{ArrivalError, Arrivals, PART_BYTES_MAX, Part, Progress};
use crate::wal::ShardId;

fn part(offset: u64, data: &'static [u8]) -> Part {
    Part {
        offset,
        data: Bytes::from_static(data),
        crc32c: crc32c::crc32c(data),
    }
}

fn total(data: &[u8]) -> Progress {
    Progress {
        bytes: data.len() as u64,
        crc32c: crc32c::crc32c(data),
    }
}

fn arrivals(scratch: &Scratch) -> Arrivals {
    Arrivals::open(&scratch.0).expect("a folder")
}

#[test]
fn only_the_next_part_is_taken_and_only_intact() {
    let scratch = Scratch::new();
    let arrivals = arrivals(&scratch);
    let mut arrival = arrivals.begin(SHARD, "1-1-9", 0, 100).expect("begun");
    arrival.part(&part(0, b"abc")).expect("the first");
    for offset in [0, 2, 4] {
        let refused = arrival.part(&part(offset, b"def"));
        assert!(matches!(refused, Err(ArrivalError::Gap { expected: 3, .. })));
    }
    let mut damaged = part(3, b"def");
    damaged.crc32c ^= 1;
    assert!(matches!(arrival.part(&damaged), Err(ArrivalError::Damaged(3))));
    let large = part(3, &[0; PART_BYTES_MAX + 1]);
    assert!(matches!(arrival.part(&large), Err(ArrivalError::Large(_))));
    arrival.part(&part(3, b"def")).expect("the next");
    let file = arrival.end(total(b"abcdef")).expect("complete");
    assert_eq!(fs::read(file).expect("a file"), b"abcdef");
}

#[test]
fn an_end_that_is_not_that_of_what_came_gives_no_file() {
    let scratch = Scratch::new();
    let arrivals = arrivals(&scratch);
    let mut arrival = arrivals.begin(SHARD, "id", 0, 100).expect("begun");
    arrival.part(&part(0, b"abc")).expect("the first");
    let short = arrival.end(total(b"abcdef"));
    assert!(matches!(
        short,
        Err(ArrivalError::Short {
            bytes: 3,
            expected: 6
        })
    ));
    // It can be gone on with.
    assert_eq!(arrivals.progress(SHARD, "id").expect("readable"), total(b"abc"));
    let mut arrival = arrivals.begin(SHARD, "id", 3, 100).expect("begun");
    arrival.part(&part(3, b"xyz")).expect("the next");
    assert!(matches!(arrival.end(total(b"abcdef")), Err(ArrivalError::Other)));
    // That cannot.
    assert_eq!(
        arrivals.progress(SHARD, "id").expect("readable"),
        Progress::default()
    );
}

#[test]
fn a_shard_has_one_file_and_the_last_stream_writes_it() {
    let scratch = Scratch::new();
    let one = arrivals(&scratch);
    let mut first = one.begin(SHARD, "id", 0, 100).expect("begun");
    first.part(&part(0, b"abc")).expect("the first");
    let mut second = one.begin(SHARD, "id", 2, 100).expect("begun");
    assert!(matches!(
        first.part(&part(3, b"def")),
        Err(ArrivalError::Superseded)
    ));
    assert!(matches!(first.end(total(b"abc")), Err(ArrivalError::Superseded)));
    second.part(&part(2, b"d")).expect("the next");
    let other = one.begin(ShardId(33), "id", 0, 100).expect("begun");
    // After a restart it is still there.
    drop((second, other));
    let again = arrivals(&scratch);
    assert_eq!(again.progress(SHARD, "id").expect("readable"), total(b"abd"));
    assert!(matches!(
        again.begin(SHARD, "id", 4, 100),
        Err(ArrivalError::Gap {
            offset: 4,
            expected: 3
        })
    ));
    again.begin(SHARD, "newer", 0, 100).expect("begun");
    assert_eq!(
        again.progress(SHARD, "id").expect("readable"),
        Progress::default()
    );
    let mut left: Vec<_> = fs::read_dir(&scratch.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["shard-3.newer", "shard-33.id"]);
}

#[test]
fn a_name_that_leads_elsewhere_and_a_size_without_room_are_refused() {
    let scratch = Scratch::new();
    let arrivals = arrivals(&scratch);
    for id in ["", "../x", "a/b", "a b", &"x".repeat(129)] {
        assert!(
            matches!(arrivals.progress(SHARD, id), Err(ArrivalError::Id)),
            "{id}"
        );
        assert!(
            matches!(arrivals.begin(SHARD, id, 0, 1), Err(ArrivalError::Id)),
            "{id}"
        );
    }
    let refused = arrivals.begin(SHARD, "id", 0, 1 << 60);
    assert!(matches!(refused, Err(ArrivalError::Room { .. })));
    assert_eq!(fs::read_dir(&scratch.0).expect("a folder").count(), 0);
}

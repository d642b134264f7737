//! What memory keeps and the lane takes is bounded, and a log that fails says so to everybody who waits.

use std::io::ErrorKind;
use std::sync::Arc;

use futures_util::TryStreamExt;
use openraft::RaftLogReader;
use openraft::alias::{EntryOf, VoteOf};
use openraft::storage::{IOFlushed, RaftLogStorage};

use super::{Node, all, append, entry, settings};
use crate::raft::types::C;
use crate::wal::disk::simulated::{Fault, Simulated};
use crate::wal::{Bounds, SyncMode};

const KEPT: usize = 16 << 10;

#[tokio::test]
async fn memory_keeps_the_newest_entries_and_the_disk_has_the_others() {
    let mut node = Node::start(&Simulated::default(), SyncMode::EverySecond, KEPT);
    let store = &mut node.stores[0];
    let mut wanted = Vec::new();
    for index in 0..400 {
        let entry = entry(1, index, vec![index as u8; 1000]);
        wanted.push(entry.clone());
        append(store, vec![entry]).await.expect("appended");
        // The last one was not written when it came.
        assert!(store.recent_bytes() <= KEPT + 2000, "{}", store.recent_bytes());
    }
    assert_eq!(all(store).await, wanted);
    let streamed: Vec<EntryOf<C>> = store
        .entries_stream(7..390)
        .await
        .try_collect()
        .await
        .expect("readable");
    assert_eq!(streamed, wanted[7..390]);
    node.stop();
}

#[tokio::test]
async fn what_is_handed_over_is_readable_before_it_is_written() {
    let mut node = Node::start(&Simulated::default(), SyncMode::Always, 0);
    let store = &mut node.stores[0];
    for index in 0..300 {
        let wanted = vec![entry(1, 2 * index, "a"), entry(1, 2 * index + 1, "b")];
        store
            .append(wanted.clone(), IOFlushed::noop())
            .await
            .expect("appended");
        let read = store.try_get_log_entries(2 * index..).await.expect("readable");
        assert_eq!(read, wanted);
    }
    node.stop();
}

#[tokio::test]
async fn one_read_is_bounded_and_yields_something() {
    let mut node = Node::start(&Simulated::default(), SyncMode::EverySecond, KEPT);
    let store = &mut node.stores[0];
    for index in 0..4 {
        append(store, vec![entry(1, index, vec![0; 600 << 10])])
            .await
            .expect("appended");
    }
    let cold = store.limited_get_log_entries(0, 4).await.expect("readable");
    assert_eq!(cold.len(), 2, "about a megabyte");
    let rest = store.limited_get_log_entries(2, 4).await.expect("readable");
    assert!((1..=2).contains(&rest.len()));
    node.stop();
}

#[tokio::test]
async fn what_the_lane_has_no_room_for_waits_for_it() {
    let mut settings = settings(SyncMode::Always);
    settings.bounds = Bounds {
        records: 3,
        bytes: 4 << 10,
    };
    let mut node = Node::on(Arc::new(Simulated::default()), &settings, 0);
    let store = &mut node.stores[0];
    let entries: Vec<_> = (0..100).map(|index| entry(1, index, vec![7; 1500])).collect();
    append(store, entries.clone()).await.expect("appended");
    assert_eq!(all(store).await, entries);
    node.stop();
}

#[tokio::test]
async fn a_log_that_fails_is_told_to_whoever_waits() {
    for sync in [SyncMode::Always, SyncMode::EverySecond] {
        let disk = Simulated::default();
        let mut node = Node::start(&disk, sync, KEPT);
        let store = &mut node.stores[0];
        append(store, vec![entry(1, 0, "a")]).await.expect("appended");
        disk.arm(disk.calls() + 1, Fault::Error(ErrorKind::Other));
        let mut index = 1;
        // Whichever thread meets the failure.
        while append(store, vec![entry(1, index, vec![1; 4000])]).await.is_ok() {
            index += 1;
            assert!(index < 1000, "it fails");
        }
        assert!(store.save_vote(&VoteOf::<C>::new(5, 1)).await.is_err());
        assert!(store.truncate_after(None).await.is_err());
        assert!(node.wal.stop().is_err());
    }
}

#[tokio::test]
async fn a_store_outlives_its_log_and_says_that_it_ended() {
    let mut node = Node::start(&Simulated::default(), SyncMode::Always, 0);
    let mut store = node.stores.remove(0);
    for index in 0..2 {
        append(&mut store, vec![entry(1, index, "a")])
            .await
            .expect("appended");
    }
    node.stop();
    assert!(append(&mut store, vec![entry(1, 2, "c")]).await.is_err());
    let read = store.try_get_log_entries(0..1).await;
    assert_eq!(
        read.expect_err("there is no log").to_string(),
        "the log has ended"
    );
}

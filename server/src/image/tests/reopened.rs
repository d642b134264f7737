//! An image that is opened again: what was cut short is gone, what was ingested is there with its index.

use std::fs;

use super::history::{History, SEED, SHARD, Scratch};
use crate::image::{Image, ImageError};
use crate::wal::ShardId;
use ruvio_core::keyspace::Shard;

#[test]
fn a_new_image_holds_nothing_and_an_empty_run_leaves_it_so() {
    let scratch = Scratch::new();
    let image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
    let history = History::new();
    assert_eq!(history.advance(&image, 0).meta.at.index, 0);
    assert!(image.meta(SHARD).expect("readable").is_none());
    assert!(
        image
            .load(SHARD, &mut Shard::new(SEED, 1))
            .expect("a load")
            .is_none()
    );
    assert_eq!(image.bytes(SHARD).expect("a size"), 0);
}

#[test]
fn what_was_staged_and_not_ingested_is_removed_and_rows_keep_their_index() {
    let scratch = Scratch::new();
    let mut history = History::new();
    for nth in 0..50 {
        history.run(&format!("SET k{nth} v"));
        history.run(&format!("HSET h f{nth} v"));
        history.end_entry();
    }
    {
        let image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
        history.advance(&image, 20);
        let advanced = history.advance(&image, 30);
        assert_eq!(advanced.meta.at.index, 30);
        assert!(advanced.file_bytes > 0);
    }
    let staging = scratch.0.join("staging");
    assert_eq!(
        fs::read_dir(&staging).expect("staging").count(),
        0,
        "moved, not copied"
    );
    // The process ended while it wrote the next file.
    fs::write(staging.join("shard-3-40.sst"), b"half of a file").expect("written");
    let image = Image::open(&scratch.0, &[SHARD]).expect("opens again");
    assert_eq!(fs::read_dir(&staging).expect("staging").count(), 0);
    let mut shard = Shard::new(SEED, 1);
    let loaded = image.load(SHARD, &mut shard).expect("a load").expect("an image");
    assert_eq!(loaded.meta.at.index, 30);
    let keys: Vec<u64> = loaded
        .meta
        .databases()
        .map(|(_, database)| database.keys)
        .collect();
    assert_eq!(keys, [31]);
    // The meta row, the keys and the fields of that index and no other.
    assert_eq!(loaded.rows, 1 + 31 + 30);
    history.assert_started(&image);
    // The run is done again under the same name.
    history.advance(&image, 40);
    history.assert_started(&image);
}

#[test]
fn shards_have_an_index_of_their_own_and_one_can_be_forgotten() {
    let scratch = Scratch::new();
    let other = ShardId(4);
    let mut history = History::new();
    history.run("SET k v");
    history.end_entry();
    {
        let image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
        history.advance(&image, 1);
    }
    let image = Image::open(&scratch.0, &[other]).expect("opens again");
    assert!(image.meta(other).expect("readable").is_none());
    history.assert_started(&image);
    image.forget(SHARD).expect("forgotten");
    assert!(image.meta(SHARD).expect("readable").is_none());
    history.advance(&image, 1);
    history.assert_started(&image);
    assert!(matches!(image.meta(ShardId(9)), Err(ImageError::NoShard(9))));
}

#[test]
fn another_seed_and_another_log_are_refused() {
    let scratch = Scratch::new();
    let image = Image::open(&scratch.0, &[SHARD]).expect("a new image");
    let mut history = History::new();
    history.run("SET k v");
    history.end_entry();
    history.advance(&image, 1);
    let loaded = image.load(SHARD, &mut Shard::new(SEED + 1, 1));
    assert!(matches!(loaded, Err(ImageError::Rows { shard: 3, .. })));
    assert!(Image::open(&scratch.0, &[SHARD]).is_err(), "it is open already");
}

//! An image on its way to another node: what arrives is what was there when it was sent, and it takes the place of
//! what the other had whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::history::{History, SEED, SHARD, Scratch};
use crate::image::{
    Arrival, Arrivals, Image, ImageError, Outline, PART_BYTES_MAX, Part, Progress, Recipient, Step,
};

/// Takes a stream into a file.
struct Receiver<'a> {
    arrivals: Arrivals,
    arrival: Option<Arrival>,
    began: Vec<u64>,
    parts: usize,
    /// Before each part, which it may refuse.
    before: Box<dyn FnMut(usize) -> io::Result<()> + 'a>,
}

impl<'a> Receiver<'a> {
    fn new(scratch: &Scratch) -> Self {
        Self {
            arrivals: Arrivals::open(&scratch.0.join("arriving")).expect("a folder"),
            arrival: None,
            began: Vec::new(),
            parts: 0,
            before: Box::new(|_| Ok(())),
        }
    }

    /// One export of the image, to its end.
    fn receive(&mut self, image: &Image) -> Result<PathBuf, ImageError> {
        let sent = image.exports().export(SHARD, self)?.expect("an image");
        let arrival = self.arrival.take().expect("begun");
        Ok(arrival.end(sent).expect("what was sent"))
    }
}

impl Recipient for Receiver<'_> {
    fn progress(&mut self, outline: &Outline) -> io::Result<Progress> {
        self.arrivals
            .progress(SHARD, &outline.id)
            .map_err(io::Error::other)
    }

    fn begin(&mut self, outline: &Outline, offset: u64) -> io::Result<()> {
        self.began.push(offset);
        self.parts = 0;
        let begun = self
            .arrivals
            .begin(SHARD, &outline.id, offset, outline.bytes_about);
        self.arrival = Some(begun.map_err(io::Error::other)?);
        Ok(())
    }

    fn part(&mut self, part: Part) -> io::Result<()> {
        assert!(part.data.len() <= PART_BYTES_MAX);
        (self.before)(self.parts)?;
        self.parts += 1;
        let arrival = self.arrival.as_mut().expect("begun");
        arrival.part(&part).map_err(io::Error::other)
    }
}

/// Some of each kind, and one value that no part holds; more than one part in all.
fn full() -> History {
    let mut history = History::new();
    history.run(&format!("SET long {}", "x".repeat(PART_BYTES_MAX + 1000)));
    for nth in 0..2000 {
        history.run(&format!("SET k{nth} {}", "v".repeat(nth % 300)));
        history.run(&format!("HSET h{} f{nth} v", nth % 7));
        history.run(&format!("ZADD z{} {nth} m{nth}", nth % 5));
        history.run(&format!("RPUSH l{} e{nth}", nth % 3));
        if nth % 10 == 0 {
            history.run(&format!("SETEX t{nth} 100000 v"));
            history.end_entry();
        }
    }
    history.end_entry();
    history
}

fn few(value: &str) -> History {
    let mut history = History::new();
    history.run(&format!("SET only {value}"));
    history.run("SADD s a b c");
    history.end_entry();
    history
}

fn image_of(scratch: &Scratch, history: &History) -> Image {
    let image = Image::open(&scratch.0.join("image"), &[SHARD]).expect("a new image");
    history.advance(&image, history.last());
    image
}

fn staged(folder: &Path) -> usize {
    fs::read_dir(folder.join("staging")).expect("staging").count()
}

#[test]
fn what_arrives_is_the_image_with_its_seed_and_takes_the_place_of_another() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let (history, other) = (full(), few("old"));
    let image = image_of(&here, &history);
    let target = Image::open(&there.0.join("image"), &[SHARD]).expect("a new image");
    other.advance_seeded(&target, SEED + 1, other.last());
    other.assert_started(&target);
    let file = Receiver::new(&there).receive(&image).expect("received");
    assert!(fs::metadata(&file).expect("a file").len() > 2 * PART_BYTES_MAX as u64);
    let meta = target.install(SHARD, &file).expect("installed");
    assert_eq!((meta.at.index, meta.seed), (history.last(), SEED));
    history.assert_started(&target);
    assert_eq!(staged(&there.0.join("image")), 0);
    assert!(target.live_bytes(SHARD).expect("a size") > 0);
    drop(target);
    let target = Image::open(&there.0.join("image"), &[SHARD]).expect("opens again");
    history.assert_started(&target);
    // It goes on from there as its own would.
    let mut history = history;
    history.run("DEL long h1");
    history.end_entry();
    history.advance(&target, history.last());
    history.assert_started(&target);
}

#[test]
fn the_painter_goes_on_while_it_is_sent() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let mut history = full();
    let image = image_of(&here, &history);
    let sent = history.last();
    let mut later = Vec::new();
    {
        let (image, history) = (&image, &mut history);
        let mut receiver = Receiver::new(&there);
        receiver.before = Box::new(|_| {
            history.run("FLUSHALL");
            history.run(&format!("SET after {sent}"));
            history.end_entry();
            history.advance(image, history.last());
            image.compact(SHARD).expect("a compaction");
            Ok(())
        });
        later.push(receiver.receive(image).expect("received"));
    }
    history.assert_started(&image);
    let target = Image::open(&there.0.join("image"), &[SHARD]).expect("a new image");
    let meta = target.install(SHARD, &later[0]).expect("installed");
    assert_eq!(meta.at.index, sent);
    // With what came after it, the same as here.
    history.assert_started(&target);
}

#[test]
fn a_stream_that_was_cut_short_goes_on_where_it_was_and_not_with_another_image() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let mut history = full();
    let image = image_of(&here, &history);
    let mut receiver = Receiver::new(&there);
    receiver.before = Box::new(|nth| match nth {
        2 => Err(io::ErrorKind::ConnectionReset.into()),
        _ => Ok(()),
    });
    let cut = receiver.receive(&image);
    assert!(matches!(cut, Err(ImageError::Export { shard: 3, .. })), "{cut:?}");
    // Both sides begin again.
    drop(image);
    let image = Image::open(&here.0.join("image"), &[SHARD]).expect("opens again");
    let mut receiver = Receiver::new(&there);
    let file = receiver.receive(&image).expect("received");
    assert_eq!(receiver.began, [2 * PART_BYTES_MAX as u64]);
    let whole = fs::read(&file).expect("a file");
    // A beginning that is another one is not gone on with.
    let mut damaged = whole[..PART_BYTES_MAX + 7].to_vec();
    damaged[PART_BYTES_MAX] ^= 1;
    fs::write(&file, damaged).expect("written");
    let mut receiver = Receiver::new(&there);
    assert_eq!(receiver.receive(&image).expect("received"), file);
    assert_eq!(receiver.began, [0]);
    assert!(fs::read(&file).expect("a file") == whole);
    // Nor is one of an image that has moved on, whose file is gone then.
    history.run("SET k0 changed");
    history.end_entry();
    history.advance(&image, history.last());
    let mut receiver = Receiver::new(&there);
    let newer = receiver.receive(&image).expect("received");
    assert_eq!(receiver.began, [0]);
    assert!(newer != file && !file.exists());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else if let Err(error) = fs::copy(entry.path(), target) {
            // RocksDB removes what it no longer needs when it likes.
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
        }
    }
}

#[test]
fn a_crash_at_any_step_leaves_the_old_image_or_the_new_one() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let (history, other) = (full(), few("old"));
    let image = image_of(&here, &history);
    let target = image_of(&there, &other);
    let file = Receiver::new(&there).receive(&image).expect("received");
    let folder = |step: Step| there.0.join(format!("{step:?}"));
    let mut crashed = Vec::new();
    let installed = target.install_by_steps(SHARD, &file, &mut |step| {
        copy(&there.0.join("image"), &folder(step));
        crashed.push(step);
        Ok(())
    });
    installed.expect("installed");
    assert_eq!(crashed, [Step::Staged, Step::Made, Step::Ingested, Step::Dropped]);
    for step in crashed {
        let image = Image::open(&folder(step), &[SHARD]).expect("opens after a crash");
        match step {
            Step::Staged | Step::Made => other.assert_started(&image),
            Step::Ingested | Step::Dropped => history.assert_started(&image),
        }
        assert_eq!(staged(&folder(step)), 0, "{step:?}");
        // It is done again, and a second time.
        for _ in 0..2 {
            image.install(SHARD, &file).expect("installed");
            history.assert_started(&image);
        }
        drop(image);
        let image = Image::open(&folder(step), &[SHARD]).expect("opens again");
        history.assert_started(&image);
    }
}

#[test]
fn an_installation_that_fails_leaves_the_image_and_can_be_done_again() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let (history, other) = (full(), few("old"));
    let image = image_of(&here, &history);
    let target = image_of(&there, &other);
    let file = Receiver::new(&there).receive(&image).expect("received");
    for at in [Step::Staged, Step::Made] {
        let failed = target.install_by_steps(SHARD, &file, &mut |step| match step == at {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        });
        assert!(failed.is_err_and(|error| error.is_full()), "{at:?}");
        other.assert_started(&target);
        assert_eq!(staged(&there.0.join("image")), 0, "{at:?}");
    }
    let whole = fs::read(&file).expect("a file");
    let wrong = there.0.join("wrong");
    let mut newer = whole.clone();
    newer[7] += 1;
    // Cut within a row, without its first row, empty, and of another format.
    for bytes in [
        &whole[..whole.len() - 3],
        &[&whole[..8], &whole[100..]].concat(),
        &whole[..8],
        &whole[..0],
        &newer,
    ] {
        fs::write(&wrong, bytes).expect("written");
        assert!(target.install(SHARD, &wrong).is_err());
        other.assert_started(&target);
    }
    target.install(SHARD, &file).expect("installed");
    history.assert_started(&target);
}

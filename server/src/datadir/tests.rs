//! Each directory that is not to be used is refused with its own sentence, and stays as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::*;
use crate::wal::disk::Folder;
use crate::wal::{NodeId, Recovery, Seating, Settings, ShardId, SyncMode, Wake};

struct Silent;

impl Wake for Silent {
    fn wake(&self) {}
}

/// A folder that goes with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ruvio-datadir-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a scratch folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind it harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const CLUSTER: ClusterId = ClusterId([1; 16]);

fn fresh() -> Identity {
    Identity::new(CLUSTER, NodeId(3), 77, 1)
}

fn open(path: &Path) -> Result<DataDir, Refusal> {
    DataDir::open(path, Some(CLUSTER), fresh())
}

/// A node's whole first start, with an entry in its log.
fn first_start(path: &Path) -> DataDir {
    let mut directory = open(path).expect("the directory is new");
    assert!(directory.is_new());
    let recovery = Recovery::read(Arc::new(Folder::new(directory.log())), CLUSTER).expect("it is empty");
    let seating = Seating {
        shards: vec![ShardId(0)],
        wake: Arc::new(Silent),
    };
    let mut settings = Settings::new(SyncMode::Always, 1);
    (
        settings.segment_bytes,
        settings.ahead_bytes,
        settings.reserve_bytes,
    ) = (64 << 10, 4 << 10, 4 << 10);
    let wal = recovery.start(&settings, vec![seating]).expect("it starts");
    directory.settle().expect("the identity is written");
    let id = crate::wal::LogId::new(1, 1, 1);
    wal.lane(0)
        .append(ShardId(0), id, b"x".to_vec())
        .expect("there is room");
    wal.stop().expect("nothing failed");
    directory
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).expect("it is readable") {
        let path = entry.expect("it is readable").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(path).expect("it is readable"));
        }
    }
    found
}

/// Opens what has to be refused, and sees that nothing changed.
fn refusal(path: &Path) -> Refusal {
    let before = contents(path);
    let refusal = open(path).expect_err("the directory is not to be used");
    assert_eq!(contents(path), before, "{refusal}");
    let text = refusal.to_string();
    assert!(text.contains(&*path.to_string_lossy()), "{text}");
    assert!(text.contains(':'), "it says the way out: {text}");
    refusal
}

#[test]
fn a_directory_keeps_its_identity_and_serves_one_process() {
    let scratch = Scratch::new("keeps");
    let first = first_start(&scratch.0);
    let holder = || match refusal(&scratch.0) {
        Refusal::InUse { holder, .. } => holder,
        other => panic!("it is in use, and not: {other}"),
    };
    assert_eq!(holder(), None, "nothing is written before all was looked at");
    first.name_holder();
    assert_eq!(holder(), Some(std::process::id()));
    drop(first);
    let again = DataDir::open(
        &scratch.0,
        None,
        Identity::new(ClusterId([9; 16]), NodeId(1), 1, 1),
    );
    let again = again.expect("it is free");
    assert!(!again.is_new());
    assert_eq!(*again.identity(), fresh());
}

#[test]
fn what_is_not_whole_or_not_ours_is_refused() {
    let scratch = Scratch::new("refused");
    let path = &scratch.0;
    drop(first_start(path));
    let identity = path.join(IDENTITY);
    let text = fs::read_to_string(&identity).expect("it was written");

    fs::remove_file(&identity).expect("it is there");
    assert!(matches!(refusal(path), Refusal::NoIdentity(_)));

    fs::write(&identity, text.replace("node 3", "node 4")).expect("it is writable");
    assert!(matches!(refusal(path), Refusal::Damaged { .. }));

    let other = Identity::new(ClusterId([2; 16]), NodeId(3), 77, 1);
    fs::write(&identity, other.to_text()).expect("it is writable");
    assert!(matches!(refusal(path), Refusal::OtherCluster { .. }));

    let mut newer = fresh();
    newer.format = 2;
    fs::write(&identity, newer.to_text()).expect("it is writable");
    assert!(matches!(refusal(path), Refusal::Newer { format: 2, .. }));

    fs::write(&identity, &text).expect("it is writable");
    fs::rename(path.join(LOG), path.join("elsewhere")).expect("it is there");
    assert!(matches!(refusal(path), Refusal::NoLog(_)));
    assert!(refusal(path).exit_code() != 0);

    fs::rename(path.join("elsewhere"), path.join(LOG)).expect("it is there");
    open(path).expect("it is whole again");
    let missing = open(&identity).expect_err("a file is no directory");
    assert!(matches!(missing, Refusal::NoDirectory(_)));
}

#[test]
fn a_first_start_that_was_cut_short_is_begun_again() {
    let scratch = Scratch::new("cut-short");
    let log = scratch.0.join(LOG);
    fs::create_dir_all(&log).expect("a folder");
    // A segment of a cluster that nobody remembers, without a record.
    fs::write(log.join("0000000000000001.wal"), [7; 4096]).expect("it is writable");
    let directory = open(&scratch.0).expect("nothing was ever kept here");
    assert!(directory.is_new());
    assert_eq!(contents(&log).len(), 0);
}

#[test]
fn missing_rights_are_named() {
    let denied = Refusal::io(Path::new("data"), std::io::ErrorKind::PermissionDenied.into());
    assert!(matches!(denied, Refusal::Rights { .. }));
    let text = denied.to_string();
    assert!(text.contains("change its owner or mode"), "{text}");
    assert!(!text.contains('\n'));
}

#[test]
fn an_identity_is_read_back_and_damage_to_it_is_seen() {
    let text = fresh().to_text();
    assert_eq!(Identity::parse(text.as_bytes()), Ok(fresh()));
    for at in 0..text.len() {
        let mut broken = text.clone().into_bytes();
        broken[at] ^= 4;
        assert!(Identity::parse(&broken).is_err(), "byte {at}");
    }
}

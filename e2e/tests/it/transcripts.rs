//! Every transcript under `e2e/transcripts/` holds. With `RUVIO_TRANSCRIPTS_AGAINST=valkey` they
//! are played against Valkey instead, which is how an expectation is proven right.
//! By default nothing is kept (`RUVIO_DURABILITY` says otherwise); another test plays all of them with a log.
//! `RUVIO_TRANSCRIPTS=part/of/path` plays only the files whose path holds that text.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ruvio_e2e::server::{Kind, durability, repository};
use ruvio_e2e::transcript::{Script, run};

/// Transcripts mostly wait (for servers to start, for timeouts), so more run at once than cores.
const PLAYERS: usize = 8;

#[test]
fn transcripts_hold() {
    play_all(Kind::under_test("RUVIO_TRANSCRIPTS_AGAINST"), &durability());
}

/// Replies that wait for a log are the same, and in the same order.
#[test]
fn transcripts_hold_with_a_log() {
    for durability in ["everysec", "always"] {
        play_all(Kind::Ruvio, durability);
    }
}

fn play_all(kind: Kind, durability: &str) {
    let only = std::env::var("RUVIO_TRANSCRIPTS").unwrap_or_default();
    let root = repository().join("e2e/transcripts");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.retain(|file| file.to_string_lossy().contains(&only));
    assert!(!files.is_empty(), "no transcript found");

    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    let (played, checked) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS.min(files.len()) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match play(file, kind, durability) {
                        Ok(None) => {}
                        Ok(Some(expectations)) => {
                            played.fetch_add(1, Ordering::Relaxed);
                            checked.fetch_add(expectations, Ordering::Relaxed);
                        }
                        Err(error) => {
                            let name = file.strip_prefix(&root).unwrap_or(file).display();
                            failures
                                .lock()
                                .expect("no player panics")
                                .push(format!("{name}: {error:#}"));
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no player panics");
    failures.sort();
    println!(
        "{} transcripts held, {} expectations, against {kind:?}, {durability}",
        played.into_inner(),
        checked.into_inner()
    );
    assert!(
        failures.is_empty(),
        "{} of {} transcripts failed ({durability}):\n{}",
        failures.len(),
        files.len(),
        failures.join("\n")
    );
}

fn play(file: &Path, kind: Kind, durability: &str) -> anyhow::Result<Option<usize>> {
    let mut script = Script::parse(&std::fs::read_to_string(file)?)?;
    if script.ruvio_only && kind == Kind::Valkey {
        return Ok(None);
    }
    let says = |flag: &String| flag == "--durability" || flag == "--appendonly";
    if kind == Kind::Ruvio && !script.flags.iter().any(says) {
        script
            .flags
            .extend(["--durability", durability].map(String::from));
    }
    run(&script, kind).map(Some)
}

pub fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    for entry in entries {
        let path = entry.expect("readable folder").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "txt") {
            files.push(path);
        }
    }
    files.sort();
}

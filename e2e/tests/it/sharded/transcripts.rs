//! The transcripts hold on a spread keyspace as well, but for those that are about keys of several shards.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ruvio_e2e::server::{Kind, repository};
use ruvio_e2e::transcript::{Script, run};

use super::FLAGS;
use crate::transcripts::collect;

/// Where a spread keyspace differs by design, and what is seen of it.
const MEANT: &[(&str, &str)] = &[
    ("bits/offset_limits.txt", CROSSED),
    ("generic/empty_result_store.txt", CROSSED),
    // A call of SCAN stays within one shard.
    ("generic/scan_arguments.txt", "got [\"281474976710656\", []]"),
    ("hashes/field_ttl_then_overwritten.txt", CROSSED),
    // Its first command waits for two keys, and is refused.
    ("lists/blocking.txt", "0 clients are blocked, not 1"),
    (
        "lists/expired_before_it_is_served.txt",
        "got -ERR Command 'debug' not allowed inside a transaction of a server with several shards",
    ),
    ("lists/null_shapes.txt", CROSSED),
    ("lists/null_shapes_resp3.txt", CROSSED),
    // Each shard numbers its fences.
    ("native/idem.txt", "got [\"NEW\", :1, \"a\"]"),
    ("native/limit.txt", CROSSED),
    (
        "server/save_kept.txt",
        "got -ERR Command 'waitaof' not allowed inside a transaction of a server with several shards",
    ),
    ("sets/numkeys.txt", CROSSED),
    ("sorted_sets/zrangestore_failed.txt", CROSSED),
    ("strings/msetnx.txt", CROSSED),
    ("transactions/errors.txt", CROSSED),
    ("transactions/order_and_kinds.txt", CROSSED),
    ("transactions/watch_and_flush.txt", CROSSED),
    ("transactions/watch_touches.txt", CROSSED),
];

/// Keys of several slots in one command, or in one transaction.
const CROSSED: &str = "got -CROSSSLOT Keys in request don't hash to the same slot";
const PLAYERS: usize = 8;

#[test]
fn transcripts_hold_on_several_shards() {
    let root = repository().join("e2e/transcripts");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..PLAYERS {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy();
                    let meant = MEANT.iter().find(|(file, _)| *file == name);
                    let told = match (play(file), meant) {
                        (Ok(()), None) => continue,
                        (Ok(()), Some(_)) => "holds, and is listed as one that does not".to_string(),
                        (Err(error), Some((_, seen))) if format!("{error:#}").contains(seen) => continue,
                        (Err(error), _) => format!("{error:#}"),
                    };
                    let told = format!("{name}: {told}");
                    failures.lock().expect("no player panics").push(told);
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no player panics");
    failures.sort();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn play(file: &Path) -> anyhow::Result<()> {
    let mut script = Script::parse(&std::fs::read_to_string(file)?)?;
    script.flags.extend(FLAGS.iter().map(|flag| (*flag).to_string()));
    run(&script, Kind::Ruvio).map(drop)
}

//! Images of the nodes of these tests: real ones, of entries that put a string each.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use openraft::{EntryPayload, RaftLogReader};
use ruvio_core::effect::{Effect, Effects, rows};
use ruvio_core::image::At;
use ruvio_core::image::window::{Entries, Entry, Failure};
use ruvio_core::keyspace::{Shard, kind};

use crate::image::{Arrivals, Exports, Image};
use crate::raft::snapshot::{Before, Held, Images, Received};
use crate::raft::store::Store;
use crate::raft::wire;
use crate::wal::{LogId, LogIndex, ShardId};

/// Puts one string of so many bytes at a key that sorts by its number.
pub fn put(nth: usize, bytes: usize) -> Bytes {
    let key = format!("{nth:08}");
    // Nothing that a compression would make short.
    let mut state = nth as u64 + 1;
    let value: Vec<u8> = (0..bytes)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        })
        .collect();
    encode(&Effect::Put {
        key: key.as_bytes(),
        kind: kind::STRING_RAW,
        value: &value,
        expire_at: None,
        created: true,
    })
}

fn encode(effect: &Effect<'_>) -> Bytes {
    let mut effects = Effects::default();
    effects.push(0, effect);
    Bytes::copy_from_slice(effects.bytes())
}

pub struct Shelf {
    image: Image,
    seed: u64,
    arrivals: Arc<Arrivals>,
    held: Mutex<Option<Held>>,
    pub installed: AtomicUsize,
    pub bytes_per_second_max: AtomicU64,
}

impl Shelf {
    pub fn open(folder: &Path, shards: &[ShardId], seed: u64) -> Arc<Self> {
        let image = Image::open(folder, shards).expect("the image is in order");
        let arrivals = Arrivals::open(&folder.join("arriving")).expect("a folder");
        let shelf = Self {
            image,
            seed,
            arrivals: Arc::new(arrivals),
            held: Mutex::new(None),
            installed: AtomicUsize::new(0),
            bytes_per_second_max: AtomicU64::new(0),
        };
        shelf.note(shards[0]);
        Arc::new(shelf)
    }

    fn note(&self, shard: ShardId) {
        let meta = self.image.meta(shard).expect("it is readable");
        let at = meta.map(|meta| LogId::new(meta.at.term, meta.at.node, meta.at.index));
        *self.held.lock().expect("locked") = at.map(|at| Held { at });
    }

    pub fn index(&self) -> LogIndex {
        let held = *self.held.lock().expect("locked");
        held.map_or(LogIndex(0), |held| held.at.index)
    }

    /// Bytes of files that arrive.
    pub fn arriving(folder: &Path) -> u64 {
        let files = std::fs::read_dir(folder.join("arriving"))
            .into_iter()
            .flatten()
            .flatten();
        files
            .filter_map(|file| file.metadata().ok())
            .map(|file| file.len())
            .sum()
    }

    /// Takes in the log up to an entry that is committed.
    pub fn paint(&self, shard: ShardId, store: &Store, to: LogIndex) {
        let from = self.index();
        if from >= to {
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let mut store = store.clone();
        let entries = store.try_get_log_entries(from.0..to.0);
        let entries = runtime.block_on(entries).expect("the log is readable");
        let mut window = Window::default();
        for entry in entries {
            let id = wire::wal_id(&entry.log_id);
            assert_eq!(id.index.0, from.0 + window.entries.len() as u64 + 1, "no gap");
            let payload = match entry.payload {
                EntryPayload::Normal(batch) => batch.0,
                _ => Bytes::new(),
            };
            window.entries.push((id, window.bytes.len(), payload.len()));
            window.bytes.extend_from_slice(&payload);
        }
        self.image
            .advance(shard, self.seed, &mut window)
            .expect("it takes in the log");
        self.note(shard);
    }

    /// What it holds, and up to where.
    pub fn keyspace(&self, shard: ShardId) -> (Vec<Bytes>, LogIndex) {
        let Some(meta) = self.image.meta(shard).expect("it is readable") else {
            return (Vec::new(), LogIndex(0));
        };
        let mut keyspace = Shard::new(meta.seed, 1);
        self.image.load(shard, &mut keyspace).expect("it loads");
        let mut all = Vec::new();
        keyspace.databases[0].for_each(&keyspace.heap, |entry| {
            rows::for_each(entry, &keyspace.heap, &mut |effect| all.push(encode(effect)));
        });
        // By their keys, which are of one length.
        all.sort();
        (all, LogIndex(meta.at.index))
    }
}

#[derive(Default)]
struct Window {
    entries: Vec<(LogId, usize, usize)>,
    bytes: Vec<u8>,
    next: usize,
}

impl Entries for Window {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Failure> {
        let Some((id, place, len)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        self.next += 1;
        Ok(Some(Entry {
            at: At {
                term: id.term.0,
                node: id.node.0,
                index: id.index.0,
            },
            place: *place as u32,
            payload: &self.bytes[*place..place + len],
        }))
    }

    fn bytes(&self, place: u32) -> (&[u8], usize) {
        (&self.bytes, place as usize)
    }
}

impl Images for Shelf {
    fn held(&self, _: ShardId) -> Option<Held> {
        *self.held.lock().expect("locked")
    }

    fn install(&self, shard: ShardId, received: Received) -> BoxFuture<'_, io::Result<()>> {
        let installed = self
            .image
            .install(shard, &received.file)
            .map_err(io::Error::other);
        self.note(shard);
        self.installed.fetch_add(1, Ordering::AcqRel);
        Box::pin(async move { installed.map(|_| ()) })
    }

    fn forget(&self, shard: ShardId, before: Before) -> BoxFuture<'_, io::Result<()>> {
        Box::pin(async move {
            tokio::task::spawn_blocking(before)
                .await
                .map_err(io::Error::other)??;
            self.image.forget(shard).map_err(io::Error::other)?;
            self.note(shard);
            Ok(())
        })
    }

    fn exports(&self) -> Option<Exports> {
        Some(self.image.exports())
    }

    fn arrivals(&self) -> Option<Arc<Arrivals>> {
        Some(Arc::clone(&self.arrivals))
    }

    fn bytes_per_second_max(&self) -> u64 {
        self.bytes_per_second_max.load(Ordering::Acquire)
    }
}

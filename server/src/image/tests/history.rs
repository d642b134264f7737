//! A shard that executes commands, its log in memory, and an image in a scratch folder.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use ruvio_core::command::OwnedArgs;
use ruvio_core::effect::apply::apply;
use ruvio_core::effect::{Decoder, rows};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Engine, Host, MemoryFigures};
use ruvio_core::exec::Now;
use ruvio_core::image::At;
use ruvio_core::image::window::{Entries, Entry, Failure};
use ruvio_core::keyspace::Shard;
use ruvio_core::resp::Reply;

use crate::image::{Advanced, Image};
use crate::wal::ShardId;

pub(super) const SEED: u64 = 0x5EED;
pub(super) const SHARD: ShardId = ShardId(3);
const START_MS: u64 = 1_700_000_000_000;

struct NoHost;

impl Host for NoHost {
    fn reserve_clients(&self, _count: usize) -> Result<(), usize> {
        Ok(())
    }
    fn clock_us(&self) -> u64 {
        0
    }
    fn memory(&self) -> MemoryFigures {
        MemoryFigures::default()
    }
    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        Err(path.to_string())
    }
    fn write_file(&self, path: &str, _bytes: &[u8]) -> Result<(), String> {
        Err(path.to_string())
    }
    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        Ok(vec![7; len])
    }
}

/// A folder that goes with the test.
pub(super) struct Scratch(pub(super) PathBuf);

impl Scratch {
    pub(super) fn new() -> Self {
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("ruvio-image-{}-{nth}", std::process::id()));
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

/// Entries one behind the other.
#[derive(Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Log {
    fn append(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.ends.push(self.bytes.len());
    }

    fn start_of(&self, index: u64) -> usize {
        match index {
            1 => 0,
            _ => self.ends[index as usize - 2],
        }
    }

    fn payload(&self, index: u64) -> &[u8] {
        &self.bytes[self.start_of(index)..self.ends[index as usize - 1]]
    }
}

pub(super) struct Tail<'l> {
    log: &'l Log,
    next: u64,
    to: u64,
}

impl Entries for Tail<'_> {
    fn next(&mut self) -> Result<Option<Entry<'_>>, Failure> {
        if self.next > self.to {
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        Ok(Some(Entry {
            at: At {
                term: 1,
                node: 1,
                index,
            },
            place: self.log.start_of(index) as u32,
            payload: self.log.payload(index),
        }))
    }

    fn bytes(&self, place: u32) -> (&[u8], usize) {
        (&self.log.bytes, place as usize)
    }
}

/// See the module.
pub(super) struct History {
    pub(super) engine: Engine,
    client: ClientId,
    now_ms: u64,
    pub(super) log: Log,
}

impl History {
    pub(super) fn new() -> Self {
        Self::of(Shard::new(SEED, 1))
    }

    /// Goes on with a shard that was loaded.
    pub(super) fn of(mut shard: Shard) -> Self {
        shard.effects.switch(true);
        let mut engine = Engine::new(shard, Box::new(NoHost));
        let now = Now::from_ms(START_MS);
        let client = engine.connect("127.0.0.1:1".into(), "127.0.0.1:2".into(), 1, now);
        Self {
            engine,
            client,
            now_ms: START_MS,
            log: Log::default(),
        }
    }

    pub(super) fn pass_ms(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    /// Runs a command; its effects go into the entry in the making.
    pub(super) fn run(&mut self, line: &str) -> String {
        let args = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
        let mut reply = Reply::default();
        let now = Now::from_ms(self.now_ms);
        self.engine.execute(self.client, args.view(), now, &mut reply);
        String::from_utf8_lossy(reply.as_slice()).into_owned()
    }

    pub(super) fn end_entry(&mut self) {
        self.log.append(self.engine.shard.effects.bytes());
        self.engine.shard.effects.clear();
    }

    pub(super) fn last(&self) -> u64 {
        self.log.ends.len() as u64
    }

    /// Has the image take in the entries up to an index.
    pub(super) fn advance(&self, image: &Image, to: u64) -> Advanced {
        self.advance_seeded(image, SEED, to)
    }

    /// The same for an image whose shard has another hash.
    pub(super) fn advance_seeded(&self, image: &Image, seed: u64, to: u64) -> Advanced {
        let held = image.meta(SHARD).expect("a readable image");
        let mut tail = Tail {
            log: &self.log,
            next: held.map_or(0, |meta| meta.at.index) + 1,
            to,
        };
        image.advance(SHARD, seed, &mut tail).expect("a run")
    }

    /// What a start makes of the image and the rest of the log is what is in memory.
    #[track_caller]
    pub(super) fn assert_started(&self, image: &Image) {
        let seed = image
            .meta(SHARD)
            .expect("readable")
            .map_or(SEED, |meta| meta.seed);
        let mut shard = Shard::new(seed, 2);
        let loaded = image.load(SHARD, &mut shard).expect("a load");
        let index = loaded.map_or(0, |loaded| loaded.meta.at.index);
        for index in index + 1..=self.last() {
            for effect in Decoder::new(self.log.payload(index)) {
                let (db, effect) = effect.expect("effects");
                apply(&mut shard, db, &effect).expect("fits");
            }
        }
        let (found, expected) = (dump(&shard), dump(&self.engine.shard));
        let different = found.iter().zip(&expected).find(|(one, other)| one != other);
        assert_eq!(different, None);
        assert_eq!(found.len(), expected.len());
        assert_eq!(shard.fence, self.engine.shard.fence);
    }
}

/// The content of a shard as sorted lines, a row each.
fn dump(shard: &Shard) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, table) in shard.databases.iter().enumerate() {
        table.for_each(&shard.heap, |entry| {
            rows::for_each(entry, &shard.heap, &mut |effect| {
                lines.push(format!("{number} {effect:?}"));
            });
        });
    }
    lines.sort();
    lines
}

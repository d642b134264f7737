//! A log and an image in memory, as plain as can be.

use std::collections::BTreeMap;

use crate::effect::Decoder;
use crate::effect::apply::apply;
use crate::image::row::{META_KEY, RowKey};
use crate::image::window::{Counts, Entries, Entry, Failure, Reach, Sink, emit, gather_within};
use crate::image::{At, LoadError, Loader, Meta, merge};
use crate::keyspace::Shard;

/// Entries one behind the other, with something between them.
#[derive(Default)]
pub(super) struct Log {
    bytes: Vec<u8>,
    /// Where each begins and ends; the first has index 1.
    spans: Vec<(usize, usize)>,
}

impl Log {
    pub(super) fn append(&mut self, payload: &[u8]) {
        self.bytes.extend_from_slice(b"head of a record");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(payload);
        self.spans.push((start, self.bytes.len()));
    }

    pub(super) fn last(&self) -> u64 {
        self.spans.len() as u64
    }

    fn payload(&self, index: u64) -> &[u8] {
        let (start, end) = self.spans[index as usize - 1];
        &self.bytes[start..end]
    }

    /// The entries after an index, up to another.
    pub(super) fn tail(&self, after: u64, to: u64) -> Tail<'_> {
        Tail {
            log: self,
            next: after + 1,
            to,
        }
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
                node: 2,
                index,
            },
            place: self.log.spans[index as usize - 1].0 as u32,
            payload: self.log.payload(index),
        }))
    }

    fn bytes(&self, place: u32) -> (&[u8], usize) {
        (&self.log.bytes, place as usize)
    }
}

/// Rows as RocksDB would hold them, but merged at once.
#[derive(Default, Clone)]
pub(super) struct Rows(pub(super) BTreeMap<Vec<u8>, Vec<u8>>);

/// One file: its rows in order, each once.
struct Run<'r> {
    rows: &'r mut Rows,
    last: Option<Vec<u8>>,
}

impl Run<'_> {
    fn note(&mut self, key: &[u8]) {
        let in_order = self.last.as_deref().is_none_or(|last| last < key);
        assert!(in_order, "{key:?} does not come after {:?}", self.last);
        self.last = Some(key.to_vec());
    }
}

impl Sink for Run<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.note(key);
        self.rows.0.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Failure> {
        self.note(key);
        let row = self.rows.0.get_mut(key).ok_or("a row that is there")?;
        *row = merge::merge(row, [operand].into_iter())?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Failure> {
        self.note(key);
        let gone = self.rows.0.remove(key);
        assert!(gone.is_some(), "a tombstone for nothing: {key:?}");
        Ok(())
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Failure> {
        assert!(self.last.as_deref() == Some(&META_KEY), "ranges come first");
        let dead = self.rows.0.range(from.to_vec()..to.to_vec());
        let dead: Vec<Vec<u8>> = dead.map(|(key, _)| key.clone()).collect();
        for key in dead {
            self.rows.0.remove(&key);
        }
        Ok(())
    }
}

impl Rows {
    pub(super) fn meta(&self, seed: u64) -> Meta {
        let row = self.0.get(META_KEY.as_slice());
        row.map_or(Meta::new(seed), |row| Meta::decode(row).expect("a meta row"))
    }

    /// Takes in a window up to an index, in as many runs as notes of that size need.
    pub(super) fn advance(&mut self, log: &Log, seed: u64, to: u64, bytes_max: usize) -> Counts {
        let mut all = Counts::default();
        loop {
            let before = self.meta(seed);
            let mut tail = log.tail(before.at.index, to);
            let gathered = gather_within(&mut tail, &before, bytes_max).expect("a readable log");
            let reach = gathered.reach;
            if gathered.entries > 0 {
                let mut run = Run {
                    rows: self,
                    last: None,
                };
                let counts = emit(gathered, &tail, &mut run).expect("rows");
                all.puts += counts.puts;
                all.merges += counts.merges;
                all.deletes += counts.deletes;
                all.ranges += counts.ranges;
            }
            if reach == Reach::End {
                return all;
            }
        }
    }

    pub(super) fn load(&self, seed: u64) -> Result<Shard, LoadError> {
        let mut shard = Shard::new(seed, 5);
        let mut loader = Loader::new(self.meta(seed), &mut shard);
        for (key, value) in &self.0 {
            loader.row(&mut shard, key, value)?;
        }
        loader.finish(&mut shard)?;
        Ok(shard)
    }

    /// The shard that a start makes: loaded, and the rest of the log replayed.
    pub(super) fn start(&self, log: &Log, seed: u64) -> Shard {
        let mut shard = self.load(seed).unwrap_or_else(|error| panic!("{error}"));
        for index in self.meta(seed).at.index + 1..=log.last() {
            for effect in Decoder::new(log.payload(index)) {
                let (db, effect) = effect.expect("effects decode");
                apply(&mut shard, db, &effect).unwrap_or_else(|error| panic!("{error}: {effect:?}"));
            }
        }
        shard
    }

    /// Rows by what they are, for tests that count them.
    pub(super) fn elements(&self) -> usize {
        let keys = self.0.keys().map(|key| RowKey::parse(key).expect("a row"));
        keys.filter(|key| matches!(key, RowKey::Element { .. })).count()
    }
}

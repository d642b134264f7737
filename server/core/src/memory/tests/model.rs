//! Random operations on a table and on a plain map, which must agree after each.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use proptest::prelude::*;

use super::super::{Expiry, Handle, Heap, NewValue, Table, Value};
use super::{Counted, check_whole, small_heap};

#[derive(Debug, Clone, PartialEq)]
enum Held {
    Bytes(Vec<u8>),
    Object(u64),
}

#[derive(Debug, Clone, PartialEq)]
struct Row {
    kind: u8,
    held: Held,
    expire_at_ms: Option<u64>,
    access: u32,
}

#[derive(Debug, Clone)]
enum Op {
    Put {
        key: u16,
        kind: u8,
        value: Held,
        expiry: Option<Option<u64>>,
    },
    Resize {
        key: u16,
        len: usize,
    },
    SetBytes {
        key: u16,
        len: usize,
    },
    Write {
        key: u16,
        byte: u8,
    },
    SetExpiry {
        key: u16,
        at_ms: Option<u64>,
    },
    Marks {
        key: u16,
        kind: u8,
        access: u32,
    },
    Bump {
        key: u16,
    },
    Remove {
        key: u16,
    },
    RemoveRange {
        from: u16,
        count: u16,
    },
    Compact {
        budget: usize,
    },
    Clear {
        budget: usize,
    },
    FillRange {
        from: u16,
        count: u16,
    },
}

/// Lengths around the borders: class steps, the largest inline value, and beyond.
fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0usize..40, 3 => 0usize..600, 2 => 1980usize..2070, 1 => 2000usize..9000]
}

fn held() -> impl Strategy<Value = Held> {
    prop_oneof![
        5 => (any::<u8>(), lengths()).prop_map(|(byte, len)| Held::Bytes(vec![byte; len])),
        1 => any::<u64>().prop_map(Held::Object),
    ]
}

fn op(keys: u16) -> impl Strategy<Value = Op> {
    let key = 0..keys;
    let at = prop_oneof![Just(0u64), 1u64..1 << 48];
    prop_oneof![
        12 => (key.clone(), 0u8..16, held(), prop::option::of(prop::option::of(at.clone())))
            .prop_map(|(key, kind, value, expiry)| Op::Put { key, kind, value, expiry }),
        3 => (key.clone(), lengths()).prop_map(|(key, len)| Op::Resize { key, len }),
        3 => (key.clone(), lengths()).prop_map(|(key, len)| Op::SetBytes { key, len }),
        2 => (key.clone(), any::<u8>()).prop_map(|(key, byte)| Op::Write { key, byte }),
        3 => (key.clone(), prop::option::of(at)).prop_map(|(key, at_ms)| Op::SetExpiry { key, at_ms }),
        2 => (key.clone(), 0u8..16, 0u32..1 << 21).prop_map(|(key, kind, access)| Op::Marks { key, kind, access }),
        1 => key.clone().prop_map(|key| Op::Bump { key }),
        6 => key.clone().prop_map(|key| Op::Remove { key }),
        1 => (key.clone(), 0..keys).prop_map(|(from, count)| Op::RemoveRange { from, count }),
        1 => (1usize..5000).prop_map(|budget| Op::Compact { budget }),
        1 => (key, 0..keys).prop_map(|(from, count)| Op::FillRange { from, count }),
        1 => (0usize..50).prop_map(|budget| Op::Clear { budget }),
    ]
}

/// Every 37th key is too long to be inline.
fn key_of(number: u16) -> Vec<u8> {
    if number % 37 == 5 {
        format!("{number}-").repeat(120).into_bytes()
    } else {
        format!("key:{number}").into_bytes()
    }
}

struct Pair {
    heap: Heap,
    table: Table<Counted>,
    model: HashMap<Vec<u8>, Row>,
    /// Handles as an owner of a secondary index would keep them.
    handles: HashMap<Vec<u8>, Handle>,
    live: Arc<AtomicI64>,
    cursor: u64,
}

impl Pair {
    fn put(&mut self, key: &[u8], kind: u8, value: &Held, expiry: Expiry) {
        let hash = self.heap.hash(key);
        let new = match value {
            Held::Bytes(bytes) => NewValue::Bytes(bytes),
            Held::Object(payload) => NewValue::Boxed(Counted::new(*payload, &self.live)),
        };
        let put = self.table.put(&mut self.heap, hash, key, kind, new, expiry);
        let old = self.model.get(key);
        assert_eq!(put.replaced, old.is_some());
        let old_payload = old.and_then(|row| match row.held {
            Held::Object(payload) => Some(payload),
            Held::Bytes(_) => None,
        });
        assert_eq!(put.old_box.map(|object| object.payload), old_payload);
        let expire_at_ms = match expiry {
            Expiry::Keep => old.and_then(|row| row.expire_at_ms),
            Expiry::Clear => None,
            Expiry::At(at_ms) => Some(at_ms),
        };
        let access = old.map_or(0, |row| row.access);
        assert_eq!(self.heap.key_of(put.handle), key);
        self.model.insert(
            key.to_vec(),
            Row {
                kind,
                held: value.clone(),
                expire_at_ms,
                access,
            },
        );
    }

    fn remove(&mut self, key: &[u8]) {
        let hash = self.heap.hash(key);
        let removed = self.table.remove(&mut self.heap, hash, key);
        let expected = self.model.remove(key);
        let removed = removed.map(|it| (it.kind, it.had_expiry, it.old_box.map(|object| object.payload)));
        let expected = expected.map(|row| {
            let payload = match row.held {
                Held::Object(payload) => Some(payload),
                Held::Bytes(_) => None,
            };
            (row.kind, row.expire_at_ms.is_some(), payload)
        });
        assert_eq!(removed, expected);
    }

    fn resize(&mut self, key: &[u8], len: usize) {
        let hash = self.heap.hash(key);
        let slot = self.table.get_mut(&mut self.heap, hash, key);
        assert_eq!(slot.is_some(), self.model.contains_key(key));
        let Some(mut slot) = slot else { return };
        slot.resize(len);
        if let Some(Row {
            held: Held::Bytes(bytes),
            ..
        }) = self.model.get_mut(key)
        {
            bytes.resize(len, 0);
        }
    }

    fn change(&mut self, op: &Op, key: &[u8]) {
        let hash = self.heap.hash(key);
        let slot = self.table.get_mut(&mut self.heap, hash, key);
        assert_eq!(slot.is_some(), self.model.contains_key(key));
        let (Some(mut slot), Some(row)) = (slot, self.model.get_mut(key)) else {
            return;
        };
        match *op {
            Op::SetBytes { len, .. } => {
                let bytes = vec![len as u8; len];
                let old = slot.set_bytes(&bytes).map(|object| Held::Object(object.payload));
                assert_eq!(
                    old,
                    Some(row.held.clone()).filter(|held| matches!(held, Held::Object(_)))
                );
                row.held = Held::Bytes(bytes);
            }
            Op::Write { byte, .. } => {
                slot.bytes_mut().fill(byte);
                if let Held::Bytes(bytes) = &mut row.held {
                    bytes.fill(byte);
                }
            }
            Op::SetExpiry { at_ms, .. } => {
                slot.set_expiry(at_ms);
                row.expire_at_ms = at_ms;
            }
            Op::Marks { kind, access, .. } => {
                slot.set_kind(kind);
                slot.set_access(access);
                (row.kind, row.access) = (kind, access);
            }
            _ => {
                if let (Some((object, _)), Held::Object(payload)) = (slot.boxed(), &mut row.held) {
                    object.payload = object.payload.wrapping_add(1);
                    *payload = payload.wrapping_add(1);
                }
            }
        }
        assert_eq!(slot.key(), key);
    }

    fn compact(&mut self, budget: usize) {
        self.rebuild_handles();
        let handles = &mut self.handles;
        self.cursor =
            self.table
                .compact_slice(&mut self.heap, self.cursor, budget, &mut |old, new, entry| {
                    let known = handles.get_mut(entry.key()).expect("what moves is there");
                    assert_eq!(*known, old, "the owner's handle was right before the move");
                    *known = new;
                });
        for (key, &handle) in &self.handles {
            assert_eq!(self.heap.key_of(handle), key);
        }
    }

    fn rebuild_handles(&mut self) {
        self.handles.clear();
        for key in self.model.keys() {
            let handle = self.table.handle(&self.heap, self.heap.hash(key), key);
            self.handles.insert(key.clone(), handle.expect("there"));
        }
    }

    fn clear_slice(&mut self, budget: usize) -> bool {
        let live = self.live.clone();
        let mut objects = 0;
        let before = live.load(Ordering::Relaxed);
        let empty = self.table.clear_slice(&mut self.heap, budget, &mut |object, _| {
            objects += 1;
            drop(object);
        });
        assert_eq!(live.load(Ordering::Relaxed), before - objects);
        let mut left = Vec::new();
        self.table
            .for_each(&self.heap, |entry| left.push(entry.key().to_vec()));
        assert_eq!(left.len(), self.table.len());
        let all = std::mem::take(&mut self.model);
        self.model = all.into_iter().filter(|(key, _)| left.contains(key)).collect();
        assert_eq!(left.len(), self.model.len(), "what is left was there before");
        empty
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Put {
                key,
                kind,
                value,
                expiry,
            } => {
                let expiry = match expiry {
                    None => Expiry::Keep,
                    Some(None) => Expiry::Clear,
                    Some(Some(at_ms)) => Expiry::At(*at_ms),
                };
                self.put(&key_of(*key), *kind, value, expiry);
            }
            Op::Resize { key, len } => self.resize(&key_of(*key), *len),
            Op::SetBytes { key, .. }
            | Op::Write { key, .. }
            | Op::SetExpiry { key, .. }
            | Op::Marks { key, .. }
            | Op::Bump { key } => self.change(op, &key_of(*key)),
            Op::Remove { key } => self.remove(&key_of(*key)),
            Op::RemoveRange { from, count } => {
                (*from..from.saturating_add(*count)).for_each(|key| self.remove(&key_of(key)));
            }
            Op::FillRange { from, count } => (*from..from.saturating_add(*count)).for_each(|key| {
                self.put(
                    &key_of(key),
                    2,
                    &Held::Bytes(key.to_le_bytes().to_vec()),
                    Expiry::Keep,
                );
            }),
            Op::Compact { budget } => self.compact(*budget),
            Op::Clear { budget } => {
                self.clear_slice(*budget);
            }
        }
    }

    fn agree(&self) {
        assert_eq!(self.table.len(), self.model.len());
        let objects = self
            .model
            .values()
            .filter(|row| matches!(row.held, Held::Object(_)))
            .count();
        assert_eq!(self.live.load(Ordering::Relaxed), objects as i64);
        for (key, row) in &self.model {
            let entry = self
                .table
                .get(&self.heap, self.heap.hash(key), key)
                .expect("there");
            let held = match entry.value() {
                Value::Bytes(bytes) => Held::Bytes(bytes.to_vec()),
                Value::Boxed(object) => Held::Object(object.payload),
            };
            let found = Row {
                kind: entry.kind(),
                held,
                expire_at_ms: entry.expire_at_ms(),
                access: entry.access(),
            };
            assert_eq!(&found, row);
        }
        check_whole(&self.table, &self.heap);
    }
}

fn run(squeeze: Option<fn(u64) -> u64>, ops: &[Op]) {
    let mut heap = small_heap(42);
    heap.squeeze = squeeze;
    let mut pair = Pair {
        heap,
        table: Table::new(),
        model: HashMap::new(),
        handles: HashMap::new(),
        live: Arc::default(),
        cursor: 0,
    };
    for (nth, op) in ops.iter().enumerate() {
        pair.apply(op);
        if nth % 16 == 0 {
            pair.agree();
        }
    }
    pair.agree();
    while !pair.clear_slice(100) {}
    assert_eq!(pair.heap.live_bytes(), 0, "all that was taken was given back");
    assert_eq!(pair.live.load(Ordering::Relaxed), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_a_map(ops in prop::collection::vec(op(3000), 1..300)) {
        run(None, &ops);
    }

    /// Eight hashes for all keys: cells run out, splits cannot help, the spill has to.
    #[test]
    fn agrees_with_a_map_when_hashes_are_equal(ops in prop::collection::vec(op(400), 1..200)) {
        run(Some(|hash| (hash & 7) << 61 | 0x55), &ops);
    }

    /// Hashes that differ in their low bits only, so that deep splits are tempting.
    #[test]
    fn agrees_with_a_map_when_hashes_crowd(ops in prop::collection::vec(op(2000), 1..200)) {
        run(Some(|hash| (hash >> 20) | 0x1234 << 48), &ops);
    }
}

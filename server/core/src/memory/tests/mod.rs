//! Tests of the memory module: against a plain map, for the guarantees of walks, and for exact accounting.
//!
//! CI runs them under AddressSanitizer as well.

mod model;
mod shape;
mod walks;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Expiry, Heap, NewValue, Put, Table};

/// An object that counts its live copies.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) payload: u64,
    live: Arc<AtomicI64>,
}

impl Counted {
    pub(super) fn new(payload: u64, live: &Arc<AtomicI64>) -> Box<Counted> {
        live.fetch_add(1, Ordering::Relaxed);
        Box::new(Counted {
            payload,
            live: live.clone(),
        })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(super) fn small_heap(seed: u64) -> Heap {
    Heap::with_reserve(seed, 1 << 30)
}

pub(super) fn put<B>(table: &mut Table<B>, heap: &mut Heap, key: &[u8], value: &[u8]) -> Put<B> {
    let hash = heap.hash(key);
    table.put(heap, hash, key, 1, NewValue::Bytes(value), Expiry::Clear)
}

pub(super) fn remove<B>(table: &mut Table<B>, heap: &mut Heap, key: &[u8]) -> bool {
    let hash = heap.hash(key);
    table.remove(heap, hash, key).is_some()
}

/// Checks everything that a table says of itself against its entries, and that all of them are found.
pub(super) fn check_whole<B>(table: &Table<B>, heap: &Heap) {
    let (mut len, mut expiring) = (0, 0);
    table.for_each(heap, |entry| {
        len += 1;
        expiring += usize::from(entry.expire_at_ms().is_some());
        let found = table
            .get(heap, heap.hash(entry.key()), entry.key())
            .expect("an entry is found by its key");
        assert_eq!(
            found.bytes().as_ptr(),
            entry.bytes().as_ptr(),
            "and is the same entry"
        );
    });
    assert_eq!(len, table.len());
    assert_eq!(expiring, table.expiring());
    let mut walked = 0;
    let mut cursor = 0;
    loop {
        cursor = table.walk_expiring(heap, cursor, 7, |entry| {
            assert!(entry.expire_at_ms().is_some());
            walked += 1;
        });
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(
        walked, expiring,
        "the bitmaps of the buckets agree with the entries"
    );
    table.check_index(heap);
}

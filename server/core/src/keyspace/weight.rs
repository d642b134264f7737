//! How many bytes a key and its value take: `MEMORY USAGE`. Large collections are sampled.

use super::Collection;
use crate::memory::{Entry, Heap, Table};

/// The bytes of a table's index and entries. The entries' size is that of `samples` of them on average; 0
/// looks at all.
pub fn table_bytes<B>(table: &Table<B>, heap: &Heap, samples: usize) -> usize {
    let (mut seen, mut bytes) = (0, 0);
    let mut cursor = 0;
    loop {
        cursor = table.scan(heap, cursor, &mut |entry| {
            seen += 1;
            bytes += entry.size();
        });
        if cursor == 0 || (samples > 0 && seen >= samples) {
            break;
        }
    }
    table.index_bytes() + (bytes * table.len()).checked_div(seen).unwrap_or(0)
}

/// Of a key, its value and its share of the index.
pub fn entry_bytes(entry: &Entry<'_, Collection>, heap: &Heap, samples: usize) -> usize {
    let boxed = entry.boxed().map_or(0, |collection| match collection {
        Collection::Hash(hash) => hash.bytes(heap, samples),
        Collection::List(list) => list.allocated(),
        Collection::Set(set) => set.bytes(heap, samples),
        Collection::SortedSet(set) => set.bytes(heap, samples),
    });
    entry.size() + INDEX_BYTES + boxed
}

/// A key's share of the index, about.
const INDEX_BYTES: usize = 8;

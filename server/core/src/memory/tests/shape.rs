//! Sizes and accounting: what is taken, what comes back, and where the limits are.

use super::super::{Expiry, Heap, NewValue, Populate, Table};
use super::{check_whole, put, remove, small_heap};

fn key(number: u32) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(format!("{number:08}").as_bytes());
    key
}

fn sendable<T: Send>() {}

#[test]
fn an_empty_table_takes_nothing() {
    sendable::<(Heap, Table<Box<u8>>, Populate)>();
    let mut heap = small_heap(0);
    let mut table: Table<()> = Table::new();
    assert_eq!(heap.live_bytes(), 0);
    assert!(size_of::<Table<()>>() <= 80, "{}", size_of::<Table<()>>());
    assert!(table.get(&heap, 5, b"x").is_none());
    assert_eq!(table.scan(&heap, 0, &mut |_| {}), 0);
    assert!(table.sample(&heap, 3, false).is_none());
    assert!(table.clear_slice(&mut heap, 10, &mut |_, _| {}));
}

#[test]
fn an_entry_costs_its_header_and_a_share_of_the_index() {
    let mut heap = small_heap(11);
    let mut table: Table<()> = Table::new();
    for number in 0..200_000 {
        put(&mut table, &mut heap, &key(number), &[7; 16]);
        let len = number as usize + 1;
        if len >= 130 && len.is_multiple_of(10) {
            let limit = if len < 800 { 10.7 } else { 9.0 };
            let cost = table.index_bytes() as f64 / len as f64;
            assert!(cost < limit, "{len} entries: {cost:.2} bytes of index each");
        }
    }
    // Header and two times 16 bytes, in a slot of 40.
    assert_eq!(heap.live_bytes(), table.index_bytes() + 200_000 * 40);
    for number in 0..200_000 {
        let hash = heap.hash(&key(number));
        table
            .get_mut(&mut heap, hash, &key(number))
            .expect("there")
            .set_expiry(Some(1));
    }
    assert_eq!(heap.live_bytes(), table.index_bytes() + 200_000 * 48);
    check_whole(&table, &heap);
}

#[test]
fn a_reserved_table_is_filled_without_growing() {
    for len in [10, 500, 5_000, 100_000] {
        let mut heap = small_heap(11);
        let mut table: Table<()> = Table::new();
        table.reserve(&mut heap, len as usize);
        let index_bytes = table.index_bytes();
        (0..len).for_each(|number| {
            put(&mut table, &mut heap, &key(number), b"");
        });
        let grown = table.index_bytes() as f64 / index_bytes as f64;
        assert!(grown < 1.02, "{len} entries: grown by {grown}");
        check_whole(&table, &heap);
    }
}

#[test]
fn memory_comes_back_after_deletions() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    for number in 0..300_000 {
        put(&mut table, &mut heap, &key(number), &[7; 16]);
    }
    let full = heap.mapped_bytes();
    for number in (0..300_000).filter(|number| number % 10 != 0) {
        assert!(remove(&mut table, &mut heap, &key(number)));
    }
    assert!(
        table.index_bytes() < 30_000 * 24,
        "the index shrinks by itself: {}",
        table.index_bytes()
    );
    let mut cursor = 0;
    loop {
        cursor = table.compact_slice(&mut heap, cursor, 1000, &mut |_, _, _| {});
        if cursor == 0 {
            break;
        }
    }
    check_whole(&table, &heap);
    let left = heap.mapped_bytes();
    // A tenth, the pages that are kept, and the half-full rest.
    assert!(left < full / 10 * 2 + (2 << 20), "{left} of {full}");
    for number in (0..300_000).filter(|number| number % 10 == 0) {
        assert!(remove(&mut table, &mut heap, &key(number)));
    }
    assert_eq!(heap.live_bytes(), 0);
    assert!(heap.mapped_bytes() <= 1 << 20, "{}", heap.mapped_bytes());
}

#[test]
fn memory_given_back_is_used_again() {
    let mut heap = Heap::with_reserve(5, 64 << 20);
    let mut table: Table<()> = Table::new();
    let room = heap.room_bytes();
    // Six times what fits at once.
    for round in 0..12u8 {
        for number in 0..30_000 {
            put(
                &mut table,
                &mut heap,
                &key(number),
                &vec![round; 1000 + usize::from(round) * 16],
            );
        }
        check_whole(&table, &heap);
        while !table.clear_slice(&mut heap, 1000, &mut |_, _| {}) {}
        assert_eq!(heap.live_bytes(), 0);
        assert_eq!(heap.room_bytes(), room);
    }
}

#[test]
fn an_overwrite_of_the_same_size_stays_in_place() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    for len in [0, 3, 16, 500, 1900, 5000] {
        put(&mut table, &mut heap, b"k", &vec![1; len]);
        let hash = heap.hash(b"k");
        let before = (
            heap.live_bytes(),
            table.get(&heap, hash, b"k").expect("there").bytes().as_ptr(),
        );
        assert!(put(&mut table, &mut heap, b"k", &vec![2; len]).replaced);
        let entry = table.get(&heap, hash, b"k").expect("there");
        assert_eq!(entry.bytes(), vec![2; len]);
        assert_eq!(before, (heap.live_bytes(), entry.bytes().as_ptr()));
    }
}

#[test]
fn appending_is_amortised() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    put(&mut table, &mut heap, b"k", b"");
    let hash = heap.hash(b"k");
    let (mut changes, mut before) = (0, 0);
    for len in 1..=300_000 {
        let mut slot = table.get_mut(&mut heap, hash, b"k").expect("there");
        slot.resize(len);
        slot.bytes_mut()[len - 1] = len as u8;
        if len > 4096 {
            changes += usize::from(before != heap.live_bytes());
        }
        before = heap.live_bytes();
    }
    assert!(changes < 20, "300 000 appended bytes, {changes} allocations");
    let bytes = table.get(&heap, hash, b"k").expect("there").bytes();
    assert!(bytes.iter().zip(1usize..).all(|(&byte, len)| byte == len as u8));
    assert!(heap.live_bytes() < 300_000 * 3 / 2 + 500);
    table.get_mut(&mut heap, hash, b"k").expect("there").resize(10);
    assert!(
        heap.live_bytes() < 200,
        "a value cut short goes back inline: {}",
        heap.live_bytes()
    );
}

/// A collection whose elements live in the heap of the database around it.
struct Collection {
    elements: Table<Collection>,
}

#[test]
fn inner_tables_share_the_heap() {
    let mut heap = small_heap(5);
    let mut table: Table<Collection> = Table::new();
    for number in 0..50 {
        let key = key(number);
        let hash = heap.hash(&key);
        let object = Box::new(Collection {
            elements: Table::new(),
        });
        table.put(&mut heap, hash, &key, 3, NewValue::Boxed(object), Expiry::Keep);
        let mut slot = table.get_mut(&mut heap, hash, &key).expect("there");
        let (collection, heap) = slot.boxed().expect("boxed");
        for element in 0..200 {
            put(
                &mut collection.elements,
                heap,
                &self::key(element),
                &number.to_le_bytes(),
            );
        }
        slot.set_expiry(Some(77));
        assert_eq!(slot.entry().boxed().expect("boxed").elements.len(), 200);
    }
    let mut elements = 0;
    table.for_each(&heap, |entry| {
        let number: u32 = std::str::from_utf8(&entry.key()[8..])
            .expect("digits")
            .parse()
            .expect("digits");
        entry.boxed().expect("boxed").elements.for_each(&heap, |element| {
            assert_eq!(element.bytes(), number.to_le_bytes());
            elements += 1;
        });
    });
    assert_eq!(elements, 10_000);
    while !table.clear_slice(&mut heap, 10, &mut |mut object, heap| {
        while !object.elements.clear_slice(heap, usize::MAX, &mut |_, _| {}) {}
    }) {}
    assert_eq!(heap.live_bytes(), 0);
}

#[test]
fn a_full_range_refuses_and_leaves_the_table_whole() {
    let mut heap = Heap::with_reserve(5, 2 << 20);
    let mut table: Table<()> = Table::new();
    let filled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        (0..100_000).for_each(|number| {
            put(&mut table, &mut heap, &key(number), &[7; 16]);
        });
    }));
    let message = filled
        .expect_err("it does not fit")
        .downcast::<String>()
        .expect("a message");
    assert!(message.contains("memory range of a shard is full"), "{message}");
    assert_eq!(heap.room_bytes(), 0);
    assert!(table.len() > 30_000, "{}", table.len());
    check_whole(&table, &heap);
    for number in 0..table.len() as u32 {
        assert!(
            remove(&mut table, &mut heap, &key(number)),
            "removing needs no memory"
        );
    }
    assert!(table.is_empty());
}

#[test]
#[should_panic = "a table is used with its own heap"]
fn another_heap_is_refused() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    put(&mut table, &mut heap, b"k", b"v");
    let other = small_heap(5);
    table.get(&other, other.hash(b"k"), b"k");
}

#[test]
#[cfg(debug_assertions)]
#[should_panic = "a stale handle was used"]
fn a_stale_handle_is_noticed() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    let handle = put(&mut table, &mut heap, b"k", b"v").handle;
    assert_eq!(heap.key_of(handle), b"k");
    remove(&mut table, &mut heap, b"k");
    heap.key_of(handle);
}

#[test]
fn memory_is_backed_ahead_of_large_tables_only() {
    let mut heap = small_heap(5);
    let mut table: Table<()> = Table::new();
    let (mut jobs, mut first_at) = (Vec::new(), 0);
    for number in 0..60_000 {
        put(&mut table, &mut heap, &key(number), &[7; 2000]);
        if let Some(job) = heap.populate_ahead() {
            first_at = if jobs.is_empty() {
                heap.mapped_bytes()
            } else {
                first_at
            };
            jobs.push(job);
        }
    }
    assert!(first_at >= 32 << 20, "{first_at}");
    let ahead: usize = jobs.iter().map(Populate::bytes).sum();
    let grown = heap.mapped_bytes() - first_at;
    assert!(
        (grown..grown + (24 << 20)).contains(&ahead),
        "{ahead} bytes for {grown}"
    );
    jobs.pop().expect("some").run(|| ());
    check_whole(&table, &heap);
    drop(heap);
    jobs.pop().expect("some").run(|| ());
}

#[test]
fn equal_hashes_take_memory_in_proportion() {
    let mut heap = small_heap(5);
    heap.squeeze = Some(|_| 0xABCD_EF01_2345_6789);
    let mut table: Table<()> = Table::new();
    for number in 0..3000 {
        put(&mut table, &mut heap, &key(number), b"value");
    }
    assert!(table.index_bytes() < 10_000, "{}", table.index_bytes());
    check_whole(&table, &heap);
    for number in 0..3000 {
        assert!(remove(&mut table, &mut heap, &key(number)));
    }
    assert_eq!(heap.live_bytes(), 0);
}

#[test]
fn a_crowd_at_one_end_of_the_hashes_does_not_blow_up_the_directory() {
    let mut heap = small_heap(5);
    // Each halving of the range holds as many as all before it.
    heap.squeeze = Some(|hash| (hash | 1 << 63) >> (hash & 31));
    let mut table: Table<()> = Table::new();
    for number in 0..60_000 {
        put(&mut table, &mut heap, &key(number), b"");
    }
    let cost = table.index_bytes() as f64 / 60_000.0;
    assert!(cost < 20.0, "{cost} bytes of index an entry");
    check_whole(&table, &heap);
}

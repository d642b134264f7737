//! Sizes, accounting, and what comes back after deletions.

use super::super::Table;
use super::{check_whole, put, small_heap};

fn key(number: u32) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(format!("{number:08}").as_bytes());
    key
}

#[test]
fn an_empty_table_takes_nothing() {
    let mut heap = small_heap(0);
    let mut table: Table<()> = Table::new();
    assert_eq!(heap.live_bytes(), 0);
    assert!(size_of::<Table<()>>() <= 72, "{}", size_of::<Table<()>>());
    assert!(table.get(&heap, 5, b"x").is_none());
    assert_eq!(table.scan(&heap, 0, &mut |_| {}), 0);
    assert!(table.sample(&heap, 3, false).is_none());
    assert!(table.clear_slice(&mut heap, 10, &mut |_, _| {}));
}

#[test]
fn the_index_stays_below_nine_bytes_an_entry() {
    let mut heap = small_heap(11);
    let mut table: Table<()> = Table::new();
    for number in 0..200_000 {
        put(&mut table, &mut heap, &key(number), b"");
        let len = number as usize + 1;
        if len >= 130 && len.is_multiple_of(10) {
            let limit = if len < 800 { 10.7 } else { 9.0 };
            let cost = table.index_bytes() as f64 / len as f64;
            assert!(cost < limit, "{len} entries: {cost:.2} bytes each");
        }
    }
    check_whole(&table, &heap);
}

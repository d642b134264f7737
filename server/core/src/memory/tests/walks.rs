//! The guarantees of scans and samples.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::{Expiry, NewValue, Table};
use super::{check_whole, put, remove, small_heap};

fn key(number: u32) -> Vec<u8> {
    format!("element:{number}").into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    /// Between two calls of one scan the table grows and shrinks by large steps.
    #[test]
    fn a_scan_visits_what_stays_exactly_once(
        stay in 1u32..800,
        steps in prop::collection::vec((any::<bool>(), 1u32..3000), 1..60),
    ) {
        let mut heap = small_heap(7);
        let mut table: Table<()> = Table::new();
        for number in 0..stay {
            put(&mut table, &mut heap, &key(number), b"stays");
        }
        let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut steps = steps.into_iter().cycle();
        let (mut cursor, mut extra, mut calls) = (0, stay, 0u32);
        loop {
            cursor = table.scan(&heap, cursor, &mut |entry| {
                *seen.entry(entry.key().to_vec()).or_default() += 1;
            });
            if cursor == 0 {
                break;
            }
            calls += 1;
            if calls.is_multiple_of(3) && calls < 200 {
                let (grow, count) = steps.next().expect("cycles");
                if grow {
                    (extra..extra + count).for_each(|number| {
                        put(&mut table, &mut heap, &key(number), b"");
                    });
                    extra += count;
                } else {
                    let down_to = extra.saturating_sub(count).max(stay);
                    (down_to..extra).for_each(|number| {
                        remove(&mut table, &mut heap, &key(number));
                    });
                    extra = down_to;
                    table.compact_slice(&mut heap, 0, 1 << 20, &mut |_, _, _| {});
                }
            }
        }
        for number in 0..stay {
            prop_assert_eq!(seen.get(&key(number)), Some(&1));
        }
        check_whole(&table, &heap);
    }
}

#[test]
fn a_scan_of_a_still_table_is_a_permutation() {
    let mut heap = small_heap(1);
    let mut table: Table<()> = Table::new();
    for number in 0..20_000 {
        put(&mut table, &mut heap, &key(number), b"v");
    }
    let (mut cursor, mut calls, mut largest) = (0, 0, 0);
    let mut seen = Vec::new();
    loop {
        let before = seen.len();
        cursor = table.scan(&heap, cursor, &mut |entry| seen.push(entry.key().to_vec()));
        largest = largest.max(seen.len() - before);
        calls += 1;
        assert!(cursor < 1 << 48);
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(seen.len(), 20_000);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 20_000);
    assert!(
        largest <= 48,
        "a call visits the entries of one home bucket: {largest}"
    );
    assert!(calls < 4_000, "a call visits some entries on average: {calls}");
}

/// Counts how often each of `len` entries is drawn, and returns the largest deviation from the mean in
/// standard deviations of a fair draw.
fn unevenness(table: &Table<()>, heap: &super::super::Heap, draws: u64, expiring_only: bool) -> f64 {
    let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
    for nth in 0..draws {
        let random = heap.hash(&nth.to_le_bytes());
        let entry = table
            .sample(heap, random, expiring_only)
            .expect("there are entries");
        *counts.entry(entry.key().to_vec()).or_default() += 1;
    }
    let kinds = if expiring_only {
        table.expiring()
    } else {
        table.len()
    };
    assert!(counts.len() <= kinds);
    let mean = draws as f64 / kinds as f64;
    let worst = counts
        .values()
        .map(|&count| (count as f64 - mean).abs())
        .fold(0.0, f64::max);
    let unseen = if counts.len() < kinds { mean } else { 0.0 };
    worst.max(unseen) / mean.sqrt()
}

#[test]
fn samples_are_about_uniform() {
    for len in [1, 2, 13, 100, 700, 3000] {
        let mut heap = small_heap(3);
        let mut table: Table<()> = Table::new();
        for number in 0..len {
            put(&mut table, &mut heap, &key(number), b"v");
        }
        let deviations = unevenness(&table, &heap, u64::from(len) * 300, false);
        assert!(deviations < 6.0, "{len} entries: {deviations}");
    }
}

#[test]
fn samples_after_deletions_still_find_entries_fairly() {
    let mut heap = small_heap(3);
    let mut table: Table<()> = Table::new();
    for number in 0..50_000 {
        put(&mut table, &mut heap, &key(number), b"v");
    }
    for number in 0..49_000 {
        remove(&mut table, &mut heap, &key(number));
    }
    let deviations = unevenness(&table, &heap, 300_000, false);
    assert!(deviations < 8.0, "{deviations}");
    for number in 49_000..49_999 {
        remove(&mut table, &mut heap, &key(number));
    }
    for random in 0..1000 {
        let entry = table.sample(&heap, random, false).expect("one is left");
        assert_eq!(entry.key(), key(49_999));
    }
}

#[test]
fn samples_of_expiring_entries_are_of_those_only() {
    let mut heap = small_heap(3);
    let mut table: Table<()> = Table::new();
    for number in 0..2000u32 {
        let hash = heap.hash(&key(number));
        let expiry = if number % 5 == 0 {
            Expiry::At(9)
        } else {
            Expiry::Clear
        };
        table.put(&mut heap, hash, &key(number), 0, NewValue::Bytes(b"v"), expiry);
    }
    assert_eq!(table.expiring(), 400);
    for random in 0..5000 {
        let entry = table.sample(&heap, random, true).expect("there are some");
        assert_eq!(entry.expire_at_ms(), Some(9));
    }
    let deviations = unevenness(&table, &heap, 120_000, true);
    assert!(deviations < 12.0, "{deviations}");
}

//! Eviction: that each policy takes what it may and nothing else, and that the approximated order is nearly
//! as good as the exact one on a skewed trace.

use std::collections::{BTreeMap, HashMap};

use super::evict::Policy;
use super::{Db, Shard, kind};
use crate::exec::Now;
use crate::memory::Expiry;

const START_MS: u64 = 1_700_000_000_000;

fn db(shard: &mut Shard, now_ms: u64) -> Db<'_> {
    let now = shard.advance(Now::from_ms(now_ms));
    Db {
        shard,
        index: 0,
        now,
        no_touch: false,
    }
}

fn put(shard: &mut Shard, now_ms: u64, name: &str, expiry: Expiry) {
    let mut db = db(shard, now_ms);
    let key = db.key(name.as_bytes());
    db.put_string(key, b"value", expiry);
}

fn is_there(shard: &Shard, name: &str) -> bool {
    let hash = shard.heap.hash(name.as_bytes());
    shard.databases[0]
        .get(&shard.heap, hash, name.as_bytes())
        .is_some()
}

/// Keys `k:0` and on, each a second younger than the one before; every other one has an expiry.
fn filled(policy: Policy, keys: u64) -> Shard {
    let mut shard = Shard::new(1, 2);
    shard.set_eviction_policy(policy);
    for nth in 0..keys {
        let expiry = match nth % 2 {
            0 => Expiry::At(START_MS + 10_000_000 - nth * 1000),
            _ => Expiry::Clear,
        };
        put(&mut shard, START_MS + nth * 1000, &format!("k:{nth}"), expiry);
    }
    shard
}

fn evict(shard: &mut Shard, keys: u64) -> u64 {
    (0..keys)
        .take_while(|_| shard.evict_one(Now::from_ms(START_MS + 600_000)))
        .count() as u64
}

#[test]
fn each_policy_takes_what_it_may_until_nothing_is_left() {
    for (policy, name) in Policy::NAMES {
        let mut shard = filled(policy, 300);
        let gone = evict(&mut shard, 1000);
        let expected = match name.split('-').next() {
            Some("allkeys") => 300,
            Some("volatile") => 150,
            _ => 0,
        };
        assert_eq!(gone, expected, "{name}");
        assert_eq!(shard.stats.evicted, expected, "{name}");
        assert_eq!(shard.databases[0].len() as u64, 300 - expected, "{name}");
        let without_expiry = (0..300)
            .filter(|nth| is_there(&shard, &format!("k:{nth}")))
            .all(|nth| nth % 2 == 1);
        assert!(without_expiry || expected == 0, "{name}");
    }
}

#[test]
fn those_unused_for_long_go_first_and_by_ttl_those_that_end_soon() {
    for (policy, old_go) in [
        (Policy::AllKeysLru, true),
        (Policy::VolatileLru, true),
        // The younger ones have the nearer expiry.
        (Policy::VolatileTtl, false),
    ] {
        let mut shard = filled(policy, 400);
        let quarter = if policy == Policy::AllKeysLru { 100 } else { 50 };
        assert_eq!(evict(&mut shard, quarter), quarter);
        let gone_old = (0..200)
            .filter(|nth| !is_there(&shard, &format!("k:{nth}")))
            .count() as u64;
        let right = if old_go { gone_old } else { quarter - gone_old };
        assert!(right * 100 >= quarter * 95, "{policy:?}: {right} of {quarter}");
    }
}

#[test]
fn a_record_at_work_is_never_taken() {
    let mut shard = Shard::new(1, 2);
    shard.set_eviction_policy(Policy::AllKeysRandom);
    shard.eviction.must_stay = |record, _| record == b"running";
    for (name, record) in [("a", &b"running"[..]), ("b", b"done"), ("c", b"running")] {
        let mut db = db(&mut shard, START_MS);
        let key = db.key(name.as_bytes());
        db.put_value(key, kind::IDEM, record, Expiry::At(START_MS + 1_000_000));
    }
    for (policy, left) in [
        (Policy::AllKeysRandom, 3),
        (Policy::AllKeysLru, 3),
        (Policy::VolatileTtl, 2),
        (Policy::VolatileRandom, 2),
    ] {
        shard.set_eviction_policy(policy);
        evict(&mut shard, 10);
        assert_eq!(shard.databases[0].len(), left, "{policy:?}");
    }
    assert!(!is_there(&shard, "b"), "the one that is done may go");
}

/// A trace in which key `n` is asked for in proportion to `1 / n^0.99`.
struct Zipf {
    sums: Vec<f64>,
    random: u64,
}

impl Zipf {
    fn new(keys: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=keys).map(|n| {
            sum += 1.0 / (n as f64).powf(0.99);
            sum
        });
        Self {
            sums: sums.collect(),
            random: 7,
        }
    }

    fn next(&mut self) -> usize {
        let uniform = Shard::mix(&mut self.random) as f64 / u64::MAX as f64;
        let at = uniform * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|sum| *sum < at)
    }
}

const KEYS: usize = 4000;
const ROOM: usize = 800;
const ACCESSES: u64 = 40_000;
const STEP_MS: u64 = 20;

fn hits_of(policy: Policy) -> u64 {
    let mut shard = Shard::new(5, 6);
    shard.set_eviction_policy(policy);
    let mut trace = Zipf::new(KEYS);
    let mut hits = 0;
    for nth in 0..ACCESSES {
        let name = format!("key:{}", trace.next());
        let mut db = db(&mut shard, START_MS + nth * STEP_MS);
        let (key, now) = (db.key(name.as_bytes()), db.now);
        if db.find(key).is_some() {
            hits += 1;
            continue;
        }
        db.put_string(key, b"value", Expiry::Clear);
        if shard.databases[0].len() > ROOM {
            assert!(shard.evict_one(now));
        }
    }
    hits
}

fn hits_of_exact_lru() -> u64 {
    let mut trace = Zipf::new(KEYS);
    let (mut used_at, mut by_age) = (HashMap::new(), BTreeMap::new());
    let mut hits = 0;
    for nth in 0..ACCESSES {
        let key = trace.next();
        if let Some(old) = used_at.insert(key, nth) {
            by_age.remove(&old);
            hits += 1;
        }
        by_age.insert(nth, key);
        if by_age.len() > ROOM
            && let Some((_, oldest)) = by_age.pop_first()
        {
            used_at.remove(&oldest);
        }
    }
    hits
}

#[test]
fn on_a_skewed_trace_it_hits_nearly_as_often_as_exact_lru_and_by_frequency_more_often() {
    let exact = hits_of_exact_lru();
    let (lru, lfu, random) = (
        hits_of(Policy::AllKeysLru),
        hits_of(Policy::AllKeysLfu),
        hits_of(Policy::AllKeysRandom),
    );
    println!("of {ACCESSES}: exact LRU {exact}, LRU {lru}, LFU {lfu}, random {random}");
    assert!(lru * 1000 >= exact * 985, "LRU {lru}, exact {exact}");
    assert!(lfu > exact, "LFU {lfu}, exact LRU {exact}");
    assert!(random < lru, "random {random}, LRU {lru}");
}

//! `maxmemory` as a client sees it.

use std::cell::Cell;
use std::rc::Rc;

use super::testing::{NOW_MS, TestHost, connect, run};
use super::{Engine, Host, MemoryFigures};
use crate::exec::Now;
use crate::keyspace::Shard;
use crate::keyspace::evict::Policy;

/// A process whose allocator says what the test wants; each look at its clock takes so many microseconds.
struct Figures(Rc<Cell<usize>>, Cell<u64>, u64);

impl Host for Figures {
    fn clock_us(&self) -> u64 {
        self.1.set(self.1.get() + self.2);
        self.1.get()
    }

    fn memory(&self) -> MemoryFigures {
        MemoryFigures {
            allocated: self.0.get(),
            resident: 0,
        }
    }

    fn read_file(&self, path: &str) -> Result<Vec<u8>, String> {
        TestHost::default().read_file(path)
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), String> {
        TestHost::default().write_file(path, bytes)
    }

    fn secret(&self, len: usize) -> Result<Vec<u8>, String> {
        TestHost::default().secret(len)
    }
}

fn engine(policy: Policy, limit_bytes: usize) -> (Engine, Rc<Cell<usize>>) {
    slow_engine(policy, limit_bytes, 0)
}

fn slow_engine(policy: Policy, limit_bytes: usize, step_us: u64) -> (Engine, Rc<Cell<usize>>) {
    let allocated = Rc::new(Cell::new(0));
    let figures = Figures(Rc::clone(&allocated), Cell::default(), step_us);
    let mut engine = Engine::new(Shard::new(1, 2), Box::new(figures));
    engine.shard.set_eviction_policy(policy);
    engine.shard.eviction.limit_bytes = limit_bytes;
    (engine, allocated)
}

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

#[test]
fn without_eviction_writes_are_refused_until_there_is_room() {
    let (mut engine, allocated) = engine(Policy::NoEviction, 1 << 20);
    let client = connect(&mut engine);
    assert_eq!(run(&mut engine, client, "SET k v"), "+OK\r\n");
    allocated.set(2 << 20);
    assert_eq!(run(&mut engine, client, "SET k w"), OOM);
    assert_eq!(run(&mut engine, client, "GET k"), "$1\r\nv\r\n");
    assert_eq!(
        run(&mut engine, client, "DEL k"),
        ":1\r\n",
        "what needs no memory runs"
    );
    allocated.set(0);
    assert_eq!(run(&mut engine, client, "SET k w"), "+OK\r\n");
    allocated.set(2 << 20);
    assert_eq!(run(&mut engine, client, "SET k x"), OOM);
    engine.shard.eviction.limit_bytes = 0;
    assert_eq!(
        run(&mut engine, client, "SET k x"),
        "+OK\r\n",
        "no limit any more"
    );
}

#[test]
fn with_eviction_writes_go_on_and_memory_stays_within_the_limit() {
    let limit = 256 << 10;
    let (mut engine, _) = engine(Policy::AllKeysLru, limit);
    let client = connect(&mut engine);
    for nth in 0..4000 {
        let line = format!("SET key:{nth} {}", "v".repeat(100));
        assert_eq!(run(&mut engine, client, &line), "+OK\r\n");
        assert!(
            engine.used_bytes() < limit + 16_384,
            "{} bytes",
            engine.used_bytes()
        );
    }
    assert!(engine.shard.stats.evicted > 1000);
    engine.shard.eviction.limit_bytes = limit / 4;
    while engine.tick(Now::from_ms(NOW_MS)) {}
    assert!(engine.used_bytes() <= limit / 4, "the ticks do the rest");
}

#[test]
fn when_nothing_may_go_it_is_out_of_memory() {
    let (mut engine, _) = engine(Policy::VolatileLru, 64 << 10);
    let client = connect(&mut engine);
    for nth in 0..300 {
        run(
            &mut engine,
            client,
            &format!("SET volatile:{nth} {} EX 100", "v".repeat(100)),
        );
    }
    let mut answers =
        (0..3000).map(|nth| run(&mut engine, client, &format!("SET k:{nth} {}", "v".repeat(100))));
    assert!(answers.any(|answer| answer == OOM));
    assert_eq!(
        engine.shard.databases[0].expiring(),
        0,
        "all that could go went first"
    );
}

#[test]
fn a_pause_holds_keys() {
    let (mut engine, allocated) = engine(Policy::AllKeysLru, 1 << 20);
    let (client, other) = (connect(&mut engine), connect(&mut engine));
    run(&mut engine, client, "SET k v");
    run(&mut engine, client, "SET due v PX 1");
    run(&mut engine, other, "CLIENT PAUSE 100000 WRITE");
    allocated.set(2 << 20);
    engine.tick(Now::from_ms(NOW_MS + 5));
    assert_eq!(engine.shard.databases[0].len(), 2);
    run(&mut engine, other, "CLIENT UNPAUSE");
    engine.tick(Now::from_ms(NOW_MS + 6));
    assert_eq!(engine.shard.databases[0].len(), 0);
}

/// Valkey's limits of time: 0, 500 and 2022 microseconds, and none.
#[test]
fn tenacity_is_how_long_one_command_evicts() {
    let evicted = |tenacity: u64| {
        let (mut engine, allocated) = slow_engine(Policy::AllKeysLru, 64 << 20, 100);
        let client = connect(&mut engine);
        for nth in 0..1000 {
            run(&mut engine, client, &format!("SET key:{nth} v"));
        }
        run(
            &mut engine,
            client,
            &format!(
                "CONFIG SET maxmemory-policy allkeys-lru maxmemory 1mb maxmemory-eviction-tenacity {tenacity}"
            ),
        );
        allocated.set(2 << 20);
        run(&mut engine, client, "SET k v");
        engine.shard.stats.evicted
    };
    // Sixteen keys are evicted between two looks at the clock, which take 100 microseconds.
    assert_eq!(evicted(0), 16);
    assert_eq!(evicted(10), 6 * 16);
    assert_eq!(evicted(20), 21 * 16);
    assert_eq!(evicted(100), 1000);
}

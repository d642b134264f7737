//! Figures of the memory module: bytes a key over key and value, nanoseconds an operation, the slowest
//! single operation while a table grows and while nine tenths of it are deleted.
//!
//! Times are the thread's CPU time, page faults included: other work on the machine cannot preempt them,
//! though it still takes caches. Where each operation is timed, reading the clock is most of the mean.
//!
//! `cargo run --release -p ruvio-core --example memory -- 5000000 [ttl]`

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use ruvio_core::memory::{Expiry, Heap, NewValue, Populate, Table};

const VALUE: &[u8; 16] = b"sixteen bytes of";

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    let mut rest = number;
    for digit in key[4..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    key
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("a Linux machine");
    statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok())
        .expect("two numbers")
        * 4096
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime)
        .try_into()
        .expect("a clock that runs forward")
}

fn scattered(nth: u64, of: u64) -> u64 {
    (nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) % of
}

struct Worst {
    sum: Duration,
    worst: Duration,
    above_ms: u32,
    count: u32,
}

impl Worst {
    fn new() -> Worst {
        Worst {
            sum: Duration::ZERO,
            worst: Duration::ZERO,
            above_ms: 0,
            count: 0,
        }
    }

    fn add(&mut self, start: Duration) {
        let took = cpu_time() - start;
        self.sum += took;
        self.worst = self.worst.max(took);
        self.above_ms += u32::from(took > Duration::from_millis(1));
        self.count += 1;
    }

    fn print(&self, what: &str) {
        let mean = self.sum.as_nanos() / u128::from(self.count.max(1));
        println!(
            "{what:24} {mean:6} ns, worst {:?}, above 1 ms: {}",
            self.worst, self.above_ms
        );
    }
}

fn time(what: &str, count: u64, mut run: impl FnMut(u64)) {
    let start = cpu_time();
    (0..count).for_each(&mut run);
    println!(
        "{what:24} {:6} ns",
        (cpu_time() - start).as_nanos() / u128::from(count)
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let keys: u64 = arguments
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(1_000_000);
    let expiry = if arguments.next().is_some() {
        Expiry::At(1 << 41)
    } else {
        Expiry::Keep
    };
    let (send, receive) = std::sync::mpsc::sync_channel::<Populate>(4);
    let helper = std::thread::spawn(move || receive.into_iter().for_each(|job| job.run(|| ())));
    let before = resident_bytes();
    let mut heap = Heap::new(0x5EED);
    let mut table: Table<()> = Table::new();

    let mut grow = Worst::new();
    for number in 0..keys {
        if number % 16 == 0
            && let Some(job) = heap.populate_ahead()
        {
            send.try_send(job).unwrap_or_default();
        }
        let start = cpu_time();
        let key = key(number);
        let hash = heap.hash(&key);
        table.put(&mut heap, hash, &key, 0, NewValue::Bytes(VALUE), expiry);
        grow.add(start);
    }
    grow.print("insert");
    let over = |bytes: u64| bytes as f64 / keys as f64 - 32.0;
    println!(
        "bytes a key over raw     {:.2} live, {:.2} resident, {:.2} mapped, index {:.2}",
        over(heap.live_bytes() as u64),
        over(resident_bytes() - before),
        over(heap.mapped_bytes() as u64),
        table.index_bytes() as f64 / keys as f64,
    );

    let rounds = 2_000_000;
    time("get, hit", rounds, |nth| {
        let key = key(scattered(nth, keys));
        black_box(table.get(&heap, heap.hash(&key), &key).expect("there").bytes());
    });
    time("get, miss", rounds, |nth| {
        let key = key(keys + scattered(nth, keys));
        assert!(table.get(&heap, heap.hash(&key), &key).is_none());
    });
    time("overwrite", rounds, |nth| {
        let key = key(scattered(nth, keys));
        let hash = heap.hash(&key);
        black_box(table.put(&mut heap, hash, &key, 0, NewValue::Bytes(VALUE), Expiry::Keep));
    });
    time("get, 16 prefetched", rounds / 16, |nth| {
        let batch: [_; 16] = std::array::from_fn(|at| {
            let key = key(scattered(nth * 16 + at as u64, keys));
            let hash = heap.hash(&key);
            table.prefetch(&heap, hash);
            (key, hash)
        });
        for (_, hash) in batch.iter().take(6) {
            table.prefetch_entry(&heap, *hash);
        }
        for at in 0..16 {
            if let Some((_, hash)) = batch.get(at + 6) {
                table.prefetch_entry(&heap, *hash);
            }
            let (key, hash) = &batch[at];
            black_box(table.get(&heap, *hash, key).expect("there").bytes());
        }
    });
    time("sample", rounds / 4, |nth| {
        black_box(
            table
                .sample(&heap, nth.wrapping_mul(0x9E37_79B9_7F4A_7C15), false)
                .expect("there")
                .key(),
        );
    });

    let mut shrink = Worst::new();
    for number in (0..keys).filter(|number| number % 10 != 3) {
        let start = cpu_time();
        let key = key(number);
        let hash = heap.hash(&key);
        assert!(table.remove(&mut heap, hash, &key).is_some());
        shrink.add(start);
    }
    shrink.print("remove");
    let left = |bytes: usize| bytes as f64 / table.len() as f64;
    println!(
        "then, bytes a key        {:.1} live, {:.1} mapped",
        left(heap.live_bytes()),
        left(heap.mapped_bytes())
    );
    let mut compact = Worst::new();
    let (mut cursor, mut moves) = (0, 0u64);
    loop {
        let start = cpu_time();
        cursor = table.compact_slice(&mut heap, cursor, 500, &mut |_, _, _| moves += 1);
        compact.add(start);
        if cursor == 0 {
            break;
        }
    }
    compact.print("compact slice of 500");
    println!(
        "compacted ({moves} moves)   {:.1} live, {:.1} mapped, {:.1} resident",
        table.index_bytes() as f64 / table.len() as f64 + 40.0,
        heap.mapped_bytes() as f64 / table.len() as f64,
        (resident_bytes() - before) as f64 / table.len() as f64
    );
    let mut clear = Worst::new();
    loop {
        let start = cpu_time();
        let done = table.clear_slice(&mut heap, 500, &mut |_, _| {});
        clear.add(start);
        if done {
            break;
        }
    }
    clear.print("clear slice of 500");
    println!("left: {} live, {} mapped", heap.live_bytes(), heap.mapped_bytes());
    drop(send);
    helper.join().expect("the helper ends");
}

//! Random commands of all families, cut into entries and windows at random.

use super::model::{Log, Rows};
use crate::effect::equality::{self, Generator};
use crate::engine::bench::Bench;
use crate::keyspace::compare::assert_equal;

const RUNS: u64 = 6;
const COMMANDS_A_RUN: usize = 12_000;

#[test]
fn image_and_log_make_the_shard_that_is_in_memory() {
    let mut merges = 0;
    let mut ranges = 0;
    for seed in 1..=RUNS {
        let mut generator = Generator::new(seed * 771);
        let mut bench = equality::leave_forms_early(Bench::with_seed(seed));
        bench.engine.shard.effects.switch(true);
        let mut waiting = Vec::new();
        let (mut log, mut rows) = (Log::default(), Rows::default());
        // The first runs take all of a window at once, others end it early time and again.
        let bytes_max = if seed <= 3 { 64 << 20 } else { 1024 };
        for _ in 0..COMMANDS_A_RUN {
            generator.fence = bench.engine.shard.fence;
            let (_, words) = generator.next();
            let words: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
            bench.run_words(&words);
            equality::replace_waiting_client(&mut bench, &mut waiting);
            bench.engine.world.outbox.clear();
            bench.engine.world.unblocked.clear();
            equality::happen(&mut bench, &mut generator);
            // Several commands make an entry now and then.
            if generator.below(3) > 0 {
                log.append(bench.engine.shard.effects.bytes());
                bench.engine.shard.effects.clear();
            }
            if generator.below(300) == 0 {
                // Some of the tail, or all of it.
                let from = rows.meta(seed).at.index;
                let to = log.last() - generator.below(2) * generator.below(log.last() - from + 1);
                let counts = rows.advance(&log, seed, to, bytes_max);
                (merges, ranges) = (merges + counts.merges, ranges + counts.ranges);
                let rest = bench.engine.shard.effects.bytes().to_vec();
                bench.engine.shard.effects.clear();
                log.append(&rest);
                let started = rows.start(&log, seed);
                assert_equal(&started, &bench.engine.shard);
                assert_eq!(started.fence, bench.engine.shard.fence);
                assert!(started.generation <= bench.engine.shard.generation);
            }
        }
        log.append(bench.engine.shard.effects.bytes());
        rows.advance(&log, seed, log.last(), bytes_max);
        assert_equal(&rows.start(&log, seed), &bench.engine.shard);
    }
    assert!(merges > 50, "{merges} rows were changed in part");
    assert!(ranges > 50, "{ranges} ranges went");
}

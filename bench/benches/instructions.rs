//! Gate: instructions a request costs, counted by callgrind, with limits that fail the run.
//!
//! Each figure is for the path of the server's turn in a pipeline 16 deep: decode, look up ahead, execute,
//! reply. A limit is the figure measured when it was written (the number in the row) and five in a hundred
//! on top; who makes a path cheaper writes the new figure down. Counts hold for the release profile of the
//! pinned toolchain on x86_64.
//!
//! `make instructions` runs it.
// The library's `main!` ends with `exit`; there is nothing to drain here.
#![allow(clippy::disallowed_methods)]

#[path = "../../server/core/tests/turn/mod.rs"]
mod turn;

use std::hint::black_box;

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};

use turn::{PIPELINE, Turn, work};

/// Turns of a measured run: what happens once in several turns is in, at its share.
const TURNS: usize = 64;

/// Fails above `measured` instructions a request and 5 %.
fn at_most(measured: u64) -> LibraryBenchmarkConfig {
    let limit = measured * (TURNS * PIPELINE) as u64 * 105 / 100;
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::with_args(["--cache-sim=no"]).hard_limits([(EventKind::Ir, limit)]));
    config
}

/// Ready to be measured: buffers have grown, pages are touched.
fn warm(mut turn: Turn) -> Turn {
    for _ in 0..8 {
        turn.run();
    }
    turn
}

#[library_benchmark]
#[bench::set_of_3_arguments(args = (work::set()), setup = warm, config = at_most(177))]
fn decode(mut turn: Turn) -> Turn {
    for _ in 0..TURNS {
        black_box(&mut turn).decode();
    }
    turn
}

#[library_benchmark]
#[bench::get_hit(args = (work::get()), setup = warm, config = at_most(1045))]
#[bench::set_same_size(args = (work::set()), setup = warm, config = at_most(1316))]
#[bench::incr(args = (work::incr()), setup = warm, config = at_most(1388))]
#[bench::hset_existing_field(args = (work::hset()), setup = warm, config = at_most(2230))]
#[bench::zadd_existing_member(args = (work::zadd()), setup = warm, config = at_most(5745))]
#[bench::sadd_existing_member(args = (work::sadd()), setup = warm, config = at_most(1736))]
#[bench::lpush_rpop(args = (work::push_and_pop()), setup = warm, config = at_most(2515))]
#[bench::get_set_incr(args = (work::mixed()), setup = warm, config = at_most(1240))]
fn request(mut turn: Turn) -> Turn {
    for _ in 0..TURNS {
        black_box(&mut turn).run();
    }
    black_box(turn.replies());
    turn
}

library_benchmark_group!(name = instructions; benchmarks = decode, request);
main!(library_benchmark_groups = instructions);

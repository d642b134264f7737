//! Gate: the common commands take no memory from the allocator once they are warm.
//!
//! `unsafe` is here because a global allocator cannot be written without it; it passes every call on to the
//! system's and counts those of the thread that asked for it. A binary of its own, since there is one global
//! allocator a process.
#![allow(unsafe_code)]

mod turn;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use turn::{Turn, work};

struct Counting;

thread_local! {
    /// Const and without a destructor: reading it never allocates.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // Freeing is counted too: what frees on the hot path has taken somewhere.
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Turns after which buffers have their size: a row of the stopwatch is 64 commands.
const WARM_UP: usize = 32;
const TURNS: usize = 1000;

/// Calls of the allocator in `TURNS` warm turns.
fn calls(mut turn: Turn) -> u64 {
    for _ in 0..WARM_UP {
        turn.run();
    }
    let before = CALLS.get();
    for _ in 0..TURNS {
        turn.run();
    }
    let calls = CALLS.get() - before;
    assert!(!turn.replies().is_empty(), "nothing was answered");
    calls
}

/// The same for a request to each of a few keys, `{}` standing for the key's number, after each of `before`.
fn calls_after(before: &[&str], request: &str) -> u64 {
    let lines: Vec<String> = before.iter().flat_map(|line| work::each(line)).collect();
    calls(Turn::new(&lines, &work::each(request)))
}

#[test]
fn the_allocator_is_counted() {
    let before = CALLS.get();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(CALLS.get() - before, 2);
}

#[test]
fn decoding_allocates_nothing() {
    let mut turn = work::set();
    turn.decode();
    let before = CALLS.get();
    turn.decode();
    assert_eq!(CALLS.get() - before, 0);
}

#[test]
fn a_get_that_hits_allocates_nothing() {
    assert_eq!(calls(work::get()), 0);
}

#[test]
fn a_set_of_the_same_size_allocates_nothing() {
    assert_eq!(calls(work::set()), 0);
}

#[test]
fn an_increment_allocates_nothing() {
    assert_eq!(calls(work::incr()), 0);
}

#[test]
fn a_pipeline_of_get_set_incr_allocates_nothing() {
    assert_eq!(calls(work::mixed()), 0);
}

#[test]
fn a_field_set_anew_allocates_nothing() {
    assert_eq!(calls(work::hset()), 0);
}

#[test]
fn a_member_that_changes_its_place_allocates_nothing() {
    assert_eq!(calls(work::zadd()), 0);
}

#[test]
fn a_member_added_again_allocates_nothing() {
    assert_eq!(calls(work::sadd()), 0);
}

#[test]
fn a_queue_of_steady_length_allocates_nothing() {
    assert_eq!(calls(work::push_and_pop()), 0);
}

/// The fences of a shard count from one, so the first key's record has the first.
const BEGIN: &str = "IDEM BEGIN pay:{} sha256:abc OWNER worker";
const COMPLETE_FIRST: &str = "IDEM COMPLETE pay:00 worker 1 paid";

#[test]
fn work_that_is_looked_at_allocates_nothing() {
    assert_eq!(calls_after(&[BEGIN], "IDEM GET pay:{}"), 0);
    let done = Turn::new(
        &[BEGIN.replace("{}", "00"), COMPLETE_FIRST.into()],
        &work::each("IDEM GET pay:00"),
    );
    assert_eq!(calls(done), 0);
}

#[test]
fn work_that_another_does_allocates_nothing() {
    assert_eq!(
        calls_after(&[BEGIN], "IDEM BEGIN pay:{} sha256:abc OWNER other"),
        0
    );
    // Its own owner again, whose answer was lost.
    assert_eq!(calls_after(&[BEGIN], BEGIN), 0);
}

#[test]
fn work_that_is_done_allocates_nothing() {
    let lines = [BEGIN.replace("{}", "00"), COMPLETE_FIRST.into()];
    let again = work::each("IDEM BEGIN pay:00 sha256:abc OWNER other");
    assert_eq!(calls(Turn::new(&lines, &again)), 0);
    // The answer to COMPLETE was lost, too.
    assert_eq!(calls(Turn::new(&lines, &work::each(COMPLETE_FIRST))), 0);
}

#[test]
fn a_call_that_passes_allocates_nothing() {
    // The clock of these turns stands still, so the burst has to last.
    let bucket = "LIMIT user:{} RATE 10 PER 1000 BURST 1000000";
    assert_eq!(calls_after(&[bucket], bucket), 0);
    let window = "LIMIT user:{} WINDOW 1000000 PER 60000";
    assert_eq!(calls_after(&[window], window), 0);
    let throttle = "CL.THROTTLE user:{} 1000000 10 60";
    assert_eq!(calls_after(&[throttle], throttle), 0);
}

#[test]
fn a_call_that_is_denied_allocates_nothing() {
    let bucket = "LIMIT user:{} RATE 1 PER 60000";
    assert_eq!(calls_after(&[bucket], bucket), 0);
    let window = "LIMIT user:{} WINDOW 1 PER 60000";
    assert_eq!(calls_after(&[window], window), 0);
}

#[test]
fn a_look_at_a_limit_allocates_nothing() {
    let bucket = "LIMIT user:{} RATE 10 PER 60000";
    assert_eq!(calls_after(&[bucket], "LIMIT user:{} RATE 10 PER 60000 PEEK"), 0);
    assert_eq!(calls_after(&[], "LIMIT user:{} RATE 10 PER 60000 PEEK"), 0);
}

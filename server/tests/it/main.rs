//! What the parts of a node promise to those outside of the crate.

mod allocations;
mod compat;
mod threads;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

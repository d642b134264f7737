//! Values that have parts: how hashes, lists, sets and sorted sets stand in memory, and the records of `IDEM`
//! and `LIMIT`, which are one row each.
//!
//! A small collection is packed bytes in its entry: eight bytes of generation, then the elements. A large
//! one is a boxed, indexed structure (a variant of `Collection`). When a collection outgrows its packed
//! form is decided by the same options as in Valkey (`hash-max-listpack-entries` …), so that
//! `OBJECT ENCODING` tells the truth.

pub mod bits;
pub mod hash;
pub mod hyperloglog;
pub mod idem;
pub mod limit;
pub mod list;
pub mod packed;
pub mod set;
pub mod sorted_set;
pub mod splice;
pub mod string;

//! The parts of a node that stand by themselves, for its binary, its tests and its benchmarks.

pub mod admin;
pub mod datadir;
pub mod image;
pub mod raft;
pub mod replica;
pub mod tls;
pub mod wal;

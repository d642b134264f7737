//! The image in RocksDB: what it holds after any history, and after it was closed at any moment of one.

mod arrivals;
mod compat;
mod history;
mod logged;
mod random;
mod reopened;
mod sent;

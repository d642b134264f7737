//! How values are written as text: numbers, patterns, quoting, option words, slots.
//!
//! Everything here takes and gives raw bytes and accepts any of them; what is accepted and how it is printed
//! is what Valkey 9.1 does, checked against its binary.

pub mod crc16;
pub mod double;
pub mod escape;
pub mod fold;
pub mod glob;
pub mod grisu;
pub mod long_double;
pub mod number;

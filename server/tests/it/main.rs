//! What the parts of a node promise to those outside of the crate.

mod compat;
mod threads;

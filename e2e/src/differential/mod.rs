//! Random commands sent to two servers whose replies must be equal.
//!
//! `grammar` turns the rows of `families` into commands, with arguments from `slots`; `compare`
//! says when two replies count as equal; `duel` plays them on both servers and reads both
//! keyspaces at the end; `shrink` makes a difference short; `deviations` lists the ones we mean.

mod compare;
mod deviations;
mod duel;
mod families;
mod grammar;
mod shrink;
mod slots;

pub use compare::{Compare, equal};
pub use deviations::{DEVIATIONS, Deviation};
pub use duel::{Difference, Duel, reading};
pub use families::steps;
pub use grammar::{Command, Step};
pub use shrink::shrink;

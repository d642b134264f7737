//! A model client for crashes: it knows of each write whether it was acknowledged, refused or neither, and after
//! the crash which states may be found.
//!
//! Keys stand in groups, a group in one slot, and one connection alone writes to a group. So what may be found
//! of a group is the acknowledged writes and then some of those that were under way, from the first on: never
//! one without those before it.

mod found;
mod group;
mod observer;
mod step;
mod writer;

pub use group::Group;
pub use observer::Observer;
pub use writer::{Tally, Writer};

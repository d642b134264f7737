//! The rows of the image: a shard's state as sorted keys and values, made from effects without ever looking
//! at what is there, and read back into an empty shard in the order in which it fills fastest.
//!
//! A row key begins with its sort: `00` is the meta row, `01 database hash key` a key, `02 database
//! generation order part` an element of the collection of that generation. `hash` is the keyspace's own, so
//! a load fills its tables in their order; `order` is the same hash of a field or member, or a list's
//! position. `database` is not the number that a client selects: an emptied database gets a fresh one, so
//! that emptying it is two ranges deleted and exchanging two is a change of the meta row.
//!
//! - `change` says which rows an effect touches, `row` how a row looks, `merge` what becomes of one that is
//!   changed in part, `meta` what is known of the whole.
//! - `window` makes the rows of a part of the log, `load` makes a shard of rows.
//!
//! Invariant: the rows of one index are a function of the effects up to it and of the hash's seed.
//!
//! What it does not know: where rows are kept, and when they are made (the server's image does).

pub mod change;
pub mod load;
pub mod merge;
pub mod meta;
pub mod row;
pub mod window;

pub use change::{Change, Part, changes};
pub use load::{LoadError, Loader};
pub use meta::{At, Meta};

/// What a row or the meta row cannot be read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the row ends early")]
    Short,
    #[error("format {0} is newer than this build")]
    Newer(u8),
    #[error("a row of unknown sort {0}")]
    Sort(u8),
    #[error("a value of unknown kind {0}")]
    Kind(u8),
    #[error("a change of a part is unreadable")]
    Operand,
    #[error("a part was changed of a row that is not there")]
    Orphan,
}

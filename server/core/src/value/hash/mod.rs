//! Hashes: fields with a value and, if asked, a time at which the field goes.
//!
//! Small: packed in the entry as `generation (8 bytes), field, value, field, value …`. Large, or with a time
//! on any field: [`HashTable`], an inner table whose entries carry the times. As in Valkey a hash that has
//! become a table stays one.
//!
//! Invariant: a field whose time has come is absent for every reader, whether it was removed yet or not.

mod table;
mod view;
mod writer;

pub use table::{HashTable, NEVER};
pub use view::{Field, HashView};
pub use writer::{Before, HashWriter};

use crate::keyspace::Collection;
use crate::memory::{Entry, Value};

/// What `OBJECT ENCODING` says of a hash.
pub fn encoding(entry: &Entry<'_, Collection>) -> &'static str {
    match entry.value() {
        Value::Bytes(_) => "listpack",
        Value::Boxed(_) => "hashtable",
    }
}

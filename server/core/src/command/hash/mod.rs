//! Hashes, with times on fields as Valkey 9 has them.

mod expiry;
mod extended;
mod fields;
mod random;
mod read;
mod rows;
mod write;

#[cfg(test)]
mod tests;

pub use rows::COMMANDS;

use crate::keyspace::{Classes, Db, Finished, Key};

/// What follows a change of a hash: the index of times, the touch, the events in order, and the end of the
/// key if nothing is left. `changes`: fields that were stored, timed or removed.
fn settle(db: &mut Db<'_>, key: Key<'_>, finished: Finished, events: &[&'static str], changes: usize) {
    let before = db.shard.stats.changes;
    let empty = db.finish_hash(key, finished);
    if !empty {
        db.touch(key);
    }
    for event in events {
        db.notify(Classes::HASH, event, key);
    }
    if empty {
        db.delete_emptied(key);
    }
    db.recount(before, changes);
}

//! Sorted sets: members with scores, asked for by member, rank, score or name.

mod add;
mod bounds;
mod combine;
mod lookup;
mod pop;
mod random;
mod range;
mod remove;
mod reply;
mod rows;
mod scan;
mod source;
mod store;

#[cfg(test)]
mod tests;

pub use rows::COMMANDS;

use crate::effect::Effects;
use crate::error::Error;
use crate::keyspace::{Db, Key, Type};
use crate::value::sorted_set::{Editor, View};

/// The sorted set at the key for reading: counted as a read, or `WRONGTYPE`.
fn read<'d>(db: &'d mut Db<'_>, key: Key<'_>) -> Result<Option<View<'d>>, Error> {
    if db.find_type(key, Type::SortedSet)?.is_none() {
        return Ok(None);
    }
    Ok(peek(db, key))
}

/// The sorted set at a key that holds one, without counting or checking anything.
fn peek<'d>(db: &'d Db<'_>, key: Key<'_>) -> Option<View<'d>> {
    let shard = &*db.shard;
    let entry = shard.databases[db.index as usize].get(&shard.heap, key.hash, key.bytes)?;
    Some(View::new(entry, &shard.heap))
}

/// Runs `change` on the sorted set at the key, with what it needs to tell effects; `None` if there is no
/// such key. Touch, events and the end of an emptied set are the caller's.
fn edit<T>(
    db: &mut Db<'_>,
    key: Key<'_>,
    change: impl FnOnce(Editor<'_, '_>, &mut Effects, u16) -> T,
) -> Result<Option<T>, Error> {
    if db.find_write_type(key, Type::SortedSet)?.is_none() {
        return Ok(None);
    }
    let index = db.index;
    let shard = &mut *db.shard;
    let table = &mut shard.databases[index as usize];
    let slot = table.get_mut(&mut shard.heap, key.hash, key.bytes);
    Ok(slot.map(|mut slot| {
        let limits = shard.limits;
        let editor = Editor {
            slot: &mut slot,
            limits,
            scratch: &mut shard.scratch,
        };
        change(editor, &mut shard.effects, index)
    }))
}

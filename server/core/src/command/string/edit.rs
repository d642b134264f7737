//! `APPEND` and `SETRANGE`: strings changed in place.

use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, STRING_TOO_LONG};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type, kind};
use crate::memory::{Expiry, NewValue};
use crate::text::number::parse_i64;

const OFFSET_OUT_OF_RANGE: Error = Error::new("ERR offset is out of range");

pub(super) fn append(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let added = args.get(2);
    let len = match x.db.find_write_type(key, Type::String)? {
        // A string of its own is stored as SET would store it.
        None => {
            x.db.put(key, kind::STRING, NewValue::Bytes(added), Expiry::Clear);
            x.db.tell_whole(key, true);
            added.len()
        }
        Some(slot) => {
            let len = slot.entry().bytes().len();
            write_at(&mut x.db, key, len, added)?
        }
    };
    x.db.touch(key);
    x.db.notify(Classes::STRING, "append", key);
    x.reply.count(len);
    Ok(())
}

pub(super) fn setrange(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let offset = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    if offset < 0 {
        return Err(OFFSET_OUT_OF_RANGE.into());
    }
    let bytes = args.get(3);
    let old_len =
        x.db.find_write_type(key, Type::String)?
            .map_or(0, |slot| slot.entry().bytes().len());
    if bytes.is_empty() {
        x.reply.count(old_len);
        return Ok(());
    }
    let len = write_at(&mut x.db, key, offset as usize, bytes)?;
    x.db.touch(key);
    x.db.notify(Classes::STRING, "setrange", key);
    x.reply.count(len);
    Ok(())
}

/// Replaces bytes of the string from `offset` on, which may lie behind its end; the length afterwards.
fn write_at(db: &mut Db<'_>, key: Key<'_>, offset: usize, bytes: &[u8]) -> Result<usize, Error> {
    let end = offset
        .checked_add(bytes.len())
        .filter(|end| *end <= db.shard.limits.proto_max_bulk_len)
        .ok_or(STRING_TOO_LONG)?;
    let mut string = db.open_string(key, end)?;
    let all = string.slot.bytes_mut();
    all[offset..end].copy_from_slice(bytes);
    let len = all.len();
    let created = string.created;
    db.tell_edit(key, created, std::iter::once(offset..end));
    Ok(len)
}

//! `GETBIT` and `SETBIT`.

use super::offset;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;
use crate::value::bits::Field;

const BAD_BIT: Error = Error::new("ERR bit is not an integer or out of range");

pub(super) fn getbit(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let bit = bit_at(offset(args.get(2), x.db.shard.limits.proto_max_bulk_len)?);
    let value = bit.get(x.db.string(key)?.unwrap_or(b""));
    x.reply.integer(value as i64);
    Ok(())
}

pub(super) fn setbit(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let bit = bit_at(offset(args.get(2), x.db.shard.limits.proto_max_bulk_len)?);
    let value = match args.get(3) {
        b"0" => 0,
        b"1" => 1,
        _ => return Err(BAD_BIT.into()),
    };
    let range = bit.bytes();
    let mut string = x.db.open_string(key, range.end)?;
    let grown = string.created || string.len_before < range.end;
    let created = string.created;
    let bytes = string.slot.bytes_mut();
    let old = bit.get(bytes);
    if grown || old != value {
        bit.set(bytes, value);
        x.db.tell_edit(key, created, std::iter::once(range));
        x.db.touch(key);
        x.db.notify(Classes::STRING, "setbit", key);
    }
    x.reply.integer(old as i64);
    Ok(())
}

fn bit_at(offset: u64) -> Field {
    Field { offset, width: 1 }
}

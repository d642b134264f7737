//! Strings that are numbers: `INCR` and its kin.

use crate::command::Args;
use crate::error::{Error, NOT_A_FLOAT, NOT_AN_INTEGER, OVERFLOW, WRONG_TYPE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type, kind};
use crate::memory::{Expiry, NewValue};
use crate::text::long_double::{self, FloatError};
use crate::text::number::parse_i64;

const DECREMENT_OVERFLOW: Error = Error::new("ERR decrement would overflow");
const NOT_FINITE: Error = Error::new("ERR increment would produce NaN or Infinity");

pub(super) fn incr(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    add(x, args, 1)
}

pub(super) fn decr(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    add(x, args, -1)
}

pub(super) fn incrby(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    add(x, args, parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?)
}

pub(super) fn decrby(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let decrement = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    add(x, args, decrement.checked_neg().ok_or(DECREMENT_OVERFLOW)?)
}

fn add(x: &mut Exec<'_>, args: Args<'_>, increment: i64) -> Outcome {
    let key = x.db.key(args.get(1));
    let value = add_to(&mut x.db, key, increment)?;
    x.db.touch(key);
    x.db.notify(Classes::STRING, "incrby", key);
    x.reply.integer(value);
    Ok(())
}

/// Adds and stores, in place where the number of digits stays.
fn add_to(db: &mut Db<'_>, key: Key<'_>, increment: i64) -> Result<i64, Error> {
    let mut digits = itoa::Buffer::new();
    let Some(mut slot) = db.find_edit(key) else {
        let digits = digits.format(increment).as_bytes();
        db.put(key, kind::STRING, NewValue::Bytes(digits), Expiry::Clear);
        db.tell_whole(key, true);
        return Ok(increment);
    };
    if Type::of(slot.kind()) != Type::String {
        return Err(WRONG_TYPE);
    }
    let old = slot.bytes_mut();
    let value = parse_i64(old).ok_or(NOT_AN_INTEGER)?;
    let value = value.checked_add(increment).ok_or(OVERFLOW)?;
    let digits = digits.format(value).as_bytes();
    if old.len() == digits.len() {
        old.copy_from_slice(digits);
    } else {
        slot.set_bytes(digits);
    }
    slot.set_kind(kind::STRING);
    db.tell_whole(key, false);
    Ok(value)
}

pub(super) fn incrbyfloat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let slot = x.db.find_write_type(key, Type::String)?;
    let current = slot.as_ref().map_or(b"0".as_slice(), |slot| slot.entry().bytes());
    let sum = long_double::add(current, args.get(2)).map_err(|error| match error {
        FloatError::Current | FloatError::Increment => NOT_A_FLOAT,
        FloatError::NotFinite => NOT_FINITE,
    })?;
    x.db.put_string(key, &sum, Expiry::Keep);
    x.db.notify(Classes::STRING, "incrbyfloat", key);
    x.reply.bulk(&sum);
    Ok(())
}

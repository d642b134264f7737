//! Storing, removing and counting up fields.

use super::settle;
use crate::command::Args;
use crate::error::{Error, NOT_A_FLOAT, NOT_AN_INTEGER, OVERFLOW};
use crate::exec::{Exec, Outcome};
use crate::memory::Expiry;
use crate::text::long_double::{self, FloatError, LongDouble};
use crate::text::number::parse_i64;
use crate::value::hash::Before;

const HASH_NOT_AN_INTEGER: Error = Error::new("ERR hash value is not an integer");
const HASH_NOT_A_FLOAT: Error = Error::new("ERR hash value is not a float");
const NAN_OR_INFINITY: Error = Error::new("ERR value is NaN or Infinity");
const SUM_NOT_FINITE: Error = Error::new("ERR increment would produce NaN or Infinity");

/// Stores the pairs from the third word on; how many fields are new.
fn store_pairs(x: &mut Exec<'_>, args: Args<'_>, command: &str) -> Result<usize, Error> {
    if !args.len().is_multiple_of(2) {
        return Err(Error::wrong_arity(command));
    }
    let key = x.db.key(args.get(1));
    let mut writer = x.db.hash_writer_or_new(key)?;
    writer.make_room((args.len() - 2) / 2, args.iter_from(2));
    let (mut created, mut overdue) = (0, false);
    for at in (2..args.len()).step_by(2) {
        let before = writer.set(args.get(at), args.get(at + 1), Expiry::Clear);
        created += usize::from(before != Before::Present);
        overdue |= before == Before::Overdue;
    }
    let finished = writer.finish();
    let events = events(overdue, "hset");
    settle(&mut x.db, key, finished, events, (args.len() - 2) / 2);
    Ok(created)
}

/// The event of a change, after that of a field which was found past its time.
fn events(overdue: bool, name: &'static str) -> &'static [&'static str] {
    match (overdue, name) {
        (true, "hset") => &["hexpired", "hset"],
        (true, "hincrby") => &["hexpired", "hincrby"],
        (true, _) => &["hexpired", "hincrbyfloat"],
        (false, "hset") => &["hset"],
        (false, "hincrby") => &["hincrby"],
        (false, _) => &["hincrbyfloat"],
    }
}

pub(super) fn hset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let created = store_pairs(x, args, "hset")?;
    x.reply.count(created);
    Ok(())
}

pub(super) fn hmset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    store_pairs(x, args, "hmset")?;
    x.reply.ok();
    Ok(())
}

pub(super) fn hsetnx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    if let Some(mut writer) = x.db.hash_writer(key)?
        && writer.has(args.get(2))
    {
        x.reply.integer(0);
        return Ok(());
    }
    let mut writer = x.db.hash_writer_or_new(key)?;
    let before = writer.set(args.get(2), args.get(3), Expiry::Clear);
    let finished = writer.finish();
    settle(
        &mut x.db,
        key,
        finished,
        events(before == Before::Overdue, "hset"),
        1,
    );
    x.reply.integer(1);
    Ok(())
}

pub(super) fn hdel(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let Some(mut writer) = x.db.hash_writer(key)? else {
        x.reply.integer(0);
        return Ok(());
    };
    let mut removed = 0;
    for name in args.iter_from(2) {
        // A field past its time is absent; active expiry will take it and tell so.
        removed += usize::from(writer.has(name) && writer.remove(name) == Before::Present);
    }
    let finished = writer.finish();
    if removed > 0 {
        settle(&mut x.db, key, finished, &["hdel"], removed);
    }
    x.reply.count(removed);
    Ok(())
}

pub(super) fn hincrby(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let increment = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let key = x.db.key(args.get(1));
    let current = match x.db.hash_writer(key)? {
        None => 0,
        Some(mut writer) => match writer.get(args.get(2)) {
            None => 0,
            Some(field) => parse_i64(field.value).ok_or(HASH_NOT_AN_INTEGER)?,
        },
    };
    let sum = current.checked_add(increment).ok_or(OVERFLOW)?;
    replace(x, args, itoa::Buffer::new().format(sum).as_bytes(), "hincrby")?;
    x.reply.integer(sum);
    Ok(())
}

pub(super) fn hincrbyfloat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let increment = LongDouble::parse(args.get(3)).ok_or(NOT_A_FLOAT)?;
    if increment.is_infinite() {
        return Err(NAN_OR_INFINITY.into());
    }
    let key = x.db.key(args.get(1));
    let sum = match x.db.hash_writer(key)? {
        None => long_double::add(b"0", args.get(3)),
        Some(mut writer) => {
            let current = writer.get(args.get(2)).map_or(&b"0"[..], |field| field.value);
            long_double::add(current, args.get(3))
        }
    };
    let sum = sum.map_err(|error| match error {
        FloatError::Current => HASH_NOT_A_FLOAT,
        FloatError::Increment => NOT_A_FLOAT,
        FloatError::NotFinite => SUM_NOT_FINITE,
    })?;
    replace(x, args, &sum, "hincrbyfloat")?;
    x.reply.bulk(&sum);
    Ok(())
}

/// Gives the field its new value; its time stays.
fn replace(x: &mut Exec<'_>, args: Args<'_>, value: &[u8], event: &'static str) -> Result<(), Error> {
    let key = x.db.key(args.get(1));
    let mut writer = x.db.hash_writer_or_new(key)?;
    let before = writer.set(args.get(2), value, Expiry::Keep);
    let finished = writer.finish();
    let events = events(before == Before::Overdue, event);
    settle(&mut x.db, key, finished, events, 1);
    Ok(())
}

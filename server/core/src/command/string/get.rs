//! Commands that answer strings or parts of them, and those that end a key in the same step.

use super::options::{Known, Options, Time};
use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::NOT_AN_INTEGER;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Key, Type};
use crate::text::number::parse_i64;

const GETEX_KNOWS: Known = Known {
    writes: false,
    compares: false,
    persists: true,
};

pub(super) fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    match x.db.string(key)? {
        Some(value) => x.reply.bulk(value),
        None => x.reply.null(),
    }
    Ok(())
}

pub(super) fn mget(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.reply.array(args.len() - 1);
    for word in args.iter_from(1) {
        let key = x.db.key(word);
        // What is not a string counts as nothing here.
        let value = x.db.string(key).ok().flatten();
        x.reply.bulk_or_null(value);
    }
    Ok(())
}

pub(super) fn strlen(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let len = x.db.string(key)?.map_or(0, <[u8]>::len);
    x.reply.count(len);
    Ok(())
}

pub(super) fn getrange(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let start = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let end = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let value = x.db.string(key)?.unwrap_or(b"");
    x.reply.bulk(part(value, start, end));
    Ok(())
}

/// The bytes from `start` to `end`, both counted from the end if negative and cut to what is there.
fn part(value: &[u8], start: i64, end: i64) -> &[u8] {
    if start < 0 && end < 0 && start > end {
        return b"";
    }
    let len = value.len() as i64;
    let from_front = |index: i64| if index < 0 { (len + index).max(0) } else { index };
    let (start, end) = (from_front(start), from_front(end).min(len - 1));
    if start > end {
        return b"";
    }
    &value[start as usize..=end as usize]
}

pub(super) fn getdel(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let value = x.db.string(key)?;
    let there = value.is_some();
    x.reply.bulk_or_null(value);
    if there {
        delete(x, key);
    }
    Ok(())
}

pub(super) fn delifeq(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let equal = match x.db.find_write_type(key, Type::String)? {
        Some(slot) => slot.entry().bytes() == args.get(2),
        None => false,
    };
    if equal {
        delete(x, key);
    }
    x.reply.integer(equal.into());
    Ok(())
}

fn delete(x: &mut Exec<'_>, key: Key<'_>) {
    x.db.delete(key);
    x.db.notify(Classes::GENERIC, "del", key);
}

pub(super) fn getex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let time = Options::parse(args, 2, GETEX_KNOWS)?.time;
    let deadline = match time {
        Time::At(unit, amount) => Some((unit, unit.deadline(amount, x.now, "getex")?)),
        _ => None,
    };
    let Some(slot) = x.db.find_type(key, Type::String)? else {
        x.reply.null();
        return Ok(());
    };
    let expires = slot.expire_at_ms().is_some();
    x.reply.bulk(slot.into_entry().bytes());
    match deadline {
        // Only a moment can have passed; a time from now on is above zero.
        Some((Unit::AtSeconds | Unit::AtMilliseconds, at)) if at <= x.now.ms() => x.db.expire_now(key),
        Some((_, at)) => {
            x.db.set_expiry(key, Some(at));
            x.db.notify(Classes::GENERIC, "expire", key);
        }
        None if time == Time::Persist && expires => {
            x.db.set_expiry(key, None);
            x.db.notify(Classes::GENERIC, "persist", key);
        }
        None => {}
    }
    Ok(())
}

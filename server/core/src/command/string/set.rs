//! Commands that store one string: `SET` with its options and the older ones that it replaced.

use super::options::{Condition, Known, Options};
use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, WRONG_TYPE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type};
use crate::memory::Expiry;

const SET_KNOWS: Known = Known {
    writes: true,
    compares: true,
    persists: false,
};

pub(super) fn set(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let value = args.get(2);
    if args.len() == 3 {
        store(&mut x.db, key, value, Expiry::Clear);
        x.reply.ok();
        return Ok(());
    }
    let options = Options::parse(args, 3, SET_KNOWS)?;
    let expiry = options.expiry(x.now, "set")?;
    if options.get {
        let old = x.db.string(key)?;
        x.reply.bulk_or_null(old);
    }
    let passes = passes(&mut x.db, key, options.condition)?;
    if passes {
        store(&mut x.db, key, value, expiry);
    }
    if !options.get {
        if passes {
            x.reply.ok();
        } else {
            x.reply.null();
        }
    }
    Ok(())
}

fn passes(db: &mut Db<'_>, key: Key<'_>, condition: Condition<'_>) -> Result<bool, Error> {
    match condition {
        Condition::Always => Ok(true),
        Condition::IfAbsent => Ok(!db.is_live(key)),
        Condition::IfPresent => Ok(db.is_live(key)),
        Condition::IfEqual(wanted) => match db.find_write(key) {
            Some(slot) if Type::of(slot.kind()) != Type::String => Err(WRONG_TYPE),
            Some(slot) => Ok(slot.entry().bytes() == wanted),
            None => Ok(false),
        },
    }
}

/// Stores the string with its events. A time that has passed removes the key instead, as if the string had
/// been stored and had expired.
pub(super) fn store(db: &mut Db<'_>, key: Key<'_>, value: &[u8], expiry: Expiry) {
    let Expiry::At(at) = expiry else {
        if expiry == Expiry::Keep {
            // A time that is kept must not be one that has passed.
            db.is_live(key);
        }
        db.put_string(key, value, expiry);
        db.notify(Classes::STRING, "set", key);
        return;
    };
    if at <= db.now.ms() {
        db.expire_now(key);
        return;
    }
    db.put_string(key, value, expiry);
    db.notify(Classes::STRING, "set", key);
    db.notify(Classes::GENERIC, "expire", key);
}

pub(super) fn setnx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let absent = !x.db.is_live(key);
    if absent {
        store(&mut x.db, key, args.get(2), Expiry::Clear);
    }
    x.reply.integer(absent.into());
    Ok(())
}

pub(super) fn setex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set_for(x, args, Unit::Seconds, "setex")
}

pub(super) fn psetex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set_for(x, args, Unit::Milliseconds, "psetex")
}

fn set_for(x: &mut Exec<'_>, args: Args<'_>, unit: Unit, command: &str) -> Outcome {
    let key = x.db.key(args.get(1));
    let at = unit.deadline(args.get(2), x.now, command)?;
    store(&mut x.db, key, args.get(3), Expiry::At(at));
    x.reply.ok();
    Ok(())
}

pub(super) fn getset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let old = x.db.string(key)?;
    x.reply.bulk_or_null(old);
    store(&mut x.db, key, args.get(2), Expiry::Clear);
    Ok(())
}

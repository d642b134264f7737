//! `SET` with all its options.

use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, SYNTAX, WRONG_TYPE};
use crate::exec::{Exec, Now, Outcome};
use crate::keyspace::{Classes, Type};
use crate::memory::Expiry;
use crate::text::fold;

#[derive(Clone, Copy, PartialEq)]
enum Condition<'a> {
    Always,
    IfAbsent,
    IfPresent,
    IfEqual(&'a [u8]),
}

struct Options<'a> {
    condition: Condition<'a>,
    get: bool,
    expiry: Expiry,
}

pub(super) fn set(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let value = args.get(2);
    let options = if args.len() == 3 {
        Options {
            condition: Condition::Always,
            get: false,
            expiry: Expiry::Clear,
        }
    } else {
        parse(args, x.now)?
    };
    let mut present = false;
    if options.get || options.condition != Condition::Always {
        let old = x.db.find_write(key);
        let equal = match (&old, options.condition) {
            (Some(slot), _)
                if (options.get || matches!(options.condition, Condition::IfEqual(_)))
                    && Type::of(slot.kind()) != Type::String =>
            {
                return Err(WRONG_TYPE.into());
            }
            (Some(slot), Condition::IfEqual(wanted)) => slot.entry().bytes() == wanted,
            _ => false,
        };
        present = old.is_some();
        if options.get {
            match &old {
                Some(slot) => x.reply.bulk(slot.entry().bytes()),
                None => x.reply.null(),
            }
        }
        let passes = match options.condition {
            Condition::Always => true,
            Condition::IfAbsent => !present,
            Condition::IfPresent => present,
            Condition::IfEqual(_) => equal,
        };
        if !passes {
            if !options.get {
                x.reply.null();
            }
            return Ok(());
        }
    }
    let _ = present;
    if let Expiry::At(at) = options.expiry
        && at <= x.now.ms()
    {
        // Set in the past: the key is gone at once, as if it had been stored and had expired.
        if x.db.delete(key) {
            x.db.notify(Classes::GENERIC, "del", key);
        }
    } else {
        x.db.put_string(key, value, options.expiry);
        x.db.notify(Classes::STRING, "set", key);
        if matches!(options.expiry, Expiry::At(_)) {
            x.db.notify(Classes::GENERIC, "expire", key);
        }
    }
    if !options.get {
        x.reply.ok();
    }
    Ok(())
}

fn parse<'a>(args: Args<'a>, now: Now) -> Result<Options<'a>, Error> {
    let mut options = Options {
        condition: Condition::Always,
        get: false,
        expiry: Expiry::Clear,
    };
    let mut has_expiry = false;
    let mut at = 3;
    while at < args.len() {
        let word = args.get(at);
        let next = args.try_get(at + 1);
        if fold::is(word, "GET") && !options.get {
            options.get = true;
        } else if fold::is(word, "NX") && options.condition == Condition::Always {
            options.condition = Condition::IfAbsent;
        } else if fold::is(word, "XX") && options.condition == Condition::Always {
            options.condition = Condition::IfPresent;
        } else if let (true, Some(wanted), Condition::Always) =
            (fold::is(word, "IFEQ"), next, options.condition)
        {
            options.condition = Condition::IfEqual(wanted);
            at += 1;
        } else if fold::is(word, "KEEPTTL") && !has_expiry {
            options.expiry = Expiry::Keep;
            has_expiry = true;
        } else if let (Some(unit), Some(amount), false) = (Unit::of(word), next, has_expiry) {
            options.expiry = Expiry::At(unit.deadline(amount, now, "set")?);
            has_expiry = true;
            at += 1;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

//! `EXPIRE` and its kin: the time at which a key goes.

use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;
use crate::text::fold;
use crate::text::number::parse_i64;

const NX_AND_OTHERS: Error =
    Error::new("ERR NX and XX, GT or LT options at the same time are not compatible");
const GT_AND_LT: Error = Error::new("ERR GT and LT options at the same time are not compatible");

pub(super) fn expire(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set(x, args, Unit::Seconds, "expire")
}

pub(super) fn pexpire(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set(x, args, Unit::Milliseconds, "pexpire")
}

pub(super) fn expireat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set(x, args, Unit::AtSeconds, "expireat")
}

pub(super) fn pexpireat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    set(x, args, Unit::AtMilliseconds, "pexpireat")
}

/// Which keys get the new time, by the time they have.
#[derive(Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(args: Args<'_>) -> Result<Self, Error> {
        let mut conditions = Self::default();
        for word in args.iter_from(3) {
            let flag = match word {
                _ if fold::is(word, "NX") => &mut conditions.nx,
                _ if fold::is(word, "XX") => &mut conditions.xx,
                _ if fold::is(word, "GT") => &mut conditions.gt,
                _ if fold::is(word, "LT") => &mut conditions.lt,
                _ => {
                    let word = String::from_utf8_lossy(word);
                    return Err(Error::from(format!("ERR Unsupported option {word}")));
                }
            };
            *flag = true;
        }
        if conditions.nx && (conditions.xx || conditions.gt || conditions.lt) {
            return Err(NX_AND_OTHERS);
        }
        if conditions.gt && conditions.lt {
            return Err(GT_AND_LT);
        }
        Ok(conditions)
    }

    /// A key without a time counts as one that goes at the end of time.
    fn hold(&self, old: Option<u64>, new: u64) -> bool {
        let against = (self.nx && old.is_some())
            || (self.xx && old.is_none())
            || (self.gt && old.is_none_or(|old| new <= old))
            || (self.lt && old.is_some_and(|old| new >= old));
        !against
    }
}

fn set(x: &mut Exec<'_>, args: Args<'_>, unit: Unit, name: &str) -> Outcome {
    let conditions = Conditions::parse(args)?;
    let amount = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let at = unit
        .moment(amount, x.now)
        .ok_or_else(|| Error::invalid_expire(name))?;
    let key = x.db.key(args.get(1));
    let old = x.db.find_write(key).map(|slot| slot.expire_at_ms());
    let sets = old.is_some_and(|old| conditions.hold(old, at));
    if sets && at <= x.now.ms() {
        x.db.expire_now(key);
    } else if sets {
        x.db.set_expiry(key, Some(at));
        x.db.notify(Classes::GENERIC, "expire", key);
    }
    x.reply.count(usize::from(sets));
    Ok(())
}

pub(super) fn persist(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let had_one =
        x.db.find_write(key)
            .is_some_and(|slot| slot.expire_at_ms().is_some());
    if had_one {
        x.db.set_expiry(key, None);
        x.db.notify(Classes::GENERIC, "persist", key);
    }
    x.reply.count(usize::from(had_one));
    Ok(())
}

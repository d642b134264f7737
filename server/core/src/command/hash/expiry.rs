//! When fields expire: `HEXPIRE` and its kin, `HTTL` and its kin, `HPERSIST`.

use super::{fields, settle};
use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Type;
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::hash::HashView;

const NX_ALONE: Error = Error::new("ERR NX and XX, GT or LT options at the same time are not compatible");
const GT_LT: Error = Error::new("ERR GT and LT options at the same time are not compatible");

const ABSENT: i64 = -2;
const NO_TIME: i64 = -1;

pub(super) fn hexpire(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    expire(x, args, Unit::Seconds, "hexpire")
}

pub(super) fn hpexpire(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    expire(x, args, Unit::Milliseconds, "hpexpire")
}

pub(super) fn hexpireat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    expire(x, args, Unit::AtSeconds, "hexpireat")
}

pub(super) fn hpexpireat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    expire(x, args, Unit::AtMilliseconds, "hpexpireat")
}

#[derive(Clone, Copy, Default)]
struct Condition {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Condition {
    fn parse(args: Args<'_>, end: usize) -> Result<Self, Error> {
        let mut condition = Self::default();
        for at in 3..end {
            let word = args.get(at);
            match word {
                _ if fold::is(word, "NX") => condition.nx = true,
                _ if fold::is(word, "XX") => condition.xx = true,
                _ if fold::is(word, "GT") => condition.gt = true,
                _ if fold::is(word, "LT") => condition.lt = true,
                _ => return Err(format!("ERR Unsupported option {}", String::from_utf8_lossy(word)).into()),
            }
        }
        if condition.nx && (condition.xx || condition.gt || condition.lt) {
            return Err(NX_ALONE);
        }
        if condition.gt && condition.lt {
            return Err(GT_LT);
        }
        Ok(condition)
    }

    /// Whether a field whose time is `old` (none is later than any) may get `new`.
    fn allows(self, old: Option<u64>, new: u64) -> bool {
        match old {
            None => !self.xx && !self.gt,
            Some(old) => !(self.nx || self.gt && new <= old || self.lt && new >= old),
        }
    }
}

/// The moment of an argument that may be zero. `command` is named in the error.
pub(super) fn moment(
    argument: &[u8],
    unit: Unit,
    now: crate::exec::Now,
    command: &str,
) -> Result<u64, Error> {
    let amount = parse_i64(argument).ok_or(NOT_AN_INTEGER)?;
    if amount < 0 {
        return Err(Error::invalid_expire(command));
    }
    unit.moment(amount, now)
        .ok_or_else(|| Error::invalid_expire(command))
}

fn expire(x: &mut Exec<'_>, args: Args<'_>, unit: Unit, command: &str) -> Outcome {
    let at = fields::find(args, 3)?;
    let condition = Condition::parse(args, at)?;
    let first = fields::check(args, at, 1)?;
    let when = moment(args.get(2), unit, x.now, command)?;
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let Some(mut writer) = x.db.hash_writer(key)? else {
        all_absent(x, args.len() - first);
        return Ok(());
    };
    x.reply.array(args.len() - first);
    let (mut timed, mut gone) = (0, 0);
    for name in args.iter_from(first) {
        let Some(field) = writer.get(name) else {
            x.reply.integer(ABSENT);
            continue;
        };
        if !condition.allows(field.expire_at_ms, when) {
            x.reply.integer(0);
        } else if when <= now_ms {
            writer.remove(name);
            gone += 1;
            x.reply.integer(2);
        } else {
            writer.set_time(name, Some(when));
            timed += 1;
            x.reply.integer(1);
        }
    }
    let finished = writer.finish();
    let event = match (timed, gone) {
        (0, 0) => return Ok(()),
        (0, _) => "hexpired",
        _ => "hexpire",
    };
    settle(&mut x.db, key, finished, &[event], timed + gone);
    Ok(())
}

fn all_absent(x: &mut Exec<'_>, count: usize) {
    x.reply.array(count);
    (0..count).for_each(|_| x.reply.integer(ABSENT));
}

pub(super) fn hpersist(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let first = fields::fixed(args)?;
    let key = x.db.key(args.get(1));
    let Some(mut writer) = x.db.hash_writer(key)? else {
        all_absent(x, args.len() - first);
        return Ok(());
    };
    x.reply.array(args.len() - first);
    let mut changed = 0;
    for name in args.iter_from(first) {
        match writer.get(name).map(|field| field.expire_at_ms) {
            None => x.reply.integer(ABSENT),
            Some(None) => x.reply.integer(NO_TIME),
            Some(Some(_)) => {
                writer.set_time(name, None);
                changed += 1;
                x.reply.integer(1);
            }
        }
    }
    let finished = writer.finish();
    if changed > 0 {
        settle(&mut x.db, key, finished, &["hpersist"], changed);
    }
    Ok(())
}

pub(super) fn httl(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let now_ms = x.now.ms();
    // Rounded to the nearest second, as TTL does.
    times(x, args, |at| (at - now_ms + 500) / 1000)
}

pub(super) fn hpttl(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let now_ms = x.now.ms();
    times(x, args, |at| at - now_ms)
}

pub(super) fn hexpiretime(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    times(x, args, |at| (at + 500) / 1000)
}

pub(super) fn hpexpiretime(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    times(x, args, |at| at)
}

fn times(x: &mut Exec<'_>, args: Args<'_>, shown: impl Fn(u64) -> u64) -> Outcome {
    // A count that does not fit is told in other words here than elsewhere.
    let first =
        fields::fixed(args).map_err(|error| if error == fields::NUMFIELDS { SYNTAX } else { error })?;
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let view = slot.as_mut().map(HashView::of_slot);
    x.reply.array(args.len() - first);
    for name in args.iter_from(first) {
        match view
            .and_then(|view| view.get(name, now_ms))
            .map(|field| field.expire_at_ms)
        {
            None => x.reply.integer(ABSENT),
            Some(None) => x.reply.integer(NO_TIME),
            Some(Some(at)) => x.reply.integer(shown(at) as i64),
        }
    }
    Ok(())
}

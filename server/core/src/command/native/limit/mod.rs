//! `LIMIT` and `CL.THROTTLE`: whether a call may pass, and its charge if it does.
//!
//! One look-up a key; a charge rewrites the record where it stands. What is denied or only looked at changes
//! nothing, so a flood of denied calls costs neither log nor replication. With `NOWAIT` the
//! answer does not wait for the charge to be committed, nor for those before it.

mod multi;
mod parse;

pub(super) use parse::KEYS;
pub(in crate::command) use parse::for_each_key;

use super::{UNREADABLE, is_full};
use crate::command::Args;
use crate::effect::Effect;
use crate::error::{Error, MISCONF, SYNTAX, WRONG_TYPE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Collection, Db, Key, Type, kind};
use crate::memory::{Expiry, Slot};
use crate::resp::Reply;
use crate::text::fold;
use crate::value::limit::{Call, OtherForm, Rate, Record, Retry, Rule, Verdict};
use parse::{Clause, Form};

const OTHER_FORM: Error =
    Error::new("ERR this key counts by the other of RATE and WINDOW: LIMIT RESET lets it begin anew");
const BAD_MAX_BURST: Error = Error::new("ERR max_burst must be an integer from 0 to 9007199254740991");
const BAD_COUNT: Error = Error::new("ERR count must be an integer from 1 to 9007199254740992");
const BAD_PERIOD: Error = Error::new("ERR period must be an integer of seconds from 1 to 9007199254740");
const BAD_QUANTITY: Error = Error::new("ERR quantity must be an integer from 0 to 9007199254740992");

pub(super) fn limit(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    match Form::of(args) {
        Form::One => one(x, args),
        Form::Multi => multi::multi(x, args),
        Form::Refund => refund(x, args),
        Form::Reset => reset(x, args),
    }
}

fn one(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (clause, end) = Clause::parse(args, 1)?;
    if end != args.len() {
        return Err(SYNTAX.into());
    }
    let mark = x.db.shard.uncommitted.mark();
    let key = x.db.key(args.get(1));
    let is_full = is_full(x);
    let verdict = charge(&mut x.db, is_full, key, clause.rule, clause.call)?;
    if clause.nowait {
        x.db.shard.uncommitted.forgo(mark);
    }
    x.reply.array(5);
    row(x.reply, &verdict);
    Ok(())
}

/// The five numbers of an answer.
fn row(reply: &mut Reply, verdict: &Verdict) {
    reply.integer(i64::from(verdict.is_allowed()));
    standing(reply, verdict);
}

fn standing(reply: &mut Reply, verdict: &Verdict) {
    reply.integer(verdict.limit as i64);
    reply.integer(verdict.remaining as i64);
    reply.integer(match verdict.retry {
        Retry::Passed => 0,
        Retry::After(span) => span.ms(),
        Retry::Never => -1,
    });
    reply.integer(verdict.reset.ms());
}

/// Decides, and charges if the call passes; what cannot be charged for want of room is refused.
fn charge(db: &mut Db<'_>, is_full: bool, key: Key<'_>, rule: Rule, call: Call) -> Result<Verdict, Error> {
    let now = db.now;
    let Some(mut slot) = db.find_edit(key) else {
        let (verdict, record) = rule.charge(None, call, now).map_err(other_form)?;
        if let Some(record) = record {
            if is_full {
                return Err(MISCONF);
            }
            let expiry = Expiry::At(record.expire_at_ms());
            db.put_value(key, kind::LIMIT, record.encode().bytes(), expiry);
            db.notify(Classes::NATIVE, "limit-charge", key);
        }
        return Ok(verdict);
    };
    if Type::of(slot.kind()) != Type::Limit {
        return Err(WRONG_TYPE);
    }
    let stored = Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?;
    let (verdict, record) = rule.charge(Some(stored), call, now).map_err(other_form)?;
    if let Some(record) = record {
        if is_full {
            return Err(MISCONF);
        }
        overwrite(&mut slot, &record);
        tell(db, key, &record);
        db.notify(Classes::NATIVE, "limit-charge", key);
    }
    Ok(verdict)
}

fn other_form(_: OtherForm) -> Error {
    OTHER_FORM
}

/// Rewrites a record where it stands: its form, and with it its length, is the same.
fn overwrite(slot: &mut Slot<'_, Collection>, record: &Record) {
    let encoded = record.encode();
    let bytes = slot.bytes_mut();
    if bytes.len() == encoded.bytes().len() {
        bytes.copy_from_slice(encoded.bytes());
    } else {
        slot.set_bytes(encoded.bytes());
    }
    slot.set_expiry(Some(record.expire_at_ms()));
}

/// Tells of a record that was rewritten.
fn tell(db: &mut Db<'_>, key: Key<'_>, record: &Record) {
    if db.shard.effects.on() {
        db.emit(Effect::Put {
            key: key.bytes,
            kind: kind::LIMIT,
            value: record.encode().bytes(),
            expire_at: Some(record.expire_at_ms()),
            created: false,
        });
    }
    db.touch(key);
}

fn refund(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() != 5 {
        return Err(Error::wrong_arity("limit|refund").into());
    }
    if !fold::is(args.get(3), "COST") {
        return Err(SYNTAX.into());
    }
    let cost = parse::cost(args.get(4))?;
    if is_full(x) {
        return Err(MISCONF.into());
    }
    let key = x.db.key(args.get(2));
    let Some(mut slot) = x.db.find_write_type(key, Type::Limit)? else {
        // Full: there is nothing to give back to.
        x.reply.null_array();
        return Ok(());
    };
    let stored = Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?;
    let (verdict, left) = stored.refund(cost, x.now);
    match left {
        _ if cost == 0 => {}
        Some(record) => {
            overwrite(&mut slot, &record);
            tell(&mut x.db, key, &record);
            x.db.notify(Classes::NATIVE, "limit-refund", key);
        }
        None => {
            x.db.delete(key);
            x.db.notify(Classes::NATIVE, "limit-refund", key);
            x.db.notify(Classes::GENERIC, "del", key);
        }
    }
    x.reply.array(5);
    row(x.reply, &verdict);
    Ok(())
}

fn reset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() != 3 {
        return Err(Error::wrong_arity("limit|reset").into());
    }
    if is_full(x) {
        return Err(MISCONF.into());
    }
    let key = x.db.key(args.get(2));
    let is_there = x.db.find_write_type(key, Type::Limit)?.is_some();
    if is_there {
        x.db.delete(key);
        x.db.notify(Classes::NATIVE, "limit-reset", key);
        x.db.notify(Classes::GENERIC, "del", key);
    }
    x.reply.integer(i64::from(is_there));
    Ok(())
}

/// redis-cell's command: seconds, and the answer turned round.
pub(super) fn throttle(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 6 {
        return Err(Error::wrong_arity("cl.throttle").into());
    }
    let max_burst = parse::number(args.try_get(2), 0, BAD_MAX_BURST.clone())?;
    let count = parse::number(args.try_get(3), 1, BAD_COUNT)?;
    let period = parse::number(args.try_get(4), 1, BAD_PERIOD.clone())?;
    let cost = match args.try_get(5) {
        Some(word) => parse::number(Some(word), 0, BAD_QUANTITY)?,
        None => 1,
    };
    let in_range = |number: u64| number <= crate::value::limit::NUMBER_MAX;
    let rate = Rate {
        count,
        per_ms: Some(period * 1000).filter(|ms| in_range(*ms)).ok_or(BAD_PERIOD)?,
        burst: Some(max_burst + 1)
            .filter(|burst| in_range(*burst))
            .ok_or(BAD_MAX_BURST)?,
    };
    let key = x.db.key(args.get(1));
    let call = Call { cost, peek: false };
    let is_full = is_full(x);
    let verdict = charge(&mut x.db, is_full, key, Rule::Rate(rate), call)?;
    x.reply.array(5);
    x.reply.integer(i64::from(!verdict.is_allowed()));
    x.reply.integer(verdict.limit as i64);
    x.reply.integer(verdict.remaining as i64);
    x.reply.integer(match verdict.retry {
        Retry::After(span) => span.whole_seconds(),
        Retry::Passed | Retry::Never => -1,
    });
    x.reply.integer(verdict.reset.whole_seconds());
    Ok(())
}

//! `HSETEX`, `HGETEX`, `HGETDEL`: values and times in one command.

use super::{expiry, fields, settle};
use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Now, Outcome};
use crate::keyspace::{Classes, Type};
use crate::memory::Expiry;
use crate::text::fold;
use crate::value::hash::Before;

/// What is to become of the fields' times.
#[derive(Clone, Copy, PartialEq)]
enum Time<'a> {
    /// Nothing was said: `HSETEX` clears it, `HGETEX` leaves it.
    Unsaid,
    /// `KEEPTTL` or `PERSIST`.
    Word,
    Given(Unit, &'a [u8]),
}

#[derive(Clone, Copy)]
struct Options<'a> {
    /// `NX` and `XX`: the key must be absent, or present.
    key_present: Option<bool>,
    /// `FNX` and `FXX`: all fields must be absent, or present.
    fields_present: Option<bool>,
    time: Time<'a>,
}

/// The options between the key and `FIELDS`, which stands at `end`. Repeating one is allowed, contradicting
/// it is not. `word` is the option that says what to do with times without giving one.
fn parse<'a>(args: Args<'a>, end: usize, word: &str, conditions: bool) -> Result<Options<'a>, Error> {
    let mut options = Options {
        key_present: None,
        fields_present: None,
        time: Time::Unsaid,
    };
    let mut at = 2;
    while at < end {
        let given = args.get(at);
        let condition = |present: &mut Option<bool>, wanted: bool| {
            let fits = conditions && present.is_none_or(|own| own == wanted);
            *present = Some(wanted);
            if fits { Ok(()) } else { Err(SYNTAX) }
        };
        if fold::is(given, "NX") {
            condition(&mut options.key_present, false)?;
        } else if fold::is(given, "XX") {
            condition(&mut options.key_present, true)?;
        } else if fold::is(given, "FNX") {
            condition(&mut options.fields_present, false)?;
        } else if fold::is(given, "FXX") {
            condition(&mut options.fields_present, true)?;
        } else if fold::is(given, word) {
            if matches!(options.time, Time::Given(..)) {
                return Err(SYNTAX);
            }
            options.time = Time::Word;
        } else if let (Some(unit), true) = (Unit::of(given), at + 1 < end) {
            match options.time {
                Time::Word => return Err(SYNTAX),
                Time::Given(own, _) if own != unit => return Err(SYNTAX),
                _ => {}
            }
            options.time = Time::Given(unit, args.get(at + 1));
            at += 1;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

impl Time<'_> {
    /// The moment, if one was given.
    fn moment(self, now: Now, command: &str) -> Result<Option<u64>, Error> {
        match self {
            Time::Given(unit, argument) => expiry::moment(argument, unit, now, command).map(Some),
            _ => Ok(None),
        }
    }
}

pub(super) fn hsetex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let at = fields::find(args, 2)?;
    let options = parse(args, at, "KEEPTTL", true)?;
    let first = fields::check(args, at, 2)?;
    let key = x.db.key(args.get(1));
    let present = x.db.find_write_type(key, Type::Hash)?.is_some();
    if options.key_present.is_some_and(|wanted| wanted != present) {
        x.reply.integer(0);
        return Ok(());
    }
    let when = options.time.moment(x.now, "hsetex")?;
    if let Some(wanted) = options.fields_present {
        let mut writer = x.db.hash_writer(key)?;
        let mut has = |name| writer.as_mut().is_some_and(|writer| writer.has(name));
        if (first..args.len())
            .step_by(2)
            .any(|at| has(args.get(at)) != wanted)
        {
            x.reply.integer(0);
            return Ok(());
        }
    }
    x.reply.integer(1);
    if when.is_some_and(|at| at <= x.now.ms()) {
        drop_fields(x, args, first);
        return Ok(());
    }
    let expiry = match (options.time, when) {
        (Time::Word, _) => Expiry::Keep,
        (_, Some(at)) => Expiry::At(at),
        _ => Expiry::Clear,
    };
    let mut writer = x.db.hash_writer_or_new(key)?;
    writer.make_room((args.len() - first) / 2, args.iter_from(first));
    let mut overdue = false;
    for at in (first..args.len()).step_by(2) {
        overdue |= writer.set(args.get(at), args.get(at + 1), expiry) == Before::Overdue;
    }
    let finished = writer.finish();
    let events = ["hexpired", "hset", "hexpire"];
    let events = &events[usize::from(!overdue)..if when.is_some() { 3 } else { 2 }];
    settle(&mut x.db, key, finished, events, (args.len() - first) / 2);
    Ok(())
}

/// Fields stored with a time in the past: they are gone at once. Listeners hear what they would have heard
/// had they been there for a moment.
fn drop_fields(x: &mut Exec<'_>, args: Args<'_>, first: usize) {
    let key = x.db.key(args.get(1));
    let events = ["hset", "hexpire", "hexpired"];
    if let Some(mut writer) = x.db.open_hash(key) {
        let mut removed = 0;
        for at in (first..args.len()).step_by(2) {
            removed += usize::from(writer.remove(args.get(at)) != Before::Absent);
        }
        let finished = writer.finish();
        if removed > 0 {
            settle(&mut x.db, key, finished, &events, removed);
            return;
        }
    }
    let absent = x.db.find_write(key).is_none();
    events
        .iter()
        .for_each(|event| x.db.notify(Classes::HASH, event, key));
    if absent {
        x.db.notify(Classes::GENERIC, "del", key);
    }
}

pub(super) fn hgetex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let at = fields::find(args, 2)?;
    let options = parse(args, at, "PERSIST", false)?;
    let first = fields::check(args, at, 1)?;
    let (key, now) = (x.db.key(args.get(1)), x.now);
    let writer = x.db.hash_writer(key)?;
    let when = options.time.moment(now, "hgetex")?;
    x.reply.array(args.len() - first);
    let Some(mut writer) = writer else {
        args.iter_from(first).for_each(|_| x.reply.null());
        return Ok(());
    };
    let mut event: Option<&'static str> = None;
    let mut changed = 0;
    for name in args.iter_from(first) {
        let Some(field) = writer.get(name) else {
            x.reply.null();
            continue;
        };
        x.reply.bulk(field.value);
        let timed = field.expire_at_ms.is_some();
        match when {
            Some(at) if at <= now.ms() => {
                writer.remove(name);
                event = Some("hexpired");
                changed += 1;
            }
            Some(at) => {
                writer.set_time(name, Some(at));
                event = Some("hexpire");
                changed += 1;
            }
            None if timed && options.time == Time::Word => {
                writer.set_time(name, None);
                event = Some("hpersist");
                changed += 1;
            }
            None => {}
        }
    }
    let finished = writer.finish();
    if let Some(event) = event {
        settle(&mut x.db, key, finished, &[event], changed);
    }
    Ok(())
}

pub(super) fn hgetdel(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let first = fields::fixed(args)?;
    let key = x.db.key(args.get(1));
    let writer = x.db.hash_writer(key)?;
    x.reply.array(args.len() - first);
    let Some(mut writer) = writer else {
        args.iter_from(first).for_each(|_| x.reply.null());
        return Ok(());
    };
    let mut removed = 0;
    for name in args.iter_from(first) {
        match writer.get(name) {
            None => x.reply.null(),
            Some(field) => {
                x.reply.bulk(field.value);
                writer.remove(name);
                removed += 1;
            }
        }
    }
    let finished = writer.finish();
    if removed > 0 {
        settle(&mut x.db, key, finished, &["hdel"], removed);
    }
    Ok(())
}

//! `INCREX`: a counter with bounds and a time to go, as Redis 8.8 has it.
//!
//! A sum out of bounds changes nothing, not even when the key goes, unless `SATURATE` stops it at the bound.
//! Bounds that are not given are those of the number's type.

mod amount;

use amount::Amount;

use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Key, Type};
use crate::memory::Expiry;
use crate::text::fold;
use crate::text::long_double::LongDouble;

const WHERE_TO: Error = Error::new("ERR ENX flag requires an expiration");
const CROSSED: Error = Error::new("ERR LBOUND can't be greater than UBOUND");
const APPLIED_OVERFLOW: Error = Error::new("ERR applied increment would overflow");

/// The words as they stand; numbers are read once the line as a whole is known to be right.
#[derive(Default)]
struct Words<'a> {
    by_int: Option<&'a [u8]>,
    by_float: Option<&'a [u8]>,
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
    saturate: bool,
    at: Option<(Unit, &'a [u8])>,
    persist: bool,
    only_if_none: bool,
}

impl<'a> Words<'a> {
    fn parse(args: Args<'a>) -> Result<Self, Error> {
        let mut words = Self::default();
        let mut at = 2;
        while let Some(word) = args.try_get(at) {
            if words.flag(word) {
                at += 1;
            } else {
                words.pair(word, args.try_get(at + 1).ok_or(SYNTAX)?)?;
                at += 2;
            }
        }
        if words.only_if_none && words.at.is_none() {
            return Err(if words.persist { SYNTAX } else { WHERE_TO });
        }
        Ok(words)
    }

    fn flag(&mut self, word: &[u8]) -> bool {
        if fold::is(word, "SATURATE") && !self.saturate {
            self.saturate = true;
        } else if fold::is(word, "PERSIST") && !self.persist && self.at.is_none() {
            self.persist = true;
        } else if fold::is(word, "ENX") && !self.only_if_none {
            self.only_if_none = true;
        } else {
            return false;
        }
        true
    }

    fn pair(&mut self, word: &'a [u8], value: &'a [u8]) -> Result<(), Error> {
        let no_step = self.by_int.is_none() && self.by_float.is_none();
        if fold::is(word, "BYINT") && no_step {
            self.by_int = Some(value);
        } else if fold::is(word, "BYFLOAT") && no_step {
            self.by_float = Some(value);
        } else if fold::is(word, "LBOUND") && self.lower.is_none() {
            self.lower = Some(value);
        } else if fold::is(word, "UBOUND") && self.upper.is_none() {
            self.upper = Some(value);
        } else if let (Some(unit), None, false) = (Unit::of(word), self.at, self.persist) {
            self.at = Some((unit, value));
        } else {
            return Err(SYNTAX);
        }
        Ok(())
    }
}

pub(super) fn increx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let words = Words::parse(args)?;
    match words.by_float {
        Some(step) => add::<LongDouble>(x, args, &words, Some(step)),
        None => add::<i64>(x, args, &words, words.by_int),
    }
}

/// The step and its bounds.
struct Sum<A> {
    step: A,
    lower: A,
    upper: A,
    saturate: bool,
}

fn add<A: Amount>(x: &mut Exec<'_>, args: Args<'_>, words: &Words<'_>, step: Option<&[u8]>) -> Outcome {
    let read = |word: Option<&[u8]>, name, default| match word {
        Some(word) => A::parse(word).ok_or_else(|| A::refused(name)),
        None => Ok(default),
    };
    let sum = Sum {
        step: read(step, "Increment", A::ONE)?,
        lower: read(words.lower, "LBOUND", A::MIN)?,
        upper: read(words.upper, "UBOUND", A::MAX)?,
        saturate: words.saturate,
    };
    if sum.upper.is_below(sum.lower) {
        return Err(CROSSED.into());
    }
    let expiry = match words.at {
        Some((unit, amount)) => Expiry::At(unit.deadline(amount, x.now, "increx")?),
        None if words.persist => Expiry::Clear,
        None => Expiry::Keep,
    };
    let key = x.db.key(args.get(1));
    let (current, has_expiry) = match x.db.find_write_type(key, Type::String)? {
        Some(slot) => {
            let current = A::parse(slot.entry().bytes()).ok_or(A::NOT_STORED)?;
            (current, slot.expire_at_ms().is_some())
        }
        None => (A::ZERO, false),
    };
    x.reply.array(2);
    let Some((value, applied)) = sum.of(current)? else {
        current.write(x.reply);
        A::ZERO.write(x.reply);
        return Ok(());
    };
    let expiry = match expiry {
        Expiry::At(_) if words.only_if_none && has_expiry => Expiry::Keep,
        Expiry::Clear if !has_expiry => Expiry::Keep,
        expiry => expiry,
    };
    store(x, key, value, expiry);
    value.write(x.reply);
    applied.write(x.reply);
    Ok(())
}

fn store<A: Amount>(x: &mut Exec<'_>, key: Key<'_>, value: A, expiry: Expiry) {
    if let Expiry::At(at_ms) = expiry
        && at_ms <= x.now.ms()
    {
        // Set in the past: as if it had been stored and had gone at once.
        x.db.expire_now(key);
        return;
    }
    value.with_text(|text| x.db.put_string(key, text, expiry));
    x.db.notify(Classes::STRING, A::EVENT, key);
    match expiry {
        Expiry::At(_) => x.db.notify(Classes::GENERIC, "expire", key),
        Expiry::Clear => x.db.notify(Classes::GENERIC, "persist", key),
        Expiry::Keep => {}
    }
}

impl<A: Amount> Sum<A> {
    /// The new value and what was added; `None` where the sum is out of bounds and nothing may change.
    fn of(&self, current: A) -> Result<Option<(A, A)>, Error> {
        let bound = match current.plus(self.step) {
            Some(sum) if sum.is_below(self.lower) => self.lower,
            Some(sum) if self.upper.is_below(sum) => self.upper,
            Some(sum) => return Ok(Some((sum, self.step))),
            None if self.step.is_below(A::ZERO) => self.lower,
            None => self.upper,
        };
        if !self.saturate {
            return Ok(None);
        }
        let applied = bound.minus(current).ok_or(APPLIED_OVERFLOW)?;
        Ok(Some((bound, applied)))
    }
}

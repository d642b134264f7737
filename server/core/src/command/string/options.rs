//! The options that `SET`, `MSETEX` and `GETEX` share. Each may be given again, and then the last one counts;
//! two that exclude each other are a syntax error. Times are read only once the whole line is known to be right.

use crate::command::Args;
use crate::command::deadline::Unit;
use crate::error::{Error, SYNTAX};
use crate::exec::Now;
use crate::memory::Expiry;
use crate::text::fold;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Condition<'a> {
    Always,
    IfAbsent,
    IfPresent,
    IfEqual(&'a [u8]),
}

/// What the command asks for the key's expiry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Time<'a> {
    Unsaid,
    Keep,
    Persist,
    At(Unit, &'a [u8]),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a> {
    pub condition: Condition<'a>,
    pub get: bool,
    pub time: Time<'a>,
}

/// Which options a command knows.
#[derive(Clone, Copy)]
pub(super) struct Known {
    /// `NX`, `XX` and `KEEPTTL`.
    pub writes: bool,
    /// `GET` and `IFEQ`.
    pub compares: bool,
    /// `PERSIST`.
    pub persists: bool,
}

impl<'a> Options<'a> {
    pub(super) const NONE: Self = Self {
        condition: Condition::Always,
        get: false,
        time: Time::Unsaid,
    };

    /// Reads the words from `at` on.
    pub(super) fn parse(args: Args<'a>, mut at: usize, known: Known) -> Result<Self, Error> {
        let mut options = Self::NONE;
        while at < args.len() {
            at += options.take(args.get(at), args.try_get(at + 1), known)?;
        }
        Ok(options)
    }

    /// Takes one option in; the number of words that it was.
    fn take(&mut self, word: &'a [u8], next: Option<&'a [u8]>, known: Known) -> Result<usize, Error> {
        use Condition::{Always, IfAbsent, IfPresent};
        if known.writes && fold::is(word, "NX") && matches!(self.condition, Always | IfAbsent) {
            self.condition = IfAbsent;
        } else if known.writes && fold::is(word, "XX") && matches!(self.condition, Always | IfPresent) {
            self.condition = IfPresent;
        } else if known.compares && fold::is(word, "GET") {
            self.get = true;
        } else if known.writes && fold::is(word, "KEEPTTL") && matches!(self.time, Time::Unsaid | Time::Keep)
        {
            self.time = Time::Keep;
        } else if known.persists
            && fold::is(word, "PERSIST")
            && matches!(self.time, Time::Unsaid | Time::Persist)
        {
            self.time = Time::Persist;
        } else if let Some(next) = next {
            self.take_pair(word, next, known)?;
            return Ok(2);
        } else {
            return Err(SYNTAX);
        }
        Ok(1)
    }

    fn take_pair(&mut self, word: &'a [u8], next: &'a [u8], known: Known) -> Result<(), Error> {
        if known.compares && fold::is(word, "IFEQ") && self.condition == Condition::Always {
            self.condition = Condition::IfEqual(next);
            return Ok(());
        }
        let unit = Unit::of(word).ok_or(SYNTAX)?;
        match self.time {
            Time::Unsaid => {}
            Time::At(before, _) if before == unit => {}
            _ => return Err(SYNTAX),
        }
        self.time = Time::At(unit, next);
        Ok(())
    }

    /// The expiry for a value that is stored; `command` is named in the error.
    pub(super) fn expiry(&self, now: Now, command: &str) -> Result<Expiry, Error> {
        Ok(match self.time {
            Time::Unsaid | Time::Persist => Expiry::Clear,
            Time::Keep => Expiry::Keep,
            Time::At(unit, amount) => Expiry::At(unit.deadline(amount, now, command)?),
        })
    }
}

//! The words of `LIMIT`: which form it is, where its keys stand, and the rule for each.
//!
//! A key may be named like a form or an option. `RATE` or `WINDOW` as the third word of at least six makes the
//! second a key; an option's name with `RATE` or `WINDOW` after it is a key of `LIMIT MULTI`. Routing, ACL and
//! execution all find the keys through this file.

use crate::command::Args;
use crate::command::spec::{KeyFlags, KeySpec, RM_DELETE, RW_ACCESS_UPDATE};
use crate::error::{Error, SYNTAX};
use crate::text::fold;
use crate::text::number::parse_u64;
use crate::value::limit::{Call, NUMBER_MAX, Quota, Rate, Rule};

/// Keys of one `LIMIT MULTI`: each is compared with those before it.
const MULTI_MAX: u64 = 32;

const BAD_COUNT: Error =
    Error::new("ERR the number of a RATE or WINDOW must be an integer from 1 to 9007199254740992");
const BAD_PER: Error = Error::new("ERR PER must be an integer of milliseconds from 1 to 9007199254740992");
const BAD_BURST: Error = Error::new("ERR BURST must be an integer from 1 to 9007199254740992");
const BAD_COST: Error = Error::new("ERR COST must be an integer from 0 to 9007199254740992");
const BURST_OF_WINDOW: Error = Error::new("ERR BURST belongs to RATE, a WINDOW has none");
const BAD_MULTI: Error = Error::new("ERR LIMIT MULTI takes an integer from 1 to 32 and as many keys");
const FEWER_KEYS: Error = Error::new("ERR LIMIT MULTI has not as many keys as it says");

/// Clients that know one range of keys only look at the first word; the others ask, or are told where to go.
pub(in crate::command::native) const KEYS: &[KeySpec] =
    &[KeySpec::one(RW_ACCESS_UPDATE.or(KeyFlags::INCOMPLETE))];

pub(super) enum Form {
    One,
    Multi,
    Refund,
    Reset,
}

impl Form {
    pub(super) fn of(args: Args<'_>) -> Self {
        let word = args.get(1);
        if args.len() >= 6 && is_rule(args.get(2)) {
            Self::One
        } else if fold::is(word, "MULTI") {
            Self::Multi
        } else if fold::is(word, "REFUND") {
            Self::Refund
        } else if fold::is(word, "RESET") {
            Self::Reset
        } else {
            Self::One
        }
    }
}

fn is_rule(word: &[u8]) -> bool {
    fold::is(word, "RATE") || fold::is(word, "WINDOW")
}

/// Calls `visit` for each key with what happens to it; `None` where the command will be refused anyway.
pub(in crate::command) fn for_each_key(args: Args<'_>, mut visit: impl FnMut(usize, KeyFlags)) -> Option<()> {
    match Form::of(args) {
        Form::One => visit(1, RW_ACCESS_UPDATE),
        Form::Refund => visit((args.len() == 5).then_some(2)?, RW_ACCESS_UPDATE),
        Form::Reset => visit((args.len() == 3).then_some(2)?, RM_DELETE),
        Form::Multi => {
            for clause in Clauses::new(args).ok()? {
                visit(clause.ok()?.key_at, RW_ACCESS_UPDATE);
            }
        }
    }
    Some(())
}

/// A key with its rule and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause {
    pub key_at: usize,
    pub rule: Rule,
    pub call: Call,
    /// It is answered before it is committed.
    pub nowait: bool,
}

/// A number from `min` to [`NUMBER_MAX`].
pub(super) fn number(word: Option<&[u8]>, min: u64, refused: Error) -> Result<u64, Error> {
    parse_u64(word.ok_or(SYNTAX)?)
        .filter(|number| (min..=NUMBER_MAX).contains(number))
        .ok_or(refused)
}

pub(super) fn cost(word: &[u8]) -> Result<u64, Error> {
    number(Some(word), 0, BAD_COST)
}

impl Clause {
    /// Reads `key RATE|WINDOW …` from `key_at` on; also where the next word stands.
    pub(super) fn parse(args: Args<'_>, key_at: usize) -> Result<(Self, usize), Error> {
        let form = args.try_get(key_at + 1).ok_or(SYNTAX)?;
        if !is_rule(form) || !args.try_get(key_at + 3).is_some_and(|word| fold::is(word, "PER")) {
            return Err(SYNTAX);
        }
        let is_rate = fold::is(form, "RATE");
        let count = number(args.try_get(key_at + 2), 1, BAD_COUNT)?;
        let per_ms = number(args.try_get(key_at + 4), 1, BAD_PER)?;
        let (mut burst, mut cost, mut peek, mut nowait) = (None, None, false, false);
        let mut at = key_at + 5;
        while let Some(word) = args.try_get(at) {
            let next = args.try_get(at + 1);
            if next.is_some_and(is_rule) {
                break;
            }
            if fold::is(word, "BURST") && burst.is_none() {
                if !is_rate {
                    return Err(BURST_OF_WINDOW);
                }
                burst = Some(number(next, 1, BAD_BURST)?);
                at += 2;
            } else if fold::is(word, "COST") && cost.is_none() {
                cost = Some(number(next, 0, BAD_COST)?);
                at += 2;
            } else if fold::is(word, "PEEK") && !peek {
                peek = true;
                at += 1;
            } else if fold::is(word, "NOWAIT") && !nowait {
                nowait = true;
                at += 1;
            } else {
                break;
            }
        }
        let rule = if is_rate {
            Rule::Rate(Rate {
                count,
                per_ms,
                burst: burst.unwrap_or(count),
            })
        } else {
            Rule::Window(Quota { count, per_ms })
        };
        let call = Call {
            cost: cost.unwrap_or(1),
            peek,
        };
        let clause = Self {
            key_at,
            rule,
            call,
            nowait,
        };
        Ok((clause, at))
    }
}

/// The clauses of `LIMIT MULTI`, read as they are asked for.
#[derive(Clone)]
pub(super) struct Clauses<'a> {
    args: Args<'a>,
    at: usize,
    left: u64,
}

impl<'a> Clauses<'a> {
    pub(super) fn new(args: Args<'a>) -> Result<Self, Error> {
        let left = parse_u64(args.get(2))
            .filter(|count| (1..=MULTI_MAX).contains(count))
            .ok_or(BAD_MULTI)?;
        Ok(Self { args, at: 3, left })
    }
}

impl Iterator for Clauses<'_> {
    type Item = Result<Clause, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            // Words beyond the last clause belong to nothing; they are refused once.
            let rest = self.at < self.args.len();
            self.at = self.args.len();
            return rest.then_some(Err(SYNTAX));
        }
        self.left -= 1;
        if self.at >= self.args.len() {
            self.left = 0;
            return Some(Err(FEWER_KEYS));
        }
        match Clause::parse(self.args, self.at) {
            Ok((clause, next)) => {
                self.at = next;
                Some(Ok(clause))
            }
            Err(error) => {
                (self.left, self.at) = (0, self.args.len());
                Some(Err(error))
            }
        }
    }
}

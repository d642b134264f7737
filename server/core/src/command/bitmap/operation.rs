//! One operation of `BITFIELD`: how it is written, and what it makes of a number.

use super::{BAD_OFFSET, in_bounds};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::bits::Field;

const BAD_TYPE: Error = Error::new(
    "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
);
const BAD_OVERFLOW: Error = Error::new("ERR Invalid OVERFLOW type specified");

/// What becomes of a number that does not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Overflow {
    Wrap,
    Saturate,
    Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Action {
    Get,
    Set(i64),
    Add(i64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Operation {
    pub action: Action,
    pub field: Field,
    pub signed: bool,
    pub overflow: Overflow,
}

/// The operations of a line, read as they come. An error ends it.
#[derive(Clone, Copy)]
pub(super) struct Operations<'a> {
    args: Args<'a>,
    at: usize,
    overflow: Overflow,
    bytes_max: usize,
}

impl<'a> Operations<'a> {
    pub(super) fn new(args: Args<'a>, bytes_max: usize) -> Self {
        Self {
            args,
            at: 2,
            overflow: Overflow::Wrap,
            bytes_max,
        }
    }

    fn read(&mut self, word: &[u8]) -> Result<Option<Operation>, Error> {
        let left = self.args.len() - self.at - 1;
        let operand = |nth: usize| self.args.get(self.at + nth);
        if fold::is(word, "OVERFLOW") && left >= 1 {
            self.overflow = match operand(1) {
                word if fold::is(word, "WRAP") => Overflow::Wrap,
                word if fold::is(word, "SAT") => Overflow::Saturate,
                word if fold::is(word, "FAIL") => Overflow::Fail,
                _ => return Err(BAD_OVERFLOW),
            };
            self.at += 2;
            return Ok(None);
        }
        let make: Option<fn(i64) -> Action> = if fold::is(word, "GET") && left >= 2 {
            None
        } else if fold::is(word, "SET") && left >= 3 {
            Some(Action::Set)
        } else if fold::is(word, "INCRBY") && left >= 3 {
            Some(Action::Add)
        } else {
            return Err(SYNTAX);
        };
        let (signed, width) = encoding(operand(1))?;
        let offset = self.offset(operand(2), width)?;
        let action = match make {
            None => Action::Get,
            Some(make) => make(parse_i64(operand(3)).ok_or(NOT_AN_INTEGER)?),
        };
        self.at += 3 + usize::from(make.is_some());
        Ok(Some(Operation {
            action,
            field: Field { offset, width },
            signed,
            overflow: self.overflow,
        }))
    }

    /// `#n` is the n-th field of that width.
    fn offset(&self, word: &[u8], width: u32) -> Result<u64, Error> {
        let offset = match word.strip_prefix(b"#") {
            Some(nth) => parse_i64(nth).and_then(|nth| nth.checked_mul(width.into())),
            None => parse_i64(word),
        };
        offset
            .and_then(|offset| in_bounds(offset, self.bytes_max))
            .ok_or(BAD_OFFSET)
    }
}

impl Iterator for Operations<'_> {
    type Item = Result<Operation, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(word) = self.args.try_get(self.at) {
            match self.read(word) {
                Ok(None) => {}
                Ok(Some(operation)) => return Some(Ok(operation)),
                Err(error) => {
                    self.at = self.args.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// `i` or `u` and the width.
fn encoding(word: &[u8]) -> Result<(bool, u32), Error> {
    let (signed, digits) = match word {
        [b'i', digits @ ..] => (true, digits),
        [b'u', digits @ ..] => (false, digits),
        _ => return Err(BAD_TYPE),
    };
    let width_max = if signed { 64 } else { 63 };
    let width = parse_i64(digits).filter(|width| (1..=width_max).contains(width));
    width.map(|width| (signed, width as u32)).ok_or(BAD_TYPE)
}

impl Operation {
    /// The field's number of those bytes.
    pub(super) fn number(&self, bytes: &[u8]) -> i64 {
        let raw = self.field.get(bytes);
        if self.signed {
            sign_extend(raw, self.field.width)
        } else {
            raw as i64
        }
    }

    /// What the field becomes, from the number that it is; `None` if that does not fit and is to fail.
    pub(super) fn outcome(&self, old: i64) -> Option<i64> {
        let wanted = match self.action {
            Action::Get => return Some(old),
            // An unsigned field takes the bits of a negative number for a large one.
            Action::Set(value) if !self.signed => i128::from(value as u64),
            Action::Set(value) => i128::from(value),
            Action::Add(value) => i128::from(old) + i128::from(value),
        };
        let width = self.field.width;
        let (min, max) = if self.signed {
            (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
        } else {
            (0, (1i128 << width) - 1)
        };
        if (min..=max).contains(&wanted) {
            return Some(wanted as i64);
        }
        match self.overflow {
            Overflow::Fail => None,
            Overflow::Saturate => Some(wanted.clamp(min, max) as i64),
            Overflow::Wrap if self.signed => Some(sign_extend(wanted as u64, width)),
            Overflow::Wrap => Some((wanted & max) as i64),
        }
    }
}

fn sign_extend(raw: u64, width: u32) -> i64 {
    let unused = 64 - width;
    (raw << unused) as i64 >> unused
}

//! The two kinds of number that `INCREX` counts in.

use crate::error::{Error, NOT_A_FLOAT, NOT_AN_INTEGER};
use crate::resp::Reply;
use crate::text::long_double::LongDouble;
use crate::text::number::parse_i64;

pub(super) trait Amount: Copy {
    const ZERO: Self;
    const ONE: Self;
    const MIN: Self;
    const MAX: Self;
    /// The event of the command that adds such numbers without bounds.
    const EVENT: &'static str;
    /// The stored text is no such number.
    const NOT_STORED: Error;

    fn parse(text: &[u8]) -> Option<Self>;
    /// The argument of that name is no such number.
    fn refused(name: &str) -> Error;
    fn is_below(self, other: Self) -> bool;
    fn plus(self, other: Self) -> Option<Self>;
    fn minus(self, other: Self) -> Option<Self>;
    fn with_text<T>(self, take: impl FnOnce(&[u8]) -> T) -> T;
    fn write(self, reply: &mut Reply);
}

impl Amount for i64 {
    const ZERO: Self = 0;
    const ONE: Self = 1;
    const MIN: Self = i64::MIN;
    const MAX: Self = i64::MAX;
    const EVENT: &'static str = "incrby";
    const NOT_STORED: Error = NOT_AN_INTEGER;

    fn parse(text: &[u8]) -> Option<Self> {
        parse_i64(text)
    }

    fn refused(name: &str) -> Error {
        Error::from(format!("ERR {name} is not an integer or out of range"))
    }

    fn is_below(self, other: Self) -> bool {
        self < other
    }

    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }

    fn minus(self, other: Self) -> Option<Self> {
        self.checked_sub(other)
    }

    fn with_text<T>(self, take: impl FnOnce(&[u8]) -> T) -> T {
        take(itoa::Buffer::new().format(self).as_bytes())
    }

    fn write(self, reply: &mut Reply) {
        reply.integer(self);
    }
}

const fn whole(negative: bool, significand: u64, exponent: i32) -> LongDouble {
    LongDouble::Finite {
        negative,
        significand,
        exponent,
    }
}

/// The power of two that the last bit of the largest long doubles counts.
const TOP_EXPONENT: i32 = 16383 - 63;

fn negated(number: LongDouble) -> LongDouble {
    match number {
        LongDouble::Finite {
            negative,
            significand,
            exponent,
        } => whole(!negative, significand, exponent),
        LongDouble::Infinite { negative } => LongDouble::Infinite { negative: !negative },
    }
}

impl Amount for LongDouble {
    const ZERO: Self = LongDouble::ZERO;
    const ONE: Self = whole(false, 1, 0);
    const MIN: Self = whole(true, u64::MAX, TOP_EXPONENT);
    const MAX: Self = whole(false, u64::MAX, TOP_EXPONENT);
    const EVENT: &'static str = "incrbyfloat";
    const NOT_STORED: Error = NOT_A_FLOAT;

    fn parse(text: &[u8]) -> Option<Self> {
        LongDouble::parse(text)
    }

    fn refused(name: &str) -> Error {
        Error::from(format!("ERR {name} is not a valid float"))
    }

    fn is_below(self, other: Self) -> bool {
        match (self, other) {
            (a, b) if a == b => false,
            (Self::Infinite { negative }, _) => negative,
            (_, Self::Infinite { negative }) => !negative,
            // A difference too large for the type is one of numbers with different signs.
            (Self::Finite { negative, .. }, _) => match self.minus(other) {
                Some(Self::Finite {
                    negative,
                    significand,
                    ..
                }) => negative && significand > 0,
                _ => negative,
            },
        }
    }

    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }

    fn minus(self, other: Self) -> Option<Self> {
        self.checked_add(negated(other))
    }

    fn with_text<T>(self, take: impl FnOnce(&[u8]) -> T) -> T {
        let mut text = Vec::with_capacity(24);
        self.push(&mut text);
        take(&text)
    }

    fn write(self, reply: &mut Reply) {
        self.with_text(|text| reply.double_text(text));
    }
}

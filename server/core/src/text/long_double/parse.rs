//! Reading a long double as C's `strtold` does, and refusing what Valkey refuses of it.

use super::big::Big;
use super::{LongDouble, round};

/// Texts of this length are refused.
const LEN_LIMIT: usize = 5 * 1024;
/// Exponents are read up to here; beyond, every number is too large or too small whatever its digits.
const EXPONENT_CAP: i32 = 1_000_000;
/// Where a number's first digit stands, as a power of ten, when it is too large or too small for sure.
const DECIMAL_TOO_LARGE: i32 = 4940;
const DECIMAL_TOO_SMALL: i32 = -4960;
/// The largest power of five in 63 bits, and in 32.
const FIVE_IN_63: u32 = 27;
const FIVE_IN_32: u32 = 13;

pub(super) fn parse(text: &[u8]) -> Option<LongDouble> {
    if text.len() >= LEN_LIMIT {
        return None;
    }
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if text.eq_ignore_ascii_case(b"inf") || text.eq_ignore_ascii_case(b"infinity") {
        return Some(LongDouble::Infinite { negative });
    }
    let (significand, exponent) = match text {
        [b'0', b'x' | b'X', rest @ ..] => hexadecimal(rest)?,
        rest => decimal(rest)?,
    };
    Some(LongDouble::Finite {
        negative,
        significand,
        exponent,
    })
}

/// A number split into its digits (values, without leading and trailing zeros), the power of the base that
/// the last one counts, and the exponent written behind.
struct Parts {
    digits: Vec<u8>,
    scale: i32,
    exponent: i32,
}

/// Splits `text` as digits with at most one point, then perhaps `mark` and an exponent.
fn split(text: &[u8], base: u32, mark: u8) -> Option<Parts> {
    let mut digits = Vec::with_capacity(text.len());
    let mut point = None;
    let mut seen = false;
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        match (*byte as char).to_digit(base) {
            Some(digit) => {
                seen = true;
                if digit != 0 || !digits.is_empty() {
                    digits.push(digit as u8);
                }
                point = point.map(|behind: i32| behind + 1);
            }
            None if *byte == b'.' && point.is_none() => point = Some(0),
            None => break,
        }
        rest = tail;
    }
    if !seen {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [first, tail @ ..] if first.eq_ignore_ascii_case(&mark) => written_exponent(tail)?,
        _ => return None,
    };
    let kept = digits
        .iter()
        .rposition(|digit| *digit != 0)
        .map_or(0, |last| last + 1);
    let scale = (digits.len() - kept) as i32 - point.unwrap_or(0);
    digits.truncate(kept);
    Some(Parts {
        digits,
        scale,
        exponent,
    })
}

fn written_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = digits.iter().fold(0, |value, byte| {
        (value * 10 + i32::from(byte - b'0')).min(EXPONENT_CAP)
    });
    Some(if negative { -exponent } else { exponent })
}

fn hexadecimal(text: &[u8]) -> Option<(u64, i32)> {
    let Parts {
        digits,
        scale,
        exponent,
    } = split(text, 16, b'p')?;
    if digits.is_empty() {
        return Some((0, 0));
    }
    let taken = digits.len().min(31);
    let value = digits[..taken]
        .iter()
        .fold(0, |value, digit| value << 4 | u128::from(*digit));
    let exponent = exponent + 4 * (scale + (digits.len() - taken) as i32);
    nonzero(round(value, exponent, taken < digits.len()))
}

fn decimal(text: &[u8]) -> Option<(u64, i32)> {
    let Parts {
        digits,
        scale,
        exponent,
    } = split(text, 10, b'e')?;
    if digits.is_empty() {
        return Some((0, 0));
    }
    let exponent = exponent + scale;
    let first = exponent + digits.len() as i32;
    if !(DECIMAL_TOO_SMALL..=DECIMAL_TOO_LARGE).contains(&first) {
        return None;
    }
    if digits.len() <= 19 && exponent.unsigned_abs() <= FIVE_IN_63 {
        let value = digits
            .iter()
            .fold(0, |value, digit| value * 10 + u64::from(*digit));
        return nonzero(short(value, exponent));
    }
    nonzero(long(&digits, exponent))
}

/// A number that underflows to zero is refused like one that overflows.
fn nonzero(rounded: Option<(u64, i32)>) -> Option<(u64, i32)> {
    rounded.filter(|(significand, _)| *significand != 0)
}

/// `value` times ten to the `exponent`, which 128 bits hold well enough.
fn short(value: u64, exponent: i32) -> Option<(u64, i32)> {
    let five = 5u128.pow(exponent.unsigned_abs());
    if exponent >= 0 {
        return round(u128::from(value) * five, exponent, false);
    }
    let shift = value.leading_zeros() + 64;
    let dividend = u128::from(value) << shift;
    round(
        dividend / five,
        exponent - shift as i32,
        !dividend.is_multiple_of(five),
    )
}

/// The same for any number of digits.
fn long(digits: &[u8], exponent: i32) -> Option<(u64, i32)> {
    let mut number = Big::from_digits(digits);
    let mut binary = exponent;
    let mut more = false;
    if exponent < 0 {
        // A quotient of some 128 bits, as a power of five has less than 7/3 bits a factor.
        let wanted = exponent.unsigned_abs() * 7 / 3 + 128;
        let shift = wanted.saturating_sub(number.bits());
        number.shift_left(shift);
        binary -= shift as i32;
    }
    let mut factors = exponent.unsigned_abs();
    while factors > 0 {
        let taken = factors.min(FIVE_IN_32);
        let five = 5u32.pow(taken);
        if exponent > 0 {
            number.multiply_add(five, 0);
        } else {
            more |= number.divide(five) != 0;
        }
        factors -= taken;
    }
    let (upper, scale, lower) = number.upper_bits();
    round(upper, binary + scale, more || lower)
}

//! How long a command may wait, as clients write it.

use crate::error::Error;
use crate::exec::Now;
use crate::text::long_double::LongDouble;

const NOT_A_TIMEOUT: Error = Error::new("ERR timeout is not a float or out of range");
const OUT_OF_RANGE: Error = Error::new("ERR timeout is out of range");
const NEGATIVE: Error = Error::new("ERR timeout is negative");

/// Milliseconds of a timeout in seconds with a fraction, rounded up; 0 waits for ever.
pub fn seconds(word: &[u8], now: Now) -> Result<u64, Error> {
    let (negative, significand, exponent) = match LongDouble::parse(word).ok_or(NOT_A_TIMEOUT)? {
        LongDouble::Infinite { negative: true } => return Err(NEGATIVE),
        LongDouble::Infinite { negative: false } => return Err(OUT_OF_RANGE),
        LongDouble::Finite {
            negative,
            significand,
            exponent,
        } => (negative, significand, exponent),
    };
    let (whole, rest) = shift(round(u128::from(significand) * 1000), exponent);
    if negative {
        // What is less than a millisecond below zero is rounded up to it.
        return if whole == 0 { Ok(0) } else { Err(NEGATIVE) };
    }
    let ms = u64::try_from(whole)
        .unwrap_or(u64::MAX)
        .saturating_add(u64::from(rest));
    if ms > i64::MAX as u64 - now.ms().min(i64::MAX as u64) {
        return Err(OUT_OF_RANGE);
    }
    Ok(ms)
}

/// To the 64 bits of a long double, ties to even: so that a tenth, a thousand times, is a hundred.
fn round(number: u128) -> u128 {
    let excess = (u128::BITS - number.leading_zeros()).saturating_sub(64);
    if excess == 0 {
        return number;
    }
    let (kept, half) = (number >> excess, 1_u128 << (excess - 1));
    let rest = number & ((half << 1) - 1);
    let up = rest > half || rest == half && kept & 1 == 1;
    (kept + u128::from(up)) << excess
}

/// `number` times two to the `exponent`: the whole part, as large as it fits, and whether there is more.
fn shift(number: u128, exponent: i32) -> (u128, bool) {
    let by = exponent.unsigned_abs();
    if exponent < 0 {
        let whole = number.checked_shr(by).unwrap_or(0);
        (whole, whole.checked_shl(by).unwrap_or(0) != number)
    } else if number != 0 && by > number.leading_zeros() {
        (u128::MAX, false)
    } else {
        (number.checked_shl(by).unwrap_or(0), false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on Valkey 9.1.2 with `BLPOP l <text>`.
    #[test]
    fn timeouts_as_valkey_reads_them() {
        let now = Now::from_ms(1_700_000_000_000);
        for (text, ms) in [
            ("0", 0),
            ("-0", 0),
            ("0.5", 500),
            ("0.1", 100),
            ("1e-9", 1),
            ("1", 1000),
            ("1e3", 1_000_000),
            ("0x1", 1000),
            ("0x1p-4", 63),
            ("0x10p-8", 63),
            ("1e-400", 1),
            ("-1e-5", 0),
            ("-0x1p-20", 0),
            ("9223370000000000", 9_223_370_000_000_000_000),
        ] {
            assert_eq!(seconds(text.as_bytes(), now), Ok(ms), "{text}");
        }
        for (text, error) in [
            ("abc", NOT_A_TIMEOUT),
            ("", NOT_A_TIMEOUT),
            ("nan", NOT_A_TIMEOUT),
            ("-1", NEGATIVE),
            ("-inf", NEGATIVE),
            ("inf", OUT_OF_RANGE),
            ("1e300", OUT_OF_RANGE),
            ("1e400", OUT_OF_RANGE),
            ("1e16", OUT_OF_RANGE),
            ("-1e400", NEGATIVE),
            ("-0x1", NEGATIVE),
            ("1e5000", NOT_A_TIMEOUT),
            ("0x", NOT_A_TIMEOUT),
            (" 1", NOT_A_TIMEOUT),
            ("0x1p-17000", NOT_A_TIMEOUT),
            ("9223372036854775", OUT_OF_RANGE),
        ] {
            assert_eq!(seconds(text.as_bytes(), now), Err(error), "{text}");
        }
    }
}

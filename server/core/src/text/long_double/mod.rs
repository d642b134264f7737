//! The arithmetic of `INCRBYFLOAT` and `HINCRBYFLOAT`: that of the x87 long double (64 bits of significand, 15
//! of exponent), printed with 17 decimals and without trailing zeros.
//!
//! A double would not do: 0.1 + 0.2 has to be 0.3, and 1e17 + 1 to differ from 1e17. Rust has no such type, so
//! numbers are integers times powers of two here, and everything is exact until one rounding, to nearest,
//! ties to even. Only finite results are ever stored; infinities exist to be refused with the right words.

mod big;
mod parse;

#[cfg(test)]
mod tests;

use big::Big;

/// The power of two that the last bit of the smallest numbers counts.
const EXPONENT_MIN: i32 = -16445;
/// The power of two that the first bit of the largest numbers counts.
const TOP_BIT_MAX: i32 = 16383;
const DECIMALS: usize = 17;
const DECIMAL_SCALE: u128 = 100_000_000_000_000_000;

/// A long double that is not NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongDouble {
    /// `significand` times two to the `exponent`.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
    Infinite {
        negative: bool,
    },
}

/// Why a sum was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FloatError {
    #[error("the current value is not a float")]
    Current,
    #[error("the increment is not a float")]
    Increment,
    #[error("the sum is not finite")]
    NotFinite,
}

/// The text of `current` plus `increment`.
pub fn add(current: &[u8], increment: &[u8]) -> Result<Vec<u8>, FloatError> {
    let current = LongDouble::parse(current).ok_or(FloatError::Current)?;
    let increment = LongDouble::parse(increment).ok_or(FloatError::Increment)?;
    let mut text = Vec::with_capacity(24);
    current
        .checked_add(increment)
        .ok_or(FloatError::NotFinite)?
        .push(&mut text);
    Ok(text)
}

impl LongDouble {
    pub const ZERO: Self = Self::Finite {
        negative: false,
        significand: 0,
        exponent: 0,
    };

    /// The number nearest to `text`: decimal or hexadecimal (`0x1.8p3`), or `inf` or `infinity` in any case.
    /// Not a number: NaN, blanks, what is too large, what is not zero but too small, texts of 5 KiB and more.
    pub fn parse(text: &[u8]) -> Option<Self> {
        parse::parse(text)
    }

    pub fn is_infinite(self) -> bool {
        matches!(self, Self::Infinite { .. })
    }

    /// The sum, if it is finite.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (
            Self::Finite {
                negative,
                significand,
                exponent,
            },
            Self::Finite {
                negative: other_negative,
                significand: other_significand,
                exponent: other_exponent,
            },
        ) = (self, other)
        else {
            return None;
        };
        if significand == 0 {
            return Some(other);
        }
        if other_significand == 0 {
            return Some(self);
        }
        let (large, small) = {
            let one = Aligned::new(negative, significand, exponent);
            let other = Aligned::new(other_negative, other_significand, other_exponent);
            if one.exponent >= other.exponent {
                (one, other)
            } else {
                (other, one)
            }
        };
        let distance = (large.exponent - small.exponent) as u32;
        let moved = small.significand.checked_shr(distance).unwrap_or(0);
        let lost = moved.checked_shl(distance).unwrap_or(0) != small.significand;
        let moved = moved | u128::from(lost);
        let (negative, sum) = if large.negative == small.negative {
            (large.negative, large.significand + moved)
        } else {
            let (difference, below) = large.significand.overflowing_sub(moved);
            if below {
                (small.negative, difference.wrapping_neg())
            } else {
                (large.negative, difference)
            }
        };
        if sum == 0 {
            return Some(Self::ZERO);
        }
        let (significand, exponent) = round(sum, large.exponent, false)?;
        Some(Self::Finite {
            negative,
            significand,
            exponent,
        })
    }

    /// Appends the number in decimal. Numbers near zero print as `0`, without a sign.
    pub fn push(self, out: &mut Vec<u8>) {
        let (negative, significand, exponent) = match self {
            Self::Infinite { negative } => {
                out.extend_from_slice(if negative { b"-inf" } else { b"inf" });
                return;
            }
            Self::Finite {
                negative,
                significand,
                exponent,
            } => (negative, significand, exponent),
        };
        if exponent >= 0 {
            push_sign(negative && significand != 0, out);
            push_integer(significand, exponent as u32, out);
            return;
        }
        let scaled = rounded_shr(u128::from(significand) * DECIMAL_SCALE, exponent.unsigned_abs());
        push_sign(negative && scaled != 0, out);
        out.extend_from_slice(itoa::Buffer::new().format(scaled / DECIMAL_SCALE).as_bytes());
        let mut fraction = (scaled % DECIMAL_SCALE) as u64;
        if fraction == 0 {
            return;
        }
        let mut digits = [b'0'; DECIMALS];
        for digit in digits.iter_mut().rev() {
            *digit += (fraction % 10) as u8;
            fraction /= 10;
        }
        let kept = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        out.push(b'.');
        out.extend_from_slice(&digits[..kept]);
    }
}

/// A significand with its first bit at 126: room for a carry above and 63 bits below.
struct Aligned {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Aligned {
    fn new(negative: bool, significand: u64, exponent: i32) -> Self {
        let shift = significand.leading_zeros() + 63;
        Self {
            negative,
            significand: u128::from(significand) << shift,
            exponent: exponent - shift as i32,
        }
    }
}

fn push_sign(negative: bool, out: &mut Vec<u8>) {
    if negative {
        out.push(b'-');
    }
}

fn push_integer(significand: u64, exponent: u32, out: &mut Vec<u8>) {
    if exponent <= 64 {
        out.extend_from_slice(
            itoa::Buffer::new()
                .format(u128::from(significand) << exponent)
                .as_bytes(),
        );
    } else {
        let mut number = Big::from(significand);
        number.shift_left(exponent);
        number.push_decimal(out);
    }
}

/// `value` over two to the `shift`, to nearest, ties to even.
fn rounded_shr(value: u128, shift: u32) -> u128 {
    match shift {
        0 => value,
        1..128 => {
            let kept = value >> shift;
            let lost = value - (kept << shift);
            let half = 1 << (shift - 1);
            kept + u128::from(lost > half || lost == half && kept & 1 == 1)
        }
        128 => u128::from(value > 1 << 127),
        _ => 0,
    }
}

/// `value` (and a bit less than one unit more, if `more`) times two to the `exponent` as a significand and its
/// exponent; `None` if it is too large. `more` asks for at least 65 bits in `value`.
fn round(value: u128, exponent: i32, more: bool) -> Option<(u64, i32)> {
    let surplus = 64 - value.leading_zeros() as i32;
    let dropped = surplus.max(EXPONENT_MIN - exponent).max(0);
    // The lowest bit is dropped wherever `more` is said, so it may stand for what lies below it.
    let mut significand = rounded_shr(value | u128::from(more), dropped as u32);
    let mut exponent = exponent + dropped;
    if significand > u128::from(u64::MAX) {
        significand >>= 1;
        exponent += 1;
    }
    let top_bit = exponent + 127 - significand.leading_zeros() as i32;
    (top_bit <= TOP_BIT_MAX).then_some((significand as u64, exponent))
}

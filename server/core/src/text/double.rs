//! How a double is printed: scores, and doubles in replies.

use super::grisu;

/// The longest text that [`format`] makes, with room to spare.
const LEN_MAX: usize = 40;
/// Doubles up to here whose fraction is zero are printed as integers.
const INTEGER_MAX: f64 = (i64::MAX / 2) as f64;

/// A printed double, on the stack.
#[derive(Clone, Copy)]
pub struct DoubleText {
    bytes: [u8; LEN_MAX],
    len: u8,
}

impl DoubleText {
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn push(&mut self, text: &[u8]) {
        let from = usize::from(self.len);
        self.bytes[from..from + text.len()].copy_from_slice(text);
        self.len += text.len() as u8;
    }

    fn push_zeros(&mut self, count: usize) {
        for _ in 0..count {
            self.push(b"0");
        }
    }
}

/// Prints `value`.
pub fn format(value: f64) -> DoubleText {
    let mut text = DoubleText {
        bytes: [0; LEN_MAX],
        len: 0,
    };
    if value.is_nan() {
        text.push(b"nan");
    } else if value.is_infinite() {
        text.push(if value > 0.0 { b"inf" } else { b"-inf" });
    } else if value == 0.0 {
        text.push(if value.is_sign_negative() { b"-0" } else { b"0" });
    } else if value.abs() <= INTEGER_MAX && value.trunc() == value {
        text.push(itoa::Buffer::new().format(value as i64).as_bytes());
    } else {
        let mut digits = [0; grisu::DIGITS_MAX];
        let (len, exponent) = grisu::digits(value.abs(), &mut digits);
        if value < 0.0 {
            text.push(b"-");
        }
        place(&digits[..len], exponent, value < 0.0, &mut text);
    }
    text
}

/// Appends `value` as [`format`] prints it.
pub fn push_double(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(format(value).as_bytes());
}

/// Lays `digits` times ten to the `exponent` out: plainly where that is short, else in scientific notation.
fn place(digits: &[u8], exponent: i32, negative: bool, text: &mut DoubleText) {
    let len = digits.len() as i32;
    let scientific = exponent + len - 1;
    if exponent >= 0 && scientific.abs() < len + 7 {
        text.push(digits);
        text.push_zeros(exponent as usize);
    } else if exponent < 0 && (exponent > -7 || scientific.abs() < 4) {
        let whole = len + exponent;
        if whole <= 0 {
            text.push(b"0.");
            text.push_zeros(-whole as usize);
            text.push(digits);
        } else {
            text.push(&digits[..whole as usize]);
            text.push(b".");
            text.push(&digits[whole as usize..]);
        }
    } else {
        let kept = &digits[..digits.len().min(18 - usize::from(negative))];
        text.push(&kept[..1]);
        if kept.len() > 1 {
            text.push(b".");
            text.push(&kept[1..]);
        }
        text.push(if scientific < 0 { b"e-" } else { b"e+" });
        text.push(itoa::Buffer::new().format(scientific.unsigned_abs()).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{format, push_double};
    use proptest::prelude::*;

    fn printed(value: f64) -> String {
        let mut out = Vec::new();
        push_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Bits and text of scores that Valkey 9.1.2 printed with ZSCORE; among them a hundred whose digits are
    /// not the shortest.
    #[test]
    fn as_valkey_prints_scores() {
        let mut cases = 0;
        for line in include_str!("double_cases.txt").lines() {
            let (bits, text) = line.split_once(' ').unwrap();
            assert_eq!(
                printed(f64::from_bits(u64::from_str_radix(bits, 16).unwrap())),
                text,
                "{bits}"
            );
            cases += 1;
        }
        assert!(cases > 200);
    }

    /// Case 21. The sign of zero shows; sorted sets that Valkey keeps packed lose it before they print.
    #[test]
    fn integers_zero_and_the_infinite() {
        for (value, text) in [
            (3.0, "3"),
            (-0.0, "-0"),
            (1e21, "1e+21"),
            (1e23, "99999999999999990000000"),
            (4611686018427387904.0, "4611686018427387904"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(printed(value), text);
        }
    }

    proptest! {
        #[test]
        fn texts_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            let text = format(value);
            let read = crate::text::number::parse_f64(text.as_bytes());
            prop_assert_eq!(read, (!value.is_nan()).then_some(value));
        }

        #[test]
        fn decimals_of_few_digits_print_as_written(whole in 0u32..100_000, fraction in 1u32..1000) {
            let text = format!("{whole}.{fraction:03}");
            let text = text.trim_end_matches('0');
            prop_assert_eq!(printed(text.parse().unwrap()), text);
        }
    }
}

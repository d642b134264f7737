//! Numbers in commands and replies.
//!
//! Integers have exactly one spelling: what is printed is what is read, so a string that reads as an integer
//! can be kept as one. Floats have many.

/// The longest text of an `i64`.
pub const I64_LEN_MAX: usize = 20;

/// The integer that `text` spells: no plus sign, no blanks, no leading zeros, no `-0`.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if negative && digits == b"0" {
        return None;
    }
    let magnitude = parse_u64(digits)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// As [`parse_i64`], for what cannot be negative.
#[inline]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    let (&first, rest) = text.split_first()?;
    if first == b'0' && !rest.is_empty() || text.len() > I64_LEN_MAX {
        return None;
    }
    let mut value = digit(first)?;
    if text.len() < I64_LEN_MAX {
        for byte in rest {
            value = value * 10 + digit(*byte)?;
        }
        return Some(value);
    }
    for byte in rest {
        value = value.checked_mul(10)?.checked_add(digit(*byte)?)?;
    }
    Some(value)
}

#[inline]
fn digit(byte: u8) -> Option<u64> {
    let value = byte.wrapping_sub(b'0');
    (value <= 9).then_some(u64::from(value))
}

/// The double nearest to `text`: decimal, with or without exponent, `inf` and `infinity` in any case and with
/// a sign. Not a number: hexadecimal, NaN, blanks anywhere, what is too large for a double, and what is not
/// zero but too small for one.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let text = str::from_utf8(text).ok()?;
    let value: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next()?;
    let lost = if value == 0.0 {
        mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
    } else {
        value.is_nan() || value.is_infinite() && mantissa.bytes().any(|byte| byte.is_ascii_digit())
    };
    (!lost).then_some(value)
}

/// Appends `value` in decimal.
#[inline]
pub fn push_i64(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::{parse_f64, parse_i64, parse_u64, push_i64};
    use proptest::prelude::*;

    #[test]
    fn one_spelling_an_integer() {
        for (text, value) in [
            ("0", 0),
            ("7", 7),
            ("-1", -1),
            ("10", 10),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "+1",
            " 1",
            "1 ",
            "01",
            "-0",
            "-01",
            "00",
            "1.0",
            "1e3",
            "0x1",
            "--1",
            "1\0",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "99999999999999999999",
            "100000000000000000000",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!(parse_u64(b"-1"), None);
    }

    /// Seen on Valkey 9.1.2 with `ZADD z <text> m`.
    #[test]
    fn floats_as_valkey_reads_them() {
        for (text, value) in [
            ("1", 1.0),
            ("+1", 1.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("-.5e-3", -0.0005),
            ("00001", 1.0),
            ("1E+5", 100000.0),
            ("5.e3", 5000.0),
            ("0e99999999", 0.0),
            ("4.9e-324", 5e-324),
            ("1.7976931348623157e308", f64::MAX),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("+INF", f64::INFINITY),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            ".",
            "-",
            "+",
            " 1",
            "1 ",
            "\n1",
            "1\0",
            "nan",
            "-NaN",
            "infinit",
            "0x10",
            "0x1p3",
            "1e",
            "1e+",
            "e5",
            "1_0",
            "1,5",
            "--1",
            "+-1",
            "1d",
            "1e5.5",
            "1e400",
            "-1e400",
            "1.7976931348623159e308",
            "1e-400",
            "2e-324",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_f64(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read(value: i64) {
            let mut text = Vec::new();
            push_i64(value, &mut text);
            prop_assert_eq!(parse_i64(&text), Some(value));
        }

        #[test]
        fn what_is_read_is_printed(text in "-?[0-9]{0,21}") {
            if let Some(value) = parse_i64(text.as_bytes()) {
                prop_assert_eq!(value.to_string(), text);
            } else {
                prop_assert!(text.parse::<i64>().is_err() || text.parse::<i64>().unwrap().to_string() != text);
            }
        }

        #[test]
        fn any_bytes_are_bearable(text: Vec<u8>) {
            let _ = (parse_i64(&text), parse_u64(&text));
            if let Some(value) = parse_f64(&text) {
                prop_assert!(!value.is_nan());
            }
        }
    }
}

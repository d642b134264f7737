//! How a double is printed: scores, and doubles in replies.

use std::io::Write;

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
        let mut digits = [0u8; 20];
        let (len, exponent) = shortest(value.abs(), &mut digits);
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

/// The digits of `value` and the power of ten that the last of them counts.
fn shortest(value: f64, digits: &mut [u8; 20]) -> (usize, i32) {
    let mut buffer = [0u8; 32];
    let mut rest = buffer.as_mut_slice();
    let written = match write!(rest, "{value:e}") {
        Ok(()) => 32 - rest.len(),
        Err(_) => 0,
    };
    let text = &buffer[..written];
    let at = text.iter().position(|byte| *byte == b'e').unwrap_or(written);
    let mut len = 0;
    for byte in text[..at].iter().filter(|byte| byte.is_ascii_digit()) {
        digits[len] = *byte;
        len += 1;
    }
    let exponent = text.get(at + 1..).and_then(super::number::parse_i64).unwrap_or(0) as i32;
    (len, exponent - (len as i32 - 1))
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

//! One element in a chunk's bytes: `length, value, back length`. The back length counts the two before it
//! and is written in reverse, so that a chunk is walked from either end.
//!
//! `weight` is the size that the same element has in Valkey's listpack: limits are counted in it, so that a
//! list changes its encoding exactly where Valkey's does. It does not know positions.

use crate::text::number::parse_i64;

/// Where an element stands: the whole of it, and its value within.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) value: usize,
    pub(super) value_end: usize,
    pub(super) end: usize,
}

impl Span {
    #[inline]
    pub(super) fn of<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[self.value..self.value_end]
    }
}

/// Bytes of a number in groups of seven bits.
#[inline]
fn varint_bytes(value: usize) -> usize {
    if value < 0x80 {
        1
    } else {
        (value.ilog2() as usize) / 7 + 1
    }
}

/// Bytes that a value of that length takes as an element.
#[inline]
pub(super) fn size_of(len: usize) -> usize {
    let front = varint_bytes(len) + len;
    front + varint_bytes(front)
}

/// Writes the element into `room`, which is exactly [`size_of`] long.
#[inline]
pub(super) fn write(room: &mut [u8], value: &[u8]) {
    let mut at = 0;
    let mut rest = value.len();
    while rest >= 0x80 {
        room[at] = rest as u8 | 0x80;
        rest >>= 7;
        at += 1;
    }
    room[at] = rest as u8;
    at += 1;
    room[at..at + value.len()].copy_from_slice(value);
    let mut front = at + value.len();
    let mut back = room.len();
    while front >= 0x80 {
        back -= 1;
        room[back] = front as u8 | 0x80;
        front >>= 7;
    }
    room[back - 1] = front as u8;
}

/// The element that starts at `start`.
#[inline]
pub(super) fn after(bytes: &[u8], start: usize) -> Span {
    let mut at = start;
    let mut len = 0;
    let mut shift = 0;
    loop {
        let byte = bytes[at];
        at += 1;
        len |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    let value_end = at + len;
    Span {
        start,
        value: at,
        value_end,
        end: value_end + varint_bytes(value_end - start),
    }
}

/// The element that ends at `end`.
#[inline]
pub(super) fn before(bytes: &[u8], end: usize) -> Span {
    let mut at = end;
    let mut front = 0;
    let mut shift = 0;
    loop {
        at -= 1;
        let byte = bytes[at];
        front |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    after(bytes, at - front)
}

/// Bytes of the element in a listpack.
pub(super) fn weight(value: &[u8]) -> usize {
    let encoded = match integer(value) {
        Some(0..=127) => 1,
        Some(-4096..=4095) => 2,
        Some(-0x8000..=0x7FFF) => 3,
        Some(-0x80_0000..=0x7F_FFFF) => 4,
        Some(-0x8000_0000..=0x7FFF_FFFF) => 5,
        Some(_) => 9,
        None => match value.len() {
            len @ 0..=63 => 1 + len,
            len @ 64..=4095 => 2 + len,
            len => 5 + len,
        },
    };
    let back = match encoded {
        0..=127 => 1,
        128..=16_382 => 2,
        16_383..=2_097_150 => 3,
        2_097_151..=268_435_454 => 4,
        _ => 5,
    };
    encoded + back
}

/// The number that a listpack would store in place of the text.
#[inline]
fn integer(value: &[u8]) -> Option<i64> {
    // Most elements are told apart by their first byte.
    match value.first() {
        Some(b'0'..=b'9' | b'-') if value.len() <= 20 => parse_i64(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_walked_both_ways() {
        let values: Vec<Vec<u8>> = [
            0usize, 1, 125, 126, 127, 128, 129, 300, 16_380, 16_383, 16_384, 70_000,
        ]
        .map(|n| vec![n as u8; n])
        .to_vec();
        let mut bytes = Vec::new();
        for value in &values {
            let start = bytes.len();
            bytes.resize(start + size_of(value.len()), 0);
            write(&mut bytes[start..], value);
        }
        let (mut at, mut forward) = (0, Vec::new());
        while at < bytes.len() {
            let span = after(&bytes, at);
            forward.push(span.of(&bytes).to_vec());
            at = span.end;
        }
        assert_eq!(forward, values);
        let mut backward = Vec::new();
        while at > 0 {
            let span = before(&bytes, at);
            backward.push(span.of(&bytes).to_vec());
            at = span.start;
        }
        backward.reverse();
        assert_eq!(backward, values);
    }

    /// After the format of listpacks: a head by type, and a back length of seven bits a byte.
    #[test]
    fn weights_are_a_listpacks() {
        for (value, bytes) in [
            ("", 2),
            ("a", 3),
            ("127", 2),
            ("128", 3),
            ("-1", 3),
            ("4095", 3),
            ("4096", 4),
            ("-32768", 4),
            ("32768", 5),
            ("8388608", 6),
            ("2147483648", 10),
            ("01", 4),
            ("9223372036854775808", 21),
        ] {
            assert_eq!(weight(value.as_bytes()), bytes, "{value}");
        }
        assert_eq!(weight(&[b'x'; 63]), 65);
        assert_eq!(weight(&[b'x'; 64]), 67);
        assert_eq!(weight(&[b'x'; 125]), 128);
        assert_eq!(weight(&[b'x'; 126]), 130);
        assert_eq!(weight(&[b'x'; 4096]), 4103);
    }
}

//! The path of nearly every command through the decoder: all of it is there and nothing about it is odd.
//!
//! Invariant: anything else, also anything wrong, is `None` and decoded again with care by
//! [`Decoder`](super::Decoder), which alone knows errors and partial commands.
//!
//! One load of eight bytes an argument sees the end of what is before it and its own line. Loads may see the
//! arena behind `end`, stale bytes included, which is why the last position decides whether the command was
//! there. Counted: about 40 instructions a short argument.

use super::decode::{Limits, Span};

/// Larger arenas take the careful path, so that positions of 32 bits cannot overflow here.
const ARENA_MAX: usize = i32::MAX as usize;

/// The command at `start`: its spans are pushed (some may have been where the answer is `None`), its number
/// of arguments and the position behind it come back.
#[inline]
pub(super) fn command(
    arena: &[u8],
    start: usize,
    end: usize,
    spans: &mut Vec<Span>,
    limits: &Limits,
) -> Option<(u32, usize)> {
    if !limits.authenticated || arena.len() > ARENA_MAX {
        return None;
    }
    let start = start as u32;
    let (argc, mut at) = count(load(arena, start)?, start)?;
    let mut missing = argc;
    // No call in this loop, so that all it needs stays in registers: the other loop has the rare cases.
    while let Some((len, body)) = length(load(arena, at)?, at)
        && spans.len() < spans.capacity()
    {
        spans.push(Span { start: body, len });
        at = body + len;
        missing -= 1;
        if missing == 0 {
            return Some((argc, finish(arena, at, end)?));
        }
    }
    let at = remaining(arena, at, missing, spans, limits)?;
    Some((argc, finish(arena, at, end)?))
}

/// Goes on at `at` where an argument is longer than 99 bytes or the spans have to grow.
#[inline(never)]
fn remaining(arena: &[u8], mut at: u32, missing: u32, spans: &mut Vec<Span>, limits: &Limits) -> Option<u32> {
    for _ in 0..missing {
        let (len, body) = match length(load(arena, at)?, at) {
            Some(short) => short,
            None => long_length(arena, at, limits)?,
        };
        spans.push(Span { start: body, len });
        at = body + len;
    }
    Some(at)
}

/// The position behind the last argument's CR LF.
#[inline]
fn finish(arena: &[u8], at: u32, end: usize) -> Option<usize> {
    let at = at as usize;
    (at + 2 <= end && arena.get(at..at + 2)? == b"\r\n").then_some(at + 2)
}

/// Eight bytes, the first one lowest.
#[inline]
fn load(arena: &[u8], at: u32) -> Option<u64> {
    let at = at as usize;
    Some(u64::from_le_bytes(*arena.get(at..at + 8)?.first_chunk()?))
}

/// `text` as [`load`] would give it.
const fn word(text: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*text)
}

/// `*`, one or two digits, CR LF: the count, which is not zero, and the position of the line's end, from
/// which the first argument is read.
#[inline]
fn count(bytes: u64, at: u32) -> Option<(u32, u32)> {
    // Bytes that are as they should be differ by nothing: turned so that the digit comes lowest, the number
    // is below ten only if the digit is one and nothing else differs.
    let one = (bytes as u32 ^ word(b"*0\r\n\0\0\0\0") as u32).rotate_right(8);
    if (1..=9).contains(&one) {
        return Some((one, at + 2));
    }
    let two = ((bytes ^ word(b"*00\r\n\0\0\0")) << 24).rotate_right(32);
    two_digits(two).map(|count| (count, at + 3))
}

/// CR LF, `$`, one or two digits, CR LF: the length and the position of the argument.
#[inline]
fn length(bytes: u64, at: u32) -> Option<(u32, u32)> {
    let one = ((bytes ^ word(b"\r\n$0\r\n\0\0")) << 16).rotate_right(40);
    if one <= 9 {
        return Some((one as u32, at + 6));
    }
    let two = ((bytes ^ word(b"\r\n$00\r\n\0")) << 8).rotate_right(32);
    two_digits(two).map(|len| (len, at + 7))
}

/// A number of two bytes from 10 to 99, the higher digit in the lower byte.
#[inline]
fn two_digits(bytes: u64) -> Option<u32> {
    let (high, low) = (bytes as u8, bytes >> 8);
    ((1..=9).contains(&high) && low <= 9).then_some(u32::from(high) * 10 + low as u32)
}

/// The same as [`length`] for arguments of 100 bytes to just under 10 MB.
#[inline(never)]
fn long_length(arena: &[u8], at: u32, limits: &Limits) -> Option<(u32, u32)> {
    let digits = arena.get(at as usize..)?.strip_prefix(b"\r\n$")?;
    if digits.first() == Some(&b'0') {
        return None;
    }
    let mut len = 0;
    for (count, byte) in digits.iter().take(8).enumerate() {
        match byte {
            b'0'..=b'9' => len = len * 10 + u32::from(byte - b'0'),
            b'\r' if count >= 3 && u64::from(len) <= limits.max_bulk_len => {
                return (digits.get(count + 1) == Some(&b'\n')).then_some((len, at + count as u32 + 5));
            }
            _ => return None,
        }
    }
    None
}

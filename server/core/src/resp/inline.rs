//! Splitting an inline request ("what a person types into telnet") into arguments.
//!
//! Invariant: an argument is never longer than its source, so quotes and escapes are resolved in place and
//! every argument is a contiguous range of the line. The line's bytes are spent afterwards.
//!
//! Differs from Valkey in one point: a NUL byte is an ordinary byte. Valkey never sees the end of a line
//! behind one and leaves the client waiting.

use super::decode::Span;

/// The line ended inside quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbalanced;

/// Splits `line` (without its line break) and pushes one span an argument, each moved by `base`. On error
/// `spans` holds what was pushed so far; the caller cuts it.
pub fn split(line: &mut [u8], base: u32, spans: &mut Vec<Span>) -> Result<u32, Unbalanced> {
    let mut count = 0;
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(|b| is_blank(*b)) {
            at += 1;
        }
        if at == line.len() {
            return Ok(count);
        }
        let (next, len) = unquote_one(line, at)?;
        spans.push(Span {
            start: base + at as u32,
            len: len as u32,
        });
        count += 1;
        at = next;
    }
}

/// Resolves the argument that begins at `from`, writing it there. Gives the position after it and its length.
fn unquote_one(line: &mut [u8], from: usize) -> Result<(usize, usize), Unbalanced> {
    let mut read = from;
    let mut write = from;
    let mut quote = None;
    while let Some(&byte) = line.get(read) {
        let mut out = Some(byte);
        let mut used = 1;
        match (quote, byte) {
            (None, b' ' | b'\n' | b'\r' | b'\t') => return Ok((read, write - from)),
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                out = None;
            }
            (Some(open), _) if byte == open => {
                quote = None;
                out = None;
            }
            (Some(b'"'), b'\\') => {
                let (value, taken) = escape(&line[read..]);
                out = Some(value);
                used = taken;
            }
            (Some(b'\''), b'\\') if line.get(read + 1) == Some(&b'\'') => {
                out = Some(b'\'');
                used = 2;
            }
            _ => {}
        }
        if let Some(value) = out {
            line[write] = value;
            write += 1;
        }
        read += used;
    }
    if quote.is_some() {
        Err(Unbalanced)
    } else {
        Ok((read, write - from))
    }
}

/// The byte that a backslash sequence of a double-quoted argument stands for, and the sequence's length.
fn escape(sequence: &[u8]) -> (u8, usize) {
    if let [_, b'x', high, low, ..] = *sequence
        && let (Some(high), Some(low)) = (hex(high), hex(low))
    {
        return (high << 4 | low, 4);
    }
    match sequence.get(1) {
        None => (b'\\', 1),
        Some(b'n') => (b'\n', 2),
        Some(b'r') => (b'\r', 2),
        Some(b't') => (b'\t', 2),
        Some(b'b') => (8, 2),
        Some(b'a') => (7, 2),
        Some(other) => (*other, 2),
    }
}

fn hex(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

/// C's `isspace`: what may stand between arguments.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

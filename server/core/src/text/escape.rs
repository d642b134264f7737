//! Bytes of clients where people read them: quoted in MONITOR and dumps, cut in error texts.

/// How much of a client's words an error text repeats.
pub const QUOTED_MAX: usize = 128;

/// Appends `bytes` in double quotes, everything unprintable escaped, so that an inline request with it would
/// give the same bytes.
pub fn push_quoted(bytes: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            7 => out.extend(b"\\a"),
            8 => out.extend(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend([
                b'\\',
                b'x',
                HEX[usize::from(byte >> 4)],
                HEX[usize::from(byte & 15)],
            ]),
        }
    }
    out.push(b'"');
}

/// The start of a client's word as error texts repeat it: to its first NUL, [`QUOTED_MAX`] bytes at most.
pub fn cut(word: &[u8]) -> &[u8] {
    cut_to(word, QUOTED_MAX)
}

fn cut_to(word: &[u8], max: usize) -> &[u8] {
    let end = word.iter().take(max).position(|byte| *byte == 0);
    &word[..end.unwrap_or(word.len().min(max))]
}

/// What the error about an unknown command says of its arguments: each quoted and followed by a blank, until
/// [`QUOTED_MAX`] bytes are reached.
pub fn push_arguments<'a>(arguments: impl IntoIterator<Item = &'a [u8]>, out: &mut Vec<u8>) {
    let mark = out.len();
    for argument in arguments {
        let used = out.len() - mark;
        if used >= QUOTED_MAX {
            break;
        }
        out.push(b'\'');
        out.extend_from_slice(cut_to(argument, QUOTED_MAX - used));
        out.extend_from_slice(b"' ");
    }
}

#[cfg(test)]
mod tests {
    use super::{cut, push_arguments, push_quoted};
    use crate::resp::{Span, inline};
    use proptest::prelude::*;

    fn quoted(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        push_quoted(bytes, &mut out);
        out
    }

    #[test]
    fn unprintable_bytes_are_escaped() {
        assert_eq!(
            quoted(b"a \"b\"\\\n\r\t\x07\x08\x00\x7f\xff'"),
            br#""a \"b\"\\\n\r\t\a\b\x00\x7f\xff'""#
        );
        assert_eq!(quoted(b""), b"\"\"");
    }

    #[test]
    fn words_are_cut_at_128_bytes_and_at_nul() {
        assert_eq!(cut(&[b'x'; 200]), [b'x'; 128]);
        assert_eq!(cut(b"no\0pe"), b"no");
        assert_eq!(cut(b""), b"");
    }

    /// Seen on Valkey 9.1.2: one argument of 130 bytes leaves no place for a second one.
    #[test]
    fn arguments_share_128_bytes() {
        let mut out = b"begin: ".to_vec();
        push_arguments([[b'z'; 130].as_slice(), b"abc"], &mut out);
        assert_eq!(out, [b"begin: '".as_slice(), &[b'z'; 128], b"' "].concat());
        out.clear();
        push_arguments([[b'z'; 120].as_slice(), b"abcdefgh", b"x"], &mut out);
        assert_eq!(out, [b"'".as_slice(), &[b'z'; 120], b"' 'abcde' "].concat());
    }

    proptest! {
        #[test]
        fn quoting_is_undone_by_an_inline_request(bytes: Vec<u8>) {
            let mut line = quoted(&bytes);
            prop_assert!(line.iter().all(|byte| (b' '..=b'~').contains(byte)));
            let mut spans: Vec<Span> = Vec::new();
            prop_assert_eq!(inline::split(&mut line, 0, &mut spans), Ok(1));
            prop_assert_eq!(spans[0].of(&line), bytes);
        }
    }
}

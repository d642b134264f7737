//! Counts complete RESP replies in a byte stream without decoding them: it skips.
//!
//! Invariant: after any prefix of a valid stream, however it was cut, the sum of what [`Replies::feed`]
//! answered is the number of replies that are complete in that prefix. Knows nothing of requests.

use anyhow::{Result, bail};

/// A header line longer than this is no RESP reply of any server we measure.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// What a load saw beside the count.
#[derive(Default, Debug)]
pub struct Tally {
    pub errors: u64,
    pub nulls: u64,
    pub first_error: Option<String>,
    /// Second element, where it is an integer, of every array reply (a fence, for `IDEM BEGIN`).
    pub second_integers: Option<Vec<u64>>,
}

/// An aggregate whose elements are still arriving.
struct Open {
    left: u64,
    total: u64,
    /// The type byte.
    kind: u8,
}

impl Open {
    /// Attributes and pushes come beside the replies and are no reply themselves.
    fn is_aside(&self) -> bool {
        is_aside(self.kind)
    }
}

fn is_aside(kind: u8) -> bool {
    matches!(kind, b'>' | b'|')
}

/// The position inside one connection's stream of replies.
#[derive(Default)]
pub struct Replies {
    open: Vec<Open>,
    skip: usize,
    line: Vec<u8>,
}

impl Replies {
    /// Consumes `bytes` and answers how many replies became complete.
    pub fn feed(&mut self, mut bytes: &[u8], tally: &mut Tally) -> Result<usize> {
        let mut complete = 0;
        while !bytes.is_empty() {
            if self.skip > 0 {
                let step = self.skip.min(bytes.len());
                self.skip -= step;
                bytes = &bytes[step..];
                if self.skip == 0 {
                    complete += self.close_element();
                }
                continue;
            }
            let Some(end) = bytes.iter().position(|&b| b == b'\n') else {
                self.line.extend_from_slice(bytes);
                if self.line.len() > LINE_BYTES_MAX {
                    bail!("a reply line without an end");
                }
                break;
            };
            let (line, rest) = bytes.split_at(end + 1);
            bytes = rest;
            if self.line.is_empty() {
                complete += self.header(line, tally)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                complete += self.header(&whole, tally)?;
                whole.clear();
                self.line = whole;
            }
        }
        Ok(complete)
    }

    fn header(&mut self, line: &[u8], tally: &mut Tally) -> Result<usize> {
        let Some(text) = line.strip_suffix(b"\r\n").filter(|t| !t.is_empty()) else {
            bail!("malformed reply line {:?}", String::from_utf8_lossy(line));
        };
        let body = &text[1..];
        match text[0] {
            b'+' | b'#' | b',' | b'(' => Ok(self.close_element()),
            b':' => {
                self.note_integer(body, tally);
                Ok(self.close_element())
            }
            b'_' => {
                tally.nulls += 1;
                Ok(self.close_element())
            }
            b'-' => {
                tally.errors += 1;
                tally
                    .first_error
                    .get_or_insert_with(|| String::from_utf8_lossy(body).into_owned());
                Ok(self.close_element())
            }
            kind @ (b'$' | b'=' | b'!') => {
                if kind == b'!' {
                    tally.errors += 1;
                }
                match length(body)? {
                    Some(bytes) => self.skip = bytes as usize + 2,
                    None => {
                        tally.nulls += 1;
                        return Ok(self.close_element());
                    }
                }
                Ok(0)
            }
            kind @ (b'*' | b'~' | b'>') => self.open(kind, length(body)?, tally),
            kind @ (b'%' | b'|') => self.open(kind, length(body)?.map(|pairs| pairs * 2), tally),
            _ => bail!("unknown reply type in {:?}", String::from_utf8_lossy(text)),
        }
    }

    fn open(&mut self, kind: u8, elements: Option<u64>, tally: &mut Tally) -> Result<usize> {
        match elements {
            None => {
                tally.nulls += 1;
                Ok(self.close_element())
            }
            Some(0) if is_aside(kind) => Ok(0),
            Some(0) => Ok(self.close_element()),
            Some(total) => {
                self.open.push(Open {
                    left: total,
                    total,
                    kind,
                });
                Ok(0)
            }
        }
    }

    /// One element ended: closes every aggregate that it was the last of. Answers the replies completed, 0 or 1.
    fn close_element(&mut self) -> usize {
        while let Some(top) = self.open.last_mut() {
            top.left -= 1;
            if top.left > 0 {
                return 0;
            }
            let aside = top.is_aside();
            self.open.pop();
            if aside {
                return 0;
            }
        }
        1
    }

    fn note_integer(&self, body: &[u8], tally: &mut Tally) {
        let Some(seconds) = tally.second_integers.as_mut() else {
            return;
        };
        if let [top] = self.open.as_slice()
            && top.kind == b'*'
            && top.total - top.left == 1
            && let Some(number) = std::str::from_utf8(body).ok().and_then(|t| t.parse().ok())
        {
            seconds.push(number);
        }
    }
}

/// A length field: `None` for RESP2's null (-1).
fn length(digits: &[u8]) -> Result<Option<u64>> {
    if digits == b"-1" {
        return Ok(None);
    }
    let mut value = 0u64;
    if digits.is_empty() || digits.len() > 12 {
        bail!("malformed reply length {:?}", String::from_utf8_lossy(digits));
    }
    for &digit in digits {
        if !digit.is_ascii_digit() {
            bail!("malformed reply length {:?}", String::from_utf8_lossy(digits));
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reply shape, each with whether it counts as one.
    const STREAM: &[(&str, usize)] = &[
        ("+OK\r\n", 1),
        ("$15\r\nab\r\n$9\r\n*3\r\nxxy\r\n", 1),
        ("$-1\r\n", 1),
        ("$0\r\n\r\n", 1),
        (":-12\r\n", 1),
        ("*-1\r\n", 1),
        ("*0\r\n", 1),
        ("*2\r\n*2\r\n:1\r\n:2\r\n*1\r\n$1\r\na\r\n", 1),
        ("*3\r\n$3\r\nNEW\r\n:77\r\n$1\r\nt\r\n", 1),
        ("|1\r\n+ttl\r\n:3\r\n", 0),
        ("%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n", 1),
        (">2\r\n+invalidate\r\n*1\r\n+k\r\n", 0),
        ("~1\r\n#t\r\n", 1),
        ("=7\r\ntxt:abc\r\n", 1),
        ("!5\r\nERR x\r\n", 1),
        ("-ERR wrong\r\n", 1),
        (",3.5\r\n", 1),
        ("(123456789012345678901\r\n", 1),
    ];

    #[test]
    fn counts_the_same_however_the_stream_is_cut() {
        let stream: Vec<u8> = STREAM.iter().flat_map(|(text, _)| text.bytes()).collect();
        let expected: usize = STREAM.iter().map(|(_, n)| n).sum();
        for step in 1..=stream.len() {
            let mut replies = Replies::default();
            let mut tally = Tally {
                second_integers: Some(Vec::new()),
                ..Tally::default()
            };
            let mut complete = 0;
            for piece in stream.chunks(step) {
                complete += replies.feed(piece, &mut tally).unwrap();
            }
            assert_eq!(complete, expected, "pieces of {step}");
            assert_eq!((tally.nulls, tally.errors), (3, 2), "pieces of {step}");
            assert_eq!(tally.first_error.as_deref(), Some("ERR wrong"));
            assert_eq!(tally.second_integers.as_deref(), Some(&[77][..]));
        }
    }

    #[test]
    fn an_unfinished_reply_does_not_count() {
        let mut replies = Replies::default();
        let mut tally = Tally::default();
        assert_eq!(replies.feed(b"*2\r\n$1\r\na\r\n$3\r\nab", &mut tally).unwrap(), 0);
        assert_eq!(replies.feed(b"c\r", &mut tally).unwrap(), 0);
        assert_eq!(replies.feed(b"\n", &mut tally).unwrap(), 1);
    }

    #[test]
    fn garbage_is_an_error() {
        for bad in ["OK\r\n", "$x\r\n", "*\r\n", "\r\n", "+OK\n", "$-2\r\n"] {
            assert!(
                Replies::default()
                    .feed(bad.as_bytes(), &mut Tally::default())
                    .is_err(),
                "{bad:?}"
            );
        }
    }
}

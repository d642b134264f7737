//! Replies as a client sees them: a strict parser of RESP2 and RESP3 values.
//!
//! Strict on purpose: a length that is not written in its shortest form, a missing CRLF or an
//! unknown type byte is an error of the server under test. It knows nothing of commands.

use std::fmt;

use anyhow::{Result, bail, ensure};

/// One complete reply. The two null shapes of RESP2 stay apart, for clients can tell them apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    NullBulk,
    NullArray,
    Null,
    Array(Vec<Value>),
    Set(Vec<Value>),
    Push(Vec<Value>),
    /// Keys and values in turn.
    Map(Vec<Value>),
    Attribute(Vec<Value>),
    /// Kept as text: the spelling of a double is part of what is compared.
    Double(String),
    Boolean(bool),
    BigNumber(String),
    Verbatim(Vec<u8>),
    BulkError(Vec<u8>),
}

impl Value {
    pub fn is_error(&self) -> bool {
        matches!(self, Value::Error(_) | Value::BulkError(_))
    }

    /// The bytes of a text-like value (used for captures and normalising).
    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Value::Simple(b) | Value::Error(b) | Value::Bulk(b) | Value::Verbatim(b) => Some(b),
            _ => None,
        }
    }

    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(n) => Some(*n),
            _ => None,
        }
    }
}

/// Reads one value from the front of `input`. `None` means that more bytes are needed.
pub fn parse(input: &[u8]) -> Result<Option<(Value, usize)>> {
    let mut cursor = Cursor { input, at: 0 };
    Ok(cursor.value(0)?.map(|value| (value, cursor.at)))
}

struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn line(&mut self) -> Result<Option<Vec<u8>>> {
        let rest = &self.input[self.at..];
        let Some(end) = rest.iter().position(|b| *b == b'\n') else {
            return Ok(None);
        };
        ensure!(end > 0 && rest[end - 1] == b'\r', "a line ends in a bare LF");
        let line = rest[..end - 1].to_vec();
        ensure!(!line.contains(&b'\r'), "a line holds a bare CR: {}", show(&line));
        self.at += end + 1;
        Ok(Some(line))
    }

    fn value(&mut self, depth: usize) -> Result<Option<Value>> {
        ensure!(depth < 64, "reply nested deeper than 64");
        let Some(line) = self.line()? else {
            return Ok(None);
        };
        ensure!(!line.is_empty(), "an empty line where a reply should start");
        let (kind, rest) = (line[0], &line[1..]);
        let text = || String::from_utf8_lossy(rest).into_owned();
        Ok(Some(match kind {
            b'+' => Value::Simple(rest.to_vec()),
            b'-' => Value::Error(rest.to_vec()),
            b':' => Value::Integer(integer(rest)?),
            b'_' => {
                ensure!(rest.is_empty(), "null with a payload");
                Value::Null
            }
            b',' => Value::Double(text()),
            b'(' => Value::BigNumber(text()),
            b'#' => match rest {
                b"t" => Value::Boolean(true),
                b"f" => Value::Boolean(false),
                _ => bail!("boolean {}", show(rest)),
            },
            b'$' if rest == b"-1" => Value::NullBulk,
            b'*' if rest == b"-1" => Value::NullArray,
            b'$' | b'=' | b'!' => {
                let Some(body) = self.blob(length(rest)?)? else {
                    return Ok(None);
                };
                match kind {
                    b'$' => Value::Bulk(body),
                    b'=' => Value::Verbatim(body),
                    _ => Value::BulkError(body),
                }
            }
            b'*' | b'~' | b'>' | b'%' | b'|' => {
                let pairs = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
                let Some(items) = self.items(length(rest)? * pairs, depth)? else {
                    return Ok(None);
                };
                match kind {
                    b'*' => Value::Array(items),
                    b'~' => Value::Set(items),
                    b'>' => Value::Push(items),
                    b'%' => Value::Map(items),
                    _ => Value::Attribute(items),
                }
            }
            _ => bail!("unknown type byte in {}", show(&line)),
        }))
    }

    fn blob(&mut self, len: usize) -> Result<Option<Vec<u8>>> {
        let rest = &self.input[self.at..];
        if rest.len() < len + 2 {
            return Ok(None);
        }
        ensure!(
            &rest[len..len + 2] == b"\r\n",
            "no CRLF after {len} bytes of a bulk"
        );
        self.at += len + 2;
        Ok(Some(rest[..len].to_vec()))
    }

    fn items(&mut self, len: usize, depth: usize) -> Result<Option<Vec<Value>>> {
        let mut items = Vec::with_capacity(len.min(1024));
        for _ in 0..len {
            match self.value(depth + 1)? {
                Some(item) => items.push(item),
                None => return Ok(None),
            }
        }
        Ok(Some(items))
    }
}

fn integer(digits: &[u8]) -> Result<i64> {
    let text = std::str::from_utf8(digits)?;
    let number: i64 = text.parse()?;
    ensure!(
        number.to_string() == text,
        "integer {text} is not in its shortest form"
    );
    Ok(number)
}

fn length(digits: &[u8]) -> Result<usize> {
    let number = integer(digits)?;
    ensure!(number >= 0, "length {number}");
    Ok(usize::try_from(number)?)
}

/// Bytes as they are written in a transcript, without the quotes.
pub fn show(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x20..=0x7e => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out
}

/// The notation of transcripts (see `transcripts/README.md`), one line.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Simple(b) => write!(f, "+{}", show(b)),
            Value::Error(b) => write!(f, "-{}", show(b)),
            Value::Integer(n) => write!(f, ":{n}"),
            Value::Bulk(b) => write!(f, "\"{}\"", show(b)),
            Value::NullBulk => f.write_str("$-1"),
            Value::NullArray => f.write_str("*-1"),
            Value::Null => f.write_str("_"),
            Value::Array(items) => list(f, "[", items),
            Value::Set(items) => list(f, "~[", items),
            Value::Push(items) => list(f, ">[", items),
            Value::Map(items) => list(f, "%[", items),
            Value::Attribute(items) => list(f, "|[", items),
            Value::Double(text) => write!(f, ",{text}"),
            Value::Boolean(yes) => f.write_str(if *yes { "#t" } else { "#f" }),
            Value::BigNumber(text) => write!(f, "({text}"),
            Value::Verbatim(b) => write!(f, "=\"{}\"", show(b)),
            Value::BulkError(b) => write!(f, "!\"{}\"", show(b)),
        }
    }
}

fn list(f: &mut fmt::Formatter<'_>, open: &str, items: &[Value]) -> fmt::Result {
    f.write_str(open)?;
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> String {
        let (value, used) = parse(bytes).expect("valid").expect("complete");
        assert_eq!(used, bytes.len());
        value.to_string()
    }

    #[test]
    fn every_type_is_told_apart() {
        assert_eq!(one(b"*3\r\n$-1\r\n*-1\r\n_\r\n"), "[$-1, *-1, _]");
        assert_eq!(one(b"%1\r\n+a\r\n,1.5\r\n"), "%[+a, ,1.5]");
        assert_eq!(one(b">2\r\n#t\r\n(12\r\n"), ">[#t, (12]");
        assert_eq!(one(b"=7\r\ntxt:a\"b\r\n"), "=\"txt:a\\\"b\"");
    }

    #[test]
    fn every_prefix_of_a_reply_waits_for_more() {
        let whole = b"*2\r\n$3\r\nabc\r\n%1\r\n:1\r\n~1\r\n-ERR x\r\n";
        for end in 0..whole.len() {
            assert_eq!(parse(&whole[..end]).expect("valid so far"), None, "prefix {end}");
        }
        assert_eq!(one(whole), "[\"abc\", %[:1, ~[-ERR x]]]");
    }

    #[test]
    fn sloppy_encodings_are_refused() {
        for bad in [
            &b"+a\n"[..],
            b":01\r\n",
            b":+1\r\n",
            b"$1\r\nab\r\n",
            b"x\r\n",
            b"\r\n",
            b"*-2\r\n",
        ] {
            assert!(parse(bad).is_err(), "{}", show(bad));
        }
    }
}

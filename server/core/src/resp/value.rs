//! A reply read back: for tests, the bench and whoever compares replies. The server never reads one on a
//! command's path.
//!
//! Invariants: all types of RESP2 and RESP3 keep their difference (three kinds of null, simple and bulk
//! strings), and a value written again gives the bytes it came from; depth is bounded; no allocation ahead of
//! data. Not read: RESP3's streamed strings and aggregates, which no server sends.

use super::frame::{Follows, ReplyError, line};
use crate::text::number::{parse_f64, parse_i64, push_i64};

/// How deep aggregates may be nested.
pub const DEPTH_MAX: usize = 64;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Simple(Vec<u8>),
    Error(Vec<u8>),
    Integer(i64),
    Bulk(Vec<u8>),
    BulkError(Vec<u8>),
    /// `$-1`
    NullBulk,
    /// `*-1`
    NullArray,
    /// `_`
    Null,
    Boolean(bool),
    /// In the digits that were sent.
    Double(Vec<u8>),
    BigNumber(Vec<u8>),
    Verbatim {
        format: [u8; 3],
        text: Vec<u8>,
    },
    Array(Vec<Value>),
    Set(Vec<Value>),
    Push(Vec<Value>),
    Map(Vec<(Value, Value)>),
    Attributed {
        attributes: Vec<(Value, Value)>,
        value: Box<Value>,
    },
}

impl Value {
    /// The value that `bytes` begins with and its length; `None` if it is not all there.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, ReplyError> {
        let mut at = 0;
        Ok(parse_at(bytes, &mut at, 0)?.map(|value| (value, at)))
    }

    /// Whether it is null in any of the three ways.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::NullBulk | Self::NullArray | Self::Null)
    }

    /// The text of an error.
    pub fn as_error(&self) -> Option<&[u8]> {
        match self {
            Self::Error(text) | Self::BulkError(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes of any kind of string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Simple(text) | Self::Bulk(text) | Self::Verbatim { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The elements of any aggregate but a map.
    pub fn as_elements(&self) -> Option<&[Value]> {
        match self {
            Self::Array(elements) | Self::Set(elements) | Self::Push(elements) => Some(elements),
            _ => None,
        }
    }

    /// Appends the value as it is sent.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Simple(text) => write_line(b'+', text, out),
            Self::Error(text) => write_line(b'-', text, out),
            Self::Double(text) => write_line(b',', text, out),
            Self::BigNumber(text) => write_line(b'(', text, out),
            Self::Integer(value) => write_head(b':', *value, out),
            Self::NullBulk => write_line(b'$', b"-1", out),
            Self::NullArray => write_line(b'*', b"-1", out),
            Self::Null => write_line(b'_', b"", out),
            Self::Boolean(value) => write_line(b'#', if *value { b"t" } else { b"f" }, out),
            Self::Bulk(text) => write_string(b'$', &[text], out),
            Self::BulkError(text) => write_string(b'!', &[text], out),
            Self::Verbatim { format, text } => write_string(b'=', &[format, b":", text], out),
            Self::Array(elements) => write_elements(b'*', elements, out),
            Self::Set(elements) => write_elements(b'~', elements, out),
            Self::Push(elements) => write_elements(b'>', elements, out),
            Self::Map(pairs) => write_pairs(b'%', pairs, out),
            Self::Attributed { attributes, value } => {
                write_pairs(b'|', attributes, out);
                value.write(out);
            }
        }
    }
}

fn write_line(tag: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

fn write_head(tag: u8, number: i64, out: &mut Vec<u8>) {
    out.push(tag);
    push_i64(number, out);
    out.extend_from_slice(b"\r\n");
}

fn write_string(tag: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    write_head(tag, len as i64, out);
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.extend_from_slice(b"\r\n");
}

fn write_elements(tag: u8, elements: &[Value], out: &mut Vec<u8>) {
    write_head(tag, elements.len() as i64, out);
    elements.iter().for_each(|element| element.write(out));
}

fn write_pairs(tag: u8, pairs: &[(Value, Value)], out: &mut Vec<u8>) {
    write_head(tag, pairs.len() as i64, out);
    for (key, value) in pairs {
        key.write(out);
        value.write(out);
    }
}

/// Reads the value at `at` and moves it behind.
fn parse_at(bytes: &[u8], at: &mut usize, depth: usize) -> Result<Option<Value>, ReplyError> {
    if depth > DEPTH_MAX {
        return Err(ReplyError::Depth);
    }
    let Some(line) = line(bytes, *at, &mut 0)? else {
        return Ok(None);
    };
    *at = line.next;
    match line.follows {
        Follows::Nothing => scalar(line.tag, line.text).map(Some),
        Follows::Bytes(len) => {
            let end = *at + len;
            match bytes.get(end..end + 2) {
                None => return Ok(None),
                Some(b"\r\n") => {}
                Some(_) => return Err(ReplyError::Ending),
            }
            let text = &bytes[*at..end];
            *at = end + 2;
            string(line.tag, text).map(Some)
        }
        Follows::Values(count) => aggregate(line.tag, count, bytes, at, depth),
    }
}

fn scalar(tag: u8, text: &[u8]) -> Result<Value, ReplyError> {
    Ok(match tag {
        b'+' => Value::Simple(text.to_vec()),
        b'-' => Value::Error(text.to_vec()),
        b':' => Value::Integer(parse_i64(text).ok_or(ReplyError::Malformed)?),
        b'$' => Value::NullBulk,
        b'*' => Value::NullArray,
        b'_' if text.is_empty() => Value::Null,
        b'#' if text == b"t" => Value::Boolean(true),
        b'#' if text == b"f" => Value::Boolean(false),
        b',' if parse_f64(text).is_some() || text == b"nan" => Value::Double(text.to_vec()),
        b'(' if is_decimal(text) => Value::BigNumber(text.to_vec()),
        _ => return Err(ReplyError::Malformed),
    })
}

fn is_decimal(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

fn string(tag: u8, text: &[u8]) -> Result<Value, ReplyError> {
    match (tag, text) {
        (b'$', _) => Ok(Value::Bulk(text.to_vec())),
        (b'!', _) => Ok(Value::BulkError(text.to_vec())),
        (_, [a, b, c, b':', text @ ..]) => Ok(Value::Verbatim {
            format: [*a, *b, *c],
            text: text.to_vec(),
        }),
        _ => Err(ReplyError::Malformed),
    }
}

fn aggregate(
    tag: u8,
    count: usize,
    bytes: &[u8],
    at: &mut usize,
    depth: usize,
) -> Result<Option<Value>, ReplyError> {
    let mut elements = Vec::new();
    for _ in 0..count {
        match parse_at(bytes, at, depth + 1)? {
            Some(element) => elements.push(element),
            None => return Ok(None),
        }
    }
    Ok(Some(match tag {
        b'*' => Value::Array(elements),
        b'~' => Value::Set(elements),
        b'>' => Value::Push(elements),
        b'%' => Value::Map(pairs(elements)),
        _ => match parse_at(bytes, at, depth + 1)? {
            Some(value) => Value::Attributed {
                attributes: pairs(elements),
                value: Box::new(value),
            },
            None => return Ok(None),
        },
    }))
}

fn pairs(elements: Vec<Value>) -> Vec<(Value, Value)> {
    let mut elements = elements.into_iter();
    std::iter::from_fn(|| elements.next().zip(elements.next())).collect()
}

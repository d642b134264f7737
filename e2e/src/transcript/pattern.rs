//! Expected replies: exact values, regular expressions, and arrays in any order.

use anyhow::{Context, Result, bail, ensure};
use regex_lite::Regex;

use super::words::quoted;
use crate::resp::Value;

#[derive(Debug)]
pub enum Pattern {
    Exactly(Value),
    /// Matched against the reply as a transcript writes it.
    Matches(Regex),
    /// An aggregate of `kind` (its opening sign) whose items match one by one.
    Items {
        kind: &'static str,
        items: Vec<Pattern>,
    },
    /// An array or a set whose items match in some order.
    AnyOrder(Vec<Pattern>),
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern> {
        let text = text.trim();
        // Alone on a line a simple string or an error goes to the end, commas and all.
        if let Some(line) = text.strip_prefix('+').filter(|t| !t.starts_with('"')) {
            return Ok(Pattern::Exactly(Value::Simple(line.as_bytes().to_vec())));
        }
        if let Some(line) = text.strip_prefix('-').filter(|t| !t.starts_with('"')) {
            return Ok(Pattern::Exactly(Value::Error(line.as_bytes().to_vec())));
        }
        let mut reader = Reader { text, at: 0 };
        let pattern = reader.pattern()?;
        ensure!(
            reader.rest().trim().is_empty(),
            "text after the expected reply: {}",
            reader.rest()
        );
        Ok(pattern)
    }

    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Pattern::Exactly(wanted) => wanted == value,
            Pattern::Matches(regex) => regex.is_match(&value.to_string()),
            Pattern::Items { kind, items } => {
                let found = match (*kind, value) {
                    ("[", Value::Array(v))
                    | ("~[", Value::Set(v))
                    | (">[", Value::Push(v))
                    | ("%[", Value::Map(v))
                    | ("|[", Value::Attribute(v)) => v,
                    _ => return false,
                };
                items.len() == found.len() && items.iter().zip(found).all(|(p, v)| p.matches(v))
            }
            Pattern::AnyOrder(items) => match value {
                Value::Array(found) | Value::Set(found) => {
                    items.len() == found.len() && pair_up(items, &mut found.iter().collect())
                }
                _ => false,
            },
        }
    }
}

/// Whether each pattern can have a value of its own.
fn pair_up(patterns: &[Pattern], values: &mut Vec<&Value>) -> bool {
    let [first, rest @ ..] = patterns else {
        return values.is_empty();
    };
    for at in 0..values.len() {
        if first.matches(values[at]) {
            let taken = values.swap_remove(at);
            if pair_up(rest, values) {
                return true;
            }
            values.push(taken);
            let last = values.len() - 1;
            values.swap(at, last);
        }
    }
    false
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, sign: &str) -> bool {
        let blank = self.rest().len() - self.rest().trim_start().len();
        if self.rest()[blank..].starts_with(sign) {
            self.at += blank + sign.len();
            return true;
        }
        false
    }

    fn pattern(&mut self) -> Result<Pattern> {
        for kind in ["[", "~[", ">[", "%[", "|["] {
            if self.skip(kind) {
                return Ok(Pattern::Items {
                    kind,
                    items: self.items("]")?,
                });
            }
        }
        if self.skip("{") {
            return Ok(Pattern::AnyOrder(self.items("}")?));
        }
        if self.skip("~/") {
            let end = self
                .rest()
                .find('/')
                .context("a regular expression without its closing /")?;
            let regex = Regex::new(&self.rest()[..end])?;
            self.at += end + 1;
            return Ok(Pattern::Matches(regex));
        }
        Ok(Pattern::Exactly(self.scalar()?))
    }

    fn items(&mut self, close: &str) -> Result<Vec<Pattern>> {
        let mut items = Vec::new();
        while !self.skip(close) {
            if !items.is_empty() {
                ensure!(
                    self.skip(",") || self.skip("=>"),
                    "no comma before: {}",
                    self.rest()
                );
            }
            items.push(self.pattern()?);
        }
        Ok(items)
    }

    fn scalar(&mut self) -> Result<Value> {
        type Make = fn(Vec<u8>) -> Value;
        let quotable: [(&str, Make); 5] = [
            ("\"", Value::Bulk),
            ("+\"", Value::Simple),
            ("-\"", Value::Error),
            ("=\"", Value::Verbatim),
            ("!\"", Value::BulkError),
        ];
        for (sign, make) in quotable {
            if self.skip(sign) {
                self.at -= 1;
                let (bytes, used) = quoted(self.rest().as_bytes())?;
                self.at += used;
                return Ok(make(bytes));
            }
        }
        for (sign, value) in [
            ("$-1", Value::NullBulk),
            ("*-1", Value::NullArray),
            ("_", Value::Null),
        ] {
            if self.skip(sign) {
                return Ok(value);
            }
        }
        for (sign, value) in [("#t", Value::Boolean(true)), ("#f", Value::Boolean(false))] {
            if self.skip(sign) {
                return Ok(value);
            }
        }
        for sign in [":", ",", "(", "+", "-"] {
            if self.skip(sign) {
                let end = self.rest().find([',', ']', '}']).unwrap_or(self.rest().len());
                let word = self.rest()[..end].trim_end().to_owned();
                ensure!(!word.is_empty(), "nothing after {sign}");
                self.at += end;
                return Ok(match sign {
                    ":" => Value::Integer(word.parse()?),
                    "," => Value::Double(word),
                    "(" => Value::BigNumber(word),
                    "+" => Value::Simple(word.into_bytes()),
                    _ => Value::Error(word.into_bytes()),
                });
            }
        }
        bail!("not an expected reply: {}", self.rest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::Bulk(text.as_bytes().to_vec())
    }

    fn holds(pattern: &str, value: &Value) -> bool {
        Pattern::parse(pattern).expect(pattern).matches(value)
    }

    #[test]
    fn what_a_reply_prints_is_a_pattern_that_matches_it() {
        let value = Value::Array(vec![
            Value::Simple(b"OK".to_vec()),
            bulk("a, \"b\"\r\n\u{0}"),
            Value::Integer(-4),
            Value::Map(vec![bulk("k"), Value::Double("1.5".into())]),
            Value::Push(vec![Value::Null, Value::Boolean(true)]),
            Value::Set(vec![Value::NullBulk, Value::NullArray]),
        ]);
        assert!(holds(&value.to_string(), &value));
    }

    #[test]
    fn kinds_that_look_alike_are_told_apart() {
        assert!(!holds("$-1", &Value::NullArray));
        assert!(!holds("\"1\"", &Value::Integer(1)));
        assert!(!holds("+a", &bulk("a")));
        assert!(!holds("[:1]", &Value::Set(vec![Value::Integer(1)])));
        assert!(!holds(
            "[:1]",
            &Value::Array(vec![Value::Integer(1), Value::Integer(1)])
        ));
    }

    #[test]
    fn any_order_still_counts_each_item_once() {
        let twice = Value::Array(vec![bulk("a"), bulk("a")]);
        assert!(holds("{\"a\", \"a\"}", &twice));
        assert!(!holds("{\"a\", \"b\"}", &twice));
        let mixed = Value::Array(vec![bulk("b"), bulk("a")]);
        assert!(holds("{~/./, \"b\"}", &mixed));
        assert!(!holds("{\"b\"}", &mixed));
    }

    #[test]
    fn errors_alone_on_a_line_keep_their_commas() {
        assert!(holds("-ERR a, b", &Value::Error(b"ERR a, b".to_vec())));
        assert!(holds(
            "[-\"ERR a, b\", -ERR x]",
            &Value::Array(vec![
                Value::Error(b"ERR a, b".to_vec()),
                Value::Error(b"ERR x".to_vec())
            ])
        ));
    }
}

//! What an option's value may be: read from words, and shown again.

use std::borrow::Cow;

use super::output_limits::OutputLimits;
use super::percentiles;
use crate::keyspace::Classes;
use crate::text::number::parse_i64;

/// Why a value is not accepted, in Valkey's words where Valkey has the case.
pub type Refusal = Cow<'static, str>;

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `yes` or `no`.
    Flag,
    Integer {
        min: i64,
        max: i64,
    },
    /// File permissions.
    Octal {
        min: i64,
        max: i64,
    },
    /// Bytes, with a unit if one likes: `100mb`.
    Memory {
        min: i64,
        max: i64,
    },
    /// One of these names.
    Choice(&'static [&'static str]),
    /// One or more of these names.
    Choices(&'static [&'static str]),
    Text,
    /// Any number of words.
    Words,
    /// Only these are known, the first being the default; why no other.
    Only(&'static [&'static str], &'static str),
    OutputLimits,
    /// Pairs of seconds and changes. Directives add to each other; an empty one takes back those before it.
    SavePoints,
    /// Letters of keyspace events.
    Events,
    Percentiles,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A flag, a number, or the place of a name among the choices (a bit each where several may be chosen).
    Number(i64),
    Text(Vec<u8>),
    Words(Vec<Vec<u8>>),
    OutputLimits(OutputLimits),
    Percentiles(Vec<f64>),
}

impl Kind {
    /// `CONFIG SET` gives one word, in which those of [`Self::takes_words`] are separated by blanks.
    pub fn takes_words(self) -> bool {
        matches!(
            self,
            Self::Choices(_) | Self::Words | Self::OutputLimits | Self::SavePoints | Self::Percentiles
        )
    }

    /// `before` is the value that is replaced: some directives change a part of it.
    pub fn parse(self, words: &[&[u8]], before: Option<&Value>) -> Result<Value, Refusal> {
        if self.takes_words() {
            let split: Vec<&[u8]> = words
                .iter()
                .flat_map(|word| word.split(|byte| *byte == b' '))
                .filter(|word| !word.is_empty())
                .collect();
            return self.parse_words(&split, before);
        }
        let [word] = words else {
            return Err(match self {
                // `replicaof host port`: what is there of the option has no such words.
                Self::Only(_, why) if !words.is_empty() => why.into(),
                _ => "wrong number of arguments".into(),
            });
        };
        self.parse_word(word)
    }

    fn parse_word(self, word: &[u8]) -> Result<Value, Refusal> {
        let number = match self {
            Self::Flag => {
                let yes = word.eq_ignore_ascii_case(b"yes");
                if !yes && !word.eq_ignore_ascii_case(b"no") {
                    return Err("argument must be 'yes' or 'no'".into());
                }
                i64::from(yes)
            }
            Self::Integer { min, max } => {
                let number = parse_i64(word).ok_or("argument couldn't be parsed into an integer")?;
                within(number, min, max)?
            }
            Self::Memory { min, max } => {
                let bytes = parse_memory(word).ok_or("argument must be a memory value")?;
                within(i64::try_from(bytes).unwrap_or(i64::MAX), min, max)?
            }
            Self::Octal { min, max } => {
                let number = std::str::from_utf8(word)
                    .ok()
                    .and_then(|text| i64::from_str_radix(text, 8).ok())
                    .ok_or("argument couldn't be parsed as an octal number")?;
                if !(min..=max).contains(&number) {
                    return Err(format!("argument must be between {min:o} and {max:o} inclusive").into());
                }
                number
            }
            Self::Choice(names) => position(names, word).ok_or_else(|| one_of(names))? as i64,
            Self::Events => {
                let classes =
                    Classes::parse(word).ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")?;
                i64::from(classes.0)
            }
            Self::Only(known, why) => {
                let name = position(known, word).ok_or(why)?;
                return Ok(Value::Text(known[name].as_bytes().to_vec()));
            }
            _ => return Ok(Value::Text(word.to_vec())),
        };
        Ok(Value::Number(number))
    }

    fn parse_words(self, words: &[&[u8]], before: Option<&Value>) -> Result<Value, Refusal> {
        match self {
            Self::Choices(names) => {
                let mut chosen = 0;
                for word in words {
                    chosen |= 1 << position(names, word).ok_or_else(|| one_of(names))?;
                }
                if words.is_empty() {
                    return Err(one_of(names));
                }
                Ok(Value::Number(chosen))
            }
            Self::OutputLimits => {
                let mut limits = match before {
                    Some(Value::OutputLimits(limits)) => *limits,
                    _ => OutputLimits::default(),
                };
                limits.change(words)?;
                Ok(Value::OutputLimits(limits))
            }
            Self::SavePoints => {
                let numbers: Option<Vec<i64>> = words.iter().map(|word| parse_i64(word)).collect();
                let points = numbers.filter(|numbers| {
                    let (pairs, rest) = numbers.as_chunks::<2>();
                    rest.is_empty()
                        && pairs
                            .iter()
                            .all(|[seconds, changes]| *seconds >= 1 && *changes >= 0)
                });
                let points = points.ok_or("Invalid save parameters")?;
                let mut all = match before {
                    Some(Value::Words(before)) if !points.is_empty() => before.clone(),
                    _ => Vec::new(),
                };
                all.extend(points.iter().map(|number| number.to_string().into_bytes()));
                Ok(Value::Words(all))
            }
            Self::Percentiles => Ok(Value::Percentiles(percentiles::parse(words)?)),
            _ => Ok(Value::Words(words.iter().map(|word| word.to_vec()).collect())),
        }
    }

    pub fn show(self, value: &Value) -> Vec<u8> {
        match (self, value) {
            (Self::Flag, Value::Number(number)) => if *number != 0 { "yes" } else { "no" }.into(),
            (Self::Octal { .. }, Value::Number(number)) => format!("{number:o}").into(),
            (Self::Choice(names), Value::Number(place)) => names[*place as usize].into(),
            (Self::Choices(names), Value::Number(chosen)) => {
                let chosen: Vec<&str> = names
                    .iter()
                    .enumerate()
                    .filter(|(place, _)| chosen & (1 << place) != 0)
                    .map(|(_, name)| *name)
                    .collect();
                chosen.join(" ").into()
            }
            (Self::Events, Value::Number(bits)) => Classes(*bits as u16).letters().into(),
            (_, Value::Number(number)) => number.to_string().into(),
            (_, Value::Text(text)) => text.clone(),
            (_, Value::Words(words)) => words.join(&b' '),
            (_, Value::OutputLimits(limits)) => limits.show().into(),
            (_, Value::Percentiles(list)) => percentiles::show(list).into(),
        }
    }
}

fn within(number: i64, min: i64, max: i64) -> Result<i64, Refusal> {
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(format!("argument must be between {min} and {max} inclusive").into())
    }
}

fn position(names: &[&str], word: &[u8]) -> Option<usize> {
    names
        .iter()
        .position(|name| name.as_bytes().eq_ignore_ascii_case(word))
}

fn one_of(names: &[&str]) -> Refusal {
    format!("argument(s) must be one of the following: {}", names.join(", ")).into()
}

/// `100`, `100b`, `1k` (1000), `1kb` (1024), and so on to `gb`.
pub fn parse_memory(word: &[u8]) -> Option<u64> {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let unit: u64 = match word[digits..].to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let number = std::str::from_utf8(&word[..digits]).ok()?;
    number.parse::<u64>().ok()?.checked_mul(unit)
}

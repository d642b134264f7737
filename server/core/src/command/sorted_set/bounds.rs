//! Bounds of ranges, and which ranks lie between them.

use crate::error::Error;
use crate::value::sorted_set::View;

pub(super) const NOT_SCORES: Error = Error::new("ERR min or max is not a float");
pub(super) const NOT_MEMBERS: Error = Error::new("ERR min or max not valid string range item");

/// A range in ascending terms: `min` comes before `max` or nothing lies between them.
#[derive(Clone, Copy)]
pub(super) enum Range<'a> {
    /// First and last rank in the direction asked for; negative ones count from the end.
    Rank(i64, i64),
    Score(ScoreBound, ScoreBound),
    Lex(LexBound<'a>, LexBound<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreBound {
    score: f64,
    is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LexBound<'a> {
    Lowest,
    Highest,
    Member { member: &'a [u8], is_open: bool },
}

impl ScoreBound {
    /// `1.5`, `(1.5`, `-inf`. No digits at all are zero, what follows a zero byte is not looked at, and what
    /// is too large is infinite.
    pub(super) fn parse(word: &[u8]) -> Result<Self, Error> {
        let text = word.split(|byte| *byte == 0).next().unwrap_or(word);
        let (text, is_open) = match text.strip_prefix(b"(") {
            Some(text) => (text, true),
            None => (text, false),
        };
        if text.is_empty() {
            return Ok(Self { score: 0.0, is_open });
        }
        let score = str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<f64>().ok());
        match score.filter(|score| !score.is_nan()) {
            Some(score) => Ok(Self { score, is_open }),
            None => Err(NOT_SCORES),
        }
    }

    fn is_above(self, score: f64) -> bool {
        score < self.score || self.is_open && score == self.score
    }

    fn reaches(self, score: f64) -> bool {
        score < self.score || !self.is_open && score == self.score
    }
}

impl<'a> LexBound<'a> {
    /// `[member`, `(member`, `-` or `+`.
    pub(super) fn parse(word: &'a [u8]) -> Result<Self, Error> {
        match word {
            [b'[', member @ ..] => Ok(Self::Member {
                member,
                is_open: false,
            }),
            [b'(', member @ ..] => Ok(Self::Member {
                member,
                is_open: true,
            }),
            [b'-'] | [b'-', 0, ..] => Ok(Self::Lowest),
            [b'+'] | [b'+', 0, ..] => Ok(Self::Highest),
            _ => Err(NOT_MEMBERS),
        }
    }

    /// As a lower bound: the member is left out.
    fn is_above(self, other: &[u8]) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::Member { member, is_open } => other < member || is_open && other == member,
        }
    }

    /// As an upper bound: the member is let in.
    fn reaches(self, other: &[u8]) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::Member { member, is_open } => other < member || !is_open && other == member,
        }
    }
}

impl Range<'_> {
    /// The first rank in the direction asked for (0 is the last member if `reverse`) and how many members.
    pub(super) fn resolve(self, view: View<'_>, reverse: bool) -> (usize, usize) {
        let len = view.len();
        let (start, end) = match self {
            Self::Rank(first, last) => return ranks(first, last, len),
            Self::Score(min, max) => {
                let start = view.partition_by_score(|score| min.is_above(score));
                (start, view.partition_by_score(|score| max.reaches(score)))
            }
            Self::Lex(min, max) => {
                let start = view.partition(|_, member| min.is_above(member));
                (start, view.partition(|_, member| max.reaches(member)))
            }
        };
        (if reverse { len - end } else { start }, end.saturating_sub(start))
    }
}

/// Ranks from `first` to `last`, both included.
fn ranks(first: i64, last: i64, len: usize) -> (usize, usize) {
    let len = len as i64;
    let from_end = |rank: i64| if rank < 0 { rank.saturating_add(len) } else { rank };
    let (first, last) = (from_end(first).max(0), from_end(last).min(len - 1));
    if first > last {
        return (0, 0);
    }
    (first as usize, (last - first + 1) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seen on Valkey 9.1.2 with `ZCOUNT z <text> +inf`.
    #[test]
    fn score_bounds_as_valkey_reads_them() {
        let bound = |score, is_open| Ok(ScoreBound { score, is_open });
        assert_eq!(ScoreBound::parse(b"1."), bound(1.0, false));
        assert_eq!(ScoreBound::parse(b"(+1"), bound(1.0, true));
        assert_eq!(ScoreBound::parse(b""), bound(0.0, false));
        assert_eq!(ScoreBound::parse(b"("), bound(0.0, true));
        assert_eq!(ScoreBound::parse(b"1\0x"), bound(1.0, false));
        assert_eq!(ScoreBound::parse(b"-1e400"), bound(f64::NEG_INFINITY, false));
        assert_eq!(ScoreBound::parse(b"1e-400"), bound(0.0, false));
        assert_eq!(ScoreBound::parse(b"Infinity"), bound(f64::INFINITY, false));
        for text in [&b" 1"[..], b"1 ", b"nan", b"0x1", b"((1", b"1d", b"-", b"\xff"] {
            assert_eq!(ScoreBound::parse(text), Err(NOT_SCORES), "{text:?}");
        }
    }

    #[test]
    fn lex_bounds_as_valkey_reads_them() {
        assert_eq!(LexBound::parse(b"-"), Ok(LexBound::Lowest));
        assert_eq!(LexBound::parse(b"+\0"), Ok(LexBound::Highest));
        assert_eq!(
            LexBound::parse(b"[a\0b"),
            Ok(LexBound::Member {
                member: b"a\0b",
                is_open: false
            })
        );
        assert_eq!(
            LexBound::parse(b"("),
            Ok(LexBound::Member {
                member: b"",
                is_open: true
            })
        );
        for text in [&b""[..], b"a", b"+a", b"-a"] {
            assert_eq!(LexBound::parse(text), Err(NOT_MEMBERS), "{text:?}");
        }
    }

    #[test]
    fn ranks_are_cut_to_what_is_there() {
        assert_eq!(ranks(0, -1, 5), (0, 5));
        assert_eq!(ranks(-2, 100, 5), (3, 2));
        assert_eq!(ranks(i64::MIN, i64::MAX, 5), (0, 5));
        assert_eq!(ranks(3, 2, 5).1, 0);
        assert_eq!(ranks(5, 9, 5).1, 0);
        assert_eq!(ranks(0, i64::MIN, 5).1, 0);
    }
}

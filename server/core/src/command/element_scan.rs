//! What `HSCAN`, `SSCAN` and `ZSCAN` share: the cursor and the options.

use super::args::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::text::number::{parse_i64, parse_u64};
use crate::text::{fold, glob};

pub const INVALID_CURSOR: Error = Error::new("ERR invalid cursor");

/// Elements that one call visits, unless `COUNT` says otherwise.
const COUNT: u64 = 10;

#[derive(Clone, Copy, Debug)]
pub struct ScanOptions<'a> {
    pub count: u64,
    pattern: Option<&'a [u8]>,
    /// `NOVALUES`.
    pub names_only: bool,
    /// `NOSCORES`.
    pub members_only: bool,
}

/// The cursor, the command's second argument; checked before the key is looked at.
pub fn cursor(args: Args<'_>) -> Result<u64, Error> {
    parse_u64(args.get(2)).ok_or(INVALID_CURSOR)
}

/// The options after the cursor; looked at only when the key is there.
pub fn options<'a>(args: Args<'a>) -> Result<ScanOptions<'a>, Error> {
    let mut options = ScanOptions {
        count: COUNT,
        pattern: None,
        names_only: false,
        members_only: false,
    };
    let mut at = 3;
    while at < args.len() {
        let word = args.get(at);
        let next = args.try_get(at + 1);
        if let (true, Some(count)) = (fold::is(word, "COUNT"), next) {
            let count = parse_i64(count).ok_or(NOT_AN_INTEGER)?;
            options.count = u64::try_from(count).ok().filter(|c| *c > 0).ok_or(SYNTAX)?;
            at += 1;
        } else if let (true, Some(pattern)) = (fold::is(word, "MATCH"), next) {
            options.pattern = (pattern != b"*").then_some(pattern);
            at += 1;
        } else if fold::is(word, "NOVALUES") {
            options.names_only = true;
        } else if fold::is(word, "NOSCORES") {
            options.members_only = true;
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    Ok(options)
}

impl ScanOptions<'_> {
    #[inline]
    pub fn matches(&self, element: &[u8]) -> bool {
        self.pattern.is_none_or(|pattern| glob::matches(pattern, element))
    }

    /// Runs `step` (a cursor to the next one, and how many elements it visited) until enough were visited;
    /// the cursor to go on with. Bounded for tables whose buckets are mostly empty.
    pub fn run(&self, mut cursor: u64, mut step: impl FnMut(u64) -> (u64, u64)) -> u64 {
        let (mut visited, mut steps) = (0, 0);
        loop {
            let (next, seen) = step(cursor);
            cursor = next;
            visited += seen;
            steps += 1;
            if cursor == 0 || visited >= self.count || steps >= self.count.saturating_mul(10) {
                return cursor;
            }
        }
    }
}

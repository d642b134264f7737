//! What `SORT` is asked to do.

use super::pattern::Pattern;
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::text::fold;
use crate::text::number::parse_i64;

const BY_REFUSED: Error = Error::new("ERR BY option of SORT denied due to insufficient ACL permissions.");
const GET_REFUSED: Error = Error::new("ERR GET option of SORT denied due to insufficient ACL permissions.");

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum By<'a> {
    Element,
    /// A `BY` without a star: the order that the collection has.
    Nothing,
    Weight(Pattern<'a>),
}

pub(super) struct Options<'a> {
    pub by: By<'a>,
    pub get: Vec<Pattern<'a>>,
    pub descending: bool,
    pub alpha: bool,
    /// As given: start and count; a negative count is all.
    pub limit: Option<(i64, i64)>,
    pub store: Option<&'a [u8]>,
}

impl<'a> Options<'a> {
    /// `reads_every_key`: whether the client may read keys that the command does not name.
    pub(super) fn parse(args: Args<'a>, may_store: bool, reads_every_key: bool) -> Result<Self, Error> {
        let mut options = Self {
            by: By::Element,
            get: Vec::new(),
            descending: false,
            alpha: false,
            limit: None,
            store: None,
        };
        let mut at = 2;
        while at < args.len() {
            let word = args.get(at);
            let (next, next_but_one) = (args.try_get(at + 1), args.try_get(at + 2));
            if fold::is(word, "ASC") {
                options.descending = false;
            } else if fold::is(word, "DESC") {
                options.descending = true;
            } else if fold::is(word, "ALPHA") {
                options.alpha = true;
            } else if let (true, Some(start), Some(count)) = (fold::is(word, "LIMIT"), next, next_but_one) {
                let start = parse_i64(start).ok_or(NOT_AN_INTEGER)?;
                options.limit = Some((start, parse_i64(count).ok_or(NOT_AN_INTEGER)?));
                at += 2;
            } else if let (true, true, Some(target)) = (fold::is(word, "STORE"), may_store, next) {
                options.store = Some(target);
                at += 1;
            } else if let (true, Some(pattern)) = (fold::is(word, "BY"), next) {
                if pattern.contains(&b'*') && !reads_every_key {
                    return Err(BY_REFUSED);
                }
                if !pattern.contains(&b'*') {
                    options.by = By::Nothing;
                } else if options.by != By::Nothing {
                    options.by = By::Weight(Pattern::parse(pattern));
                }
                at += 1;
            } else if let (true, Some(pattern)) = (fold::is(word, "GET"), next) {
                if !reads_every_key {
                    return Err(GET_REFUSED);
                }
                options.get.push(Pattern::parse(pattern));
                at += 1;
            } else {
                return Err(SYNTAX);
            }
            at += 1;
        }
        Ok(options)
    }

    /// Nothing is sorted. A later `BY` with a star does not change that, as in Valkey.
    pub(super) fn in_order(&self) -> bool {
        self.by == By::Nothing
    }

    /// The part of `len` elements that is wanted.
    pub(super) fn range(&self, len: usize) -> std::ops::Range<usize> {
        let Some((start, count)) = self.limit else {
            return 0..len;
        };
        let start = usize::try_from(start).unwrap_or(0).min(len);
        let count = usize::try_from(count).unwrap_or(len).min(len - start);
        start..start + count
    }
}

/// The error of a `SORT` whose client may not read every key, if that is what keeps it from running: its
/// patterns name keys that the command's words do not tell.
pub fn refused_pattern(args: Args<'_>, may_store: bool) -> Option<Error> {
    Options::parse(args, may_store, false)
        .err()
        .filter(|error| [BY_REFUSED, GET_REFUSED].contains(error))
}

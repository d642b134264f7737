//! The part of a command that names fields: `… FIELDS numfields field …`.

use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::text::fold;
use crate::text::number::parse_i64;

pub(super) const NUMFIELDS: Error =
    Error::new("ERR numfields should be greater than 0 and match the provided number of fields");

/// Where `FIELDS` stands, at `from` or later; it takes at least its count after it.
pub(super) fn find(args: Args<'_>, from: usize) -> Result<usize, Error> {
    (from..args.len().saturating_sub(1))
        .find(|at| fold::is(args.get(*at), "FIELDS"))
        .ok_or(NUMFIELDS)
}

/// Checks the count after `FIELDS`, which stands at `at`; each field takes `words` words. The place of the
/// first field.
pub(super) fn check(args: Args<'_>, at: usize, words: usize) -> Result<usize, Error> {
    let count = parse_i64(args.get(at + 1)).ok_or(NOT_AN_INTEGER)?;
    let given = args.len() - (at + 2);
    let wanted = usize::try_from(count)
        .ok()
        .and_then(|count| count.checked_mul(words));
    if count <= 0 || wanted != Some(given) {
        return Err(NUMFIELDS);
    }
    Ok(at + 2)
}

/// `FIELDS` must be the second argument. The place of the first field.
pub(super) fn fixed(args: Args<'_>) -> Result<usize, Error> {
    if !fold::is(args.get(2), "FIELDS") {
        return Err(SYNTAX);
    }
    check(args, 2, 1)
}

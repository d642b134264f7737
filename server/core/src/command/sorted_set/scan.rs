//! `ZSCAN`.

use super::read;
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::resp::Reply;
use crate::text::number::{parse_i64, parse_u64};
use crate::text::{fold, glob};
use crate::value::sorted_set::View;

const INVALID_CURSOR: Error = Error::new("ERR invalid cursor");
const HASHES_ONLY: Error = Error::new("ERR NOVALUES option can only be used in HSCAN");
const COUNT_DEFAULT: usize = 10;
/// Buckets visited for each member asked for, at most: a sparse table does not keep a call for long.
const BUCKETS_PER_MEMBER: usize = 10;

struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    with_scores: bool,
}

pub(super) fn zscan(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let cursor = parse_u64(args.get(2)).ok_or(INVALID_CURSOR)?;
    let key = x.db.key(args.get(1));
    let Some(view) = read(&mut x.db, key)? else {
        x.reply.array(2);
        x.reply.bulk(b"0");
        x.reply.empty_array();
        return Ok(());
    };
    let options = parse(args)?;
    let mut body = Reply::new(x.reply.proto());
    let mut shown = 0;
    let next = walk(view, cursor, &options, &mut |member, score: &[u8]| {
        body.bulk(member);
        shown += 1;
        if options.with_scores {
            body.bulk(score);
            shown += 1;
        }
    });
    x.reply.array(2);
    x.reply.bulk_integer(next.cast_signed());
    x.reply.array(shown);
    x.reply.raw(body.as_slice());
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Error> {
    let mut options = Options {
        pattern: None,
        count: COUNT_DEFAULT,
        with_scores: true,
    };
    let mut at = 3;
    while at < args.len() {
        let word = args.get(at);
        match args.try_get(at + 1) {
            Some(count) if fold::is(word, "COUNT") => {
                let count = parse_i64(count).ok_or(NOT_AN_INTEGER)?;
                options.count = usize::try_from(count)
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or(SYNTAX)?;
                at += 2;
            }
            Some(pattern) if fold::is(word, "MATCH") => {
                options.pattern = Some(pattern);
                at += 2;
            }
            _ if fold::is(word, "NOSCORES") => {
                options.with_scores = false;
                at += 1;
            }
            _ if fold::is(word, "NOVALUES") => return Err(HASHES_ONLY),
            _ => return Err(SYNTAX),
        }
    }
    Ok(options)
}

/// Shows what a call is to show, and returns the cursor of the next one. A packed set is shown whole.
fn walk(view: View<'_>, cursor: u64, options: &Options<'_>, show: &mut dyn FnMut(&[u8], &[u8])) -> u64 {
    let is_wanted = |member: &[u8]| {
        options
            .pattern
            .is_none_or(|pattern| glob::matches(pattern, member))
    };
    match view {
        View::Packed(_) => {
            view.for_each(|member, score| {
                if is_wanted(member) {
                    show(member, crate::text::double::format(score).as_bytes());
                }
            });
            0
        }
        View::Large(set, heap) => {
            let (mut next, mut seen, mut buckets) = (cursor, 0, 0);
            loop {
                next = set.scan(heap, next, &mut |member, score| {
                    seen += 1;
                    if is_wanted(member) {
                        show(member, seventeen_digits(score).as_bytes());
                    }
                });
                buckets += 1;
                let is_enough =
                    seen >= options.count || buckets >= options.count.saturating_mul(BUCKETS_PER_MEMBER);
                if next == 0 || is_enough {
                    return next;
                }
            }
        }
    }
}

/// A score as C's `%.17g` prints it: that is how Valkey shows the scores of large sets here, and only here.
fn seventeen_digits(score: f64) -> String {
    if !score.is_finite() {
        return if score > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let text = format!("{score:.16e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or(0);
        let text = format!("{score:.decimals$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').into(),
            false => text,
        };
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::seventeen_digits;

    /// Seen on Valkey 9.1.2 with `ZSCAN` of a large set.
    #[test]
    fn scores_of_large_sets_as_valkey_scans_them() {
        for (score, text) in [
            (0.1, "0.10000000000000001"),
            (1.0, "1"),
            (2.5, "2.5"),
            (1e23, "9.9999999999999992e+22"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1e-5, "1.0000000000000001e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0"),
            (-3.25, "-3.25"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (5e-324, "4.9406564584124654e-324"),
        ] {
            assert_eq!(seventeen_digits(score), text);
        }
    }
}

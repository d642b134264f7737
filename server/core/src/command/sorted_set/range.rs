//! `ZRANGE` with all its kin: by rank, score or member, either way, to the client or into another key.

use super::bounds::{LexBound, Range, ScoreBound};
use super::{read, reply, store};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::sorted_set::{Pairs, View};

const LIMIT_BY_RANK: Error =
    Error::new("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
const SCORES_BY_LEX: Error =
    Error::new("ERR syntax error, WITHSCORES not supported in combination with BYLEX");

#[derive(Clone, Copy, PartialEq)]
enum By {
    Rank,
    Score,
    Lex,
}

/// What the command's name fixes; the rest is up to its options.
struct Form {
    by: Option<By>,
    reverse: Option<bool>,
    store: bool,
}

struct Query<'a> {
    range: Range<'a>,
    reverse: bool,
    with_scores: bool,
    offset: i64,
    limit: i64,
}

pub(super) fn zrange(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: None,
            reverse: None,
            store: false,
        },
    )
}

pub(super) fn zrevrange(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: Some(By::Rank),
            reverse: Some(true),
            store: false,
        },
    )
}

pub(super) fn zrangebyscore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: Some(By::Score),
            reverse: Some(false),
            store: false,
        },
    )
}

pub(super) fn zrevrangebyscore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: Some(By::Score),
            reverse: Some(true),
            store: false,
        },
    )
}

pub(super) fn zrangebylex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: Some(By::Lex),
            reverse: Some(false),
            store: false,
        },
    )
}

pub(super) fn zrevrangebylex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(
        x,
        args,
        Form {
            by: Some(By::Lex),
            reverse: Some(true),
            store: false,
        },
    )
}

pub(super) fn zrangestore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let query = parse(
        args.skip(1),
        Form {
            by: None,
            reverse: None,
            store: true,
        },
    )?;
    let mut pairs = Pairs::default();
    let source = x.db.key(args.get(2));
    if let Some(view) = read(&mut x.db, source)? {
        let (rank, count) = select(view, &query);
        view.visit(rank, count, query.reverse, |member, score| {
            pairs.push(member, score);
            true
        });
    }
    if query.reverse {
        pairs.reverse();
    }
    store::replace(x, args.get(1), &pairs, "zrangestore");
    Ok(())
}

fn answer(x: &mut Exec<'_>, args: Args<'_>, form: Form) -> Outcome {
    let query = parse(args, form)?;
    let key = x.db.key(args.get(1));
    let Some(view) = read(&mut x.db, key)? else {
        x.reply.empty_array();
        return Ok(());
    };
    let (rank, count) = select(view, &query);
    reply::begin(x.reply, count, query.with_scores);
    view.visit(rank, count, query.reverse, |member, score| {
        reply::member(x.reply, member, score, query.with_scores);
        true
    });
    Ok(())
}

/// Rank and count of what the query selects, in its direction.
fn select(view: View<'_>, query: &Query<'_>) -> (usize, usize) {
    let (rank, count) = query.range.resolve(view, query.reverse);
    let skipped = match usize::try_from(query.offset) {
        Ok(offset) => offset,
        Err(_) if view.is_packed() => return (rank, 0),
        // Valkey counts a negative offset from the end of the range in its large form (only).
        Err(_) => match count.checked_sub(usize::try_from(query.offset.unsigned_abs()).unwrap_or(usize::MAX))
        {
            Some(from_end) => from_end,
            None => return (rank, 0),
        },
    };
    let left = count.saturating_sub(skipped);
    let count = usize::try_from(query.limit).map_or(left, |limit| limit.min(left));
    (rank.saturating_add(skipped), count)
}

/// `args`: the command's name, key, the two ends, options.
fn parse(args: Args<'_>, form: Form) -> Result<Query<'_>, Error> {
    let Form {
        mut by,
        mut reverse,
        store,
    } = form;
    let (mut with_scores, mut offset, mut limit) = (false, 0, -1);
    let mut at = 4;
    while at < args.len() {
        let word = args.get(at);
        if !store && fold::is(word, "WITHSCORES") {
            with_scores = true;
        } else if fold::is(word, "LIMIT") && at + 2 < args.len() {
            offset = parse_i64(args.get(at + 1)).ok_or(NOT_AN_INTEGER)?;
            limit = parse_i64(args.get(at + 2)).ok_or(NOT_AN_INTEGER)?;
            at += 2;
        } else if reverse.is_none() && fold::is(word, "REV") {
            reverse = Some(true);
        } else if by.is_none() && fold::is(word, "BYLEX") {
            by = Some(By::Lex);
        } else if by.is_none() && fold::is(word, "BYSCORE") {
            by = Some(By::Score);
        } else {
            return Err(SYNTAX);
        }
        at += 1;
    }
    let (by, reverse) = (by.unwrap_or(By::Rank), reverse.unwrap_or(false));
    if limit != -1 && by == By::Rank {
        return Err(LIMIT_BY_RANK);
    }
    if with_scores && by == By::Lex {
        return Err(SCORES_BY_LEX);
    }
    let (first, last) = (args.get(2), args.get(3));
    let (min, max) = if reverse { (last, first) } else { (first, last) };
    let range = match by {
        By::Rank => Range::Rank(
            parse_i64(first).ok_or(NOT_AN_INTEGER)?,
            parse_i64(last).ok_or(NOT_AN_INTEGER)?,
        ),
        By::Score => Range::Score(ScoreBound::parse(min)?, ScoreBound::parse(max)?),
        By::Lex => Range::Lex(LexBound::parse(min)?, LexBound::parse(max)?),
    };
    // By rank a LIMIT can only be "0 or more, all", which changes nothing.
    let offset = if by == By::Rank { 0 } else { offset };
    Ok(Query {
        range,
        reverse,
        with_scores,
        offset,
        limit,
    })
}

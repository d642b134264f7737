//! The lowest or highest members out: `ZPOPMIN`, `ZPOPMAX`, `ZMPOP` and their blocking forms.

use super::remove::settle;
use super::{edit, read, reply};
use crate::command::Args;
use crate::command::timeout;
use crate::effect::Effect;
use crate::error::{Error, NOT_POSITIVE, SYNTAX};
use crate::exec::{Exec, OnTimeout, Outcome};
use crate::keyspace::Key;
use crate::text::fold;
use crate::text::number::parse_i64;

const NUMKEYS: Error = Error::new("ERR numkeys should be greater than 0");
const COUNT: Error = Error::new("ERR count should be greater than 0");

#[derive(Clone, Copy, PartialEq)]
enum End {
    Min,
    Max,
}

/// How what was popped is answered.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Member, score, member, score …
    Flat,
    /// An array of pairs.
    Pairs,
    /// Key, member, score.
    Key,
    /// Key, array of pairs.
    KeyPairs,
}

pub(super) fn zpopmin(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_counted(x, args, End::Min)
}

pub(super) fn zpopmax(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_counted(x, args, End::Max)
}

fn pop_counted(x: &mut Exec<'_>, args: Args<'_>, end: End) -> Outcome {
    if args.len() > 3 {
        return Err(SYNTAX.into());
    }
    let count = match args.try_get(2) {
        None => None,
        Some(word) => {
            let count = parse_i64(word).and_then(|count| usize::try_from(count).ok());
            Some(count.ok_or(NOT_POSITIVE)?)
        }
    };
    let key = x.db.key(args.get(1));
    let exists = read(&mut x.db, key)?.is_some();
    if !exists || count == Some(0) {
        x.reply.empty_array();
        return Ok(());
    }
    let shape = if count.is_some() && x.reply.is_resp3() {
        Shape::Pairs
    } else {
        Shape::Flat
    };
    pop(x, key, end, count.unwrap_or(1), shape)
}

pub(super) fn bzpopmin(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_or_wait_one(x, args, End::Min)
}

pub(super) fn bzpopmax(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_or_wait_one(x, args, End::Max)
}

fn pop_or_wait_one(x: &mut Exec<'_>, args: Args<'_>, end: End) -> Outcome {
    let last = args.len() - 1;
    let timeout_ms = timeout::seconds(args.get(last), x.now)?;
    let keys = args.iter_from(1).take(last - 1);
    if pop_first(x, keys.clone(), end, 1, Shape::Key)? {
        return Ok(());
    }
    x.block(keys, timeout_ms, OnTimeout::NullArray)
}

pub(super) fn zmpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (count_keys, end, count) = parse(args, 1)?;
    if !pop_first(x, args.iter_from(2).take(count_keys), end, count, Shape::KeyPairs)? {
        x.reply.null_array();
    }
    Ok(())
}

pub(super) fn bzmpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (count_keys, end, count) = parse(args, 2)?;
    let timeout_ms = timeout::seconds(args.get(1), x.now)?;
    let keys = args.iter_from(3).take(count_keys);
    if pop_first(x, keys.clone(), end, count, Shape::KeyPairs)? {
        return Ok(());
    }
    x.block(keys, timeout_ms, OnTimeout::NullArray)
}

/// `numkeys key [key ...] MIN | MAX [COUNT count]` with `numkeys` at that place.
fn parse(args: Args<'_>, numkeys_at: usize) -> Result<(usize, End, usize), Error> {
    let above_zero = |word| parse_i64(word).filter(|number| *number > 0);
    let keys = above_zero(args.get(numkeys_at)).ok_or(NUMKEYS)?;
    let keys = usize::try_from(keys).map_err(|_| SYNTAX)?;
    let end_at = keys.saturating_add(numkeys_at + 1);
    let end = match args.try_get(end_at) {
        Some(word) if fold::is(word, "MIN") => End::Min,
        Some(word) if fold::is(word, "MAX") => End::Max,
        _ => return Err(SYNTAX),
    };
    let options = args.skip(end_at + 1);
    let count = match (options.len(), options.try_get(0), options.try_get(1)) {
        (0, ..) => 1,
        (len, Some(word), Some(count)) if fold::is(word, "COUNT") => {
            let count = above_zero(count).ok_or(COUNT)?;
            if len > 2 {
                return Err(SYNTAX);
            }
            usize::try_from(count).map_err(|_| COUNT)?
        }
        _ => return Err(SYNTAX),
    };
    Ok((keys, end, count))
}

/// Pops from the first of the keys that exists; `false` if none does.
fn pop_first<'k>(
    x: &mut Exec<'_>,
    keys: impl Iterator<Item = &'k [u8]>,
    end: End,
    count: usize,
    shape: Shape,
) -> Result<bool, crate::exec::Failure> {
    for key in keys {
        let key = x.db.key(key);
        if x.db
            .find_write_type(key, crate::keyspace::Type::SortedSet)?
            .is_some()
        {
            pop(x, key, end, count, shape)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Pops up to `count` members, at least one, of a sorted set that exists.
fn pop(x: &mut Exec<'_>, key: Key<'_>, end: End, count: usize, shape: Shape) -> Outcome {
    let reply = &mut *x.reply;
    let popped = edit(&mut x.db, key, |mut editor, effects, index| {
        let view = editor.view();
        let generation = view.generation();
        let count = count.min(view.len());
        let is_all = count == view.len();
        match shape {
            Shape::Flat => reply.array(count * 2),
            Shape::Pairs => reply.array(count),
            Shape::Key => {
                reply.array(count * 2 + 1);
                reply.bulk(key.bytes);
            }
            Shape::KeyPairs => {
                reply.array(2);
                reply.bulk(key.bytes);
                reply.array(count);
            }
        }
        editor.remove_range(0, count, end == End::Max, |member, score| {
            match shape {
                Shape::Flat | Shape::Key => {
                    reply.bulk(member);
                    reply.double(score);
                }
                Shape::Pairs | Shape::KeyPairs => reply::pair(reply, member, score),
            }
            if effects.on() && !is_all {
                effects.push(
                    index,
                    &Effect::ScoreDelete {
                        key: key.bytes,
                        generation,
                        member,
                    },
                );
            }
        });
        count
    })?;
    settle(
        &mut x.db,
        key,
        if end == End::Min { "zpopmin" } else { "zpopmax" },
        popped.unwrap_or(0),
    );
    Ok(())
}

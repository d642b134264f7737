//! `ZRANDMEMBER`.

use hashbrown::HashSet;

use super::{peek, read, reply};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, OUT_OF_RANGE, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Shard;
use crate::text::fold;
use crate::text::number::parse_i64;

const COUNT_RANGE: Error =
    Error::new("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807");
/// Most members that are answered with repetition: a larger reply is not built in one piece.
const REPEATED_MAX: u64 = 1 << 24;
/// Where fewer than one in so many members is wanted, they are drawn by rank instead of by a walk.
const SPARSE: usize = 8;

pub(super) fn zrandmember(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let Some(word) = args.try_get(2) else {
        return one(x, args);
    };
    let count = parse_i64(word).ok_or(NOT_AN_INTEGER)?;
    if count == i64::MIN {
        return Err(COUNT_RANGE.into());
    }
    let with_scores = match args.try_get(3) {
        None => false,
        Some(word) if args.len() == 4 && fold::is(word, "WITHSCORES") => {
            if count.unsigned_abs() > i64::MAX as u64 / 2 {
                return Err(OUT_OF_RANGE.into());
            }
            true
        }
        Some(_) => return Err(SYNTAX.into()),
    };
    if count < 0 && count.unsigned_abs() > REPEATED_MAX {
        return Err(OUT_OF_RANGE.into());
    }
    let key = x.db.key(args.get(1));
    let len = read(&mut x.db, key)?.map_or(0, |view| view.len());
    if count == 0 || len == 0 {
        x.reply.empty_array();
        return Ok(());
    }
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let ranks = match count {
        ..0 => Some((0..wanted).map(|_| below(x.db.shard, len)).collect()),
        _ if wanted < len => Some(distinct(x.db.shard, len, wanted)),
        _ => None,
    };
    let Some(view) = peek(&x.db, key) else {
        return Ok(());
    };
    reply::begin(x.reply, ranks.as_ref().map_or(len, Vec::len), with_scores);
    let mut show = |member: &[u8], score: f64| {
        reply::member(x.reply, member, score, with_scores);
        true
    };
    match ranks {
        // All of them, from the highest down, as Valkey walks.
        None => view.visit(0, len, true, show),
        Some(ranks) => ranks
            .into_iter()
            .for_each(|rank: usize| view.visit(rank, 1, false, &mut show)),
    }
    Ok(())
}

/// Without a count: one member, or null.
fn one(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let Some(len) = read(&mut x.db, key)?.map(|view| view.len()) else {
        x.reply.null();
        return Ok(());
    };
    let rank = below(x.db.shard, len);
    if let Some(view) = peek(&x.db, key) {
        view.visit(rank, 1, false, |member, _| {
            x.reply.bulk(member);
            true
        });
    }
    Ok(())
}

/// A random number below `bound`, which is above zero; the bias is below 2^-32 for all sets that fit.
fn below(shard: &mut Shard, bound: usize) -> usize {
    ((u128::from(shard.random()) * bound as u128) >> 64) as usize
}

/// `count` different ranks below `len`, every choice equally likely; `count` is below `len`.
fn distinct(shard: &mut Shard, len: usize, count: usize) -> Vec<usize> {
    if count < len / SPARSE {
        // Floyd's sample: draws one more each time, and the top of the range where that was drawn before.
        let mut seen: HashSet<usize, foldhash::fast::RandomState> = HashSet::default();
        return (len - count..len)
            .map(|top| {
                let drawn = below(shard, top + 1);
                let rank = if seen.contains(&drawn) { top } else { drawn };
                seen.insert(rank);
                rank
            })
            .collect();
    }
    // Selection sampling: each is taken with the odds of what is still wanted among what is left.
    let mut wanted = count;
    (0..len)
        .filter(|at| {
            let is_taken = below(shard, len - at) < wanted;
            wanted -= usize::from(is_taken);
            is_taken
        })
        .collect()
}

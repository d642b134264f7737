//! `ZADD` and `ZINCRBY`: members in, scores changed, under conditions.

use crate::command::Args;
use crate::effect::Effect;
use crate::error::{Error, NOT_A_FLOAT, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Key, Type, kind};
use crate::text::fold;
use crate::text::number::parse_f64;
use crate::value::sorted_set::{self, Editor};

const XX_WITH_NX: Error = Error::new("ERR XX and NX options at the same time are not compatible");
const GT_LT_NX: Error = Error::new("ERR GT, LT, and/or NX options at the same time are not compatible");
const INCR_PAIRS: Error = Error::new("ERR INCR option supports a single increment-element pair");
const NOT_A_NUMBER: Error = Error::new("ERR resulting score is not a number (NaN)");

#[derive(Clone, Copy, Default)]
struct Options {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
    changed: bool,
    increment: bool,
}

pub(super) fn zadd(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    add(x, args, Options::default())
}

pub(super) fn zincrby(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    add(
        x,
        args,
        Options {
            increment: true,
            ..Options::default()
        },
    )
}

fn parse(args: Args<'_>, mut options: Options) -> Result<(Options, Args<'_>), Error> {
    let mut at = 2;
    while let Some(word) = args.try_get(at) {
        match word.len() {
            2 if fold::is(word, "NX") => options.nx = true,
            2 if fold::is(word, "XX") => options.xx = true,
            2 if fold::is(word, "GT") => options.gt = true,
            2 if fold::is(word, "LT") => options.lt = true,
            2 if fold::is(word, "CH") => options.changed = true,
            4 if fold::is(word, "INCR") => options.increment = true,
            _ => break,
        }
        at += 1;
    }
    let pairs = args.skip(at);
    if pairs.len() == 0 || !pairs.len().is_multiple_of(2) {
        return Err(SYNTAX);
    }
    if options.nx && options.xx {
        return Err(XX_WITH_NX);
    }
    if options.nx && (options.gt || options.lt) || options.gt && options.lt {
        return Err(GT_LT_NX);
    }
    if options.increment && pairs.len() > 2 {
        return Err(INCR_PAIRS);
    }
    Ok((options, pairs))
}

/// What happened to the members of one command.
#[derive(Default)]
struct Tally {
    added: usize,
    updated: usize,
    /// The score that the last member has now; none if a condition held it back.
    score: Option<f64>,
    is_nan: bool,
}

fn add(x: &mut Exec<'_>, args: Args<'_>, options: Options) -> Outcome {
    let (options, pairs) = parse(args, options)?;
    let mut longest = 0;
    for at in (0..pairs.len()).step_by(2) {
        parse_f64(pairs.get(at)).ok_or(NOT_A_FLOAT)?;
        longest = longest.max(pairs.get(at + 1).len());
    }
    let key = x.db.key(args.get(1));
    let exists = x.db.find_write_type(key, Type::SortedSet)?.is_some();
    let mut tally = Tally::default();
    if exists || !options.xx {
        if !exists {
            let generation = x.db.shard.next_generation();
            sorted_set::begin(&mut x.db, key, generation);
            x.db.emit(Effect::Create {
                key: key.bytes,
                kind: kind::SORTED_SET,
                generation,
            });
        }
        tally = put_all(x, key, pairs, longest, options);
        if tally.is_nan {
            return Err(NOT_A_NUMBER.into());
        }
        if tally.added + tally.updated > 0 {
            let before = x.db.shard.stats.changes;
            x.db.touch(key);
            x.db.recount(before, tally.added + tally.updated);
            x.db.notify(
                Classes::SORTED_SET,
                if options.increment { "zincr" } else { "zadd" },
                key,
            );
        }
    }
    match (options.increment, tally.score) {
        (true, Some(score)) => x.reply.double(score),
        (true, None) => x.reply.null(),
        (false, _) if options.changed => x.reply.count(tally.added + tally.updated),
        (false, _) => x.reply.count(tally.added),
    }
    Ok(())
}

fn put_all(x: &mut Exec<'_>, key: Key<'_>, pairs: Args<'_>, longest: usize, options: Options) -> Tally {
    let mut tally = Tally::default();
    let index = x.db.index;
    let shard = &mut *x.db.shard;
    let table = &mut shard.databases[index as usize];
    let Some(mut slot) = table.get_mut(&mut shard.heap, key.hash, key.bytes) else {
        return tally;
    };
    let limits = shard.limits;
    let mut editor = Editor {
        slot: &mut slot,
        limits,
        scratch: &mut shard.scratch,
    };
    // As Valkey does, even where some of the members are there already.
    editor.convert_beyond(pairs.len() / 2, longest);
    let generation = editor.view().generation();
    for at in (0..pairs.len()).step_by(2) {
        let member = pairs.get(at + 1);
        let given = parse_f64(pairs.get(at)).unwrap_or(0.0);
        let mut put = None;
        editor.update(member, |old| {
            let decided = decide(old, given, options, &mut tally);
            put = decided.map(|score| (score, old.is_none()));
            decided
        });
        if let Some((score, created)) = put
            && shard.effects.on()
        {
            let effect = Effect::ScorePut {
                key: key.bytes,
                generation,
                member,
                score,
                created,
            };
            shard.effects.push(index, &effect);
        }
    }
    tally
}

/// The score to set, if the options allow it and it differs.
fn decide(old: Option<f64>, given: f64, options: Options, tally: &mut Tally) -> Option<f64> {
    tally.score = None;
    let Some(old) = old else {
        if options.xx {
            return None;
        }
        tally.added += 1;
        tally.score = Some(given);
        return Some(given);
    };
    if options.nx {
        return None;
    }
    let new = if options.increment { old + given } else { given };
    if new.is_nan() {
        tally.is_nan = true;
        return None;
    }
    if options.gt && new <= old || options.lt && new >= old {
        return None;
    }
    tally.score = Some(new);
    if new == old {
        return None;
    }
    tally.updated += 1;
    Some(new)
}

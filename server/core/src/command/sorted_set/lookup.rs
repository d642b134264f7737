//! Questions about single members and counts: `ZSCORE`, `ZRANK`, `ZCOUNT` and the like.

use super::bounds::{LexBound, Range, ScoreBound};
use super::read;
use crate::command::Args;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::text::fold;

pub(super) fn zcard(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let view = read(&mut x.db, key)?;
    x.reply.count(view.map_or(0, |view| view.len()));
    Ok(())
}

pub(super) fn zscore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    match read(&mut x.db, key)?.and_then(|view| view.score(args.get(2))) {
        Some(score) => x.reply.double(score),
        None => x.reply.null(),
    }
    Ok(())
}

pub(super) fn zmscore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let view = read(&mut x.db, key)?;
    x.reply.array(args.len() - 2);
    for member in args.iter_from(2) {
        match view.and_then(|view| view.score(member)) {
            Some(score) => x.reply.double(score),
            None => x.reply.null(),
        }
    }
    Ok(())
}

pub(super) fn zrank(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    rank(x, args, "zrank", false)
}

pub(super) fn zrevrank(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    rank(x, args, "zrevrank", true)
}

fn rank(x: &mut Exec<'_>, args: Args<'_>, name: &str, reverse: bool) -> Outcome {
    let with_score = match args.try_get(3) {
        _ if args.len() > 4 => return Err(Error::wrong_arity(name).into()),
        Some(word) if fold::is(word, "WITHSCORE") => true,
        Some(_) => return Err(SYNTAX.into()),
        None => false,
    };
    let key = x.db.key(args.get(1));
    let found = read(&mut x.db, key)?.and_then(|view| {
        let (rank, score) = view.rank(args.get(2))?;
        Some((if reverse { view.len() - 1 - rank } else { rank }, score))
    });
    match found {
        Some((rank, score)) if with_score => {
            x.reply.array(2);
            x.reply.count(rank);
            x.reply.double(score);
        }
        Some((rank, _)) => x.reply.count(rank),
        None if with_score => x.reply.null_array(),
        None => x.reply.null(),
    }
    Ok(())
}

pub(super) fn zcount(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let range = Range::Score(ScoreBound::parse(args.get(2))?, ScoreBound::parse(args.get(3))?);
    count(x, args, range)
}

pub(super) fn zlexcount(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let range = Range::Lex(LexBound::parse(args.get(2))?, LexBound::parse(args.get(3))?);
    count(x, args, range)
}

fn count(x: &mut Exec<'_>, args: Args<'_>, range: Range<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let view = read(&mut x.db, key)?;
    x.reply.count(view.map_or(0, |view| range.resolve(view, false).1));
    Ok(())
}

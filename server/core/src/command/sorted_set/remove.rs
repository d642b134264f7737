//! Members out by name or by range: `ZREM`, `ZREMRANGEBYRANK`, `ZREMRANGEBYSCORE`, `ZREMRANGEBYLEX`.

use super::bounds::{LexBound, Range, ScoreBound};
use super::edit;
use crate::command::Args;
use crate::effect::Effect;
use crate::error::NOT_AN_INTEGER;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key};
use crate::text::number::parse_i64;

pub(super) fn zrem(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let removed = edit(&mut x.db, key, |mut editor, effects, index| {
        let generation = editor.view().generation();
        let mut removed = 0;
        for member in args.iter_from(2) {
            if editor.remove(member).is_none() {
                continue;
            }
            removed += 1;
            if editor.is_empty() {
                // The end of the key tells it all.
                break;
            }
            if effects.on() {
                effects.push(
                    index,
                    &Effect::ScoreDelete {
                        key: key.bytes,
                        generation,
                        member,
                    },
                );
            }
        }
        removed
    })?;
    let removed = removed.unwrap_or(0);
    if removed > 0 {
        settle(&mut x.db, key, "zrem", removed);
    }
    x.reply.count(removed);
    Ok(())
}

pub(super) fn zremrangebyrank(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let first = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let last = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    remove(x, args, Range::Rank(first, last), "zremrangebyrank")
}

pub(super) fn zremrangebyscore(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let range = Range::Score(ScoreBound::parse(args.get(2))?, ScoreBound::parse(args.get(3))?);
    remove(x, args, range, "zremrangebyscore")
}

pub(super) fn zremrangebylex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let range = Range::Lex(LexBound::parse(args.get(2))?, LexBound::parse(args.get(3))?);
    remove(x, args, range, "zremrangebylex")
}

fn remove(x: &mut Exec<'_>, args: Args<'_>, range: Range<'_>, event: &'static str) -> Outcome {
    let key = x.db.key(args.get(1));
    let removed = edit(&mut x.db, key, |mut editor, effects, index| {
        let view = editor.view();
        let generation = view.generation();
        let (rank, count) = range.resolve(view, false);
        let is_all = count == view.len();
        if count == 0 || is_all {
            // Everything goes with its key.
            return (count, is_all);
        }
        editor.remove_range(rank, count, false, |member, _| {
            if effects.on() {
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
        (count, false)
    })?;
    let (removed, is_all) = removed.unwrap_or((0, false));
    match (removed, is_all) {
        (0, _) => {}
        (_, true) => delete(&mut x.db, key, event, removed),
        (_, false) => settle(&mut x.db, key, event, removed),
    }
    x.reply.count(removed);
    Ok(())
}

/// After so many members went: tells `event`, and deletes the key if it was the last of them.
pub(super) fn settle(db: &mut Db<'_>, key: Key<'_>, event: &'static str, removed: usize) {
    let is_empty = db
        .find_write(key)
        .is_some_and(|mut slot| super::View::of(&mut slot).is_empty());
    if is_empty {
        delete(db, key, event, removed);
    } else {
        let before = db.shard.stats.changes;
        db.touch(key);
        db.recount(before, removed);
        db.notify(Classes::SORTED_SET, event, key);
    }
}

fn delete(db: &mut Db<'_>, key: Key<'_>, event: &'static str, removed: usize) {
    let before = db.shard.stats.changes;
    db.delete(key);
    db.recount(before, removed);
    db.notify(Classes::SORTED_SET, event, key);
    db.notify(Classes::GENERIC, "del", key);
}

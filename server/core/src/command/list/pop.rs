//! `LPOP`, `RPOP` and `LMPOP`.

use super::ManyKeys;
use super::edit::{Edited, edit, is_list};
use crate::command::Args;
use crate::error::{Error, NOT_POSITIVE};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key};
use crate::resp::Reply;
use crate::text::number::parse_i64;
use crate::value::list::{List, View};

pub(super) fn lpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop(x, args, false)
}

pub(super) fn rpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop(x, args, true)
}

fn pop(x: &mut Exec<'_>, args: Args<'_>, back: bool) -> Outcome {
    let key = x.db.key(args.get(1));
    let count = match args.len() {
        2 => None,
        3 => Some(parse_i64(args.get(2)).filter(|n| *n >= 0).ok_or(NOT_POSITIVE)?),
        _ => return Err(Error::wrong_arity(if back { "rpop" } else { "lpop" }).into()),
    };
    match count {
        None => {
            if !take_one(&mut x.db, key, back, x.reply)? {
                x.reply.null();
            }
        }
        Some(0) if is_list(&mut x.db, key)? => x.reply.empty_array(),
        Some(count) => {
            if !take_many(&mut x.db, key, count as usize, back, x.reply)? {
                x.reply.null_array();
            }
        }
    }
    Ok(())
}

/// Writes one element of an end and removes it. `false`: there is no list, nothing was written.
pub(super) fn take_one(db: &mut Db<'_>, key: Key<'_>, back: bool, reply: &mut Reply) -> Result<bool, Error> {
    let edited = edit(db, key, |list, rows| {
        reply.bulk_or_null(list.end(back));
        rows.drop_end(list, 1, back);
        list.after_removing(rows.fill);
    })?;
    Ok(removed(db, key, back, edited))
}

/// As [`take_one`], for an array of up to `count` elements, in the order in which they are taken.
pub(super) fn take_many(
    db: &mut Db<'_>,
    key: Key<'_>,
    count: usize,
    back: bool,
    reply: &mut Reply,
) -> Result<bool, Error> {
    if count == 0 {
        return Ok(false);
    }
    let edited = edit(db, key, |list, rows| {
        let taken = count.min(list.len());
        write_end(list, taken, back, reply);
        rows.drop_end(list, taken, back);
        list.after_removing(rows.fill);
    })?;
    Ok(removed(db, key, back, edited))
}

fn write_end(list: &List, count: usize, back: bool, reply: &mut Reply) {
    reply.array(count);
    let view = View::Boxed(list);
    let values = if back {
        view.backwards(list.len() - 1)
    } else {
        view.forwards(0)
    };
    values.take(count).for_each(|value| reply.bulk(value));
}

/// Tells the events of a pop.
pub(super) fn removed(db: &mut Db<'_>, key: Key<'_>, back: bool, edited: Option<Edited<()>>) -> bool {
    let Some(edited) = edited else { return false };
    db.notify(Classes::LIST, if back { "rpop" } else { "lpop" }, key);
    if edited.deleted {
        db.notify(Classes::GENERIC, "del", key);
    }
    true
}

/// Pops from the first list among the keys: `[key, [element …]]`. `false`: none is there.
pub(super) fn take_first(x: &mut Exec<'_>, args: Args<'_>, wanted: &ManyKeys) -> Result<bool, Error> {
    for name in args.iter_from(wanted.first).take(wanted.count) {
        let key = x.db.key(name);
        if is_list(&mut x.db, key)? {
            x.reply.array(2);
            x.reply.bulk(name);
            return take_many(&mut x.db, key, wanted.elements, wanted.back, x.reply);
        }
    }
    Ok(false)
}

pub(super) fn lmpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let wanted = ManyKeys::parse(args, 1)?;
    if !take_first(x, args, &wanted)? {
        x.reply.null_array();
    }
    Ok(())
}

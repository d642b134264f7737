//! `LMOVE` and `RPOPLPUSH`: from an end of one list to an end of another, or of the same.

use super::edit::{Edited, edit, edit_or_create, is_list, read};
use super::parse_end;
use super::pop::removed;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;

/// From which end and to which; `true` is the back.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) from: bool,
    pub(super) to: bool,
}

impl Ends {
    /// The two words after the keys.
    pub(super) fn parse(args: Args<'_>) -> Result<Self, Error> {
        Ok(Self {
            from: parse_end(args.get(3))?,
            to: parse_end(args.get(4))?,
        })
    }

    pub(super) const TAIL_TO_HEAD: Self = Self {
        from: true,
        to: false,
    };
}

pub(super) fn lmove(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let ends = Ends::parse(args)?;
    move_or_null(x, args, ends)
}

pub(super) fn rpoplpush(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    move_or_null(x, args, Ends::TAIL_TO_HEAD)
}

fn move_or_null(x: &mut Exec<'_>, args: Args<'_>, ends: Ends) -> Outcome {
    if !move_element(x, args, ends)? {
        x.reply.null();
    }
    Ok(())
}

/// Moves and answers one element. `false`: the source is not there, nothing was written.
pub(super) fn move_element(x: &mut Exec<'_>, args: Args<'_>, ends: Ends) -> Result<bool, Error> {
    let (source, target) = (x.db.key(args.get(1)), x.db.key(args.get(2)));
    if !is_list(&mut x.db, source)? {
        return Ok(false);
    }
    is_list(&mut x.db, target)?;
    let mut moved = std::mem::take(&mut x.db.shard.lists.moved);
    moved.clear();
    if let Some(value) = read(&mut x.db, source)?.and_then(|list| list.end(ends.from)) {
        moved.extend_from_slice(value);
    }
    let pushed = if ends.to { "rpush" } else { "lpush" };
    if source.bytes == target.bytes {
        // One list: out at one end and in at the other, never empty in between for those who look on.
        edit(&mut x.db, source, |list, rows| {
            let fill = rows.fill;
            list.pop(ends.from, rows);
            list.before_adding(fill, moved.len(), 1);
            list.push(ends.to, &moved, fill, rows);
            list.after_removing(fill);
        })?;
        x.db.notify(Classes::LIST, pushed, target);
        removed(
            &mut x.db,
            source,
            ends.from,
            Some(Edited {
                result: (),
                deleted: false,
            }),
        );
    } else {
        let before = x.db.shard.stats.changes;
        edit_or_create(&mut x.db, target, |list, rows| {
            list.before_adding(rows.fill, moved.len(), 1);
            list.push(ends.to, &moved, rows.fill, rows);
        })?;
        x.db.notify(Classes::LIST, pushed, target);
        let edited = edit(&mut x.db, source, |list, rows| {
            rows.drop_end(list, 1, ends.from);
            list.after_removing(rows.fill);
        })?;
        removed(&mut x.db, source, ends.from, edited);
        x.db.recount(before, 1);
    }
    x.reply.bulk(&moved);
    x.db.shard.lists.moved = moved;
    Ok(true)
}

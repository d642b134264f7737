//! Keys under another name or in another database, moved or copied.

use super::{SAME_OBJECT, parse_target};
use crate::command::Args;
use crate::error::{NO_SUCH_KEY, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;
use crate::text::fold;

pub(super) fn rename(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (from, to) = (x.db.key(args.get(1)), x.db.key(args.get(2)));
    if !x.db.is_live(from) {
        return Err(NO_SUCH_KEY.into());
    }
    if from.bytes != to.bytes {
        let before = x.db.shard.stats.changes;
        x.db.delete(to);
        move_within(x, args);
        x.db.recount(before, 1);
    }
    x.reply.ok();
    Ok(())
}

pub(super) fn renamenx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (from, to) = (x.db.key(args.get(1)), x.db.key(args.get(2)));
    if !x.db.is_live(from) {
        return Err(NO_SUCH_KEY.into());
    }
    let is_free = from.bytes != to.bytes && !x.db.is_live(to);
    if is_free {
        let before = x.db.shard.stats.changes;
        move_within(x, args);
        x.db.recount(before, 1);
    }
    x.reply.count(usize::from(is_free));
    Ok(())
}

/// From the first key, which is there, to the second, which is not.
fn move_within(x: &mut Exec<'_>, args: Args<'_>) {
    let (from, to) = (x.db.key(args.get(1)), x.db.key(args.get(2)));
    x.db.rename(from, x.db.index, to);
    x.db.notify(Classes::GENERIC, "rename_from", from);
    x.db.notify(Classes::GENERIC, "rename_to", to);
}

pub(super) fn move_to(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let target = parse_target(x, args.get(2))?;
    if target == x.db.index {
        return Err(SAME_OBJECT.into());
    }
    let moves = x.db.is_live(key) && !x.db.other(target).is_live(key);
    if moves {
        let before = x.db.shard.stats.changes;
        x.db.rename(key, target, key);
        x.db.notify(Classes::GENERIC, "move_from", key);
        x.db.other(target).notify(Classes::GENERIC, "move_to", key);
        x.db.recount(before, 1);
    }
    x.reply.count(usize::from(moves));
    Ok(())
}

pub(super) fn copy(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (from, to) = (x.db.key(args.get(1)), x.db.key(args.get(2)));
    let mut target = x.db.index;
    let mut replace = false;
    let mut at = 3;
    while at < args.len() {
        match (args.get(at), args.try_get(at + 1)) {
            (word, _) if fold::is(word, "REPLACE") => replace = true,
            (word, Some(number)) if fold::is(word, "DB") => {
                target = parse_target(x, number)?;
                at += 1;
            }
            _ => return Err(SYNTAX.into()),
        }
        at += 1;
    }
    if target == x.db.index && from.bytes == to.bytes {
        return Err(SAME_OBJECT.into());
    }
    let mut copies = x.db.find(from).is_some();
    let before = x.db.shard.stats.changes;
    if copies && x.db.other(target).is_live(to) {
        copies = replace && x.db.other(target).delete(to);
    }
    if copies {
        x.db.copy(from, target, to);
        x.db.other(target).notify(Classes::GENERIC, "copy_to", to);
        x.db.recount(before, 1);
    }
    x.reply.count(usize::from(copies));
    Ok(())
}

//! Adding, removing and moving members.

use crate::command::Args;
use crate::error::WRONG_TYPE;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, Type};

pub(super) fn sadd(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let added = add_all(&mut x.db, key, args, 2)?;
    if added > 0 {
        let before = x.db.shard.stats.changes;
        x.db.touch(key);
        x.db.recount(before, added);
        x.db.notify(Classes::SET, "sadd", key);
    }
    x.reply.count(added);
    Ok(())
}

fn add_all(db: &mut Db<'_>, key: Key<'_>, args: Args<'_>, from: usize) -> Result<usize, crate::error::Error> {
    let new = db.find_write_type(key, Type::Set)?.is_none();
    if new {
        db.create_set(key);
    }
    let Some(mut writer) = db.open_set(key) else {
        return Ok(0);
    };
    let count = args.len() - from;
    writer.make_room(count);
    let mut added = 0;
    for member in args.iter_from(from) {
        added += usize::from(writer.add(member));
        if new && added == 1 {
            // The first member decided the form; now the form decides whether all the others fit.
            writer.make_room(count);
        }
    }
    Ok(added)
}

pub(super) fn srem(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let Some(mut writer) = x.db.set_writer(key)? else {
        x.reply.integer(0);
        return Ok(());
    };
    let mut removed = 0;
    for member in args.iter_from(2) {
        removed += usize::from(writer.remove(member));
    }
    let empty = writer.view().is_empty();
    if removed > 0 {
        removed_from(&mut x.db, key, empty, "srem", removed);
    }
    x.reply.count(removed);
    Ok(())
}

/// What follows the removal of so many members: touch, event, and the end of a set without members.
pub(super) fn removed_from(db: &mut Db<'_>, key: Key<'_>, empty: bool, event: &'static str, removed: usize) {
    let before = db.shard.stats.changes;
    if !empty {
        db.touch(key);
    }
    db.notify(Classes::SET, event, key);
    if empty {
        db.delete_emptied(key);
    }
    db.recount(before, removed);
}

pub(super) fn smove(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (source, destination, member) = (x.db.key(args.get(1)), x.db.key(args.get(2)), args.get(3));
    let Some(kind) = x.db.find_write(source).map(|slot| Type::of(slot.kind())) else {
        x.reply.integer(0);
        return Ok(());
    };
    if kind != Type::Set {
        return Err(WRONG_TYPE.into());
    }
    x.db.find_write_type(destination, Type::Set)?;
    let Some(mut writer) = x.db.open_set(source) else {
        return Ok(());
    };
    let has = writer.view().contains(member);
    if !has || source.bytes == destination.bytes {
        x.reply.count(usize::from(has));
        return Ok(());
    }
    writer.remove(member);
    let empty = writer.view().is_empty();
    removed_from(&mut x.db, source, empty, "srem", 1);
    if x.db.find_write(destination).is_none() {
        x.db.create_set(destination);
    }
    if x.db
        .open_set(destination)
        .is_some_and(|mut writer| writer.add(member))
    {
        x.db.touch(destination);
        x.db.notify(Classes::SET, "sadd", destination);
    }
    x.reply.integer(1);
    Ok(())
}

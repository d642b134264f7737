//! `LREM` and `LTRIM`.

use super::edit::edit;
use super::range;
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;
use crate::text::number::parse_i64;

pub(super) fn lrem(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let count = match parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)? {
        i64::MIN => return Err(Error::new(super::OUT_OF_SYMMETRIC_RANGE).into()),
        count => count,
    };
    let limit = if count == 0 {
        usize::MAX
    } else {
        count.unsigned_abs() as usize
    };
    let (key, value) = (x.db.key(args.get(1)), args.get(3));
    let edited = edit(&mut x.db, key, |list, rows| {
        let removed = list.remove_equal(value, limit, count < 0, rows);
        if removed > 0 {
            list.after_removing(rows.fill);
        }
        removed
    })?;
    let Some(edited) = edited else {
        x.reply.integer(0);
        return Ok(());
    };
    if edited.result > 0 {
        x.db.notify(Classes::LIST, "lrem", key);
        if edited.deleted {
            x.db.notify(Classes::GENERIC, "del", key);
        }
    }
    x.reply.count(edited.result);
    Ok(())
}

pub(super) fn ltrim(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let start = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let stop = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let key = x.db.key(args.get(1));
    let edited = edit(&mut x.db, key, |list, rows| {
        match range(start, stop, list.len()) {
            None => rows.all_gone = true,
            Some(kept) => {
                let behind = list.len() - kept.end;
                rows.drop_end(list, kept.start, false);
                rows.drop_end(list, behind, true);
                list.after_removing(rows.fill);
            }
        }
    })?;
    if let Some(edited) = edited {
        x.db.notify(Classes::LIST, "ltrim", key);
        if edited.deleted {
            x.db.notify(Classes::GENERIC, "del", key);
        }
    }
    x.reply.ok();
    Ok(())
}

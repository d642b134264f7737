//! `LINSERT` and `LSET`.

use super::edit::edit;
use super::from_front;
use crate::command::Args;
use crate::error::{INDEX_OUT_OF_RANGE, NO_SUCH_KEY, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;
use crate::text::fold;
use crate::text::number::parse_i64;
use crate::value::list::View;

pub(super) fn linsert(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let after = match args.get(2) {
        word if fold::is(word, "AFTER") => true,
        word if fold::is(word, "BEFORE") => false,
        _ => return Err(SYNTAX.into()),
    };
    let (key, pivot, value) = (x.db.key(args.get(1)), args.get(3), args.get(4));
    let edited = edit(&mut x.db, key, |list, rows| {
        let at = View::Boxed(list)
            .forwards(0)
            .position(|element| element == pivot)?;
        list.before_adding(rows.fill, value.len(), 1);
        list.insert(at, after, value, rows.fill, rows);
        Some(list.len())
    })?;
    match edited.map(|edited| edited.result) {
        None => x.reply.integer(0),
        Some(None) => x.reply.integer(-1),
        Some(Some(len)) => {
            x.db.notify(Classes::LIST, "linsert", key);
            x.reply.count(len);
        }
    }
    Ok(())
}

pub(super) fn lset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, value) = (x.db.key(args.get(1)), args.get(3));
    let index = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER);
    let edited = edit(&mut x.db, key, |list, rows| {
        let index = usize::try_from(from_front(index?, list.len())).map_err(|_| INDEX_OUT_OF_RANGE)?;
        list.before_adding(rows.fill, value.len(), 1);
        let there = list.replace(index, value, rows.fill, rows);
        list.after_removing(rows.fill);
        if there { Ok(()) } else { Err(INDEX_OUT_OF_RANGE) }
    })?;
    edited.ok_or(NO_SUCH_KEY)?.result?;
    x.db.notify(Classes::LIST, "lset", key);
    x.reply.ok();
    Ok(())
}

//! `LPUSH`, `RPUSH` and the two that want a list to be there.

use super::edit::{Rows, edit, edit_or_create};
use crate::command::Args;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Key};
use crate::value::list::List;

pub(super) fn lpush(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let len = edit_or_create(&mut x.db, key, |list, rows| push_all(list, rows, args, false))?;
    answer(x, key, len, false)
}

pub(super) fn rpush(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let len = edit_or_create(&mut x.db, key, |list, rows| push_all(list, rows, args, true))?;
    answer(x, key, len, true)
}

pub(super) fn lpushx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    push_existing(x, args, false)
}

pub(super) fn rpushx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    push_existing(x, args, true)
}

fn push_existing(x: &mut Exec<'_>, args: Args<'_>, back: bool) -> Outcome {
    let key = x.db.key(args.get(1));
    match edit(&mut x.db, key, |list, rows| push_all(list, rows, args, back))? {
        Some(edited) => answer(x, key, edited.result, back),
        None => {
            x.reply.integer(0);
            Ok(())
        }
    }
}

/// The length after all elements from the third word on were pushed.
fn push_all(list: &mut List, rows: &mut Rows<'_>, args: Args<'_>, back: bool) -> usize {
    let fill = rows.fill;
    let values = args.iter_from(2);
    list.before_adding(fill, values.clone().map(<[u8]>::len).sum(), values.len());
    for value in values {
        list.push(back, value, fill, rows);
    }
    list.len()
}

fn answer(x: &mut Exec<'_>, key: Key<'_>, len: usize, back: bool) -> Outcome {
    x.db.notify(Classes::LIST, if back { "rpush" } else { "lpush" }, key);
    x.reply.count(len);
    Ok(())
}

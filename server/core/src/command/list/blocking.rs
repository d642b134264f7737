//! The commands that wait for a list: each does what its plain relative does, or waits where that one
//! would find nothing.

use super::ManyKeys;
use super::edit::is_list;
use super::moves::{Ends, move_element};
use super::pop::{take_first, take_one};
use crate::command::Args;
use crate::command::timeout;
use crate::exec::{Exec, OnTimeout, Outcome};

pub(super) fn blpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_one(x, args, false)
}

pub(super) fn brpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pop_one(x, args, true)
}

fn pop_one(x: &mut Exec<'_>, args: Args<'_>, back: bool) -> Outcome {
    let keys = args.len() - 2;
    let wait_ms = timeout::seconds(args.get(args.len() - 1), x.now)?;
    for name in args.iter_from(1).take(keys) {
        let key = x.db.key(name);
        if is_list(&mut x.db, key)? {
            x.reply.array(2);
            x.reply.bulk(name);
            take_one(&mut x.db, key, back, x.reply)?;
            return Ok(());
        }
    }
    x.block(args.iter_from(1).take(keys), wait_ms, OnTimeout::NullArray)
}

pub(super) fn blmpop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let wanted = ManyKeys::parse(args, 2)?;
    let wait_ms = timeout::seconds(args.get(1), x.now)?;
    if take_first(x, args, &wanted)? {
        return Ok(());
    }
    x.block(
        args.iter_from(wanted.first).take(wanted.count),
        wait_ms,
        OnTimeout::NullArray,
    )
}

pub(super) fn blmove(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let ends = Ends::parse(args)?;
    move_or_wait(x, args, ends, args.get(5))
}

pub(super) fn brpoplpush(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    move_or_wait(x, args, Ends::TAIL_TO_HEAD, args.get(3))
}

fn move_or_wait(x: &mut Exec<'_>, args: Args<'_>, ends: Ends, wait: &[u8]) -> Outcome {
    let wait_ms = timeout::seconds(wait, x.now)?;
    if move_element(x, args, ends)? {
        return Ok(());
    }
    if !x.caller.may_block {
        // Where nothing may wait the answer is a null as of LMOVE; a wait that ends says a null array.
        x.reply.null();
        return Ok(());
    }
    x.block(args.iter_from(1).take(1), wait_ms, OnTimeout::NullArray)
}

//! `BITFIELD` and `BITFIELD_RO`.

use super::operation::{Action, Operations};
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Classes;

const ONLY_GET: Error = Error::new("ERR BITFIELD_RO only supports the GET subcommand");

pub(super) fn bitfield(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    run(x, args, false)
}

pub(super) fn bitfield_ro(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    run(x, args, true)
}

/// Reads the line once to check all of it, and again to do it: operations are not kept.
fn run(x: &mut Exec<'_>, args: Args<'_>, only_get: bool) -> Outcome {
    let operations = Operations::new(args, x.db.shard.limits.proto_max_bulk_len);
    let mut count = 0;
    let mut written_end = 0;
    for operation in operations {
        let operation = operation?;
        count += 1;
        if operation.action != Action::Get {
            written_end = written_end.max(operation.field.bytes().end);
        }
    }
    if written_end == 0 {
        return read(x, args, operations, count);
    }
    if only_get {
        return Err(ONLY_GET.into());
    }
    write(x, args, operations, count, written_end)
}

fn read(x: &mut Exec<'_>, args: Args<'_>, operations: Operations<'_>, count: usize) -> Outcome {
    let key = x.db.key(args.get(1));
    let bytes = x.db.string(key)?.unwrap_or(b"");
    x.reply.array(count);
    for operation in operations {
        x.reply.integer(operation?.number(bytes));
    }
    Ok(())
}

fn write(
    x: &mut Exec<'_>,
    args: Args<'_>,
    operations: Operations<'_>,
    count: usize,
    written_end: usize,
) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut string = x.db.open_string(key, written_end)?;
    let created = string.created;
    let grown = created || string.len_before < written_end;
    let bytes = string.slot.bytes_mut();
    x.reply.array(count);
    let mut changed = false;
    for operation in operations {
        let operation = operation?;
        let old = operation.number(bytes);
        let Some(new) = operation.outcome(old) else {
            x.reply.null();
            continue;
        };
        if operation.action != Action::Get {
            operation.field.set(bytes, new as u64);
            changed |= grown || new != old;
        }
        let answers_old = matches!(operation.action, Action::Set(_));
        x.reply.integer(if answers_old { old } else { new });
    }
    if changed || grown {
        let written = operations
            .flatten()
            .filter(|operation| operation.action != Action::Get);
        x.db.tell_edit(key, created, written.map(|operation| operation.field.bytes()));
        x.db.touch(key);
    }
    if changed {
        x.db.notify(Classes::STRING, "setbit", key);
    }
    Ok(())
}

//! `PFADD` and `PFMERGE`.

use super::form_of;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db, Key, kind};
use crate::memory::{Expiry, NewValue};
use crate::value::hyperloglog::{self, Form, STALE_AT, dense, place};

pub(super) fn pfadd(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let form = x.db.find_edit(key).map(|slot| form_of(&slot)).transpose()?;
    let changed = match form {
        Some(Form::Dense) => add_to_dense(&mut x.db, key, args),
        _ => {
            let mut value = std::mem::take(&mut x.db.shard.scratch);
            let changed = add_to_sparse(&mut x.db, key, args, form.is_none(), &mut value);
            x.db.shard.scratch = value;
            changed?
        }
    };
    if changed > 0 {
        let before = x.db.shard.stats.changes;
        x.db.touch(key);
        x.db.recount(before, changed);
        x.db.notify(Classes::STRING, "pfadd", key);
    }
    x.reply.integer(i64::from(changed > 0));
    Ok(())
}

/// Raises registers where they stand, and tells each alone. How many.
fn add_to_dense(db: &mut Db<'_>, key: Key<'_>, args: Args<'_>) -> usize {
    let tells = db.shard.effects.on();
    let mut raised = Vec::new();
    let mut changed = 0;
    let mut was_fresh = false;
    if let Some(mut slot) = db.find_write(key) {
        let value = slot.bytes_mut();
        for element in args.iter_from(2) {
            let (index, register) = place(element);
            if dense::raise(value, index, register) {
                changed += 1;
                if tells {
                    raised.push(index);
                }
            }
        }
        was_fresh = changed > 0 && hyperloglog::set_stale(value);
    }
    if changed > 0 {
        let stale = was_fresh.then_some(STALE_AT..STALE_AT + 1);
        let registers = raised.into_iter().map(dense::bytes_of);
        db.tell_edit(key, false, registers.chain(stale));
    }
    changed
}

/// Works on a copy, so that a value that turns out to be corrupt is left as it was. How many registers were
/// raised; a new key counts as one.
fn add_to_sparse(
    db: &mut Db<'_>,
    key: Key<'_>,
    args: Args<'_>,
    created: bool,
    value: &mut Vec<u8>,
) -> Result<usize, Error> {
    value.clear();
    if created {
        value.extend_from_slice(&hyperloglog::empty());
    } else {
        value.extend_from_slice(db.peek_string(key));
    }
    let bytes_max = db.shard.limits.hll_sparse_max_bytes;
    let mut changed = usize::from(created);
    for element in args.iter_from(2) {
        let (index, register) = place(element);
        changed += usize::from(hyperloglog::raise(value, index, register, bytes_max)?);
    }
    if changed > 0 {
        hyperloglog::set_stale(value);
        store(db, key, value);
    }
    Ok(changed)
}

/// Stores the value whole, as an edit of the string that was there.
pub(super) fn store(db: &mut Db<'_>, key: Key<'_>, value: &[u8]) {
    let put = db.put(key, kind::STRING_RAW, NewValue::Bytes(value), Expiry::Keep);
    db.tell_whole(key, !put.replaced);
}

pub(super) fn pfmerge(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut registers = [0; hyperloglog::REGISTERS];
    let mut is_dense = false;
    for word in args.iter_from(1) {
        let key = x.db.key(word);
        if let Some(slot) = x.db.find(key) {
            let form = form_of(&slot)?;
            is_dense |= form == Form::Dense;
            hyperloglog::merge(&mut registers, slot.entry().bytes(), form)?;
        }
    }
    let key = x.db.key(args.get(1));
    let mut value = match x.db.find_write(key) {
        None => hyperloglog::empty().to_vec(),
        Some(slot) => slot.entry().bytes().to_vec(),
    };
    if is_dense && hyperloglog::form(&value) == Some(Form::Sparse) {
        value = hyperloglog::to_dense(&value)?;
    }
    if is_dense {
        // The target's own registers are among those merged.
        dense::fill(&mut value, &registers);
    } else {
        let bytes_max = x.db.shard.limits.hll_sparse_max_bytes;
        for (index, register) in registers
            .iter()
            .enumerate()
            .filter(|(_, register)| **register > 0)
        {
            hyperloglog::raise(&mut value, index, *register, bytes_max)?;
        }
    }
    hyperloglog::set_stale(&mut value);
    store(&mut x.db, key, &value);
    x.db.touch(key);
    x.db.notify(Classes::STRING, "pfadd", key);
    x.reply.ok();
    Ok(())
}

//! Whether keys are there, of which type, and their removal.

use crate::command::Args;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Type};
use crate::memory::Entry;
use crate::text::glob;

/// Random keys that `RANDOMKEY` draws, removing those past their time, before it walks for one.
const DRAWS: usize = 100;

/// `DEL` and `UNLINK`: what is large is freed later in either case.
pub(super) fn del(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut deleted = 0;
    for name in args.iter_from(1) {
        let key = x.db.key(name);
        if x.db.delete(key) {
            x.db.notify(Classes::GENERIC, "del", key);
            deleted += 1;
        }
    }
    x.reply.count(deleted);
    Ok(())
}

pub(super) fn exists(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.db.no_touch = true;
    count_found(x, args)
}

/// Marks keys as used, also for a client that otherwise does not.
pub(super) fn touch(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.db.no_touch = false;
    count_found(x, args)
}

fn count_found(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut found = 0;
    for name in args.iter_from(1) {
        let key = x.db.key(name);
        found += usize::from(x.db.find(key).is_some());
    }
    x.reply.count(found);
    Ok(())
}

pub(super) fn type_of(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.db.no_touch = true;
    let key = x.db.key(args.get(1));
    let name = x.db.find(key).map_or("none", |slot| Type::of(slot.kind()).name());
    x.reply.simple(name);
    Ok(())
}

pub(super) fn keys(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.db.shard.uncommitted.note_any();
    let pattern = args.get(1);
    let now_ms = x.now.ms();
    let shard = &*x.db.shard;
    let head = x.reply.begin();
    let mut shown = 0;
    shard.databases[x.db.index as usize].for_each(&shard.heap, |entry| {
        if is_due(&entry, now_ms) || (pattern != b"*" && !glob::matches(pattern, entry.key())) {
            return;
        }
        x.reply.bulk(entry.key());
        shown += 1;
    });
    x.reply.end_array(head, shown);
    Ok(())
}

/// Whether the entry's time has come, so that nobody may see it.
pub(super) fn is_due<B>(entry: &Entry<'_, B>, now_ms: u64) -> bool {
    entry.expire_at_ms().is_some_and(|at| at <= now_ms)
}

pub(super) fn randomkey(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.db.shard.uncommitted.note_any();
    for _ in 0..DRAWS {
        let random = x.db.shard.random();
        let shard = &*x.db.shard;
        let Some(entry) = shard.databases[x.db.index as usize].sample(&shard.heap, random, false) else {
            x.reply.null();
            return Ok(());
        };
        if !is_due(&entry, x.now.ms()) {
            x.reply.bulk(entry.key());
            return Ok(());
        }
        let name: Box<[u8]> = entry.key().into();
        let key = x.db.key(&name);
        x.db.expire(key);
    }
    // Nearly all keys are past their time.
    let now_ms = x.now.ms();
    let shard = &*x.db.shard;
    let mut found = None;
    shard.databases[x.db.index as usize].for_each(&shard.heap, |entry| {
        if found.is_none() && !is_due(&entry, now_ms) {
            found = Some(entry.key());
        }
    });
    x.reply.bulk_or_null(found);
    Ok(())
}

pub(super) fn dbsize(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.db.shard.uncommitted.note_any();
    let keys = x.db.shard.databases[x.db.index as usize].len();
    x.reply.count(keys);
    Ok(())
}

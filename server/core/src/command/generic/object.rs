//! `OBJECT`: how a value stands in memory, and what eviction knows of it.

use crate::command::{Args, COMMANDS, help, list};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::access::idle_seconds;
use crate::keyspace::{Collection, Type};
use crate::memory::Slot;
use crate::value::{hash, set, sorted_set, string};

const NO_FREQUENCY: Error = Error::new(
    "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when \
     switching between policies at runtime LRU and LFU data will take some time to adjust.",
);
const NO_IDLE_TIME: Error = Error::new(
    "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between \
     policies at runtime LRU and LFU data will take some time to adjust.",
);

/// Looks without marking, and without telling of a miss.
fn find<'d>(x: &'d mut Exec<'_>, args: Args<'_>) -> Option<Slot<'d, Collection>> {
    let key = x.db.key(args.get(2));
    if !x.db.is_live(key) {
        x.db.shard.stats.misses += 1;
        return None;
    }
    x.db.no_touch = true;
    x.db.find(key)
}

pub(super) fn encoding(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let name = find(x, args).map(|mut slot| encoding_of(&mut slot));
    match name {
        Some(name) => x.reply.bulk_str(name),
        None => x.reply.null(),
    }
    Ok(())
}

/// The name of the form that a value has.
pub fn encoding_of(slot: &mut Slot<'_, Collection>) -> &'static str {
    match Type::of(slot.kind()) {
        Type::String => string::encoding(slot.entry()),
        Type::List => list::view(slot.entry()).encoding(),
        Type::SortedSet => sorted_set::View::of(slot).encoding(),
        Type::Hash => hash::encoding(&slot.entry()),
        Type::Set => set::encoding(&slot.entry()),
        Type::Stream => "stream",
        Type::Idem | Type::Limit => "raw",
    }
}

pub(super) fn refcount(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    match find(x, args).is_some() {
        true => x.reply.integer(1),
        false => x.reply.null(),
    }
    Ok(())
}

pub(super) fn idletime(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let Some(access) = find(x, args).map(|slot| slot.access()) else {
        x.reply.null();
        return Ok(());
    };
    if x.db.shard.access.lfu {
        return Err(NO_IDLE_TIME.into());
    }
    x.reply.integer(i64::from(idle_seconds(access, x.now.ms())));
    Ok(())
}

pub(super) fn freq(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let Some(access) = find(x, args).map(|slot| slot.access()) else {
        x.reply.null();
        return Ok(());
    };
    let policy = x.db.shard.access;
    if !policy.lfu {
        return Err(NO_FREQUENCY.into());
    }
    x.reply.integer(i64::from(policy.frequency(access, x.now.ms())));
    Ok(())
}

pub(super) fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    if let Some(entry) = COMMANDS.find(b"object") {
        help::write(x.reply, entry.spec);
    }
    Ok(())
}

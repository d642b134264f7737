//! Keys by slot. Keys are not kept by slot, so they are looked for: a walk over the shard that is bounded, behind
//! which a count is an estimate.

use super::{Outcome, table};
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::Exec;
use crate::keyspace::Role;
use crate::text::crc16::{SLOTS, slot_of};
use crate::text::number::parse_i64;

const INVALID_SLOT: Error = Error::new("ERR Invalid slot");
const INVALID: Error = Error::new("ERR Invalid slot or number of keys");
/// Keys that are looked at, at most: some tens of milliseconds.
const LOOKS_MAX: usize = 1 << 20;

fn valid_slot(number: i64) -> Option<u16> {
    u16::try_from(number).ok().filter(|slot| *slot < SLOTS)
}

pub(super) fn count(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    table(x)?;
    let number = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let slot = valid_slot(number).ok_or(INVALID_SLOT)?;
    let mut count = 0;
    let looked = walk(x, slot, |_| {
        count += 1;
        true
    });
    // Slots are spread evenly over a table, as hashes of keys are.
    let keys = x.db.shard.databases[0].len();
    let estimate = if looked < LOOKS_MAX {
        count
    } else {
        count * keys / looked
    };
    x.reply.count(estimate);
    Ok(())
}

pub(super) fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    table(x)?;
    let number = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let most = parse_i64(args.get(3)).ok_or(NOT_AN_INTEGER)?;
    let (Some(slot), Ok(most)) = (valid_slot(number), usize::try_from(most)) else {
        return Err(INVALID.into());
    };
    let mut names: Vec<Box<[u8]>> = Vec::new();
    if most > 0 {
        walk(x, slot, |name| {
            names.push(name.into());
            names.len() < most
        });
        names.truncate(most);
    }
    x.reply.array(names.len());
    names.iter().for_each(|name| x.reply.bulk(name));
    Ok(())
}

/// Visits the slot's keys, until `visit` has enough or so many keys were looked at; how many that were.
fn walk(x: &Exec<'_>, slot: u16, mut visit: impl FnMut(&[u8]) -> bool) -> usize {
    let shard = &*x.db.shard;
    let is_here = x.world.topology.shard_of(slot) == x.world.shard_at_hand && shard.role != Role::Absent;
    let (mut looked, mut cursor, mut goes_on) = (0, 0, is_here);
    while goes_on {
        cursor = shard.databases[0].scan(&shard.heap, cursor, &mut |entry| {
            looked += 1;
            if goes_on && slot_of(entry.key()) == slot {
                goes_on = visit(entry.key());
            }
        });
        goes_on &= cursor != 0 && looked < LOOKS_MAX;
    }
    looked
}

//! What is kept on disk: saves, and waiting for what was written to be durable.
//!
//! The log has every change from the moment that it is acknowledged. A save has the image take in all of it, so that
//! the log may forget it.

use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, NOT_POSITIVE, SYNTAX};
use crate::exec::{Await, Exec, OnTimeout, Outcome};
use crate::options::Durability;
use crate::text::fold;
use crate::text::number::parse_i64;

const KEEPS_NOTHING: Error = Error::new(
    "ERR nothing is saved with durability memory: start the server with durability everysec or always",
);
const NO_AOF: Error =
    Error::new("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
const NUMLOCAL_RANGE: Error = Error::new("ERR value is out of range, value must between 0 and 1");
const NO_ROOM: Error = Error::new(
    "ERR the image could not be made, the disk is full: what was acknowledged is safe in the log all the same",
);
const NO_SAVE_RUNS: Error = Error::new("ERR Background saving is currently not in progress or scheduled");

pub(super) fn keeps(x: &Exec<'_>) -> bool {
    x.world.options.durability() != Durability::Memory
}

fn check_keeps(x: &Exec<'_>) -> Result<(), Error> {
    if keeps(x) { Ok(()) } else { Err(KEEPS_NOTHING) }
}

pub(super) fn save(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    check_keeps(x)?;
    if !x.has_come() {
        return x.block_for(Await::Image, 0);
    }
    if x.world.saves.has_failed {
        return Err(NO_ROOM.into());
    }
    x.reply.ok();
    Ok(())
}

pub(super) fn background_save(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 2 {
        return Err(SYNTAX.into());
    }
    match args.try_get(1) {
        None => {}
        Some(word) if fold::is(word, "SCHEDULE") => {}
        // What runs is of use to the log, whoever asked for it: it goes on.
        Some(word) if fold::is(word, "CANCEL") => return Err(NO_SAVE_RUNS.into()),
        Some(_) => return Err(SYNTAX.into()),
    }
    check_keeps(x)?;
    x.world.wishes.save_in_background();
    x.reply.simple("Background saving started");
    Ok(())
}

/// Nothing is rewritten: the image takes the log's place.
pub(super) fn background_rewrite(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    check_keeps(x)?;
    x.world.wishes.save_in_background();
    x.reply.simple("Background append only file rewriting started");
    Ok(())
}

pub(super) fn last_save(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.integer(x.world.saves.last_seconds as i64);
    Ok(())
}

fn timeout_ms(word: &[u8]) -> Result<u64, Error> {
    let timeout_ms = parse_i64(word).ok_or(Error::new("ERR timeout is not an integer or out of range"))?;
    u64::try_from(timeout_ms).map_err(|_| Error::new("ERR timeout is negative"))
}

/// Replicas that have all that was answered before: a majority has it, this node among them. A client's answers keep
/// the order of its commands, so nothing has to be waited for.
fn confirmed(x: &Exec<'_>) -> i64 {
    let rows = x.world.cluster.iter().flat_map(|table| &table.rows);
    rows.map(|row| row.voters.len() as i64 / 2).min().unwrap_or(0)
}

/// Where more are asked for than a majority is sure to have (a node of its own has none), the wait ends with its time.
pub(super) fn wait(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let wanted = parse_i64(args.get(1)).ok_or(NOT_AN_INTEGER)?;
    let timeout_ms = timeout_ms(args.get(2))?;
    let confirmed = confirmed(x);
    if wanted > confirmed && x.caller.may_block {
        return x.block(std::iter::empty(), timeout_ms, OnTimeout::RunAgain);
    }
    x.reply.integer(confirmed);
    Ok(())
}

/// Whether what the client wrote is durable here, and on how many replicas. Waits for whatever was written before
/// it, by whomever.
pub(super) fn wait_aof(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let wants_local = match parse_i64(args.get(1)).ok_or(NOT_AN_INTEGER)? {
        0 => false,
        1 => true,
        _ => return Err(NUMLOCAL_RANGE.into()),
    };
    let replicas = parse_i64(args.get(2)).and_then(|count| u64::try_from(count).ok());
    let replicas = replicas.ok_or(NOT_POSITIVE)?;
    let timeout_ms = timeout_ms(args.get(3))?;
    let keeps = keeps(x);
    if wants_local && !keeps {
        return Err(NO_AOF.into());
    }
    let is_synced = keeps && x.world.wishes.is_synced && x.db.shard.effects.is_empty();
    let local = x.has_come() || !x.caller.retry && is_synced;
    let satisfied = replicas == 0 && (local || !wants_local);
    if !satisfied && x.caller.may_block {
        let awaits = if keeps { Await::Sync } else { Await::Keys };
        return x.block_for(awaits, timeout_ms);
    }
    x.reply.array(2);
    x.reply.integer(i64::from(local));
    x.reply.integer(0);
    Ok(())
}

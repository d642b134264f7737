//! `IDEM`: a piece of work that many may ask for is done by one of them, and its result is kept for all.
//!
//! Whoever begins first gets a lease and a fence, a number of the shard that only grows. Only the holder of a
//! running lease, who shows its token and fence, may complete, extend or abort it.

mod begin;
mod finish;
mod look;

use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, RM_DELETE, RO_ACCESS, RW_ACCESS_UPDATE,
    RW_UPDATE, command,
};
use crate::command::{Args, help};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::text::number::parse_u64;
use crate::value::idem::{FINGERPRINT_MAX, TOKEN_MAX};

/// Milliseconds.
const LEASE_DEFAULT: u64 = 30_000;
const LEASE_MAX: u64 = 24 * 3_600_000;
const TTL_DEFAULT: u64 = 24 * 3_600_000;
const TTL_MAX: u64 = 365 * 24 * 3_600_000;

const BAD_FINGERPRINT: Error = Error::new("ERR the fingerprint must have from 1 to 64 bytes");
const BAD_TOKEN: Error = Error::new("ERR the token must have from 1 to 64 bytes");
const BAD_FENCE: Error = Error::new("ERR the fence must be an integer from 1 to 9223372036854775807");
const BAD_LEASE: Error = Error::new("ERR LEASE must be an integer of milliseconds from 1 to 86400000");
const BAD_TTL: Error = Error::new("ERR TTL must be an integer of milliseconds from 1 to 31536000000");
const BAD_BLOCK: Error = Error::new("ERR BLOCK must be an integer of milliseconds, 0 for no limit");
const MISMATCH: Error = Error::new("MISMATCH this key was begun with another fingerprint");
const STALE: Error = Error::new("STALE the lease is over or somebody else's");
const NOT_FOUND: Error = Error::new("NOTFOUND nothing was begun at this key");

const fn sub(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Native, name, arity, run).acl(Categories::IDEMPOTENCY)
}

const fn key(flags: KeyFlags) -> KeySpec {
    KeySpec::at(2, 0, 1, flags)
}

/// COMPLETE is not refused for want of memory: what it stores is bounded, and without it the work would be
/// done again.
const KEEP: Flags = Flags::WRITE.or(Flags::FAST);

pub const IDEM: Command = sub("idem", -2, show_help)
    .docs("1.0.0", "", "Holds the commands that run a piece of work once.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        sub("begin", -4, begin::begin)
            .flags(
                KEEP.or(Flags::DENYOOM)
                    .or(Flags::BLOCKING)
                    .or(Flags::ASKS_FOR_ROOM),
            )
            .keys(&[key(RW_ACCESS_UPDATE)])
            .docs(
                "1.0.0",
                "key fingerprint [LEASE milliseconds] [TTL milliseconds] [OWNER token] [BLOCK milliseconds]",
                "Takes the work on, or tells who is at it, or what came of it.",
            ),
        sub("complete", -6, finish::complete)
            .flags(KEEP)
            .keys(&[key(RW_UPDATE)])
            .docs(
                "1.0.0",
                "key token fence result [TTL milliseconds]",
                "Keeps the result of the work for all who ask.",
            ),
        sub("abort", 5, finish::abort)
            .flags(KEEP)
            .keys(&[key(RM_DELETE)])
            .docs(
                "1.0.0",
                "key token fence",
                "Gives the work up: the next may begin it.",
            ),
        sub("extend", 7, finish::extend)
            .flags(KEEP)
            .keys(&[key(RW_UPDATE)])
            .docs(
                "1.0.0",
                "key token fence LEASE milliseconds",
                "Lets the lease run for so long from now.",
            ),
        sub("get", 3, look::get)
            .flags(Flags::READONLY.or(Flags::FAST))
            .keys(&[key(RO_ACCESS)])
            .docs("1.0.0", "key", "Shows how the work stands."),
        sub("help", 2, show_help)
            .flags(Flags::LOADING.or(Flags::STALE))
            .docs("1.0.0", "", "Shows this text."),
    ]);

fn show_help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help::write(x.reply, &IDEM);
    Ok(())
}

/// A number of milliseconds from 1 to `max`.
fn milliseconds(word: &[u8], max: u64, refused: Error) -> Result<u64, Error> {
    parse_u64(word).filter(|ms| (1..=max).contains(ms)).ok_or(refused)
}

fn lease(word: &[u8]) -> Result<u64, Error> {
    milliseconds(word, LEASE_MAX, BAD_LEASE)
}

fn ttl(word: &[u8]) -> Result<u64, Error> {
    milliseconds(word, TTL_MAX, BAD_TTL)
}

fn token(word: &[u8]) -> Result<&[u8], Error> {
    if (1..=TOKEN_MAX).contains(&word.len()) {
        Ok(word)
    } else {
        Err(BAD_TOKEN)
    }
}

fn fingerprint(word: &[u8]) -> Result<&[u8], Error> {
    if (1..=FINGERPRINT_MAX).contains(&word.len()) {
        Ok(word)
    } else {
        Err(BAD_FINGERPRINT)
    }
}

fn fence(word: &[u8]) -> Result<u64, Error> {
    parse_u64(word)
        .filter(|fence| (1..=i64::MAX as u64).contains(fence))
        .ok_or(BAD_FENCE)
}

//! What people build on a cache by hand, as commands of their own: run this once (`IDEM`), no more than this
//! often (`LIMIT`, and `CL.THROTTLE` and `INCREX`, which other servers know it by).
//!
//! A record is one row at its key. A call that changes nothing (busy, done, denied, a peek) emits no effect
//! and touches nothing. Events of the native class: `idem-begin`, `idem-complete`, `idem-extend`,
//! `idem-abort`, `limit-charge`, `limit-refund`, `limit-reset`; what removes a key tells `del` as well.

pub mod idem;
pub mod increx;
pub mod limit;
#[cfg(test)]
mod tests;

use crate::command::spec::{Categories, Command, Flags, Group, KeySpec, RW_ACCESS_UPDATE, command};
use crate::engine::Obstacle;
use crate::error::Error;
use crate::exec::Exec;

const GROW: Flags = Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST);

/// A log without room refuses changes; what is only looked at is answered all the same.
fn is_full(x: &Exec<'_>) -> bool {
    x.world.obstacles.has(Obstacle::LogFull)
}

/// The record was written by a later version, or its bytes are damaged.
const UNREADABLE: Error = Error::new("ERR the record at this key cannot be read by this version");

pub const COMMANDS: &[Command] = &[
    idem::IDEM,
    command(Group::Native, "limit", -3, limit::limit)
        .flags(GROW.or(Flags::ASKS_FOR_ROOM))
        .acl(Categories::LIMIT)
        .keys(limit::KEYS)
        .docs(
            "1.0.0",
            "<key <RATE count PER milliseconds [BURST burst] | WINDOW count PER milliseconds> [COST cost] [PEEK] [NOWAIT] | MULTI numkeys <key <RATE count PER milliseconds [BURST burst] | WINDOW count PER milliseconds> [COST cost] [PEEK] [NOWAIT]> [key ...] | REFUND key COST cost | RESET key>",
            "Admits a call if a rate or a window has room for it, and charges it.",
        )
        .complexity("O(N) for N keys named"),
    command(Group::Native, "cl.throttle", -5, limit::throttle)
        .flags(GROW.or(Flags::ASKS_FOR_ROOM))
        .acl(Categories::LIMIT)
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "1.0.0",
            "key max-burst count-per-period period [quantity]",
            "Admits a call by a rate, with the words and the answer of redis-cell.",
        ),
    command(Group::String, "increx", -2, increx::increx)
        .flags(GROW)
        .acl(Categories::STRING)
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "1.0.0",
            "key [BYFLOAT increment | BYINT increment] [LBOUND lowerbound] [UBOUND upperbound] [SATURATE] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] [ENX]",
            "Adds to a number within bounds, and sets when it goes.",
        ),
];

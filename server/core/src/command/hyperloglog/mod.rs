//! HyperLogLogs: strings that estimate how many different elements were added.

mod add;
mod count;
mod debug;
mod self_test;

#[cfg(test)]
mod tests;

use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, RO_ACCESS, RW_INSERT, command,
};
use crate::error::{Error, WRONG_TYPE};
use crate::exec::Failure;
use crate::keyspace::{Collection, Type};
use crate::memory::Slot;
use crate::value::hyperloglog::{Corrupt, Form, form};

const READ: Flags = Flags::READONLY;
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);

/// As in Valkey, where counting writes the count into the value.
const COUNTED: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS);

const NOT_ONE: Error = Error::new("WRONGTYPE Key is not a valid HyperLogLog string value.");
const CORRUPT: Error = Error::new("INVALIDOBJ Corrupted HLL object detected");

impl From<Corrupt> for Error {
    fn from(_: Corrupt) -> Self {
        CORRUPT
    }
}

impl From<Corrupt> for Failure {
    fn from(corrupt: Corrupt) -> Self {
        Self::Error(corrupt.into())
    }
}

const fn row(
    name: &'static str,
    arity: i16,
    run: Handler,
    flags: Flags,
    keys: &'static [KeySpec],
) -> Command {
    command(Group::HyperLogLog, name, arity, run)
        .acl(Categories::HYPERLOGLOG)
        .flags(flags)
        .keys(keys)
}

pub const COMMANDS: &[Command] = &[
    row(
        "pfadd",
        -2,
        add::pfadd,
        STORE.or(Flags::FAST),
        &[KeySpec::one(RW_INSERT)],
    )
    .docs(
        "2.8.9",
        "key [element [element ...]]",
        "Adds elements to a HyperLogLog, which is made if absent.",
    )
    .complexity("O(N) for N elements"),
    row("pfcount", -2, count::pfcount, READ, &[KeySpec::all(COUNTED)])
        .docs(
            "2.8.9",
            "key [key ...]",
            "Estimates how many different elements were added to HyperLogLogs together.",
        )
        .complexity("O(1) for one key, O(N) with large constants for N"),
    row(
        "pfdebug",
        3,
        debug::pfdebug,
        STORE.or(Flags::ADMIN),
        &[KeySpec::at(2, 0, 1, COUNTED)],
    )
    .docs(
        "2.8.9",
        "subcommand key",
        "Shows or changes how a HyperLogLog is stored.",
    )
    .complexity("N/A"),
    row(
        "pfmerge",
        -2,
        add::pfmerge,
        STORE,
        &[
            KeySpec::one(COUNTED.or(KeyFlags::INSERT)),
            KeySpec::at(2, -1, 1, RO_ACCESS),
        ],
    )
    .docs(
        "2.8.9",
        "destkey [sourcekey [sourcekey ...]]",
        "Merges HyperLogLogs into one.",
    )
    .complexity("O(N) for N keys, with large constants"),
    command(Group::HyperLogLog, "pfselftest", 1, self_test::pfselftest)
        .acl(Categories::HYPERLOGLOG)
        .flags(Flags::ADMIN)
        .docs("2.8.9", "", "Checks the HyperLogLog code.")
        .complexity("N/A"),
];

/// The form of the HyperLogLog that the entry holds.
fn form_of(slot: &Slot<'_, Collection>) -> Result<Form, Error> {
    if Type::of(slot.kind()) != Type::String {
        return Err(WRONG_TYPE);
    }
    form(slot.entry().bytes()).ok_or(NOT_ONE)
}

//! Bitmaps: strings read and written bit by bit.

mod combine;
mod field;
mod operation;
mod range;
mod single;

#[cfg(test)]
mod tests;

use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, OW_UPDATE, RO_ACCESS, RW_ACCESS_UPDATE,
    command,
};
use crate::error::Error;
use crate::text::number::parse_i64;

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);

const ONE_READ: &[KeySpec] = &[KeySpec::one(RO_ACCESS)];
const FIELD_KEY: KeyFlags = RW_ACCESS_UPDATE.or(KeyFlags::VARIABLE);

const BAD_OFFSET: Error = Error::new("ERR bit offset is not an integer or out of range");

const fn row(
    name: &'static str,
    arity: i16,
    run: Handler,
    flags: Flags,
    keys: &'static [KeySpec],
) -> Command {
    command(Group::Bitmap, name, arity, run)
        .acl(Categories::BITMAP)
        .flags(flags)
        .keys(keys)
}

pub const COMMANDS: &[Command] = &[
    row("bitcount", -2, range::bitcount, READ, ONE_READ)
        .docs(
            "2.6.0",
            "key [start [end [BYTE | BIT]]]",
            "Counts the bits that are set in a string or a part of it.",
        )
        .complexity("O(N) for N bytes looked at"),
    row("bitfield", -2, field::bitfield, STORE, &[KeySpec::one(FIELD_KEY)])
        .docs(
            "3.2.0",
            "key [GET encoding offset | [OVERFLOW <WRAP | SAT | FAIL>] <SET encoding offset value | INCRBY encoding offset increment> ...]",
            "Reads, sets and adds to integers of any width that stand anywhere in a string.",
        )
        .complexity("O(1) for each operation"),
    row("bitfield_ro", -2, field::bitfield_ro, READ_FAST, ONE_READ)
        .docs(
            "6.0.0",
            "key [GET encoding offset [GET encoding offset ...]]",
            "Reads integers of any width that stand anywhere in a string.",
        )
        .complexity("O(1) for each operation"),
    row(
        "bitop",
        -4,
        combine::bitop,
        STORE,
        &[
            KeySpec::at(2, 0, 1, OW_UPDATE),
            KeySpec::at(3, -1, 1, RO_ACCESS),
        ],
    )
    .docs(
        "2.6.0",
        "<AND | OR | XOR | NOT> destkey key [key ...]",
        "Combines strings bit by bit and stores the result.",
    )
    .complexity("O(N) for N bytes in all"),
    row("bitpos", -3, range::bitpos, READ, ONE_READ)
        .docs(
            "2.8.7",
            "key bit [start [end [BYTE | BIT]]]",
            "Finds the first bit that is set, or is not, in a string or a part of it.",
        )
        .complexity("O(N) for N bytes looked at"),
    row("getbit", 3, single::getbit, READ_FAST, ONE_READ).docs(
        "2.2.0",
        "key offset",
        "Answers one bit of a string.",
    ),
    row("setbit", 4, single::setbit, STORE, &[KeySpec::one(RW_ACCESS_UPDATE)]).docs(
        "2.2.0",
        "key offset value",
        "Sets or clears one bit of a string, which grows as far as needed.",
    ),
];

/// The offset of a bit that a string of at most `bytes_max` bytes can have.
fn offset(word: &[u8], bytes_max: usize) -> Result<u64, Error> {
    parse_i64(word)
        .and_then(|offset| in_bounds(offset, bytes_max))
        .ok_or(BAD_OFFSET)
}

fn in_bounds(offset: i64, bytes_max: usize) -> Option<u64> {
    let offset = u64::try_from(offset).ok()?;
    (offset / 8 < bytes_max as u64).then_some(offset)
}

//! The rows of the set commands.

use super::{algebra, random, read, write};
use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeySpec, OW_UPDATE, RO, RO_ACCESS, RW_ACCESS_DELETE,
    RW_DELETE, RW_INSERT, command,
};

const fn set(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Set, name, arity, run).acl(Categories::SET)
}

/// A destination, then sources.
const STORE: &[KeySpec] = &[KeySpec::at(1, 0, 1, OW_UPDATE), KeySpec::at(2, -1, 1, RO_ACCESS)];

pub const COMMANDS: &[Command] = &[
    set("sadd", -3, write::sadd)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_INSERT)])
        .docs(
            "1.0.0",
            "key member [member ...]",
            "Adds members, and answers how many of them are new.",
        )
        .complexity("O(N) for N members given"),
    set("srem", -3, write::srem)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_DELETE)])
        .docs(
            "1.0.0",
            "key member [member ...]",
            "Removes members; the key goes with the last of them.",
        )
        .complexity("O(N) for N members given"),
    set("smove", 4, write::smove)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[
            KeySpec::at(1, 0, 1, RW_ACCESS_DELETE),
            KeySpec::at(2, 0, 1, RW_INSERT),
        ])
        .docs(
            "1.0.0",
            "source destination member",
            "Moves a member from one set to another.",
        )
        .complexity("O(1)"),
    set("spop", -2, random::spop)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_ACCESS_DELETE)])
        .docs(
            "1.0.0",
            "key [count]",
            "Removes members picked at random and answers them.",
        )
        .complexity("O(N) for N members picked"),
    set("srandmember", -2, random::srandmember)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "1.0.0",
            "key [count]",
            "Picks members at random; a negative count may pick one several times.",
        )
        .complexity("O(N) for N members picked"),
    set("sismember", 3, read::sismember)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO)])
        .docs("1.0.0", "key member", "Tells whether a set has a member.")
        .complexity("O(1)"),
    set("smismember", -3, read::smismember)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "6.2.0",
            "key member [member ...]",
            "Tells for each of several members whether a set has it.",
        )
        .complexity("O(N) for N members given"),
    set("smembers", 2, read::smembers)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs("1.0.0", "key", "Answers all members.")
        .complexity("O(N) for N members in the set"),
    set("scard", 2, read::scard)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO)])
        .docs("1.0.0", "key", "Counts the members of a set.")
        .complexity("O(1)"),
    set("sscan", -3, read::sscan)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.8.0",
            "key cursor [MATCH pattern] [COUNT count]",
            "Visits the members of a set a part at a time.",
        )
        .complexity("O(1) a call, O(N) for all N members"),
    set("sinter", -2, algebra::sinter)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::all(RO_ACCESS)])
        .docs(
            "1.0.0",
            "key [key ...]",
            "Answers the members that all sets have.",
        )
        .complexity("O(N*M) for N members in the smallest of M sets"),
    set("sintercard", -3, algebra::sintercard)
        .flags(Flags::READONLY.or(Flags::MOVABLE_KEYS))
        .keys(&[KeySpec::counted(1, RO_ACCESS)])
        .docs(
            "7.0.0",
            "numkeys key [key ...] [LIMIT limit]",
            "Counts the members that all sets have, up to a limit.",
        )
        .complexity("O(N*M) for N members in the smallest of M sets"),
    set("sinterstore", -3, algebra::sinterstore)
        .flags(Flags::WRITE.or(Flags::DENYOOM))
        .keys(STORE)
        .docs(
            "1.0.0",
            "destination key [key ...]",
            "Stores the members that all sets have.",
        )
        .complexity("O(N*M) for N members in the smallest of M sets"),
    set("sunion", -2, algebra::sunion)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::all(RO_ACCESS)])
        .docs(
            "1.0.0",
            "key [key ...]",
            "Answers the members that any of the sets has.",
        )
        .complexity("O(N) for N members in all sets"),
    set("sunionstore", -3, algebra::sunionstore)
        .flags(Flags::WRITE.or(Flags::DENYOOM))
        .keys(STORE)
        .docs(
            "1.0.0",
            "destination key [key ...]",
            "Stores the members that any of the sets has.",
        )
        .complexity("O(N) for N members in all sets"),
    set("sdiff", -2, algebra::sdiff)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::all(RO_ACCESS)])
        .docs(
            "1.0.0",
            "key [key ...]",
            "Answers the members of the first set that none of the others has.",
        )
        .complexity("O(N*M) for N members in the first of M sets"),
    set("sdiffstore", -3, algebra::sdiffstore)
        .flags(Flags::WRITE.or(Flags::DENYOOM))
        .keys(STORE)
        .docs(
            "1.0.0",
            "destination key [key ...]",
            "Stores the members of the first set that none of the others has.",
        )
        .complexity("O(N*M) for N members in the first of M sets"),
];

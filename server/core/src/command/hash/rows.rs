//! The rows of the hash commands.

use super::{expiry, extended, random, read, write};
use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeySpec, RO, RO_ACCESS, RW_ACCESS_DELETE, RW_ACCESS_UPDATE,
    RW_DELETE, RW_INSERT, RW_UPDATE, command,
};

const fn hash(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Hash, name, arity, run).acl(Categories::HASH)
}

pub const COMMANDS: &[Command] = &[
    hash("hget", 3, read::hget)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.0.0",
            "key field",
            "Answers the value of a field.",
        )
        .complexity("O(1)"),
    hash("hmget", -3, read::hmget)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.0.0",
            "key field [field ...]",
            "Answers the values of several fields, nil for those that are absent.",
        )
        .complexity("O(N) for N fields asked for"),
    hash("hgetall", 2, read::hgetall)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.0.0",
            "key",
            "Answers every field with its value.",
        )
        .complexity("O(N) for N fields in the hash"),
    hash("hkeys", 2, read::hkeys)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.0.0",
            "key",
            "Answers the names of all fields.",
        )
        .complexity("O(N) for N fields in the hash"),
    hash("hvals", 2, read::hvals)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.0.0",
            "key",
            "Answers the values of all fields.",
        )
        .complexity("O(N) for N fields in the hash"),
    hash("hlen", 2, read::hlen)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO)])
        .docs(
            "2.0.0",
            "key",
            "Counts the fields of a hash.",
        )
        .complexity("O(1)"),
    hash("hstrlen", 3, read::hstrlen)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO)])
        .docs(
            "3.2.0",
            "key field",
            "Answers the length of a field's value in bytes.",
        )
        .complexity("O(1)"),
    hash("hexists", 3, read::hexists)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO)])
        .docs(
            "2.0.0",
            "key field",
            "Tells whether a hash has a field.",
        )
        .complexity("O(1)"),
    hash("hrandfield", -2, random::hrandfield)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "6.2.0",
            "key [count [WITHVALUES]]",
            "Picks fields at random; a negative count may pick one several times.",
        )
        .complexity("O(N) for N fields picked"),
    hash("hscan", -3, read::hscan)
        .flags(Flags::READONLY)
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "2.8.0",
            "key cursor [MATCH pattern] [COUNT count] [NOVALUES]",
            "Visits the fields of a hash a part at a time.",
        )
        .complexity("O(1) a call, O(N) for all N fields"),
    hash("hset", -4, write::hset)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "2.0.0",
            "key field value [field value ...]",
            "Stores fields, and answers how many of them are new.",
        )
        .complexity("O(N) for N fields given"),
    hash("hmset", -4, write::hmset)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "2.0.0",
            "key field value [field value ...]",
            "Stores fields; HSET does the same and tells more.",
        )
        .complexity("O(N) for N fields given"),
    hash("hsetnx", 4, write::hsetnx)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_INSERT)])
        .docs(
            "2.0.0",
            "key field value",
            "Stores a field unless it is there already.",
        )
        .complexity("O(1)"),
    hash("hdel", -3, write::hdel)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_DELETE)])
        .docs(
            "2.0.0",
            "key field [field ...]",
            "Removes fields; the key goes with the last of them.",
        )
        .complexity("O(N) for N fields given"),
    hash("hincrby", 4, write::hincrby)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "2.0.0",
            "key field increment",
            "Adds an integer to a field, which starts from 0.",
        )
        .complexity("O(1)"),
    hash("hincrbyfloat", 4, write::hincrbyfloat)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "2.6.0",
            "key field increment",
            "Adds a decimal number to a field, which starts from 0.",
        )
        .complexity("O(1)"),
    hash("hgetdel", -5, extended::hgetdel)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_ACCESS_DELETE)])
        .docs(
            "9.1.0",
            "key FIELDS numfields field [field ...]",
            "Answers the values of fields and removes them.",
        )
        .complexity("O(N) for N fields given"),
    hash("hgetex", -5, extended::hgetex)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "9.0.0",
            "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST] FIELDS numfields field [field ...]",
            "Answers the values of fields and changes when they expire.",
        )
        .complexity("O(N) for N fields given"),
    hash("hsetex", -6, extended::hsetex)
        .flags(Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST))
        .keys(&[KeySpec::one(RW_INSERT)])
        .docs(
            "9.0.0",
            "key [NX | XX] [FNX | FXX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL] FIELDS numfields field value [field value ...]",
            "Stores fields with a time at which they expire, under conditions if asked.",
        )
        .complexity("O(N) for N fields given"),
    hash("hexpire", -6, expiry::hexpire)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "9.0.0",
            "key seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            "Lets fields expire after so many seconds.",
        )
        .complexity("O(N) for N fields given"),
    hash("hpexpire", -6, expiry::hpexpire)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "9.0.0",
            "key milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            "Lets fields expire after so many milliseconds.",
        )
        .complexity("O(N) for N fields given"),
    hash("hexpireat", -6, expiry::hexpireat)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "9.0.0",
            "key unix-time-seconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            "Lets fields expire at a Unix time in seconds.",
        )
        .complexity("O(N) for N fields given"),
    hash("hpexpireat", -6, expiry::hpexpireat)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "9.0.0",
            "key unix-time-milliseconds [NX | XX | GT | LT] FIELDS numfields field [field ...]",
            "Lets fields expire at a Unix time in milliseconds.",
        )
        .complexity("O(N) for N fields given"),
    hash("httl", -5, expiry::httl)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "9.0.0",
            "key FIELDS numfields field [field ...]",
            "Answers in how many seconds fields expire.",
        )
        .complexity("O(N) for N fields given"),
    hash("hpttl", -5, expiry::hpttl)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "9.0.0",
            "key FIELDS numfields field [field ...]",
            "Answers in how many milliseconds fields expire.",
        )
        .complexity("O(N) for N fields given"),
    hash("hexpiretime", -5, expiry::hexpiretime)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "9.0.0",
            "key FIELDS numfields field [field ...]",
            "Answers at which Unix time in seconds fields expire.",
        )
        .complexity("O(N) for N fields given"),
    hash("hpexpiretime", -5, expiry::hpexpiretime)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs(
            "9.0.0",
            "key FIELDS numfields field [field ...]",
            "Answers at which Unix time in milliseconds fields expire.",
        )
        .complexity("O(N) for N fields given"),
    hash("hpersist", -5, expiry::hpersist)
        .flags(Flags::WRITE.or(Flags::FAST))
        .keys(&[KeySpec::one(RW_UPDATE)])
        .docs(
            "9.0.0",
            "key FIELDS numfields field [field ...]",
            "Lets fields stay for ever.",
        )
        .complexity("O(N) for N fields given"),
];

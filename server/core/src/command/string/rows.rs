//! The rows of the string commands.

use super::{edit, get, lcs, many, number, set};
use crate::command::spec::{
    Begin, Categories, Command, Find, Flags, Group, Handler, Join, KeyFlags, KeySpec, OW_INSERT, OW_UPDATE,
    RM_DELETE, RO, RO_ACCESS, RW_ACCESS_DELETE, RW_ACCESS_UPDATE, RW_INSERT, RW_UPDATE, Route, command,
};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);
const STORE_FAST: Flags = STORE.or(Flags::FAST);
const END_FAST: Flags = Flags::WRITE.or(Flags::FAST);

const ONE_READ: &[KeySpec] = &[KeySpec::one(RO_ACCESS)];
const ONE_CHANGE: &[KeySpec] = &[KeySpec::one(RW_ACCESS_UPDATE)];
const ONE_STORE: &[KeySpec] = &[KeySpec::one(OW_UPDATE)];
const SET_KEY: KeyFlags = RW_ACCESS_UPDATE.or(KeyFlags::VARIABLE);
/// `numkeys key value [key value ...]`
const COUNTED_PAIRS: KeySpec = KeySpec {
    begin: Begin::Index(1),
    find: Find::KeyNum {
        count_at: 0,
        first: 1,
        step: 2,
    },
    flags: OW_UPDATE,
};

const fn row(
    name: &'static str,
    arity: i16,
    run: Handler,
    flags: Flags,
    keys: &'static [KeySpec],
) -> Command {
    command(Group::String, name, arity, run)
        .acl(Categories::STRING)
        .flags(flags)
        .keys(keys)
}

pub const COMMANDS: &[Command] = &[
    row("append", 3, edit::append, STORE_FAST, &[KeySpec::one(RW_INSERT)])
        .docs("2.0.0", "key value", "Adds bytes to the end of a string, which is made if absent.")
        .complexity("O(M) for M bytes added, amortized"),
    row("decr", 2, number::decr, STORE_FAST, ONE_CHANGE).docs(
        "1.0.0",
        "key",
        "Takes one from the integer at a key; nothing there counts as 0.",
    ),
    row("decrby", 3, number::decrby, STORE_FAST, ONE_CHANGE).docs(
        "1.0.0",
        "key decrement",
        "Takes a number from the integer at a key; nothing there counts as 0.",
    ),
    row("delifeq", 3, get::delifeq, END_FAST, &[KeySpec::one(RM_DELETE)]).docs(
        "9.0.0",
        "key value",
        "Deletes a key if its string is the one given.",
    ),
    row("get", 2, get::get, READ_FAST, ONE_READ).docs("1.0.0", "key", "Answers the string at a key."),
    row("getdel", 2, get::getdel, END_FAST, &[KeySpec::one(RW_ACCESS_DELETE)]).docs(
        "6.2.0",
        "key",
        "Answers the string at a key and deletes the key.",
    ),
    row("getex", -2, get::getex, END_FAST, ONE_CHANGE).docs(
        "6.2.0",
        "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | PERSIST]",
        "Answers the string at a key, and sets or clears the key's expiry if asked.",
    ),
    row("getrange", 4, get::getrange, READ, ONE_READ)
        .docs("2.4.0", "key start end", "Answers a part of the string at a key.")
        .complexity("O(N) for N bytes answered"),
    row("getset", 3, set::getset, STORE_FAST, ONE_CHANGE).docs(
        "1.0.0",
        "key value",
        "Stores a string and answers the one that was there before.",
    ),
    row("incr", 2, number::incr, STORE_FAST, ONE_CHANGE).docs(
        "1.0.0",
        "key",
        "Adds one to the integer at a key; nothing there counts as 0.",
    ),
    row("incrby", 3, number::incrby, STORE_FAST, ONE_CHANGE).docs(
        "1.0.0",
        "key increment",
        "Adds a number to the integer at a key; nothing there counts as 0.",
    ),
    row("incrbyfloat", 3, number::incrbyfloat, STORE_FAST, ONE_CHANGE).docs(
        "2.6.0",
        "key increment",
        "Adds to the decimal number at a key; nothing there counts as 0.",
    ),
    row("lcs", -3, lcs::lcs, READ, &[KeySpec::at(1, 1, 1, RO_ACCESS)])
        .docs(
            "7.0.0",
            "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
            "Finds the longest common subsequence of two strings.",
        )
        .complexity("O(N*M) for strings of N and M bytes"),
    row("mget", -2, get::mget, READ_FAST, &[KeySpec::all(RO_ACCESS)])
        .route(Route::Split(Join::Interleave))
        .docs("1.0.0", "key [key ...]", "Answers the strings at several keys.")
        .complexity("O(N) for N keys"),
    row("mset", -3, many::mset, STORE, &[KeySpec::at(1, -1, 2, OW_UPDATE)])
        .route(Route::Split(Join::Ok))
        .docs("1.0.1", "key value [key value ...]", "Stores several strings at once.")
        .complexity("O(N) for N keys"),
    row("msetex", -4, many::msetex, STORE.or(Flags::MOVABLE_KEYS), &[COUNTED_PAIRS])
        .docs(
            "9.1.0",
            "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
            "Stores several strings at once with one expiry, if all or none of the keys are there.",
        )
        .complexity("O(N) for N keys"),
    row("msetnx", -3, many::msetnx, STORE, &[KeySpec::at(1, -1, 2, OW_INSERT)])
        .docs(
            "1.0.1",
            "key value [key value ...]",
            "Stores several strings at once if none of the keys is there.",
        )
        .complexity("O(N) for N keys"),
    row("psetex", 4, set::psetex, STORE, ONE_STORE).docs(
        "2.6.0",
        "key milliseconds value",
        "Stores a string that expires after some milliseconds.",
    ),
    row("set", -3, set::set, STORE, &[KeySpec::one(SET_KEY)]).docs(
        "1.0.0",
        "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        "Stores a string, whatever was there before, under conditions if asked.",
    ),
    row("setex", 4, set::setex, STORE, ONE_STORE).docs(
        "2.0.0",
        "key seconds value",
        "Stores a string that expires after some seconds.",
    ),
    row("setnx", 3, set::setnx, STORE_FAST, &[KeySpec::one(OW_INSERT)]).docs(
        "1.0.0",
        "key value",
        "Stores a string if the key is not there.",
    ),
    row("setrange", 4, edit::setrange, STORE, &[KeySpec::one(RW_UPDATE)])
        .docs(
            "2.2.0",
            "key offset value",
            "Replaces a part of a string, which grows with zeros as far as needed.",
        )
        .complexity("O(M) for M bytes written"),
    row("strlen", 2, get::strlen, READ_FAST, &[KeySpec::one(RO)]).docs(
        "2.2.0",
        "key",
        "Answers the length of the string at a key.",
    ),
    row("substr", 4, get::getrange, READ, ONE_READ)
        .docs("1.0.0", "key start end", "Answers a part of the string at a key; use GETRANGE.")
        .complexity("O(N) for N bytes answered"),
];

//! The rows of the generic commands.

use super::{databases, expire, keys, names, object, scan, sort, ttl};
use crate::command::spec::{
    Begin, Categories, Command, Find, Flags, Group, Handler, Join, KeyFlags, KeySpec, OW_INSERT, OW_UPDATE,
    RM_DELETE, RO, RO_ACCESS, RW_ACCESS_DELETE, RW_ACCESS_UPDATE, RW_UPDATE, Route, command,
};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.or(Flags::FAST);
const WRITE: Flags = Flags::WRITE;
const WRITE_FAST: Flags = WRITE.or(Flags::FAST);
const SUM: Route = Route::Split(Join::Sum);

const ONE_READ: &[KeySpec] = &[KeySpec::one(RO)];
const ONE_ACCESS: &[KeySpec] = &[KeySpec::one(RO_ACCESS)];
const ONE_UPDATE: &[KeySpec] = &[KeySpec::one(RW_UPDATE)];
const ALL_READ: &[KeySpec] = &[KeySpec::all(RO)];
const ALL_REMOVED: &[KeySpec] = &[KeySpec::all(RM_DELETE)];
const SUBJECT: &[KeySpec] = &[KeySpec::at(2, 0, 1, RO)];

/// Keys that only the content of the sorted key, or a word anywhere, can tell.
const fn unknown(flags: KeyFlags) -> KeySpec {
    KeySpec {
        begin: Begin::Unknown,
        find: Find::Unknown,
        flags,
    }
}

const fn row(name: &'static str, arity: i16, run: Handler, flags: Flags) -> Command {
    command(Group::Generic, name, arity, run)
        .acl(Categories::KEYSPACE)
        .flags(flags)
}

/// Commands about databases, which clients find in another chapter.
const fn of_server(name: &'static str, arity: i16, run: Handler, flags: Flags) -> Command {
    command(Group::Server, name, arity, run)
        .acl(Categories::KEYSPACE)
        .flags(flags)
}

const fn dangerous(row: Command) -> Command {
    row.acl(Categories::KEYSPACE.or(Categories::DANGEROUS))
}

const SORT_CATEGORIES: Categories = Categories::SET
    .or(Categories::SORTED_SET)
    .or(Categories::LIST)
    .or(Categories::DANGEROUS);
const SORT_COST: &str = "O(N + M*log(M)) where N is the number of elements and M of those returned";

pub const COMMANDS: &[Command] = &[
    row("copy", -3, names::copy, WRITE.or(Flags::DENYOOM))
        .keys(&[KeySpec::one(RO_ACCESS), KeySpec::at(2, 0, 1, OW_UPDATE)])
        .docs(
            "6.2.0",
            "source destination [DB destination-db] [REPLACE]",
            "Stores a copy of a key under another name.",
        )
        .complexity("O(N) where N is the number of elements of a collection"),
    of_server("dbsize", 1, keys::dbsize, READ_FAST)
        .route(Route::Everywhere(Join::Sum))
        .docs("1.0.0", "", "Counts the keys of the database."),
    row("del", -2, keys::del, WRITE)
        .keys(ALL_REMOVED)
        .route(SUM)
        .docs("1.0.0", "key [key ...]", "Removes keys.")
        .complexity("O(N) where N is the number of keys"),
    row("exists", -2, keys::exists, READ_FAST)
        .keys(ALL_READ)
        .route(SUM)
        .docs(
            "1.0.0",
            "key [key ...]",
            "Counts which of the keys are there, each as often as it is named.",
        )
        .complexity("O(N) where N is the number of keys"),
    row("expire", -3, expire::expire, WRITE_FAST)
        .keys(ONE_UPDATE)
        .docs("1.0.0", "key seconds [NX | XX | GT | LT]", "Gives a key so many seconds to live."),
    row("expireat", -3, expire::expireat, WRITE_FAST).keys(ONE_UPDATE).docs(
        "1.2.0",
        "key unix-time-seconds [NX | XX | GT | LT]",
        "Lets a key live until a moment in Unix seconds.",
    ),
    row("expiretime", 2, ttl::expiretime, READ_FAST)
        .keys(ONE_ACCESS)
        .docs("7.0.0", "key", "Answers the moment at which a key goes, in Unix seconds."),
    dangerous(of_server("flushall", -1, databases::flushall, WRITE))
        .route(Route::Everywhere(Join::Ok))
        .docs("1.0.0", "[ASYNC | SYNC]", "Removes every key of every database.")
        .complexity("O(1); memory is freed afterwards, O(N) in the number of keys"),
    dangerous(of_server("flushdb", -1, databases::flushdb, WRITE))
        .route(Route::Everywhere(Join::Ok))
        .docs("1.0.0", "[ASYNC | SYNC]", "Removes every key of the database.")
        .complexity("O(1); memory is freed afterwards, O(N) in the number of keys"),
    dangerous(row("keys", 2, keys::keys, READ))
        .route(Route::Everywhere(Join::Concat))
        .docs("1.0.0", "pattern", "Lists the keys whose names match a pattern.")
        .complexity("O(N) where N is the number of keys in the database"),
    row("move", 3, names::move_to, WRITE_FAST)
        .keys(&[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs("1.0.0", "key db", "Moves a key to another database, where it must not be."),
    command(Group::Generic, "object", -2, object::help)
        .docs("2.2.3", "", "Holds the commands that look at how values are kept.")
        .complexity("Depends on the sub-command")
        .subcommands(&[
            row("encoding", 3, object::encoding, READ)
                .keys(SUBJECT)
                .docs("2.2.3", "key", "Names the form in which a value is kept."),
            row("freq", 3, object::freq, READ).keys(SUBJECT).docs(
                "4.0.0",
                "key",
                "Answers how often a key is used, on a logarithmic scale.",
            ),
            row("help", 2, object::help, Flags::LOADING.or(Flags::STALE))
                .docs("6.2.0", "", "Shows this text."),
            row("idletime", 3, object::idletime, READ)
                .keys(SUBJECT)
                .docs("2.2.3", "key", "Answers for how many seconds a key was not used."),
            row("refcount", 3, object::refcount, READ)
                .keys(SUBJECT)
                .docs("2.2.3", "key", "Answers how many owners a value has: one."),
        ]),
    row("persist", 2, expire::persist, WRITE_FAST)
        .keys(ONE_UPDATE)
        .docs("2.2.0", "key", "Takes away a key's time, so that it stays."),
    row("pexpire", -3, expire::pexpire, WRITE_FAST).keys(ONE_UPDATE).docs(
        "2.6.0",
        "key milliseconds [NX | XX | GT | LT]",
        "Gives a key so many milliseconds to live.",
    ),
    row("pexpireat", -3, expire::pexpireat, WRITE_FAST)
        .keys(ONE_UPDATE)
        .docs(
            "2.6.0",
            "key unix-time-milliseconds [NX | XX | GT | LT]",
            "Lets a key live until a moment in Unix milliseconds.",
        ),
    row("pexpiretime", 2, ttl::pexpiretime, READ_FAST)
        .keys(ONE_ACCESS)
        .docs("7.0.0", "key", "Answers the moment at which a key goes, in Unix milliseconds."),
    row("pttl", 2, ttl::pttl, READ_FAST)
        .keys(ONE_ACCESS)
        .docs("2.6.0", "key", "Answers how many milliseconds a key has left."),
    row("randomkey", 1, keys::randomkey, READ)
        .route(Route::Everywhere(Join::Own))
        .docs("1.0.0", "", "Answers the name of some key."),
    row("rename", 3, names::rename, WRITE)
        .keys(&[KeySpec::one(RW_ACCESS_DELETE), KeySpec::at(2, 0, 1, OW_UPDATE)])
        .docs("1.0.0", "key newkey", "Gives a key another name; what had it before goes."),
    row("renamenx", 3, names::renamenx, WRITE_FAST)
        .keys(&[KeySpec::one(RW_ACCESS_DELETE), KeySpec::at(2, 0, 1, OW_INSERT)])
        .docs("1.0.0", "key newkey", "Gives a key another name unless that is taken."),
    row("scan", -2, scan::scan, READ)
        .route(Route::Everywhere(Join::Own))
        .docs(
            "2.8.0",
            "cursor [MATCH pattern] [COUNT count] [TYPE type]",
            "Walks over the keys of the database, some at each call.",
        )
        .complexity("O(1) a call, O(N) for all N keys"),
    row(
        "sort",
        -2,
        sort::sort,
        WRITE.or(Flags::DENYOOM).or(Flags::MOVABLE_KEYS),
    )
    .acl(SORT_CATEGORIES)
    .keys(&[KeySpec::one(RO_ACCESS), unknown(RO_ACCESS), unknown(OW_UPDATE)])
    .docs(
        "1.0.0",
        "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] [ALPHA] \
         [STORE destination]",
        "Sorts the elements of a list, a set or a sorted set, by themselves or by other keys.",
    )
    .complexity(SORT_COST),
    row("sort_ro", -2, sort::sort_ro, READ.or(Flags::MOVABLE_KEYS))
        .acl(SORT_CATEGORIES)
        .keys(&[KeySpec::one(RO_ACCESS), unknown(RO_ACCESS)])
        .docs(
            "7.0.0",
            "key [BY by-pattern] [LIMIT offset count] [GET get-pattern [GET get-pattern ...]] [ASC | DESC] \
             [ALPHA]",
            "Like SORT, without storing anything.",
        )
        .complexity(SORT_COST),
    dangerous(of_server("swapdb", 3, databases::swapdb, WRITE_FAST))
        .route(Route::Everywhere(Join::Ok))
        .docs("4.0.0", "index1 index2", "Exchanges two databases.")
        .complexity("O(N) where N is the number of clients that watch or wait for keys of either"),
    row("touch", -2, keys::touch, READ_FAST)
        .keys(ALL_READ)
        .route(SUM)
        .docs("3.2.1", "key [key ...]", "Marks keys as used, and counts those that are there.")
        .complexity("O(N) where N is the number of keys"),
    row("ttl", 2, ttl::ttl, READ_FAST)
        .keys(ONE_ACCESS)
        .docs("1.0.0", "key", "Answers how many seconds a key has left."),
    row("type", 2, keys::type_of, READ_FAST)
        .keys(ONE_READ)
        .docs("1.0.0", "key", "Names the type of what is at a key."),
    row("unlink", -2, keys::del, WRITE_FAST)
        .keys(ALL_REMOVED)
        .route(SUM)
        .docs("4.0.0", "key [key ...]", "Removes keys; memory is freed afterwards.")
        .complexity("O(1) a key; memory is freed afterwards, O(N) in the number of elements"),
];

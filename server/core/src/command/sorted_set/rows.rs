//! The rows of the sorted-set commands.

use super::{add, combine, lookup, pop, random, range, remove, scan};
use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, OW_UPDATE, RO, RO_ACCESS,
    RW_ACCESS_DELETE, RW_ACCESS_UPDATE, RW_DELETE, RW_UPDATE, command,
};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = Flags::READONLY.or(Flags::FAST);
const READ_COUNTED: Flags = Flags::READONLY.or(Flags::MOVABLE_KEYS);
const ADD: Flags = Flags::WRITE.or(Flags::DENYOOM).or(Flags::FAST);
const STORE: Flags = Flags::WRITE.or(Flags::DENYOOM);
const STORE_COUNTED: Flags = STORE.or(Flags::MOVABLE_KEYS);
const BLOCK: Flags = Flags::WRITE.or(Flags::BLOCKING);

const ONE_READ: &[KeySpec] = &[KeySpec::one(RO_ACCESS)];
const ONE_DELETE: &[KeySpec] = &[KeySpec::one(RW_DELETE)];
const COUNTED_READ: &[KeySpec] = &[KeySpec::counted(1, RO_ACCESS)];
const TARGET_AND_COUNTED: &[KeySpec] = &[KeySpec::one(OW_UPDATE), KeySpec::counted(2, RO_ACCESS)];
const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::at(1, -2, 1, RW_ACCESS_DELETE)];

const POPPED: KeyFlags = RW_ACCESS_DELETE;

const fn row(
    name: &'static str,
    arity: i16,
    run: Handler,
    flags: Flags,
    keys: &'static [KeySpec],
) -> Command {
    command(Group::SortedSet, name, arity, run)
        .acl(Categories::SORTED_SET)
        .flags(flags)
        .keys(keys)
}

pub const COMMANDS: &[Command] = &[
    row(
        "bzmpop",
        -5,
        pop::bzmpop,
        BLOCK.or(Flags::MOVABLE_KEYS),
        &[KeySpec::counted(2, POPPED)],
    )
    .docs(
        "7.0.0",
        "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
        "Takes the lowest or highest members out of the first sorted set that has any; waits for one.",
    )
    .complexity("O(K + M*log(N)): K keys, M members taken, N members in the set"),
    row("bzpopmax", -3, pop::bzpopmax, BLOCK.or(Flags::FAST), ALL_BUT_LAST)
        .docs(
            "5.0.0",
            "key [key ...] timeout",
            "Takes the highest member out of the first sorted set that has one; waits for one.",
        )
        .complexity("O(log(N))"),
    row("bzpopmin", -3, pop::bzpopmin, BLOCK.or(Flags::FAST), ALL_BUT_LAST)
        .docs(
            "5.0.0",
            "key [key ...] timeout",
            "Takes the lowest member out of the first sorted set that has one; waits for one.",
        )
        .complexity("O(log(N))"),
    row("zadd", -4, add::zadd, ADD, &[KeySpec::one(RW_UPDATE)])
        .docs(
            "1.2.0",
            "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
            "Adds members with scores, or changes their scores, under conditions if asked.",
        )
        .complexity("O(log(N)) a member"),
    row("zcard", 2, lookup::zcard, READ_FAST, &[KeySpec::one(RO)]).docs(
        "1.2.0",
        "key",
        "Counts all members.",
    ),
    row("zcount", 4, lookup::zcount, READ_FAST, ONE_READ)
        .docs(
            "2.0.0",
            "key min max",
            "Counts the members whose scores lie in a range.",
        )
        .complexity("O(log(N))"),
    row("zdiff", -3, combine::zdiff, READ_COUNTED, COUNTED_READ)
        .docs(
            "6.2.0",
            "numkeys key [key ...] [WITHSCORES]",
            "Answers the members of the first sorted set that no other one has.",
        )
        .complexity("O(L + R*log(R)): L members in all sets, R in the result"),
    row(
        "zdiffstore",
        -4,
        combine::zdiffstore,
        STORE_COUNTED,
        TARGET_AND_COUNTED,
    )
    .docs(
        "6.2.0",
        "destination numkeys key [key ...]",
        "Stores the members of the first sorted set that no other one has.",
    )
    .complexity("O(L + R*log(R)): L members in all sets, R in the result"),
    row("zincrby", 4, add::zincrby, ADD, &[KeySpec::one(RW_ACCESS_UPDATE)])
        .docs(
            "1.2.0",
            "key increment member",
            "Adds to the score of a member, which starts at 0.",
        )
        .complexity("O(log(N))"),
    row("zinter", -3, combine::zinter, READ_COUNTED, COUNTED_READ)
        .docs(
            "6.2.0",
            "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]",
            "Answers the members that all of the sorted sets have.",
        )
        .complexity("O(N*K + R*log(R)): N members in the smallest of K sets, R in the result"),
    row("zintercard", -3, combine::zintercard, READ_COUNTED, COUNTED_READ)
        .docs(
            "7.0.0",
            "numkeys key [key ...] [LIMIT limit]",
            "Counts the members that all of the sorted sets have, up to a limit.",
        )
        .complexity("O(N*K): N members in the smallest of K sets"),
    row(
        "zinterstore",
        -4,
        combine::zinterstore,
        STORE_COUNTED,
        TARGET_AND_COUNTED,
    )
    .docs(
        "2.0.0",
        "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
        "Stores the members that all of the sorted sets have.",
    )
    .complexity("O(N*K + R*log(R)): N members in the smallest of K sets, R in the result"),
    row("zlexcount", 4, lookup::zlexcount, READ_FAST, ONE_READ)
        .docs(
            "2.8.9",
            "key min max",
            "Counts the members between two names, where all scores are equal.",
        )
        .complexity("O(log(N))"),
    row(
        "zmpop",
        -4,
        pop::zmpop,
        Flags::WRITE.or(Flags::MOVABLE_KEYS),
        &[KeySpec::counted(1, POPPED)],
    )
    .docs(
        "7.0.0",
        "numkeys key [key ...] <MIN | MAX> [COUNT count]",
        "Takes the lowest or highest members out of the first sorted set that has any.",
    )
    .complexity("O(K + M*log(N)): K keys, M members taken, N members in the set"),
    row("zmscore", -3, lookup::zmscore, READ_FAST, ONE_READ)
        .docs(
            "6.2.0",
            "key member [member ...]",
            "Answers the scores of members.",
        )
        .complexity("O(1) a member"),
    row(
        "zpopmax",
        -2,
        pop::zpopmax,
        Flags::WRITE.or(Flags::FAST),
        &[KeySpec::one(POPPED)],
    )
    .docs("5.0.0", "key [count]", "Takes the highest members out.")
    .complexity("O(log(N)) a member"),
    row(
        "zpopmin",
        -2,
        pop::zpopmin,
        Flags::WRITE.or(Flags::FAST),
        &[KeySpec::one(POPPED)],
    )
    .docs("5.0.0", "key [count]", "Takes the lowest members out.")
    .complexity("O(log(N)) a member"),
    row("zrandmember", -2, random::zrandmember, READ, ONE_READ)
        .docs(
            "6.2.0",
            "key [count [WITHSCORES]]",
            "Answers members drawn at random.",
        )
        .complexity("O(log(N)) a member"),
    row("zrange", -4, range::zrange, READ, ONE_READ)
        .docs(
            "1.2.0",
            "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
            "Answers the members in a range of ranks, scores or names.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row("zrangebylex", -4, range::zrangebylex, READ, ONE_READ)
        .docs(
            "2.8.9",
            "key min max [LIMIT offset count]",
            "Answers the members between two names, where all scores are equal.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row("zrangebyscore", -4, range::zrangebyscore, READ, ONE_READ)
        .docs(
            "1.0.5",
            "key min max [WITHSCORES] [LIMIT offset count]",
            "Answers the members whose scores lie in a range.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row(
        "zrangestore",
        -5,
        range::zrangestore,
        STORE,
        &[KeySpec::one(OW_UPDATE), KeySpec::at(2, 0, 1, RO_ACCESS)],
    )
    .docs(
        "6.2.0",
        "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
        "Stores the members in a range of ranks, scores or names.",
    )
    .complexity("O(log(N) + M): M members stored"),
    row("zrank", -3, lookup::zrank, READ_FAST, ONE_READ)
        .docs(
            "2.0.0",
            "key member [WITHSCORE]",
            "Answers a member's place from the lowest score up.",
        )
        .complexity("O(log(N))"),
    row("zrem", -3, remove::zrem, Flags::WRITE.or(Flags::FAST), ONE_DELETE)
        .docs(
            "1.2.0",
            "key member [member ...]",
            "Removes members; the last one takes the key along.",
        )
        .complexity("O(log(N)) a member"),
    row(
        "zremrangebylex",
        4,
        remove::zremrangebylex,
        Flags::WRITE,
        ONE_DELETE,
    )
    .docs(
        "2.8.9",
        "key min max",
        "Removes the members between two names, where all scores are equal.",
    )
    .complexity("O(M*log(N)): M members removed"),
    row(
        "zremrangebyrank",
        4,
        remove::zremrangebyrank,
        Flags::WRITE,
        ONE_DELETE,
    )
    .docs(
        "2.0.0",
        "key start stop",
        "Removes the members in a range of ranks.",
    )
    .complexity("O(M*log(N)): M members removed"),
    row(
        "zremrangebyscore",
        4,
        remove::zremrangebyscore,
        Flags::WRITE,
        ONE_DELETE,
    )
    .docs(
        "1.2.0",
        "key min max",
        "Removes the members whose scores lie in a range.",
    )
    .complexity("O(M*log(N)): M members removed"),
    row("zrevrange", -4, range::zrevrange, READ, ONE_READ)
        .docs(
            "1.2.0",
            "key start stop [WITHSCORES]",
            "Answers a range of ranks, from the highest score down.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row("zrevrangebylex", -4, range::zrevrangebylex, READ, ONE_READ)
        .docs(
            "2.8.9",
            "key max min [LIMIT offset count]",
            "Answers the members between two names, from the last one back.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row("zrevrangebyscore", -4, range::zrevrangebyscore, READ, ONE_READ)
        .docs(
            "2.2.0",
            "key max min [WITHSCORES] [LIMIT offset count]",
            "Answers the members whose scores lie in a range, from the highest down.",
        )
        .complexity("O(log(N) + M): M members answered"),
    row("zrevrank", -3, lookup::zrevrank, READ_FAST, ONE_READ)
        .docs(
            "2.0.0",
            "key member [WITHSCORE]",
            "Answers a member's place from the highest score down.",
        )
        .complexity("O(log(N))"),
    row("zscan", -3, scan::zscan, READ, ONE_READ)
        .docs(
            "2.8.0",
            "key cursor [MATCH pattern] [COUNT count] [NOSCORES]",
            "Walks over the members, a few at each call.",
        )
        .complexity("O(1) a call, O(N) in all"),
    row("zscore", 3, lookup::zscore, READ_FAST, ONE_READ).docs(
        "1.2.0",
        "key member",
        "Answers a member's score.",
    ),
    row("zunion", -3, combine::zunion, READ_COUNTED, COUNTED_READ)
        .docs(
            "6.2.0",
            "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>] [WITHSCORES]",
            "Answers the members that any of the sorted sets has.",
        )
        .complexity("O(L + R*log(R)): L members in all sets, R in the result"),
    row(
        "zunionstore",
        -4,
        combine::zunionstore,
        STORE_COUNTED,
        TARGET_AND_COUNTED,
    )
    .docs(
        "2.0.0",
        "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | MAX>]",
        "Stores the members that any of the sorted sets has.",
    )
    .complexity("O(L + R*log(R)): L members in all sets, R in the result"),
];

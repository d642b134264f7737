//! The commands of the differential test: one row each, with all options, in `grammar`'s language.
//!
//! Left out: what answers with the server's own state (`INFO`, `CLIENT`), and what
//! would leave two equal servers with different data (a random pop comes with its clean-up).

use fastrand::Rng;

use super::compare::Compare;
use super::grammar::{Command, Step, generate};

/// How often a row is chosen among its family's, how its replies compare, and its shape.
type Row = (u32, Compare, &'static str);

use Compare::{AnyOrder, Exact, Near, Pairs, Shape};

const SCAN_ITEMS: Compare = Compare::Scan { pairs: false };
const SCAN_PAIRS: Compare = Compare::Scan { pairs: true };

const STRINGS: &[Row] = &[
    (
        8,
        Exact,
        "SET $str $value [NX|XX|IFEQ $value] [GET] [EX $secs|PX $millis|EXAT $at|PXAT $atms|KEEPTTL]",
    ),
    (4, Exact, "GET $str"),
    (1, Exact, "SETNX $str $value"),
    (1, Exact, "SETEX $str $secs $value"),
    (1, Exact, "PSETEX $str $millis $value"),
    (1, Exact, "GETSET $str $value"),
    (
        2,
        Exact,
        "GETEX $str [EX $secs|PX $millis|EXAT $at|PXAT $atms|PERSIST]",
    ),
    (1, Exact, "GETDEL $str"),
    (1, Exact, "DELIFEQ $str $value"),
    (2, Exact, "MGET {$str}"),
    (1, Exact, "MSET {$str $value}"),
    (1, Exact, "MSETNX {$str $value}"),
    (
        2,
        Exact,
        "MSETEX #{$str $value} [NX|XX] [EX $secs|PX $millis|EXAT $at|PXAT $atms|KEEPTTL]",
    ),
    (2, Exact, "APPEND $str $value"),
    (1, Exact, "STRLEN $str"),
    (2, Exact, "(GETRANGE|SUBSTR) $str $index $index"),
    (2, Exact, "SETRANGE $str $offset $value"),
    (2, Exact, "(INCR|DECR) $str"),
    (2, Exact, "(INCRBY|DECRBY) $str $int"),
    (2, Exact, "INCRBYFLOAT $str $decimal"),
    (1, Exact, "INCRBYFLOAT $str (inf|nan|abc|1e5|3.0|0x1)"),
    (
        2,
        Exact,
        "LCS $str $str [LEN] [IDX] [MINMATCHLEN $natural] [WITHMATCHLEN]",
    ),
];

const BITS: &[Row] = &[
    (4, Exact, "SETBIT $str $bitpos $bit"),
    (2, Exact, "GETBIT $str $bitpos"),
    (3, Exact, "BITCOUNT $str [$index $index [BYTE|BIT]]"),
    (3, Exact, "BITPOS $str $bit [$index [$index [BYTE|BIT]]]"),
    (2, Exact, "BITOP (AND|OR|XOR|DIFF|DIFF1|ANDOR|ONE) $str {$str}"),
    (1, Exact, "BITOP NOT $str $str"),
    (
        4,
        Exact,
        "BITFIELD $str [OVERFLOW (WRAP|SAT|FAIL)] {(GET $bits $bitoffset|SET $bits $bitoffset $int|INCRBY $bits $bitoffset $int)}",
    ),
    (1, Exact, "BITFIELD_RO $str {GET $bits $bitoffset}"),
];

const GENERIC: &[Row] = &[
    (3, Exact, "(DEL|UNLINK) {$key}"),
    (2, Exact, "(EXISTS|TOUCH) {$key}"),
    (2, Exact, "TYPE $key"),
    (2, Exact, "RENAME $key $key"),
    (2, Exact, "RENAMENX $key $key"),
    (3, Exact, "COPY $key $key [DB $db] [REPLACE]"),
    (1, Exact, "MOVE $key $db"),
    (1, Exact, "DBSIZE"),
    (1, Shape, "RANDOMKEY"),
    (2, AnyOrder, "KEYS $pattern"),
    (
        2,
        SCAN_ITEMS,
        "SCAN 0 COUNT 10000 [MATCH $pattern] [TYPE (string|hash|list|set|zset|stream|nosuch)]",
    ),
    (1, Exact, "SWAPDB (0|1) (0|1)"),
    (1, Exact, "OBJECT REFCOUNT nosuchkey"),
    (
        3,
        Exact,
        "SORT $list [LIMIT $natural $natural] [ASC|DESC] [ALPHA]",
    ),
    (
        2,
        AnyOrder,
        "SORT (zset1|set1|list2) [BY (nosort|str*|hash*->f1)] [GET (#|str*|hash*->f1|nosuch*)] ALPHA ASC",
    ),
    (
        2,
        Exact,
        "SORT $list BY nosort [LIMIT $natural $natural] [STORE $list]",
    ),
    (1, Exact, "SORT $key ALPHA STORE $list"),
    (1, Exact, "SORT_RO $list ALPHA [DESC]"),
];

const EXPIRY: &[Row] = &[
    (4, Exact, "PEXPIREAT $key $atms [NX|XX|GT|LT|XX GT|XX LT|NX GT]"),
    (3, Exact, "EXPIREAT $key $at [NX|XX|GT|LT]"),
    (2, Exact, "EXPIRE $key $secs [NX|XX|GT|LT]"),
    (2, Exact, "PEXPIRE $key $millis [NX|XX|GT|LT]"),
    (2, Near, "(TTL|PTTL|EXPIRETIME|PEXPIRETIME) $key"),
    (2, Exact, "PERSIST $key"),
];

const HASHES: &[Row] = &[
    (6, Exact, "(HSET|HMSET) $hash {$field $value}"),
    (1, Exact, "HSETNX $hash $field $value"),
    (2, Exact, "HGET $hash $field"),
    (2, Exact, "HMGET $hash {$field}"),
    (1, Pairs, "HGETALL $hash"),
    (1, AnyOrder, "(HKEYS|HVALS) $hash"),
    (1, Exact, "HLEN $hash"),
    (1, Exact, "(HEXISTS|HSTRLEN) $hash $field"),
    (2, Exact, "HDEL $hash {$field}"),
    (2, Exact, "HINCRBY $hash $field $int"),
    (2, Exact, "HINCRBYFLOAT $hash $field $decimal"),
    (1, Exact, "HINCRBYFLOAT $hash $field (inf|nan|abc|1e5|3.0)"),
    (1, Shape, "HRANDFIELD $hash"),
    (1, Shape, "HRANDFIELD $hash $count"),
    (1, Shape, "HRANDFIELD $hash $count WITHVALUES"),
    (2, SCAN_PAIRS, "HSCAN $hash 0 COUNT 10000 [MATCH $pattern]"),
    (1, SCAN_ITEMS, "HSCAN $hash 0 COUNT 10000 NOVALUES"),
    (
        4,
        Exact,
        "HSETEX $hash [FNX|FXX|NX|XX] [EX $secs|PX $millis|EXAT $at|PXAT $atms|KEEPTTL] FIELDS #{$field $value}",
    ),
    (
        3,
        Exact,
        "HGETEX $hash [EX $secs|PX $millis|EXAT $at|PXAT $atms|PERSIST] FIELDS #{$field}",
    ),
    (1, Exact, "HGETDEL $hash FIELDS #{$field}"),
    (3, Exact, "HPEXPIREAT $hash $atms [NX|XX|GT|LT] FIELDS #{$field}"),
    (2, Exact, "HEXPIREAT $hash $at [NX|XX|GT|LT] FIELDS #{$field}"),
    (
        2,
        Exact,
        "(HEXPIRE $hash $secs|HPEXPIRE $hash $millis) [NX|XX|GT|LT] FIELDS #{$field}",
    ),
    (
        2,
        Near,
        "(HTTL|HPTTL|HEXPIRETIME|HPEXPIRETIME) $hash FIELDS #{$field}",
    ),
    (1, Exact, "HPERSIST $hash FIELDS #{$field}"),
];

const LISTS: &[Row] = &[
    (6, Exact, "(LPUSH|RPUSH) $list {$member}"),
    (1, Exact, "(LPUSHX|RPUSHX) $list {$member}"),
    (3, Exact, "(LPOP|RPOP) $list [$natural]"),
    (1, Exact, "(LPOP|RPOP) $list $int"),
    (1, Exact, "LLEN $list"),
    (3, Exact, "LRANGE $list $index $index"),
    (2, Exact, "LINDEX $list $index"),
    (2, Exact, "LSET $list (0|1|2|5|-1|-2|-7|100|abc) $value"),
    (2, Exact, "LINSERT $list (BEFORE|AFTER) $member $value"),
    (2, Exact, "LREM $list $index $member"),
    (1, Exact, "LTRIM $list $index $index"),
    (
        3,
        Exact,
        "LPOS $list $member [RANK $index] [COUNT $natural] [MAXLEN $natural]",
    ),
    (2, Exact, "LMOVE $list $list (LEFT|RIGHT) (LEFT|RIGHT)"),
    (1, Exact, "RPOPLPUSH $list $list"),
    (2, Exact, "LMPOP #{$list} (LEFT|RIGHT) [COUNT $natural]"),
];

const SETS: &[Row] = &[
    (6, Exact, "SADD $set {$member}"),
    (2, Exact, "SREM $set {$member}"),
    (1, Exact, "SCARD $set"),
    (1, Exact, "SISMEMBER $set $member"),
    (1, Exact, "SMISMEMBER $set {$member}"),
    (1, AnyOrder, "SMEMBERS $set"),
    (1, Exact, "SMOVE $set $set $member"),
    (3, AnyOrder, "(SINTER|SUNION|SDIFF) {$set}"),
    (3, Exact, "(SINTERSTORE|SUNIONSTORE|SDIFFSTORE) $set {$set}"),
    (2, Exact, "SINTERCARD #{$set} [LIMIT $natural]"),
    (1, Shape, "SRANDMEMBER $set [$count]"),
    (1, SCAN_ITEMS, "SSCAN $set 0 COUNT 10000 [MATCH $pattern]"),
    (1, AnyOrder, "SPOP $set (0|1000|-1|abc)"),
];

const SORTED_SETS: &[Row] = &[
    (8, Exact, "ZADD $zset [NX|XX] [GT|LT] [CH] {$float $member}"),
    (2, Exact, "ZADD $zset [NX|XX|GT|LT] INCR $float $member"),
    (2, Exact, "ZINCRBY $zset $float $member"),
    (1, Exact, "ZREM $zset {$member}"),
    (1, Exact, "(ZCARD) $zset"),
    (1, Exact, "ZSCORE $zset $member"),
    (1, Exact, "ZMSCORE $zset {$member}"),
    (2, Exact, "(ZRANK|ZREVRANK) $zset $member [WITHSCORE]"),
    (2, Exact, "ZCOUNT $zset $score $score"),
    // By name means something only among equal scores.
    (4, Exact, "ZADD zlex 0 $member"),
    (1, Exact, "ZLEXCOUNT zlex $lex $lex"),
    (4, Exact, "ZRANGE $zset $index $index [REV] [WITHSCORES]"),
    (
        3,
        Exact,
        "ZRANGE $zset $score $score BYSCORE [REV] [LIMIT $natural $index] [WITHSCORES]",
    ),
    (
        2,
        Exact,
        "ZRANGE zlex $lex $lex BYLEX [REV] [LIMIT $natural $index]",
    ),
    (
        2,
        Exact,
        "ZRANGESTORE $zset $zset $score $score [BYSCORE] [REV] [LIMIT $natural $index]",
    ),
    (1, Exact, "ZRANGESTORE $zset $zset $index $index [REV]"),
    (1, Exact, "ZREVRANGE $zset $index $index [WITHSCORES]"),
    (
        2,
        Exact,
        "(ZRANGEBYSCORE|ZREVRANGEBYSCORE) $zset $score $score [WITHSCORES] [LIMIT $natural $index]",
    ),
    (
        2,
        Exact,
        "(ZRANGEBYLEX|ZREVRANGEBYLEX) zlex $lex $lex [LIMIT $natural $index]",
    ),
    (1, Exact, "ZREMRANGEBYRANK $zset $index $index"),
    (1, Exact, "ZREMRANGEBYSCORE $zset $score $score"),
    (1, Exact, "ZREMRANGEBYLEX zlex $lex $lex"),
    (2, Exact, "(ZPOPMIN|ZPOPMAX) $zset [$natural]"),
    (2, Exact, "ZMPOP #{$zset} (MIN|MAX) [COUNT $natural]"),
    (
        3,
        Exact,
        "(ZUNION|ZINTER) 2 (zset1|set1) $zset [WEIGHTS $float $float] [AGGREGATE (SUM|MIN|MAX)] [WITHSCORES]",
    ),
    (
        2,
        Exact,
        "(ZUNIONSTORE|ZINTERSTORE) $zset 2 (zset1|set1) $zset [WEIGHTS $float $float] [AGGREGATE (SUM|MIN|MAX)]",
    ),
    (1, Exact, "ZDIFF #{$zset} [WITHSCORES]"),
    (1, Exact, "ZDIFFSTORE $zset #{$zset}"),
    (1, Exact, "ZINTERCARD #{$zset} [LIMIT $natural]"),
    (1, Shape, "ZRANDMEMBER $zset"),
    (1, Shape, "ZRANDMEMBER $zset $count [WITHSCORES]"),
    (1, SCAN_PAIRS, "ZSCAN $zset 0 COUNT 10000 [MATCH $pattern]"),
];

const HYPERLOGLOG: &[Row] = &[
    (6, Exact, "PFADD $hll {$value}"),
    (1, Exact, "PFADD $hll"),
    (3, Exact, "PFCOUNT {$hll}"),
    (2, Exact, "PFMERGE $hll {$hll}"),
    (1, Exact, "PFCOUNT $str"),
    (1, Exact, "PFADD $str $value"),
    (1, Exact, "STRLEN $hll"),
    (1, Exact, "DEL $hll"),
];

/// Rare, for Valkey looks at such timeouts ten times a second.
const BLOCKING: &[Row] = &[
    (1, Exact, "(BLPOP|BRPOP) {$list} 0.001"),
    (1, Exact, "BLMOVE $list $list (LEFT|RIGHT) (LEFT|RIGHT) 0.001"),
    (1, Exact, "BLMPOP 0.001 #{$list} (LEFT|RIGHT) [COUNT $natural]"),
    (1, Exact, "(BZPOPMIN|BZPOPMAX) {$zset} 0.001"),
    (1, Exact, "BZMPOP 0.001 #{$zset} (MIN|MAX) [COUNT $natural]"),
];

/// Every family with its share of the steps.
const FAMILIES: [(u32, &[Row]); 10] = [
    (60, STRINGS),
    (30, BITS),
    (30, GENERIC),
    (30, EXPIRY),
    (60, HASHES),
    (60, LISTS),
    (40, SETS),
    (70, SORTED_SETS),
    (20, HYPERLOGLOG),
    (2, BLOCKING),
];

/// How often a step is a transaction, and a random pop with its clean-up, of a hundred.
const TRANSACTION_PERCENT: u32 = 4;
const RANDOM_POP_PERCENT: u32 = 1;

/// `count` steps; the same seed gives the same steps.
pub fn steps(count: usize, rng: &mut Rng) -> Vec<Step> {
    (0..count).map(|_| step(rng)).collect()
}

fn step(rng: &mut Rng) -> Step {
    match rng.u32(..100) {
        n if n < TRANSACTION_PERCENT => transaction(rng),
        n if n < TRANSACTION_PERCENT + RANDOM_POP_PERCENT => {
            let mut pop = generate("SPOP $set [$count]", Shape, rng);
            pop.args.truncate(3);
            let clean = Command {
                args: vec![b"DEL".to_vec(), pop.args.get(1).cloned().unwrap_or_default()],
                compare: Exact,
            };
            Step(vec![pop, clean])
        }
        _ => Step(vec![command(rng)]),
    }
}

fn command(rng: &mut Rng) -> Command {
    let rows = weighted(&FAMILIES.map(|(share, rows)| (share, rows)), rng);
    let rows: Vec<_> = rows.iter().map(|row| (row.0, row)).collect();
    let (_, compare, template) = weighted(&rows, rng);
    generate(template, compare.clone(), rng)
}

fn transaction(rng: &mut Rng) -> Step {
    let mut commands = vec![Command::new(&["MULTI"], Exact)];
    let mut each = Vec::new();
    for _ in 0..rng.usize(0..5) {
        let queued = command(rng);
        each.push(queued.compare);
        commands.push(Command {
            args: queued.args,
            compare: Exact,
        });
    }
    if rng.u32(..8) == 0 {
        commands.push(Command::new(&["DISCARD"], Exact));
    } else {
        commands.push(Command::new(&["EXEC"], Compare::Each(each)));
    }
    Step(commands)
}

fn weighted<T: Copy>(choices: &[(u32, T)], rng: &mut Rng) -> T {
    let total: u32 = choices.iter().map(|(weight, _)| *weight).sum();
    let mut left = rng.u32(..total);
    for (weight, choice) in choices {
        if left < *weight {
            return *choice;
        }
        left -= weight;
    }
    unreachable!("the weights add up")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_template_that_fills() {
        let mut rng = Rng::with_seed(3);
        for (_, rows) in FAMILIES {
            for (_, compare, template) in rows {
                for _ in 0..50 {
                    assert!(
                        !generate(template, compare.clone(), &mut rng).args.is_empty(),
                        "{template}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_steps_again() {
        let lines = |seed| -> Vec<String> {
            let all = steps(300, &mut Rng::with_seed(seed));
            all.iter()
                .flat_map(|s| s.0.iter().map(Command::to_line))
                .collect()
        };
        assert_eq!(lines(5), lines(5));
        assert_ne!(lines(5), lines(6));
    }
}

//! Lists: pushes, pops, reads, edits, moves between lists, and the ones that wait.

mod blocking;
mod edit;
mod insert;
mod moves;
mod pop;
mod push;
mod read;
mod remove;

#[cfg(test)]
mod tests;

use crate::command::Args;
use crate::command::spec::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, RO, RO_ACCESS, RW_ACCESS_DELETE,
    RW_DELETE, RW_INSERT, RW_UPDATE, command,
};
use crate::error::{Error, SYNTAX};
use crate::text::fold;

pub use edit::ListScratch;
pub use edit::{change, store, view};

const fn list(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::List, name, arity, run).acl(Categories::LIST)
}

const WRITE: Flags = Flags::WRITE;
const WRITE_FAST: Flags = Flags::WRITE.or(Flags::FAST);
const GROW: Flags = Flags::WRITE.or(Flags::DENYOOM);
const GROW_FAST: Flags = GROW.or(Flags::FAST);
const BLOCK: Flags = Flags::WRITE.or(Flags::BLOCKING);

const PUSH_KEYS: &[KeySpec] = &[KeySpec::one(RW_INSERT)];
const POP_KEYS: &[KeySpec] = &[KeySpec::one(RW_ACCESS_DELETE)];
const MOVE_KEYS: &[KeySpec] = &[KeySpec::one(RW_ACCESS_DELETE), KeySpec::at(2, 0, 1, RW_INSERT)];
const BLOCK_KEYS: &[KeySpec] = &[KeySpec::at(1, -2, 1, RW_ACCESS_DELETE)];
const READ_KEYS: &[KeySpec] = &[KeySpec::one(RO_ACCESS)];
const LENGTH_KEYS: &[KeySpec] = &[KeySpec::one(RO)];

const fn key_of(flags: KeyFlags) -> [KeySpec; 1] {
    [KeySpec::one(flags)]
}

pub const COMMANDS: &[Command] = &[
    list("lpush", -3, push::lpush)
        .flags(GROW_FAST)
        .keys(PUSH_KEYS)
        .complexity("O(N) where N is the number of elements")
        .docs(
            "1.0.0",
            "key element [element ...]",
            "Puts elements before the head of a list, one after the other.",
        ),
    list("rpush", -3, push::rpush)
        .flags(GROW_FAST)
        .keys(PUSH_KEYS)
        .complexity("O(N) where N is the number of elements")
        .docs(
            "1.0.0",
            "key element [element ...]",
            "Puts elements behind the tail of a list.",
        ),
    list("lpushx", -3, push::lpushx)
        .flags(GROW_FAST)
        .keys(PUSH_KEYS)
        .complexity("O(N) where N is the number of elements")
        .docs(
            "2.2.0",
            "key element [element ...]",
            "Like LPUSH, but only onto a list that is there.",
        ),
    list("rpushx", -3, push::rpushx)
        .flags(GROW_FAST)
        .keys(PUSH_KEYS)
        .complexity("O(N) where N is the number of elements")
        .docs(
            "2.2.0",
            "key element [element ...]",
            "Like RPUSH, but only onto a list that is there.",
        ),
    list("lpop", -2, pop::lpop)
        .flags(WRITE_FAST)
        .keys(POP_KEYS)
        .complexity("O(N) where N is the number of elements taken")
        .docs("1.0.0", "key [count]", "Takes elements from the head of a list."),
    list("rpop", -2, pop::rpop)
        .flags(WRITE_FAST)
        .keys(POP_KEYS)
        .complexity("O(N) where N is the number of elements taken")
        .docs("1.0.0", "key [count]", "Takes elements from the tail of a list."),
    list("llen", 2, read::llen)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(LENGTH_KEYS)
        .docs("1.0.0", "key", "Counts the elements of a list."),
    list("lrange", 4, read::lrange)
        .flags(Flags::READONLY)
        .keys(READ_KEYS)
        .complexity("O(S+N) where S is the distance of the range from the nearer end and N its length")
        .docs(
            "1.0.0",
            "key start stop",
            "Reads a range of a list, both ends included.",
        ),
    list("lindex", 3, read::lindex)
        .flags(Flags::READONLY)
        .keys(READ_KEYS)
        .complexity("O(N) where N is the distance from the nearer end, counted in chunks")
        .docs("1.0.0", "key index", "Reads one element of a list by its number."),
    list("lset", 4, insert::lset)
        .flags(GROW)
        .keys(&key_of(RW_UPDATE))
        .complexity("O(N) where N is the distance from the nearer end, counted in chunks")
        .docs(
            "1.0.0",
            "key index element",
            "Replaces one element of a list by its number.",
        ),
    list("linsert", 5, insert::linsert)
        .flags(GROW)
        .keys(PUSH_KEYS)
        .complexity("O(N) where N is the number of elements before the pivot")
        .docs(
            "2.2.0",
            "key <BEFORE | AFTER> pivot element",
            "Puts an element next to the first one that equals the pivot.",
        ),
    list("lrem", 4, remove::lrem)
        .flags(WRITE)
        .keys(&key_of(RW_DELETE))
        .complexity("O(N) where N is the length of the list")
        .docs(
            "1.0.0",
            "key count element",
            "Removes elements that equal the given one, from either end.",
        ),
    list("ltrim", 4, remove::ltrim)
        .flags(WRITE)
        .keys(&key_of(RW_DELETE))
        .complexity("O(N) where N is the number of elements removed")
        .docs(
            "1.0.0",
            "key start stop",
            "Cuts a list down to a range of it, both ends included.",
        ),
    list("lpos", -3, read::lpos)
        .flags(Flags::READONLY)
        .keys(READ_KEYS)
        .complexity("O(N) where N is the number of elements compared")
        .docs(
            "6.0.6",
            "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
            "Finds the numbers of the elements that equal the given one.",
        ),
    list("lmove", 5, moves::lmove).flags(GROW).keys(MOVE_KEYS).docs(
        "6.2.0",
        "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        "Takes an element from one end of a list and puts it at an end of another.",
    ),
    list("rpoplpush", 3, moves::rpoplpush)
        .flags(GROW)
        .keys(MOVE_KEYS)
        .docs(
            "1.2.0",
            "source destination",
            "Takes the tail of a list and puts it before the head of another.",
        ),
    list("lmpop", -4, pop::lmpop)
        .flags(WRITE.or(Flags::MOVABLE_KEYS))
        .keys(&[KeySpec::counted(1, RW_ACCESS_DELETE)])
        .complexity("O(N+M) where N is the number of keys and M of elements taken")
        .docs(
            "7.0.0",
            "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            "Takes elements from the first of several lists that is there.",
        ),
    list("blpop", -3, blocking::blpop)
        .flags(BLOCK)
        .keys(BLOCK_KEYS)
        .complexity("O(N) where N is the number of keys")
        .docs(
            "2.0.0",
            "key [key ...] timeout",
            "Takes the head of the first list that is there, waiting for one.",
        ),
    list("brpop", -3, blocking::brpop)
        .flags(BLOCK)
        .keys(BLOCK_KEYS)
        .complexity("O(N) where N is the number of keys")
        .docs(
            "2.0.0",
            "key [key ...] timeout",
            "Takes the tail of the first list that is there, waiting for one.",
        ),
    list("blmove", 6, blocking::blmove)
        .flags(GROW.or(Flags::BLOCKING))
        .keys(MOVE_KEYS)
        .docs(
            "6.2.0",
            "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
            "Like LMOVE, waiting for the source to be there.",
        ),
    list("brpoplpush", 4, blocking::brpoplpush)
        .flags(GROW.or(Flags::BLOCKING))
        .keys(MOVE_KEYS)
        .docs(
            "2.2.0",
            "source destination timeout",
            "Like RPOPLPUSH, waiting for the source to be there.",
        ),
    list("blmpop", -5, blocking::blmpop)
        .flags(BLOCK.or(Flags::MOVABLE_KEYS))
        .keys(&[KeySpec::counted(2, RW_ACCESS_DELETE)])
        .complexity("O(N+M) where N is the number of keys and M of elements taken")
        .docs(
            "7.0.0",
            "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
            "Like LMPOP, waiting for a list to be there.",
        ),
];

/// Valkey's words for the one integer that has no positive counterpart.
const OUT_OF_SYMMETRIC_RANGE: &str =
    "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807";

/// `LEFT` or `RIGHT`; `true` is the right, the back of the list.
fn parse_end(word: &[u8]) -> Result<bool, Error> {
    match word {
        word if fold::is(word, "LEFT") => Ok(false),
        word if fold::is(word, "RIGHT") => Ok(true),
        _ => Err(SYNTAX),
    }
}

/// An index from the front; negative ones count from the back. Below the front stays below it.
fn from_front(index: i64, len: usize) -> i64 {
    if index < 0 {
        index.saturating_add(len as i64)
    } else {
        index
    }
}

/// The half-open range that `start` and `stop` mean; `None` if nothing lies in it.
fn range(start: i64, stop: i64, len: usize) -> Option<std::ops::Range<usize>> {
    let start = from_front(start, len).max(0);
    let stop = from_front(stop, len).min(len as i64 - 1);
    (start <= stop && start < len as i64).then(|| start as usize..stop as usize + 1)
}

/// What `LMPOP` and `BLMPOP` are asked: `numkeys key … LEFT|RIGHT [COUNT count]`.
struct ManyKeys {
    first: usize,
    count: usize,
    back: bool,
    elements: usize,
}

impl ManyKeys {
    fn parse(args: Args<'_>, numkeys_at: usize) -> Result<Self, Error> {
        const NUMKEYS: Error = Error::new("ERR numkeys should be greater than 0");
        const COUNT: Error = Error::new("ERR count should be greater than 0");
        let above_zero = |word: &[u8]| crate::text::number::parse_i64(word).filter(|n| *n > 0);
        let count = above_zero(args.get(numkeys_at)).ok_or(NUMKEYS)? as usize;
        let first = numkeys_at + 1;
        let end_at = first.saturating_add(count);
        let back = parse_end(args.try_get(end_at).ok_or(SYNTAX)?)?;
        let mut elements = None;
        let mut at = end_at + 1;
        while let Some(word) = args.try_get(at) {
            let Some(value) = args.try_get(at + 1) else {
                return Err(SYNTAX);
            };
            if elements.is_some() || !fold::is(word, "COUNT") {
                return Err(SYNTAX);
            }
            elements = Some(above_zero(value).ok_or(COUNT)? as usize);
            at += 2;
        }
        Ok(Self {
            first,
            count,
            back,
            elements: elements.unwrap_or(1),
        })
    }
}

//! Which words of a command are keys: read from its key specs, for routing, ACL and `COMMAND GETKEYS`.

use super::args::Args;
use super::native;
use super::spec::{Begin, Command, Find, KeyFlags, KeySpec, OW_UPDATE, RO_ACCESS};
use crate::text::fold;

/// Calls `visit(position, flags)` for each key. `None` where the specs cannot tell (bad counts): the
/// command itself will refuse it. Flags that depend on options are those of this very command.
pub fn for_each_key(command: &Command, args: Args<'_>, mut visit: impl FnMut(usize, KeyFlags)) -> Option<()> {
    if args.len() < usize::from(command.arity.unsigned_abs()) {
        return None;
    }
    if command.name == "limit" {
        return native::limit::for_each_key(args, visit);
    }
    for spec in command.keys {
        if spec.flags.has(KeyFlags::VARIABLE) {
            let flags = exact_flags(command, spec.flags, args);
            for_each_of_spec(spec, args, &mut |at, _| visit(at, flags))?;
        } else {
            for_each_of_spec(spec, args, &mut visit)?;
        }
    }
    if matches!(command.name, "sort")
        && let Some(at) = (2..args.len().saturating_sub(1)).rfind(|at| fold::is(args.get(*at), "STORE"))
    {
        visit(at + 1, OW_UPDATE);
    }
    Some(())
}

/// What `SET` and `BITFIELD` do to their key with the options they are given; else what the spec says.
fn exact_flags(command: &Command, flags: KeyFlags, args: Args<'_>) -> KeyFlags {
    match command.name {
        "set" if !args.iter_from(3).any(|word| fold::is(word, "GET")) => OW_UPDATE,
        "bitfield" if bitfield_only_reads(args) => RO_ACCESS,
        _ => without(flags, KeyFlags::VARIABLE),
    }
}

const fn without(flags: KeyFlags, other: KeyFlags) -> KeyFlags {
    KeyFlags(flags.0 & !other.0)
}

fn bitfield_only_reads(args: Args<'_>) -> bool {
    let mut at = 2;
    while at < args.len() {
        let word = args.get(at);
        at += match () {
            () if fold::is(word, "GET") => 3,
            () if fold::is(word, "OVERFLOW") => 2,
            () => return false,
        };
    }
    true
}

/// The positions that clients of old go by: one range of keys in steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LegacyRange {
    pub first: i32,
    /// Negative: from the end.
    pub last: i32,
    pub step: i32,
    /// There are more keys than the range has, so a client must ask.
    pub movable: bool,
}

/// As much of the key specs as one range can say.
pub fn legacy_range(specs: &[KeySpec]) -> LegacyRange {
    let absolute = |index: u8, last: i32| if last >= 0 { last + i32::from(index) } else { last };
    if let [
        KeySpec {
            begin: Begin::Index(index),
            find: Find::Range { last, step, .. },
            flags,
        },
    ] = specs
    {
        return LegacyRange {
            first: i32::from(*index),
            last: absolute(*index, *last),
            step: i32::from(*step),
            movable: flags.has(KeyFlags::INCOMPLETE),
        };
    }
    let mut range = LegacyRange::default();
    for spec in specs {
        let KeySpec {
            begin: Begin::Index(index),
            find: Find::Range { last, step: 1, .. },
            flags,
        } = spec
        else {
            range.movable = true;
            continue;
        };
        let index_i32 = i32::from(*index);
        if range.last != 0 && range.last != index_i32 - 1 {
            range.movable = true;
            continue;
        }
        range.movable |= flags.has(KeyFlags::INCOMPLETE);
        range.first = if range.first == 0 {
            index_i32
        } else {
            range.first.min(index_i32)
        };
        // Counted from the end is farther than any count from the beginning.
        range.last = (range.last as u32).max(absolute(*index, *last) as u32) as i32;
        range.step = 1;
    }
    range.movable |= range.first == 0 && !specs.is_empty();
    range
}

/// Where the first key stands in every call of the command, if its specs say so.
pub fn fixed_first_key(command: &Command) -> Option<u8> {
    match command.keys.first()? {
        KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { .. },
            flags,
        } if !flags.has(KeyFlags::INCOMPLETE) => Some(*at),
        _ => None,
    }
}

/// The position of the first key, found by asking the specs.
pub fn first_key(command: &Command, args: Args<'_>) -> Option<usize> {
    let mut first = None;
    for_each_key(command, args, |at, _| {
        first = Some(first.map_or(at, |f: usize| f.min(at)))
    });
    first
}

fn for_each_of_spec(spec: &KeySpec, args: Args<'_>, visit: &mut impl FnMut(usize, KeyFlags)) -> Option<()> {
    if spec.flags.has(KeyFlags::NOT_KEY) {
        return Some(());
    }
    let begin = match spec.begin {
        Begin::Index(at) => at as usize,
        Begin::Keyword(word, from) => match find_keyword(word, from, args) {
            Some(at) => at + 1,
            None => return Some(()),
        },
        Begin::Unknown => return Some(()),
    };
    if begin >= args.len() {
        return Some(());
    }
    let (first, last, step) = match spec.find {
        Find::Range { last, step, limit } => {
            let last = if last >= 0 {
                begin as i64 + i64::from(last)
            } else {
                let remaining = args.len() as i64 - begin as i64;
                let kept = if limit > 1 {
                    remaining / i64::from(limit)
                } else {
                    remaining
                };
                begin as i64 + kept + i64::from(last)
            };
            (begin, last, step as usize)
        }
        Find::KeyNum {
            count_at,
            first,
            step,
        } => {
            let count = crate::text::number::parse_i64(args.try_get(begin + count_at as usize)?)?;
            if count < 0 || count > args.len() as i64 {
                return None;
            }
            let first = begin + first as usize;
            (first, first as i64 + (count - 1) * i64::from(step), step as usize)
        }
        Find::Unknown => return Some(()),
    };
    if last >= args.len() as i64 {
        return None;
    }
    let mut at = first;
    while (at as i64) <= last {
        visit(at, spec.flags);
        at += step.max(1);
    }
    Some(())
}

fn find_keyword(word: &str, from: i8, args: Args<'_>) -> Option<usize> {
    let matches = |at: usize| args.get(at).eq_ignore_ascii_case(word.as_bytes());
    if from >= 0 {
        (from as usize..args.len()).find(|at| matches(*at))
    } else {
        let start = args.len().checked_sub(from.unsigned_abs() as usize)?;
        (1..=start).rev().find(|at| matches(*at))
    }
}

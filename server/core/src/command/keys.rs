//! Which words of a command are keys: read from its key specs, for routing, ACL and `COMMAND GETKEYS`.

use super::args::Args;
use super::spec::{Begin, Command, Find, KeyFlags, KeySpec};

/// Calls `visit(position, flags)` for each key. `None` where the specs cannot tell (bad counts): the
/// command itself will refuse it.
pub fn for_each_key(command: &Command, args: Args<'_>, mut visit: impl FnMut(usize, KeyFlags)) -> Option<()> {
    for spec in command.keys {
        for_each_of_spec(spec, args, &mut visit)?;
    }
    Some(())
}

/// The position of the first key, where there is one: what routing needs on the hot path.
#[inline]
pub fn first_key(command: &Command, args: Args<'_>) -> Option<usize> {
    match command.keys.first() {
        Some(KeySpec {
            begin: Begin::Index(at),
            find: Find::Range { .. },
            ..
        }) => ((*at as usize) < args.len()).then_some(*at as usize),
        _ => {
            let mut first = None;
            for_each_key(command, args, |at, _| {
                first = Some(first.map_or(at, |f: usize| f.min(at)))
            });
            first
        }
    }
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

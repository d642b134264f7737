//! Differences from Valkey that are meant and that random commands meet, with their reasons. The whole list is
//! `docs/src/reference/deviations.md`.

use crate::resp::Value;

/// A command (in upper case) and when its replies may differ.
pub struct Deviation {
    pub command: &'static str,
    pub reason: &'static str,
    holds: fn(args: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool,
}

pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        command: "GET",
        reason: "PFCOUNT keeps no count in the value",
        holds: same_but_for_a_kept_count,
    },
    Deviation {
        command: "MGET",
        reason: "as GET",
        holds: same_but_for_kept_counts,
    },
    Deviation {
        command: "SORT",
        reason: "ALPHA compares whole strings; Valkey's collation stops at the first zero byte",
        holds: same_but_for_zero_bytes,
    },
    Deviation {
        command: "SORT_RO",
        reason: "as SORT",
        holds: same_but_for_zero_bytes,
    },
];

/// Two HyperLogLogs that differ in the bytes of the count alone.
fn same_but_for_a_kept_count(_: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool {
    const COUNT: std::ops::Range<usize> = 8..16;
    let registers = |value: &Value| match value {
        Value::Bulk(bytes) if bytes.starts_with(b"HYLL") && bytes.len() > COUNT.end => {
            Some([&bytes[..COUNT.start], &bytes[COUNT.end..]].concat())
        }
        _ => None,
    };
    registers(ours).is_some_and(|own| registers(theirs) == Some(own))
}

fn same_but_for_kept_counts(args: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool {
    let (Value::Array(own), Value::Array(other)) = (ours, theirs) else {
        return false;
    };
    let same = |(own, other): (&Value, &Value)| own == other || same_but_for_a_kept_count(args, own, other);
    own.len() == other.len() && own.iter().zip(other).all(same)
}

/// The same elements in another order, some of them with a zero byte.
fn same_but_for_zero_bytes(_: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool {
    let texts = |value: &Value| match value {
        Value::Array(elements) => elements.iter().map(|e| format!("{e:?}")).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let zero = |value: &Value| matches!(value, Value::Array(all) if all.iter().any(|e| matches!(e, Value::Bulk(b) if b.contains(&0))));
    let (mut left, mut right) = (texts(ours), texts(theirs));
    left.sort();
    right.sort();
    zero(theirs) && left == right
}

pub(super) fn meant(args: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool {
    let Some(name) = args.first() else { return false };
    DEVIATIONS
        .iter()
        .any(|d| name.eq_ignore_ascii_case(d.command.as_bytes()) && (d.holds)(args, ours, theirs))
}

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

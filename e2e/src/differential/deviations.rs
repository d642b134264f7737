//! Every difference from Valkey that is meant, with its reason. Nothing else may differ.

use crate::resp::Value;

/// A command (in upper case) and when its replies may differ.
pub struct Deviation {
    pub command: &'static str,
    pub reason: &'static str,
    holds: fn(args: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool,
}

pub const DEVIATIONS: &[Deviation] = &[];

pub(super) fn meant(args: &[Vec<u8>], ours: &Value, theirs: &Value) -> bool {
    let Some(name) = args.first() else { return false };
    DEVIATIONS
        .iter()
        .any(|d| name.eq_ignore_ascii_case(d.command.as_bytes()) && (d.holds)(args, ours, theirs))
}

//! Which words of a command are channels that a user must be allowed to use.

use crate::command::spec::Flags;
use crate::command::{Args, Entry};

/// Calls `visit(position, is_pattern)` for each channel that is published or subscribed to. Leaving a channel
/// needs no permission.
pub fn for_each_channel(entry: &Entry, args: Args<'_>, mut visit: impl FnMut(usize, bool)) {
    if !entry.flags.has(Flags::PUBSUB) {
        return;
    }
    let (end, is_pattern) = match entry.spec.name {
        "publish" | "spublish" => (2, false),
        "subscribe" | "ssubscribe" => (args.len(), false),
        "psubscribe" => (args.len(), true),
        _ => return,
    };
    for at in 1..end.min(args.len()) {
        visit(at, is_pattern);
    }
}

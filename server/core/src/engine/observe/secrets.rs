//! Which words of a command are nobody else's business: passwords and rules of users.

use crate::command::{Args, Entry};
use crate::options::Row;
use crate::text::fold;

/// What is shown in their place.
pub const REDACTED: &[u8] = b"(redacted)";

/// Whether the word at that position is kept out of logs.
pub fn is_secret(entry: &Entry, args: Args<'_>, at: usize) -> bool {
    match entry.full_name.as_str() {
        "auth" => at >= 1,
        "acl|setuser" | "acl|deluser" | "acl|getuser" => at >= 2,
        "config|set" => {
            at >= 3 && at % 2 == 1 && Row::find(args.get(at - 1)).is_some_and(|row| row.facts.secret)
        }
        "hello" => {
            let login = args.iter_from(2).position(|word| fold::is(word, "AUTH"));
            login.is_some_and(|login| (login + 3..login + 5).contains(&at))
        }
        _ => false,
    }
}

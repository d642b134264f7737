//! Who may do what: users, their passwords, and the rules about commands, keys, channels and databases.
//!
//! Invariants: a [`User`] never changes once it is shared: a new one takes its place in [`Users`] and in the
//! sessions. Every rule list can be printed as text and read back to the same user. Nothing here knows
//! sessions, files or the wire; what is refused is a [`Denial`], and `engine/permission.rs` makes an answer
//! of it.

mod channels;
mod check;
mod command_set;
pub mod file;
pub mod log;
mod password;
mod rules;
mod selector;
#[cfg(test)]
mod tests;
mod user;
mod users;

pub use check::{Denial, Reason};
pub use command_set::CommandSet;
pub use log::AclLog;
pub use password::{Hash, hash};
pub use rules::RuleError;
pub use selector::{Selector, category};
pub use user::User;
pub use users::Users;

/// The user that every connection is before it authenticates.
pub const DEFAULT: &[u8] = b"default";

/// White space or NUL, which names and patterns may not hold.
fn has_blank(word: &[u8]) -> bool {
    word.iter()
        .any(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r'))
}

//! The words that rules are written in: how they are joined and split, and why one is refused.

use crate::command::OwnedArgs;
use crate::resp::{Span, inline};

/// Why a rule was refused, in the words that clients know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RuleError {
    #[error("Unknown command or category name in ACL")]
    UnknownCommand,
    #[error("Syntax error")]
    Syntax,
    #[error(
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
         effect. Try 'resetkeys' to start with an empty list of patterns"
    )]
    KeysAfterAll,
    #[error(
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
         effect. Try 'resetchannels' to start with an empty list of channels"
    )]
    ChannelsAfterAll,
    #[error("The password you are trying to remove from the user does not exist")]
    NoSuchPassword,
    #[error(
        "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
    )]
    BadHash,
    #[error("Allowing first-arg of a subcommand is not supported")]
    FirstArgOfSubcommand,
    #[error("The provided database ID is out of range")]
    DatabaseOutOfRange,
}

/// Joins selectors that were given as several words: `(~a`, `+get)` is one rule `(~a +get)`. On an open
/// parenthesis that is never closed, the word it stands in.
pub fn join_selectors<'w>(words: impl Iterator<Item = &'w [u8]>) -> Result<Vec<Vec<u8>>, &'w [u8]> {
    let mut rules: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<&'w [u8]> = None;
    for word in words {
        match (open, rules.last_mut()) {
            (Some(_), Some(selector)) => {
                selector.push(b' ');
                selector.extend_from_slice(word);
                if word.ends_with(b")") {
                    open = None;
                }
            }
            _ => {
                if word.starts_with(b"(") && !word.ends_with(b")") {
                    open = Some(word);
                }
                rules.push(word.to_vec());
            }
        }
    }
    match open {
        Some(word) => Err(word),
        None => Ok(rules),
    }
}

/// The words inside a selector's parentheses; they may be quoted.
pub fn split_words(text: &[u8]) -> Result<OwnedArgs, RuleError> {
    let mut line = text.to_vec();
    let mut spans: Vec<Span> = Vec::new();
    inline::split(&mut line, 0, &mut spans).map_err(|_| RuleError::Syntax)?;
    Ok(OwnedArgs::from_words(spans.iter().map(|span| span.of(&line))))
}

//! What can go wrong between the log and the rows.

use super::Failure;
use crate::effect::DecodeError;
use crate::image::{At, Unreadable};

#[derive(Debug, thiserror::Error)]
pub enum WindowError {
    #[error("the log could not be read: {0}")]
    Log(Failure),
    #[error("entry {} holds something else than effects: {source}", at.index)]
    Entry { at: At, source: DecodeError },
    #[error("entry {} does not follow on {}", found.index, after.index)]
    Gap { found: At, after: At },
    #[error("a row is not what was noted of it: {0}")]
    Row(Unreadable),
    #[error("rows could not be written: {0}")]
    Sink(Failure),
}

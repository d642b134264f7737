//! Transcripts: text files that say what clients send and what the server must answer.
//!
//! The notation is described in `transcripts/README.md`. `script` reads a file into steps,
//! `pattern` knows expected replies, `run` plays the steps against a server of its own.

mod pattern;
mod run;
mod script;
mod words;

pub use pattern::Pattern;
pub use run::run;
pub use script::{Script, Step};
pub use words::split;

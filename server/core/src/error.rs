//! What a command answers when it cannot do what it was asked: Valkey's own words, prefix first.

use std::borrow::Cow;

/// An error line without the leading `-` and the trailing CRLF, e.g. `ERR syntax error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub Cow<'static, str>);

impl Error {
    pub const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// The first word, by which `INFO errorstats` counts.
    pub fn prefix(&self) -> &str {
        self.0.split(' ').next().unwrap_or("ERR")
    }

    pub fn wrong_arity(full_name: &str) -> Self {
        Self(Cow::Owned(format!(
            "ERR wrong number of arguments for '{full_name}' command"
        )))
    }

    pub fn invalid_expire(full_name: &str) -> Self {
        Self(Cow::Owned(format!(
            "ERR invalid expire time in '{full_name}' command"
        )))
    }

    /// `ERR unknown subcommand 'x'. Try CLIENT HELP.`
    pub fn unknown_subcommand(given: &[u8], parent: &str) -> Self {
        let given = String::from_utf8_lossy(&given[..given.len().min(128)]).into_owned();
        Self(Cow::Owned(format!(
            "ERR unknown subcommand '{given}'. Try {} HELP.",
            parent.to_uppercase()
        )))
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

pub const SYNTAX: Error = Error::new("ERR syntax error");
pub const WRONG_TYPE: Error = Error::new("WRONGTYPE Operation against a key holding the wrong kind of value");
pub const NOT_AN_INTEGER: Error = Error::new("ERR value is not an integer or out of range");
pub const NOT_A_FLOAT: Error = Error::new("ERR value is not a valid float");
pub const OUT_OF_RANGE: Error = Error::new("ERR value is out of range");
pub const NOT_POSITIVE: Error = Error::new("ERR value is out of range, must be positive");
pub const INDEX_OUT_OF_RANGE: Error = Error::new("ERR index out of range");
pub const NO_SUCH_KEY: Error = Error::new("ERR no such key");
pub const OVERFLOW: Error = Error::new("ERR increment or decrement would overflow");
pub const STRING_TOO_LONG: Error = Error::new("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
pub const LOADING: Error = Error::new("LOADING Ruvio is loading the dataset in memory");
pub const MISCONF: Error = Error::new(
    "MISCONF The disk that holds the log is full: commands that may modify the data set are refused until there is \
     room. Free space on it or enlarge the volume; reads go on, and what was acknowledged is safe.",
);
pub const NOT_LED: Error = Error::new(
    "CLUSTERDOWN No node leads the shard of this key at the moment: nothing was done, and it is safe to try again",
);
pub const OOM: Error = Error::new("OOM command not allowed when used memory > 'maxmemory'.");

//! What a request can do wrong before it is a command, in the words that clients know from Valkey.
//!
//! Every one of them ends the connection once the reply is written: after it, nobody can say where the next
//! command begins.

use std::borrow::Cow;

/// Why the bytes are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// An inline request of more than 64 KiB.
    TooBigInline,
    /// `*` without an end of line for 64 KiB.
    TooBigMultibulkCount,
    /// `$` without an end of line for 64 KiB.
    TooBigBulkCount,
    /// `*` with something that is not a count.
    InvalidMultibulkLength,
    /// `$` with something that is not a length, or a length above `proto-max-bulk-len`.
    InvalidBulkLength,
    /// More arguments than a client may send before it has authenticated.
    UnauthenticatedMultibulk,
    /// A longer argument than a client may send before it has authenticated.
    UnauthenticatedBulk,
    /// An argument began with this byte instead of `$`.
    ExpectedDollar(u8),
    /// A line or an argument did not end in CR LF.
    InvalidCrlf,
    /// An inline request ended inside quotes.
    UnbalancedQuotes,
}

impl ProtocolError {
    /// The text after `ERR ` as clients see it. Bytes, since it may quote one of the client's; line breaks in
    /// it are for [`Reply::error`](super::Reply::error) to remove.
    pub fn text(self) -> Cow<'static, [u8]> {
        Cow::Borrowed(match self {
            Self::TooBigInline => b"Protocol error: too big inline request".as_slice(),
            Self::TooBigMultibulkCount => b"Protocol error: too big mbulk count string",
            Self::TooBigBulkCount => b"Protocol error: too big bulk count string",
            Self::InvalidMultibulkLength => b"Protocol error: invalid multibulk length",
            Self::InvalidBulkLength => b"Protocol error: invalid bulk length",
            Self::UnauthenticatedMultibulk => b"Protocol error: unauthenticated multibulk length",
            Self::UnauthenticatedBulk => b"Protocol error: unauthenticated bulk length",
            Self::InvalidCrlf => b"Protocol error: invalid CRLF in request",
            Self::UnbalancedQuotes => b"Protocol error: unbalanced quotes in request",
            Self::ExpectedDollar(got) => {
                let mut text = b"Protocol error: expected '$', got '".to_vec();
                text.extend([got, b'\'']);
                return Cow::Owned(text);
            }
        })
    }
}

//! RESP as it stands on the wire: requests in ([`decode`], [`inline`]), replies out ([`reply`]).
//!
//! Knows bytes and limits; does not know commands, connections or sockets.

pub mod decode;
pub mod inline;
mod protocol_error;
pub mod reply;

#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod reply_tests;

pub use decode::{Decoded, Decoder, Limits, Span};
pub use protocol_error::ProtocolError;
pub use reply::{Deferred, Protocol, Reply};

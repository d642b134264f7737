//! RESP as it stands on the wire: requests in ([`decode`], [`inline`]), replies out ([`reply`]), and replies
//! read back ([`value`], [`frame`]: for tests, the bench and whoever passes replies on).
//!
//! Knows bytes and limits; does not know commands, connections or sockets.

pub mod decode;
pub mod frame;
pub mod inline;
mod protocol_error;
pub mod reply;
mod short;
pub mod value;

#[cfg(test)]
mod decode_tests;
#[cfg(test)]
mod reply_tests;
#[cfg(test)]
mod value_tests;

pub use decode::{Decoded, Decoder, Limits, Span};
pub use frame::{Frames, count_replies};
pub use protocol_error::ProtocolError;
pub use reply::{Deferred, Protocol, Reply};
pub use value::Value;

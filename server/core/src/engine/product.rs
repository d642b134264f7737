//! What the server calls itself towards clients.

/// `server` of `HELLO`. Client libraries choose their features by this and the version, so it is the name
/// that all of them know.
pub const SERVER: &str = "redis";
/// The version whose commands a client may count on: the last one that Redis and Valkey have in common.
pub const COMPATIBLE_VERSION: &str = "7.2.4";

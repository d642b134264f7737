//! What `OBJECT ENCODING` says of a string. Nothing here depends on it: strings are bytes.

use crate::keyspace::{Collection, kind};
use crate::memory::Entry;
use crate::text::number::parse_i64;

/// Bytes of key and value up to which Valkey keeps both in the object itself.
const EMBEDDED_BYTES_MAX: usize = 113;
/// What an expiry takes of them.
const EXPIRY_BYTES: usize = 8;
/// Keys from this length on take a longer header.
const LONG_KEY: usize = 32;
const LONG_KEY_BYTES: usize = 2;

/// `int`, `embstr` or `raw`, as Valkey 9.1 would keep the same string. A string that was changed in place is
/// `raw` whatever it holds.
pub fn encoding(entry: Entry<'_, Collection>) -> &'static str {
    let (key, value) = (entry.key(), entry.bytes());
    if entry.kind() == kind::STRING_RAW {
        return "raw";
    }
    if parse_i64(value).is_some() {
        return "int";
    }
    let expiry = entry.expire_at_ms().map_or(0, |_| EXPIRY_BYTES);
    let header = if key.len() < LONG_KEY { 0 } else { LONG_KEY_BYTES };
    if key.len() + value.len() + expiry + header <= EMBEDDED_BYTES_MAX {
        "embstr"
    } else {
        "raw"
    }
}

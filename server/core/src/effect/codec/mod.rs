//! Effects as bytes, version 1. Integers are LEB128 varints unless said otherwise.
//!
//! An effect is `op`, then `db, key length, key`, then the op's own fields in the order of its `Effect`
//! variant. Bit 6 of the op byte is the `created` bit. Its top bit says "the same database and key as an
//! effect before": then the distance back to that effect's `db` stands in their place, so that an effect can
//! be read by itself wherever it stands ([`decode_at`]). Checksums and framing are the log's affair.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{DecodeError, Decoder, decode_at};
pub(super) use encode::Encoder;
pub use encode::PART_BYTES;

const SAME_KEY: u8 = 0x80;
const CREATED: u8 = 0x40;

mod op {
    pub(super) const PUT: u8 = 1;
    pub(super) const PATCH: u8 = 2;
    pub(super) const EXPIRE: u8 = 3;
    pub(super) const DELETE: u8 = 4;
    pub(super) const CREATE: u8 = 5;
    pub(super) const RENAME: u8 = 6;
    pub(super) const HASH_PUT: u8 = 7;
    pub(super) const HASH_DELETE: u8 = 8;
    pub(super) const SET_ADD: u8 = 9;
    pub(super) const SET_DELETE: u8 = 10;
    pub(super) const SCORE_PUT: u8 = 11;
    pub(super) const SCORE_DELETE: u8 = 12;
    pub(super) const LIST_PUT: u8 = 13;
    pub(super) const LIST_DELETE: u8 = 14;
    pub(super) const SWAP: u8 = 15;
    pub(super) const FLUSH: u8 = 16;
    pub(super) const FENCE: u8 = 17;
}

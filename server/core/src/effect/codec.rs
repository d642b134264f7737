//! Effects as bytes, version 1. Integers are LEB128 varints unless said otherwise.
//!
//! An effect is `op`, then (unless the op byte's top bit says "the same database and key as the effect
//! before") `db, key length, key`, then the op's own fields in the order of its `Effect` variant. Bit 6 of
//! the op byte is the `created` bit. Checksums and framing are the log's affair.

use super::{Effect, ListPosition};

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

#[derive(Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
    last_db: u16,
    /// Where the key of the last effect stands in `bytes`.
    last_key: std::ops::Range<usize>,
}

impl Encoder {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.last_key = 0..0;
    }

    pub(super) fn push(&mut self, db: u16, effect: &Effect<'_>) {
        match *effect {
            Effect::Put {
                key,
                kind,
                value,
                expire_at,
                created,
            } => {
                self.head(op::PUT, created, db, key);
                self.bytes.push(kind);
                self.optional(expire_at);
                self.blob(value);
            }
            Effect::Patch { key, offset, bytes } => {
                self.head(op::PATCH, false, db, key);
                self.varint(offset);
                self.blob(bytes);
            }
            Effect::Expire { key, at } => {
                self.head(op::EXPIRE, false, db, key);
                self.optional(at);
            }
            Effect::Delete { key, generation } => {
                self.head(op::DELETE, false, db, key);
                self.optional(generation);
            }
            Effect::Create {
                key,
                kind,
                generation,
            } => {
                self.head(op::CREATE, true, db, key);
                self.bytes.push(kind);
                self.varint(generation);
            }
            Effect::Rename { from, to_db, to } => {
                self.head(op::RENAME, false, db, from);
                self.varint(u64::from(to_db));
                self.blob(to);
            }
            Effect::HashPut {
                key,
                generation,
                field,
                value,
                expire_at,
                created,
            } => {
                self.element(op::HASH_PUT, created, db, key, generation, field);
                self.optional(expire_at);
                self.blob(value);
            }
            Effect::HashDelete {
                key,
                generation,
                field,
            } => {
                self.element(op::HASH_DELETE, false, db, key, generation, field);
            }
            Effect::SetAdd {
                key,
                generation,
                member,
            } => {
                self.element(op::SET_ADD, true, db, key, generation, member);
            }
            Effect::SetDelete {
                key,
                generation,
                member,
            } => {
                self.element(op::SET_DELETE, false, db, key, generation, member);
            }
            Effect::ScorePut {
                key,
                generation,
                member,
                score,
                created,
            } => {
                self.element(op::SCORE_PUT, created, db, key, generation, member);
                self.bytes.extend_from_slice(&score.to_bits().to_le_bytes());
            }
            Effect::ScoreDelete {
                key,
                generation,
                member,
            } => {
                self.element(op::SCORE_DELETE, false, db, key, generation, member);
            }
            Effect::ListPut {
                key,
                generation,
                position,
                value,
                created,
            } => {
                self.head(op::LIST_PUT, created, db, key);
                self.varint(generation);
                self.position(position);
                self.blob(value);
            }
            Effect::ListDelete {
                key,
                generation,
                position,
            } => {
                self.head(op::LIST_DELETE, false, db, key);
                self.varint(generation);
                self.position(position);
            }
            Effect::Swap { with } => {
                self.head(op::SWAP, false, db, b"");
                self.varint(u64::from(with));
            }
            Effect::Flush => self.head(op::FLUSH, false, db, b""),
            Effect::Fence { fence } => {
                self.head(op::FENCE, false, db, b"");
                self.varint(fence);
            }
        }
    }

    fn head(&mut self, op: u8, created: bool, db: u16, key: &[u8]) {
        let created = if created { CREATED } else { 0 };
        let same = !self.bytes.is_empty() && db == self.last_db && self.bytes[self.last_key.clone()] == *key;
        if same {
            self.bytes.push(op | created | SAME_KEY);
            return;
        }
        self.bytes.push(op | created);
        self.varint(u64::from(db));
        self.blob(key);
        self.last_db = db;
        self.last_key = self.bytes.len() - key.len()..self.bytes.len();
    }

    fn element(&mut self, op: u8, created: bool, db: u16, key: &[u8], generation: u64, part: &[u8]) {
        self.head(op, created, db, key);
        self.varint(generation);
        self.blob(part);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// `None` is 0, `Some(v)` is v + 1: times and generations stay far below the top.
    fn optional(&mut self, value: Option<u64>) {
        self.varint(value.map_or(0, |v| v.saturating_add(1)));
    }

    fn blob(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Big-endian, as in the image's row keys.
    fn position(&mut self, position: ListPosition) {
        self.bytes.extend_from_slice(&position.whole.to_be_bytes());
        self.varint(position.fraction);
    }
}

/// Bytes that are not effects: what stands where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an effect at byte {at}: {what}")]
pub struct DecodeError {
    pub at: usize,
    pub what: &'static str,
}

/// Reads effects back, one `next` each, with their database.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    db: u16,
    key: &'a [u8],
    started: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            db: 0,
            key: b"",
            started: false,
        }
    }

    fn decode(&mut self) -> Result<(u16, Effect<'a>), DecodeError> {
        let head = self.byte()?;
        let created = head & CREATED != 0;
        if head & SAME_KEY == 0 {
            let db = self.varint()?;
            self.db = u16::try_from(db).map_err(|_| self.error("database number too large"))?;
            self.key = self.blob()?;
            self.started = true;
        } else if !self.started {
            return Err(self.error("refers to a key before any"));
        }
        let key = self.key;
        let effect = match head & 0x3F {
            op::PUT => {
                let kind = self.byte()?;
                let expire_at = self.optional()?;
                Effect::Put {
                    key,
                    kind,
                    value: self.blob()?,
                    expire_at,
                    created,
                }
            }
            op::PATCH => Effect::Patch {
                key,
                offset: self.varint()?,
                bytes: self.blob()?,
            },
            op::EXPIRE => Effect::Expire {
                key,
                at: self.optional()?,
            },
            op::DELETE => Effect::Delete {
                key,
                generation: self.optional()?,
            },
            op::CREATE => Effect::Create {
                key,
                kind: self.byte()?,
                generation: self.varint()?,
            },
            op::RENAME => {
                let to_db = self.varint()?;
                let to_db = u16::try_from(to_db).map_err(|_| self.error("database number too large"))?;
                Effect::Rename {
                    from: key,
                    to_db,
                    to: self.blob()?,
                }
            }
            op::SWAP => {
                let with = self.varint()?;
                Effect::Swap {
                    with: u16::try_from(with).map_err(|_| self.error("database number too large"))?,
                }
            }
            op::FLUSH => Effect::Flush,
            op::FENCE => Effect::Fence {
                fence: self.varint()?,
            },
            other => self.element(other, key, created)?,
        };
        Ok((self.db, effect))
    }

    fn element(&mut self, code: u8, key: &'a [u8], created: bool) -> Result<Effect<'a>, DecodeError> {
        let generation = self.varint()?;
        Ok(match code {
            op::HASH_PUT => {
                let field = self.blob()?;
                let expire_at = self.optional()?;
                Effect::HashPut {
                    key,
                    generation,
                    field,
                    value: self.blob()?,
                    expire_at,
                    created,
                }
            }
            op::HASH_DELETE => Effect::HashDelete {
                key,
                generation,
                field: self.blob()?,
            },
            op::SET_ADD => Effect::SetAdd {
                key,
                generation,
                member: self.blob()?,
            },
            op::SET_DELETE => Effect::SetDelete {
                key,
                generation,
                member: self.blob()?,
            },
            op::SCORE_PUT => {
                let member = self.blob()?;
                let score = f64::from_bits(u64::from_le_bytes(self.eight()?));
                Effect::ScorePut {
                    key,
                    generation,
                    member,
                    score,
                    created,
                }
            }
            op::SCORE_DELETE => Effect::ScoreDelete {
                key,
                generation,
                member: self.blob()?,
            },
            op::LIST_PUT => {
                let position = self.position()?;
                Effect::ListPut {
                    key,
                    generation,
                    position,
                    value: self.blob()?,
                    created,
                }
            }
            op::LIST_DELETE => Effect::ListDelete {
                key,
                generation,
                position: self.position()?,
            },
            _ => return Err(self.error("unknown operation")),
        })
    }

    fn error(&self, what: &'static str) -> DecodeError {
        DecodeError { at: self.at, what }
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.at).ok_or(self.error("ends early"))?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if shift == 63 && part > 1 {
                return Err(self.error("number too large"));
            }
            value |= part << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("number too long"))
    }

    fn optional(&mut self) -> Result<Option<u64>, DecodeError> {
        Ok(self.varint()?.checked_sub(1))
    }

    fn blob(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.varint()?;
        let rest = &self.bytes[self.at..];
        if len > rest.len() as u64 {
            return Err(self.error("ends early"));
        }
        self.at += len as usize;
        Ok(&rest[..len as usize])
    }

    fn eight(&mut self) -> Result<[u8; 8], DecodeError> {
        let bytes = self.bytes[self.at..]
            .first_chunk::<8>()
            .ok_or(self.error("ends early"))?;
        self.at += 8;
        Ok(*bytes)
    }

    fn position(&mut self) -> Result<ListPosition, DecodeError> {
        let whole = u64::from_be_bytes(self.eight()?);
        Ok(ListPosition {
            whole,
            fraction: self.varint()?,
        })
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Result<(u16, Effect<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let result = self.decode();
        if result.is_err() {
            // Nothing after a broken effect can be trusted.
            self.at = self.bytes.len();
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<(u16, Effect<'static>)> {
        let position = ListPosition {
            whole: 1 << 63,
            fraction: 7,
        };
        vec![
            (
                0,
                Effect::Put {
                    key: b"k",
                    kind: 0,
                    value: b"v",
                    expire_at: Some(0),
                    created: true,
                },
            ),
            (
                0,
                Effect::Patch {
                    key: b"k",
                    offset: 1 << 40,
                    bytes: b"xyz",
                },
            ),
            (3, Effect::Expire { key: b"k", at: None }),
            (
                3,
                Effect::Delete {
                    key: b"other",
                    generation: Some(9),
                },
            ),
            (
                3,
                Effect::Create {
                    key: b"h",
                    kind: 2,
                    generation: 10,
                },
            ),
            (
                3,
                Effect::HashPut {
                    key: b"h",
                    generation: 10,
                    field: b"f",
                    value: b"",
                    expire_at: Some(5),
                    created: false,
                },
            ),
            (
                3,
                Effect::HashDelete {
                    key: b"h",
                    generation: 10,
                    field: b"f",
                },
            ),
            (
                3,
                Effect::SetAdd {
                    key: b"s",
                    generation: 11,
                    member: b"m",
                },
            ),
            (
                3,
                Effect::SetDelete {
                    key: b"s",
                    generation: 11,
                    member: b"m",
                },
            ),
            (
                3,
                Effect::ScorePut {
                    key: b"z",
                    generation: 12,
                    member: b"m",
                    score: -0.5,
                    created: true,
                },
            ),
            (
                3,
                Effect::ScoreDelete {
                    key: b"z",
                    generation: 12,
                    member: b"m",
                },
            ),
            (
                3,
                Effect::ListPut {
                    key: b"l",
                    generation: 13,
                    position,
                    value: b"e",
                    created: true,
                },
            ),
            (
                3,
                Effect::ListDelete {
                    key: b"l",
                    generation: 13,
                    position,
                },
            ),
            (
                3,
                Effect::Rename {
                    from: b"l",
                    to_db: 15,
                    to: b"l2",
                },
            ),
            (3, Effect::Swap { with: 4 }),
            (4, Effect::Flush),
            (0, Effect::Fence { fence: u64::MAX }),
        ]
    }

    fn encoded() -> Vec<u8> {
        let mut encoder = Encoder::default();
        for (db, effect) in samples() {
            encoder.push(db, &effect);
        }
        encoder.bytes
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let bytes = encoded();
        let decoded: Result<Vec<_>, _> = Decoder::new(&bytes).collect();
        assert_eq!(decoded, Ok(samples()));
    }

    #[test]
    fn a_set_of_32_bytes_is_compact() {
        let mut encoder = Encoder::default();
        let (key, value) = ([b'k'; 16], [b'v'; 16]);
        encoder.push(
            0,
            &Effect::Put {
                key: &key,
                kind: 0,
                value: &value,
                expire_at: None,
                created: true,
            },
        );
        assert!(encoder.bytes.len() <= 40, "{} bytes", encoder.bytes.len());
    }

    #[test]
    fn cut_or_flipped_bytes_are_an_error_or_other_effects_never_a_panic() {
        let bytes = encoded();
        for cut in 0..bytes.len() {
            let _ = Decoder::new(&bytes[..cut]).count();
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut broken = bytes.clone();
                broken[at] ^= 1 << bit;
                let _ = Decoder::new(&broken).count();
            }
        }
        let too_short = Decoder::new(&bytes[..bytes.len() - 1]).last();
        assert!(matches!(too_short, Some(Err(_))));
    }
}

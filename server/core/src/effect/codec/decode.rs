//! Reads effects, and trusts none of their bytes.

use super::{CREATED, SAME_KEY, op};
use crate::effect::{Effect, ListPosition};

/// Bytes that are not effects: what stands where.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not an effect at byte {at}: {what}")]
pub struct DecodeError {
    pub at: usize,
    pub what: &'static str,
}

/// The effect that begins at `at` with its database, read by itself: what it refers to stands before it.
pub fn decode_at(bytes: &[u8], at: usize) -> Result<(u16, Effect<'_>), DecodeError> {
    Decoder { bytes, at }.decode()
}

/// Reads effects back, one `next` each, with their database.
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Decoder<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next effect begins.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn decode(&mut self) -> Result<(u16, Effect<'a>), DecodeError> {
        let start = self.at;
        let head = self.byte()?;
        let created = head & CREATED != 0;
        let (db, key) = if head & SAME_KEY == 0 {
            self.place()?
        } else {
            let distance = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
            let before = start.checked_sub(distance);
            // Not itself, or it would be its own key.
            let before = before.filter(|before| *before < start);
            let at = before.ok_or(self.error("refers to a key before any"))?;
            let bytes = self.bytes;
            Decoder { bytes, at }.place()?
        };
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
                let to = self.blob()?;
                Effect::Rename {
                    from: key,
                    to,
                    kind: self.byte()?,
                    generation: self.varint()?,
                    expire_at: self.optional()?,
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
        Ok((db, effect))
    }

    /// A database and a key.
    fn place(&mut self) -> Result<(u16, &'a [u8]), DecodeError> {
        let db = self.varint()?;
        let db = u16::try_from(db).map_err(|_| self.error("database number too large"))?;
        Ok((db, self.blob()?))
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

//! Writes effects, each after the one before, in parts that can each be read alone.

use super::{CREATED, SAME_KEY, op};
use crate::effect::{Effect, ListPosition};

/// A part that has grown to this is ended before the next effect.
pub const PART_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(in crate::effect) struct Encoder {
    /// Parts that have ended.
    ended: Vec<Vec<u8>>,
    /// The part in the making.
    bytes: Vec<u8>,
    last_db: u16,
    /// Where the database and the key of the last effect that names them stand in `bytes`.
    last_head: usize,
    last_key: std::ops::Range<usize>,
}

impl Encoder {
    pub(in crate::effect) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(in crate::effect) fn len(&self) -> usize {
        self.ended.iter().map(Vec::len).sum::<usize>() + self.bytes.len()
    }

    pub(in crate::effect) fn clear(&mut self) {
        self.ended.clear();
        self.bytes.clear();
        self.last_key = 0..0;
    }

    /// The parts that have ended. One that follows on them is never empty.
    pub(in crate::effect) fn take_ended(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.ended)
    }

    #[cold]
    fn end_part(&mut self) {
        self.last_key = 0..0;
        self.ended.push(std::mem::take(&mut self.bytes));
    }

    /// The last part, in exchange for an empty buffer.
    pub(in crate::effect) fn take(&mut self, mut buffer: Vec<u8>) -> Vec<u8> {
        buffer.clear();
        self.last_key = 0..0;
        std::mem::replace(&mut self.bytes, buffer)
    }

    pub(in crate::effect) fn push(&mut self, db: u16, effect: &Effect<'_>) {
        if self.bytes.len() >= PART_BYTES {
            self.end_part();
        }
        match *effect {
            Effect::Put {
                key,
                kind,
                value,
                expire_at,
                created,
            } => {
                self.head(op::PUT, created, db, key);
                if expire_at.is_none() && value.len() < 0x80 {
                    // The plain case, in two pieces.
                    self.bytes.extend_from_slice(&[kind, 0, value.len() as u8]);
                    self.bytes.extend_from_slice(value);
                } else {
                    self.bytes.push(kind);
                    self.optional(expire_at);
                    self.blob(value);
                }
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
            Effect::Rename {
                from,
                to,
                kind,
                generation,
                expire_at,
            } => {
                self.head(op::RENAME, false, db, from);
                self.blob(to);
                self.bytes.push(kind);
                self.varint(generation);
                self.optional(expire_at);
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
            let distance = self.bytes.len() - self.last_head;
            self.bytes.push(op | created | SAME_KEY);
            self.varint(distance as u64);
            return;
        }
        self.last_head = self.bytes.len() + 1;
        if db < 0x80 && key.len() < 0x80 {
            self.bytes
                .extend_from_slice(&[op | created, db as u8, key.len() as u8]);
            self.bytes.extend_from_slice(key);
        } else {
            self.bytes.push(op | created);
            self.varint(u64::from(db));
            self.blob(key);
        }
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

//! How commands change strings in place, and how such changes are told.
//!
//! A change of a short string is told as the whole row; of a longer one as the bytes that changed, so that
//! a bit set in a megabyte costs the log a byte. Touch and events are the caller's, once a command.

use std::ops::Range;

use super::{Collection, Db, Key, Type, kind};
use crate::effect::Effect;
use crate::error::{Error, WRONG_TYPE};
use crate::memory::{Expiry, NewValue, Slot};

/// Up to this length a changed string is told whole.
const WHOLE_BYTES_MAX: usize = 256;

/// A string that is there and long enough to be written to.
pub struct OpenString<'d> {
    pub slot: Slot<'d, Collection>,
    pub created: bool,
    pub len_before: usize,
}

impl Db<'_> {
    /// The string at the key, made if absent and grown with zeros to `len_min` bytes. From here on it counts
    /// as edited in place. The caller tells the change with [`Db::tell_edit`].
    pub fn open_string(&mut self, key: Key<'_>, len_min: usize) -> Result<OpenString<'_>, Error> {
        let created = !self.is_live(key);
        if created {
            self.put(key, kind::STRING_RAW, NewValue::Bytes(b""), Expiry::Clear);
        }
        let mut slot = self.find_edit(key).ok_or(WRONG_TYPE)?;
        if Type::of(slot.kind()) != Type::String {
            return Err(WRONG_TYPE);
        }
        slot.set_kind(kind::STRING_RAW);
        let len_before = slot.entry().bytes().len();
        if len_before < len_min {
            slot.resize(len_min);
        }
        Ok(OpenString {
            slot,
            created,
            len_before,
        })
    }

    /// Tells what was done to the string at the key: the ranges that changed, with all that it grew by among
    /// them. `created`: the key was absent before this command.
    pub fn tell_edit(&mut self, key: Key<'_>, created: bool, changed: impl Iterator<Item = Range<usize>>) {
        if !self.shard.effects.on() {
            return;
        }
        let shard = &mut *self.shard;
        let Some(entry) = shard.databases[self.index as usize].get(&shard.heap, key.hash, key.bytes) else {
            return;
        };
        let bytes = entry.bytes();
        let whole = bytes.len() <= WHOLE_BYTES_MAX;
        if whole || created {
            let put = Effect::Put {
                key: key.bytes,
                kind: entry.kind(),
                value: if whole { bytes } else { b"" },
                expire_at: entry.expire_at_ms(),
                created,
            };
            shard.effects.push(self.index, &put);
        }
        if whole {
            return;
        }
        for range in changed {
            let patch = Effect::Patch {
                key: key.bytes,
                offset: range.start as u64,
                bytes: bytes.get(range).unwrap_or(b""),
            };
            shard.effects.push(self.index, &patch);
        }
    }

    /// Tells the string at the key as it stands now, whole.
    pub fn tell_whole(&mut self, key: Key<'_>, created: bool) {
        if !self.shard.effects.on() {
            return;
        }
        let shard = &mut *self.shard;
        if let Some(entry) = shard.databases[self.index as usize].get(&shard.heap, key.hash, key.bytes) {
            let put = Effect::Put {
                key: key.bytes,
                kind: entry.kind(),
                value: entry.bytes(),
                expire_at: entry.expire_at_ms(),
                created,
            };
            shard.effects.push(self.index, &put);
        }
    }

    /// The bytes of a string that was looked up before, without counting anything; empty if none is there.
    pub fn peek_string(&self, key: Key<'_>) -> &[u8] {
        let shard = &*self.shard;
        shard.databases[self.index as usize]
            .get(&shard.heap, key.hash, key.bytes)
            .map_or(&[], |entry| entry.bytes())
    }

    /// Looks a string up as a read does and says whether it is there, for commands that then read several
    /// keys side by side with [`Db::peek_string`].
    pub fn find_string(&mut self, key: Key<'_>) -> Result<bool, Error> {
        Ok(self.find_type(key, Type::String)?.is_some())
    }
}

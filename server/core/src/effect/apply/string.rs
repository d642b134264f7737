//! Strings that are changed in part.

use super::ApplyError;
use crate::keyspace::{Db, Type, kind};

/// No string grows beyond this, whatever the bytes of a log say.
const LEN_MAX: u64 = 1 << 40;

/// Replaces bytes from `offset` on; grows with zeros where the string is shorter.
pub(super) fn patch(db: &mut Db<'_>, key: &[u8], offset: u64, bytes: &[u8]) -> Result<(), ApplyError> {
    let key = db.key(key);
    let mut slot = db.find_write(key).ok_or(ApplyError::Absent { what: "patch" })?;
    if Type::of(slot.kind()) != Type::String {
        return Err(ApplyError::OtherType { what: "patch" });
    }
    let end = offset.saturating_add(bytes.len() as u64);
    if end > LEN_MAX {
        return Err(ApplyError::TooLong(end));
    }
    let (start, end) = (offset as usize, end as usize);
    if end > slot.entry().bytes().len() {
        slot.resize(end);
    }
    slot.bytes_mut()[start..end].copy_from_slice(bytes);
    slot.set_kind(kind::STRING_RAW);
    Ok(())
}

//! Fields of hashes.

use super::{ApplyError, check_generation};
use crate::effect::Effect;
use crate::keyspace::Db;
use crate::memory::Expiry;
use crate::value::hash::Before;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    let (Effect::HashPut { key, generation, .. } | Effect::HashDelete { key, generation, .. }) = *effect
    else {
        return Err(ApplyError::Unsupported("not of a hash"));
    };
    let key = db.key(key);
    check_generation(db, key, generation, "hash")?;
    let mut writer = db.open_hash(key).ok_or(ApplyError::Absent { what: "hash" })?;
    let mut result = Ok(());
    match *effect {
        Effect::HashPut {
            field,
            value,
            expire_at,
            created,
            ..
        } => {
            let before = writer.set(field, value, expire_at.map_or(Expiry::Clear, Expiry::At));
            if created != (before == Before::Absent) {
                result = Err(if created {
                    ApplyError::Present { what: "field" }
                } else {
                    ApplyError::Absent { what: "field" }
                });
            }
        }
        Effect::HashDelete { field, .. } if writer.remove(field) == Before::Absent => {
            result = Err(ApplyError::Absent { what: "field" });
        }
        _ => {}
    }
    // An emptied hash is deleted by an effect of its own.
    let finished = writer.finish();
    db.finish_hash(key, finished);
    result
}

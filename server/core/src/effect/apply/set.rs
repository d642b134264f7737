//! Members of sets.

use super::{ApplyError, check_generation};
use crate::effect::Effect;
use crate::keyspace::Db;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    let (Effect::SetAdd {
        key,
        generation,
        member,
    }
    | Effect::SetDelete {
        key,
        generation,
        member,
    }) = *effect
    else {
        return Err(ApplyError::Unsupported("not of a set"));
    };
    let key = db.key(key);
    check_generation(db, key, generation, "set")?;
    let mut writer = db.open_set(key).ok_or(ApplyError::Absent { what: "set" })?;
    match *effect {
        Effect::SetAdd { .. } if !writer.add(member) => Err(ApplyError::Present { what: "member" }),
        Effect::SetDelete { .. } if !writer.remove(member) => Err(ApplyError::Absent { what: "member" }),
        _ => Ok(()),
    }
}

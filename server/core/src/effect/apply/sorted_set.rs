//! Members of sorted sets.

use super::{ApplyError, check_generation};
use crate::effect::Effect;
use crate::keyspace::Db;
use crate::value::sorted_set::Editor;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    let (Effect::ScorePut { key, generation, .. } | Effect::ScoreDelete { key, generation, .. }) = *effect
    else {
        return Err(ApplyError::Unsupported("not of a sorted set"));
    };
    let key = db.key(key);
    check_generation(db, key, generation, "sorted set")?;
    let shard = &mut *db.shard;
    let table = &mut shard.databases[db.index as usize];
    let slot = table.get_mut(&mut shard.heap, key.hash, key.bytes);
    let mut slot = slot.ok_or(ApplyError::Absent { what: "sorted set" })?;
    let mut editor = Editor {
        slot: &mut slot,
        limits: shard.limits,
        scratch: &mut shard.scratch,
    };
    match *effect {
        Effect::ScorePut {
            member,
            score,
            created,
            ..
        } => {
            let mut was_there = false;
            editor.update(member, |old| {
                was_there = old.is_some();
                Some(score)
            });
            match (created, was_there) {
                (true, true) => Err(ApplyError::Present { what: "member" }),
                (false, false) => Err(ApplyError::Absent { what: "member" }),
                _ => Ok(()),
            }
        }
        Effect::ScoreDelete { member, .. } if editor.remove(member).is_none() => {
            Err(ApplyError::Absent { what: "member" })
        }
        _ => Ok(()),
    }
}

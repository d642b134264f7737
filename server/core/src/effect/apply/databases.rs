//! Entries and databases that change their place, and databases that are emptied.

use super::ApplyError;
use crate::effect::Effect;
use crate::keyspace::Db;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    match *effect {
        Effect::Rename { from, to_db, to } => {
            check(db, to_db)?;
            let (from, to) = (db.key(from), db.key(to));
            if db.other(to_db).find_write(to).is_some() {
                return Err(ApplyError::Present { what: "rename" });
            }
            if db.relocate(from, to_db, to) {
                Ok(())
            } else {
                Err(ApplyError::Absent { what: "rename" })
            }
        }
        Effect::Swap { with } => {
            check(db, with)?;
            db.shard.exchange(db.index, with);
            Ok(())
        }
        Effect::Flush => {
            db.shard.discard(db.index);
            Ok(())
        }
        _ => Err(ApplyError::Unsupported("not of databases")),
    }
}

fn check(db: &Db<'_>, number: u16) -> Result<(), ApplyError> {
    if (number as usize) < db.shard.databases.len() {
        Ok(())
    } else {
        Err(ApplyError::NoSuchDatabase(number))
    }
}

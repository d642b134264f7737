//! Entries and databases that change their place, and databases that are emptied.

use super::{ApplyError, check_generation};
use crate::effect::Effect;
use crate::keyspace::Db;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    match *effect {
        Effect::Rename {
            from,
            to,
            generation,
            expire_at,
            ..
        } => {
            let (from, to) = (db.key(from), db.key(to));
            check_generation(db, from, generation, "rename")?;
            if db.is_live(to) {
                return Err(ApplyError::Present { what: "rename" });
            }
            db.relocate(from, db.index, to);
            if let Some(mut slot) = db.find_write(to) {
                slot.set_expiry(expire_at);
            }
            Ok(())
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

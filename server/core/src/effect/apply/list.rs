//! Rows of lists: an element at a position is put, or is gone.

use super::{ApplyError, check_generation};
use crate::command::list::change;
use crate::effect::Effect;
use crate::keyspace::Db;

pub(super) fn apply(db: &mut Db<'_>, effect: &Effect<'_>) -> Result<(), ApplyError> {
    match *effect {
        Effect::ListPut {
            key,
            generation,
            position,
            value,
            ..
        } => {
            let key = db.key(key);
            check_generation(db, key, generation, "list element")?;
            change(db, key, |list, fill| list.put_at(position, value, fill));
            Ok(())
        }
        Effect::ListDelete {
            key,
            generation,
            position,
        } => {
            let key = db.key(key);
            check_generation(db, key, generation, "list element")?;
            match change(db, key, |list, fill| list.delete_at(position, fill)) {
                Some(true) => Ok(()),
                _ => Err(ApplyError::Absent { what: "list element" }),
            }
        }
        _ => Err(ApplyError::Unsupported("not a list's")),
    }
}

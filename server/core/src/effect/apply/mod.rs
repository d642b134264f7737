//! Applying effects: what a follower, a start and the image's load do. No conditions, no events, no clock:
//! the leader has decided everything.

mod databases;
mod hash;
mod list;
mod set;
mod sorted_set;
mod string;

use super::Effect;
use crate::exec::Now;
use crate::image::load;
use crate::keyspace::{Db, Key, Shard};
use crate::memory::{Expiry, NewValue};

/// An effect that does not fit the shard it is applied to: the two have diverged, or the bytes are not
/// from this shard's log.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApplyError {
    #[error("{what}: the row is not there")]
    Absent { what: &'static str },
    #[error("{what}: another generation stands at the key")]
    OtherGeneration { what: &'static str },
    #[error("{what}: there already")]
    Present { what: &'static str },
    #[error("database {0} does not exist")]
    NoSuchDatabase(u16),
    #[error("{what}: what stands at the key is of another type")]
    OtherType { what: &'static str },
    #[error("a string of {0} bytes is beyond any limit")]
    TooLong(u64),
    #[error("kind {0} cannot be created")]
    UnknownKind(u8),
    #[error("this build does not know the effect: {0}")]
    Unsupported(&'static str),
}

/// Makes the change of one effect.
pub fn apply(shard: &mut Shard, db: u16, effect: &Effect<'_>) -> Result<(), ApplyError> {
    if db as usize >= shard.databases.len() {
        return Err(ApplyError::NoSuchDatabase(db));
    }
    // At time zero nothing is past its time: expiry is the leader's to decide.
    let mut db = Db {
        shard,
        index: db,
        now: Now::default(),
        no_touch: true,
    };
    match *effect {
        Effect::Put {
            key,
            kind,
            value,
            expire_at,
            created,
        } => {
            let key = db.key(key);
            match (created, db.is_live(key)) {
                (true, true) => return Err(ApplyError::Present { what: "put" }),
                (false, false) => return Err(ApplyError::Absent { what: "put" }),
                _ => {}
            }
            if db.generation_of(key).is_some() {
                return Err(ApplyError::Present {
                    what: "put over a collection",
                });
            }
            db.put(
                key,
                kind,
                NewValue::Bytes(value),
                expire_at.map_or(Expiry::Clear, Expiry::At),
            );
            Ok(())
        }
        Effect::Patch { key, offset, bytes } => string::patch(&mut db, key, offset, bytes),
        Effect::Expire { key, at } => {
            let key = db.key(key);
            let mut slot = db.find_write(key).ok_or(ApplyError::Absent { what: "expiry" })?;
            slot.set_expiry(at);
            Ok(())
        }
        Effect::Delete { key, generation } => {
            let key = db.key(key);
            if !db.is_live(key) {
                return Err(ApplyError::Absent { what: "delete" });
            }
            if db.generation_of(key) != generation {
                return Err(ApplyError::OtherGeneration { what: "delete" });
            }
            db.remove(key);
            Ok(())
        }
        Effect::Create {
            key,
            kind,
            generation,
        } => create(&mut db, key, kind, generation),
        Effect::HashPut { .. } | Effect::HashDelete { .. } => hash::apply(&mut db, effect),
        Effect::SetAdd { .. } | Effect::SetDelete { .. } => set::apply(&mut db, effect),
        Effect::ListPut { .. } | Effect::ListDelete { .. } => list::apply(&mut db, effect),
        Effect::ScorePut { .. } | Effect::ScoreDelete { .. } => sorted_set::apply(&mut db, effect),
        Effect::Rename { .. } | Effect::Swap { .. } | Effect::Flush => databases::apply(&mut db, effect),
        Effect::Fence { fence } => {
            db.shard.fence = db.shard.fence.max(fence);
            Ok(())
        }
    }
}

fn create(db: &mut Db<'_>, key: &[u8], kind: u8, generation: u64) -> Result<(), ApplyError> {
    let key = db.key(key);
    if db.is_live(key) {
        return Err(ApplyError::Present { what: "create" });
    }
    load::begin(db, key, kind, generation).map_err(|_| ApplyError::UnknownKind(kind))?;
    db.shard.generation = db.shard.generation.max(generation);
    Ok(())
}

/// Refuses an element of a generation that does not stand at the key.
fn check_generation(
    db: &Db<'_>,
    key: Key<'_>,
    generation: u64,
    what: &'static str,
) -> Result<(), ApplyError> {
    match db.generation_of(key) {
        Some(own) if own == generation => Ok(()),
        Some(_) => Err(ApplyError::OtherGeneration { what }),
        None => Err(ApplyError::Absent { what }),
    }
}

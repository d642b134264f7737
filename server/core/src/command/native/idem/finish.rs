//! `IDEM COMPLETE`, `ABORT` and `EXTEND`: what only the holder of the lease may do.

use super::{NOT_FOUND, STALE};
use crate::command::Args;
use crate::command::native::UNREADABLE;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Now, Outcome};
use crate::keyspace::{Classes, Db, Key, Type, kind};
use crate::memory::Expiry;
use crate::text::fold;
use crate::value::idem::{Record, State};

/// Who says that the lease is theirs.
struct Holder<'a> {
    token: &'a [u8],
    fence: u64,
}

impl<'a> Holder<'a> {
    fn parse(args: Args<'a>) -> Result<Self, Error> {
        Ok(Self {
            token: super::token(args.get(3))?,
            fence: super::fence(args.get(4))?,
        })
    }

    fn began(&self, record: &Record<'_>) -> bool {
        record.token == self.token && record.fence == self.fence
    }

    fn check_lease(&self, record: &Record<'_>, now: Now) -> Result<(), Error> {
        if self.began(record) && record.lease_us(now).is_some() {
            Ok(())
        } else {
            Err(STALE)
        }
    }
}

pub(super) fn complete(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let holder = Holder::parse(args)?;
    let result = args.get(5);
    let max = x.db.shard.limits.idem_max_result;
    if result.len() > max {
        return Err(Error::from(format!(
            "ERR the result is longer than idem-max-result allows ({max} bytes)"
        ))
        .into());
    }
    let ttl_ms = match args.len() {
        6 => None,
        8 if fold::is(args.get(6), "TTL") => Some(super::ttl(args.get(7))?),
        _ => return Err(SYNTAX.into()),
    };
    let key = x.db.key(args.get(2));
    let now = x.now;
    let changed = change(&mut x.db, key, |record| {
        if let State::Done { result: known, .. } = record.state {
            // Completed before, and the answer was lost.
            let again = holder.began(record) && known == result;
            return if again { Ok(None) } else { Err(STALE) };
        }
        holder.check_lease(record, now)?;
        let done = State::Done {
            completed_ms: now.ms(),
            result,
        };
        Ok(Some((done, ttl_ms.unwrap_or(record.ttl_ms))))
    })?;
    if changed {
        x.db.notify(Classes::NATIVE, "idem-complete", key);
    }
    x.reply.ok();
    Ok(())
}

pub(super) fn extend(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let holder = Holder::parse(args)?;
    if !fold::is(args.get(5), "LEASE") {
        return Err(SYNTAX.into());
    }
    let lease_ms = super::lease(args.get(6))?;
    let key = x.db.key(args.get(2));
    let now = x.now;
    change(&mut x.db, key, |record| {
        holder.check_lease(record, now)?;
        let lease_end_us = now.us.saturating_add(lease_ms * 1000);
        Ok(Some((State::Running { lease_end_us }, record.ttl_ms)))
    })?;
    x.db.notify(Classes::NATIVE, "idem-extend", key);
    x.reply.array(2);
    x.reply.integer(holder.fence as i64);
    x.reply.integer(lease_ms as i64);
    Ok(())
}

pub(super) fn abort(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let holder = Holder::parse(args)?;
    let key = x.db.key(args.get(2));
    let now = x.now;
    change(&mut x.db, key, |record| {
        holder.check_lease(record, now)?;
        Ok(None)
    })?;
    x.db.delete(key);
    x.db.notify(Classes::NATIVE, "idem-abort", key);
    x.db.notify(Classes::GENERIC, "del", key);
    x.reply.ok();
    Ok(())
}

/// Gives the record the state and the time to live that `decide` names; `false` if it leaves it as it is.
fn change<'r>(
    db: &mut Db<'_>,
    key: Key<'_>,
    decide: impl FnOnce(&Record<'_>) -> Result<Option<(State<'r>, u64)>, Error>,
) -> Result<bool, Error> {
    let mut bytes = std::mem::take(&mut db.shard.scratch);
    let rewritten = rewrite(db, key, decide, &mut bytes);
    if let Ok(Some(expire_at_ms)) = rewritten {
        db.put_value(key, kind::IDEM, &bytes, Expiry::At(expire_at_ms));
    }
    db.shard.scratch = bytes;
    rewritten.map(|expiry| expiry.is_some())
}

/// Writes the changed record into `bytes`; answers when it goes, or `None` if it stays as it is.
fn rewrite<'r>(
    db: &mut Db<'_>,
    key: Key<'_>,
    decide: impl FnOnce(&Record<'_>) -> Result<Option<(State<'r>, u64)>, Error>,
    bytes: &mut Vec<u8>,
) -> Result<Option<u64>, Error> {
    let slot = db.find_write_type(key, Type::Idem)?.ok_or(NOT_FOUND)?;
    let record = Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?;
    let Some((state, ttl_ms)) = decide(&record)? else {
        return Ok(None);
    };
    let record = Record {
        state,
        ttl_ms,
        ..record
    };
    record.encode(bytes);
    Ok(Some(record.expire_at_ms()))
}

/// Puts a record at the key, whatever record was there.
pub(super) fn store(db: &mut Db<'_>, key: Key<'_>, record: &Record<'_>) {
    let mut bytes = std::mem::take(&mut db.shard.scratch);
    record.encode(&mut bytes);
    db.put_value(key, kind::IDEM, &bytes, Expiry::At(record.expire_at_ms()));
    db.shard.scratch = bytes;
}

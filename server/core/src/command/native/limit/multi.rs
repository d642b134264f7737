//! `LIMIT MULTI`: several limits, charged together or not at all.

use super::parse::{Clause, Clauses};
use super::{UNREADABLE, charge, is_full, other_form, standing};
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Db, Type};
use crate::value::limit::{Record, Verdict};

const TWICE: Error = Error::new("ERR LIMIT MULTI names a key twice");

pub(super) fn multi(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let clauses = Clauses::new(args)?;
    let mark = x.db.shard.uncommitted.mark();
    let (mut denied, mut nowait) = (None, true);
    for (index, clause) in clauses.clone().enumerate() {
        let clause = clause?;
        nowait &= clause.nowait;
        let key = args.get(clause.key_at);
        let before = clauses.clone().take(index).flatten();
        if before.into_iter().any(|other| args.get(other.key_at) == key) {
            return Err(TWICE.into());
        }
        let verdict = look(&mut x.db, key, &clause)?;
        if !verdict.is_allowed() && denied.is_none() {
            denied = Some((index, verdict));
        }
    }
    if let Some((index, verdict)) = denied {
        if nowait {
            x.db.shard.uncommitted.forgo(mark);
        }
        answer(x, index, &verdict);
        return Ok(());
    }
    let mut least: Option<(usize, Verdict)> = None;
    for (index, clause) in clauses.enumerate() {
        let clause = clause?;
        let key = x.db.key(args.get(clause.key_at));
        let is_full = is_full(x);
        let verdict = charge(&mut x.db, is_full, key, clause.rule, clause.call)?;
        if least.is_none_or(|(_, other)| verdict.remaining < other.remaining) {
            least = Some((index, verdict));
        }
    }
    // One that has to be waited for makes all of them wait.
    if nowait {
        x.db.shard.uncommitted.forgo(mark);
    }
    if let Some((index, verdict)) = least {
        answer(x, index, &verdict);
    }
    Ok(())
}

fn answer(x: &mut Exec<'_>, index: usize, verdict: &Verdict) {
    x.reply.array(6);
    x.reply.integer(i64::from(verdict.is_allowed()));
    x.reply.count(index);
    standing(x.reply, verdict);
}

/// What a charge would say.
fn look(db: &mut Db<'_>, key: &[u8], clause: &Clause) -> Result<Verdict, Error> {
    let key = db.key(key);
    let now = db.now;
    let stored = match db.find_write_type(key, Type::Limit)? {
        None => None,
        Some(slot) => Some(Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?),
    };
    let (verdict, _) = clause.rule.charge(stored, clause.call, now).map_err(other_form)?;
    Ok(verdict)
}

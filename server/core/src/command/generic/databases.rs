//! Databases as a whole: emptied, or exchanged.

use super::parse_database;
use crate::command::Args;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Db;
use crate::text::fold;

const FIRST_INVALID: Error = Error::new("ERR invalid first DB index");
const ONE_DATABASE: Error = Error::new("ERR SWAPDB is not allowed in cluster mode");
const SECOND_INVALID: Error = Error::new("ERR invalid second DB index");

/// `[ASYNC | SYNC]`: accepted and without meaning, since a flush never takes long here.
fn check_mode(args: Args<'_>) -> Result<(), Error> {
    match args.len() {
        1 => Ok(()),
        2 if fold::is(args.get(1), "ASYNC") || fold::is(args.get(1), "SYNC") => Ok(()),
        _ => Err(SYNTAX),
    }
}

pub(super) fn flushdb(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    check_mode(args)?;
    x.db.shard.flush(x.db.index);
    x.reply.ok();
    Ok(())
}

pub(super) fn flushall(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    check_mode(args)?;
    for db in 0..x.db.shard.databases.len() {
        x.db.shard.flush(db as u16);
    }
    x.reply.ok();
    Ok(())
}

/// Keys past their time that somebody listens to go first: where they turn up, nothing has changed.
fn drop_stale(x: &mut Exec<'_>, databases: &[u16]) {
    for name in x.db.shard.interest.keys_in(databases) {
        for index in databases {
            let mut db = Db {
                shard: &mut *x.db.shard,
                index: *index,
                now: x.now,
                no_touch: true,
            };
            let key = db.key(&name);
            db.is_live(key);
        }
    }
}

pub(super) fn swapdb(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if x.world.cluster_of(x.caller.client).is_some() {
        return Err(ONE_DATABASE.into());
    }
    // That both are numbers is checked before either is looked for.
    let one = parse_database(&x.db, args.get(1), FIRST_INVALID);
    let other = parse_database(&x.db, args.get(2), SECOND_INVALID);
    match (one, other) {
        (Err(error), _) if error == FIRST_INVALID => Err(error.into()),
        (_, Err(error)) if error == SECOND_INVALID => Err(error.into()),
        (one, other) => {
            let (one, other) = (one?, other?);
            drop_stale(x, &[one, other]);
            x.db.shard.swap(one, other);
            x.reply.ok();
            Ok(())
        }
    }
}

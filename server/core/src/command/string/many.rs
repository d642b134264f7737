//! `MSET`, `MSETNX` and `MSETEX`: several strings in one step.

use super::options::{Condition, Known, Options};
use super::set::store;
use crate::command::Args;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Db};
use crate::memory::Expiry;
use crate::text::number::parse_i64;

const MSETEX_KNOWS: Known = Known {
    writes: true,
    compares: false,
    persists: false,
};
const BAD_NUMKEYS: Error = Error::new("ERR invalid numkeys value or out of range");

pub(super) fn mset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pairs_or_arity(args, "mset")?;
    store_pairs(&mut x.db, args);
    x.reply.ok();
    Ok(())
}

pub(super) fn msetnx(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    pairs_or_arity(args, "msetnx")?;
    let free = !args.iter_from(1).step_by(2).any(|word| live(&mut x.db, word));
    if free {
        store_pairs(&mut x.db, args);
    }
    x.reply.integer(free.into());
    Ok(())
}

fn pairs_or_arity(args: Args<'_>, command: &str) -> Result<(), Error> {
    if args.len().is_multiple_of(2) {
        return Err(Error::wrong_arity(command));
    }
    Ok(())
}

fn store_pairs(db: &mut Db<'_>, args: Args<'_>) {
    for at in (1..args.len()).step_by(2) {
        let key = db.key(args.get(at));
        store(db, key, args.get(at + 1), Expiry::Clear);
    }
}

fn live(db: &mut Db<'_>, word: &[u8]) -> bool {
    let key = db.key(word);
    db.is_live(key)
}

pub(super) fn msetex(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let count = parse_i64(args.get(1)).filter(|count| (1..=i64::from(i32::MAX)).contains(count));
    let count = count.ok_or(BAD_NUMKEYS)? as usize;
    let options_at = 2 + count * 2;
    if options_at > args.len() {
        return Err(SYNTAX.into());
    }
    let options = Options::parse(args, options_at, MSETEX_KNOWS)?;
    let expiry = options.expiry(x.now, "msetex")?;
    let mut keys = (2..options_at).step_by(2).map(|at| args.get(at));
    let passes = match options.condition {
        Condition::IfAbsent => !keys.any(|word| live(&mut x.db, word)),
        Condition::IfPresent => keys.all(|word| live(&mut x.db, word)),
        _ => true,
    };
    if passes {
        for at in (2..options_at).step_by(2) {
            // Unlike SET, a time that has passed is stored, and the key found expired by the next look.
            let key = x.db.key(args.get(at));
            x.db.put_string(key, args.get(at + 1), expiry);
            x.db.notify(Classes::STRING, "set", key);
            if matches!(expiry, Expiry::At(_)) {
                x.db.notify(Classes::GENERIC, "expire", key);
            }
        }
    }
    x.reply.integer(passes.into());
    Ok(())
}

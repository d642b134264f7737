//! `PFDEBUG`: what Valkey's tests look at.

use super::add::store;
use super::form_of;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Db, Key};
use crate::text::fold;
use crate::value::hyperloglog::{self, Form, REGISTERS, dense, sparse};

const NO_KEY: Error = Error::new("ERR The specified key does not exist");
const NOT_SPARSE: Error = Error::new("ERR HLL encoding is not sparse");
const ON_OR_OFF: Error = Error::new("ERR Argument must be ON or OFF");

pub(super) fn pfdebug(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let what = args.get(1);
    if fold::is(what, "SIMD") {
        return simd(x, args.get(2));
    }
    let key = x.db.key(args.get(2));
    let form = form_of(&x.db.find_write(key).ok_or(NO_KEY)?)?;
    if fold::is(what, "GETREG") {
        to_dense(&mut x.db, key, form)?;
        x.reply.array(REGISTERS);
        let value = x.db.peek_string(key);
        dense::for_each(value, |_, register| x.reply.integer(register.into()));
    } else if fold::is(what, "DECODE") {
        if form != Form::Sparse {
            return Err(NOT_SPARSE.into());
        }
        let runs = sparse::runs(x.db.peek_string(key)).map(in_words);
        let text = runs.collect::<Vec<_>>().join(" ");
        x.reply.bulk_str(&text);
    } else if fold::is(what, "ENCODING") {
        x.reply.simple(match form {
            Form::Dense => "dense",
            Form::Sparse => "sparse",
        });
    } else if fold::is(what, "TODENSE") {
        let changed = to_dense(&mut x.db, key, form)?;
        x.reply.integer(changed.into());
    } else {
        let what = String::from_utf8_lossy(what);
        return Err(Error::from(format!("ERR Unknown PFDEBUG subcommand '{what}'")).into());
    }
    Ok(())
}

/// There is one code path; what was asked for is confirmed, since results do not depend on it.
fn simd(x: &mut Exec<'_>, switch: &[u8]) -> Outcome {
    x.reply.simple(if fold::is(switch, "ON") {
        "enabled"
    } else if fold::is(switch, "OFF") {
        "disabled"
    } else {
        return Err(ON_OR_OFF.into());
    });
    Ok(())
}

fn to_dense(db: &mut Db<'_>, key: Key<'_>, form: Form) -> Result<bool, Error> {
    if form == Form::Dense {
        return Ok(false);
    }
    let value = hyperloglog::to_dense(db.peek_string(key))?;
    store(db, key, &value);
    db.touch(key);
    Ok(true)
}

fn in_words(run: sparse::Run) -> String {
    match (run.register, run.size) {
        (0, 1) => format!("z:{}", run.len),
        (0, _) => format!("Z:{}", run.len),
        (register, _) => format!("v:{register},{}", run.len),
    }
}

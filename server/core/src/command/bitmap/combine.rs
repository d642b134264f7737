//! `BITOP`.

use crate::command::Args;
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, kind};
use crate::memory::Expiry;
use crate::text::fold;
use crate::value::bits::{Combine, combine};

const NOT_WANTS_ONE: Error = Error::new("ERR BITOP NOT must be called with a single source key.");

pub(super) fn bitop(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let how = match args.get(1) {
        word if fold::is(word, "AND") => Combine::And,
        word if fold::is(word, "OR") => Combine::Or,
        word if fold::is(word, "XOR") => Combine::Xor,
        word if fold::is(word, "NOT") => Combine::Not,
        _ => return Err(SYNTAX.into()),
    };
    if how == Combine::Not && args.len() != 4 {
        return Err(NOT_WANTS_ONE.into());
    }
    let target = x.db.key(args.get(2));
    for word in args.iter_from(3) {
        let key = x.db.key(word);
        x.db.find_string(key)?;
    }
    let sources = args.iter_from(3).map(|word| x.db.peek_string(x.db.key(word)));
    let result = combine(how, &sources.collect::<Vec<_>>());
    if !result.is_empty() {
        x.db.put_value(target, kind::STRING_RAW, &result, Expiry::Clear);
        x.db.notify(Classes::STRING, "set", target);
    } else if x.db.delete(target) {
        x.db.notify(Classes::GENERIC, "del", target);
    }
    x.reply.count(result.len());
    Ok(())
}

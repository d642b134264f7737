//! `PFCOUNT`. It changes nothing: counting a dense value takes some microseconds, less than telling followers
//! of a count kept in it. A count that is there and fresh (other servers write one) is used.

use super::form_of;
use crate::command::Args;
use crate::exec::{Exec, Outcome};
use crate::value::hyperloglog;

pub(super) fn pfcount(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let cardinality = if args.len() == 2 {
        count_one(x, args)?
    } else {
        let mut registers = [0; hyperloglog::REGISTERS];
        for word in args.iter_from(1) {
            let key = x.db.key(word);
            if let Some(slot) = x.db.find(key) {
                let form = form_of(&slot)?;
                hyperloglog::merge(&mut registers, slot.entry().bytes(), form)?;
            }
        }
        let mut counts = [0; 64];
        for register in registers {
            counts[usize::from(register)] += 1;
        }
        hyperloglog::cardinality(&counts)
    };
    x.reply.integer(cardinality as i64);
    Ok(())
}

fn count_one(x: &mut Exec<'_>, args: Args<'_>) -> Result<u64, crate::error::Error> {
    let key = x.db.key(args.get(1));
    let Some(slot) = x.db.find(key) else {
        return Ok(0);
    };
    let form = form_of(&slot)?;
    let entry = slot.entry();
    let value = entry.bytes();
    if let Some(cardinality) = hyperloglog::cached(value) {
        return Ok(cardinality);
    }
    Ok(hyperloglog::cardinality(&hyperloglog::histogram(value, form)?))
}

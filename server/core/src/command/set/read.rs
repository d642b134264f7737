//! Reading sets.

use crate::command::{Args, element_scan};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Type;
use crate::value::set::SetView;

const NOT_HSCAN: Error = Error::new("ERR NOVALUES option can only be used in HSCAN");
const NOT_ZSCAN: Error = Error::new("ERR NOSCORES option can only be used in ZSCAN");

pub(super) fn sismember(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut slot = x.db.find_type(key, Type::Set)?;
    let has = slot
        .as_mut()
        .is_some_and(|slot| SetView::of_slot(slot).contains(args.get(2)));
    x.reply.count(usize::from(has));
    Ok(())
}

pub(super) fn smismember(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut slot = x.db.find_type(key, Type::Set)?;
    let view = slot.as_mut().map(SetView::of_slot);
    x.reply.array(args.len() - 2);
    for member in args.iter_from(2) {
        x.reply
            .count(usize::from(view.is_some_and(|view| view.contains(member))));
    }
    Ok(())
}

pub(super) fn scard(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut slot = x.db.find_type(key, Type::Set)?;
    x.reply
        .count(slot.as_mut().map_or(0, |slot| SetView::of_slot(slot).len()));
    Ok(())
}

pub(super) fn smembers(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    let mut slot = x.db.find_type(key, Type::Set)?;
    let view = slot.as_mut().map_or(SetView::EMPTY, SetView::of_slot);
    x.reply.set(view.len());
    view.for_each(|member| x.reply.bulk(member));
    Ok(())
}

pub(super) fn sscan(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let cursor = element_scan::cursor(args)?;
    let key = x.db.key(args.get(1));
    let mut slot = x.db.find_type(key, Type::Set)?;
    let Some(view) = slot.as_mut().map(SetView::of_slot) else {
        x.reply.array(2);
        x.reply.bulk(b"0");
        x.reply.empty_array();
        return Ok(());
    };
    let options = element_scan::options(args)?;
    if options.names_only {
        return Err(NOT_HSCAN.into());
    }
    if options.members_only {
        return Err(NOT_ZSCAN.into());
    }
    // The members come before the cursor is known: written apart and joined.
    let mut found = crate::resp::Reply::new(x.reply.proto());
    let mut count = 0;
    let next = options.run(cursor, |cursor| {
        let mut seen = 0;
        let next = view.scan(cursor, &mut |member| {
            seen += 1;
            if options.matches(member) {
                found.bulk(member);
                count += 1;
            }
        });
        (next, seen)
    });
    x.reply.array(2);
    x.reply.bulk_str(&next.to_string());
    x.reply.array(count);
    x.reply.raw(found.as_slice());
    Ok(())
}

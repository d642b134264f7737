//! Reading hashes.

use crate::command::{Args, element_scan};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Type;
use crate::value::hash::{Field, HashView};

const NOT_ZSCAN: Error = Error::new("ERR NOSCORES option can only be used in ZSCAN");

pub(super) fn hget(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    match x.db.find_type(key, Type::Hash)? {
        None => x.reply.null(),
        Some(mut slot) => {
            let field = HashView::of_slot(&mut slot).get(args.get(2), now_ms);
            x.reply.bulk_or_null(field.map(|field| field.value));
        }
    }
    Ok(())
}

pub(super) fn hmget(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let view = slot.as_mut().map(HashView::of_slot);
    x.reply.array(args.len() - 2);
    for name in args.iter_from(2) {
        let field = view.and_then(|view| view.get(name, now_ms));
        x.reply.bulk_or_null(field.map(|field| field.value));
    }
    Ok(())
}

pub(super) fn hstrlen(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let field = slot
        .as_mut()
        .and_then(|slot| HashView::of_slot(slot).get(args.get(2), now_ms));
    x.reply.count(field.map_or(0, |field| field.value.len()));
    Ok(())
}

pub(super) fn hexists(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let field = slot
        .as_mut()
        .and_then(|slot| HashView::of_slot(slot).get(args.get(2), now_ms));
    x.reply.count(usize::from(field.is_some()));
    Ok(())
}

pub(super) fn hlen(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    x.reply.count(
        slot.as_mut()
            .map_or(0, |slot| HashView::of_slot(slot).len(now_ms)),
    );
    Ok(())
}

pub(super) fn hgetall(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let Some(view) = slot.as_mut().map(HashView::of_slot) else {
        x.reply.map(0);
        return Ok(());
    };
    let head = x.reply.begin();
    let mut pairs = 0;
    view.for_each(now_ms, |field| {
        x.reply.bulk(field.name);
        x.reply.bulk(field.value);
        pairs += 1;
    });
    x.reply.end_map(head, pairs);
    Ok(())
}

pub(super) fn hkeys(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    list(x, args, |field| field.name)
}

pub(super) fn hvals(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    list(x, args, |field| field.value)
}

fn list(x: &mut Exec<'_>, args: Args<'_>, part: for<'f> fn(Field<'f>) -> &'f [u8]) -> Outcome {
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    let head = x.reply.begin();
    let mut count = 0;
    if let Some(view) = slot.as_mut().map(HashView::of_slot) {
        view.for_each(now_ms, |field| {
            x.reply.bulk(part(field));
            count += 1;
        });
    }
    x.reply.end_array(head, count);
    Ok(())
}

pub(super) fn hscan(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let cursor = element_scan::cursor(args)?;
    let (key, now_ms) = (x.db.key(args.get(1)), x.now.ms());
    let mut slot = x.db.find_type(key, Type::Hash)?;
    x.reply.array(2);
    let Some(view) = slot.as_mut().map(HashView::of_slot) else {
        x.reply.bulk(b"0");
        x.reply.empty_array();
        return Ok(());
    };
    let options = element_scan::options(args)?;
    if options.members_only {
        return Err(NOT_ZSCAN.into());
    }
    let mut found = Vec::new();
    let next = options.run(cursor, |cursor| {
        let mut seen = 0;
        let next = view.scan(cursor, now_ms, &mut |field| {
            seen += 1;
            if options.matches(field.name) {
                found.push(field);
            }
        });
        (next, seen)
    });
    x.reply.bulk_str(&next.to_string());
    x.reply.array(if options.names_only {
        found.len()
    } else {
        found.len() * 2
    });
    for field in found {
        x.reply.bulk(field.name);
        if !options.names_only {
            x.reply.bulk(field.value);
        }
    }
    Ok(())
}

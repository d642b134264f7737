//! `COMMAND` and `COMMAND INFO`: what clients must know to route a command.

use super::tips::tips;
use crate::command::spec::{Begin, Find, KeyFlags, KeySpec};
use crate::command::{Args, COMMANDS, Entry, keys};
use crate::exec::{Exec, Outcome};
use crate::resp::Reply;

pub(super) fn all(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.array(COMMANDS.top_level().count());
    COMMANDS.top_level().for_each(|entry| write(x.reply, entry));
    Ok(())
}

pub(super) fn some(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() == 2 {
        return all(x, args);
    }
    x.reply.array(args.len() - 2);
    for name in args.iter_from(2) {
        match COMMANDS.find_full(name) {
            Some(entry) => write(x.reply, entry),
            None => x.reply.null(),
        }
    }
    Ok(())
}

fn write(reply: &mut Reply, entry: &Entry) {
    let range = keys::legacy_range(entry.spec.keys);
    reply.array(10);
    reply.bulk_str(&entry.full_name);
    reply.integer(i64::from(entry.spec.arity));
    names(reply, entry.flags.names());
    reply.integer(i64::from(range.first));
    reply.integer(i64::from(range.last));
    reply.integer(i64::from(range.step));
    let categories = entry.categories.names();
    reply.set(categories.clone().count());
    categories.for_each(|name| reply.simple(&format!("@{name}")));
    let tips = tips(&entry.full_name);
    reply.set(tips.len());
    tips.iter().for_each(|tip| reply.bulk_str(tip));
    reply.set(entry.spec.keys.len());
    entry.spec.keys.iter().for_each(|spec| key_spec(reply, spec));
    reply.array(entry.subcommands.len());
    entry
        .subcommands
        .clone()
        .for_each(|id| write(reply, COMMANDS.get(id)));
}

/// A set of simple strings.
fn names(reply: &mut Reply, names: impl Iterator<Item = &'static str> + Clone) {
    reply.set(names.clone().count());
    names.for_each(|name| reply.simple(name));
}

pub(super) fn key_flags(reply: &mut Reply, flags: KeyFlags) {
    names(reply, flags.names());
}

fn key_spec(reply: &mut Reply, spec: &KeySpec) {
    reply.map(3);
    reply.bulk(b"flags");
    key_flags(reply, spec.flags);
    reply.bulk(b"begin_search");
    match spec.begin {
        Begin::Index(index) => part(reply, "index", &[("index", i64::from(index))]),
        Begin::Unknown => part(reply, "unknown", &[]),
        Begin::Keyword(keyword, from) => {
            reply.map(2);
            reply.bulk(b"type");
            reply.bulk(b"keyword");
            reply.bulk(b"spec");
            reply.map(2);
            reply.bulk(b"keyword");
            reply.bulk_str(keyword);
            reply.bulk(b"startfrom");
            reply.integer(i64::from(from));
        }
    }
    reply.bulk(b"find_keys");
    match spec.find {
        Find::Range { last, step, limit } => part(
            reply,
            "range",
            &[
                ("lastkey", i64::from(last)),
                ("keystep", i64::from(step)),
                ("limit", i64::from(limit)),
            ],
        ),
        Find::KeyNum {
            count_at,
            first,
            step,
        } => part(
            reply,
            "keynum",
            &[
                ("keynumidx", i64::from(count_at)),
                ("firstkey", i64::from(first)),
                ("keystep", i64::from(step)),
            ],
        ),
        Find::Unknown => part(reply, "unknown", &[]),
    }
}

fn part(reply: &mut Reply, kind: &str, fields: &[(&str, i64)]) {
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk_str(kind);
    reply.bulk(b"spec");
    reply.map(fields.len());
    for (name, value) in fields {
        reply.bulk_str(name);
        reply.integer(*value);
    }
}

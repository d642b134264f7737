//! `COMMAND DOCS`: the table's rows for people and for tools that help them type.

use super::arguments::{Argument, Kind, arguments};
use crate::command::spec::Group;
use crate::command::{Args, COMMANDS, Entry};
use crate::exec::{Exec, Outcome};
use crate::resp::Reply;

pub(super) fn docs(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let entries: Vec<&Entry> = match args.len() {
        2 => COMMANDS.top_level().collect(),
        _ => args
            .iter_from(2)
            .filter_map(|name| COMMANDS.find_full(name))
            .collect(),
    };
    x.reply.map(entries.len());
    entries.iter().for_each(|entry| write(x.reply, entry));
    Ok(())
}

/// A name and its map.
fn write(reply: &mut Reply, entry: &Entry) {
    let spec = entry.spec;
    let arguments = arguments(spec.syntax, spec.keys.len());
    reply.bulk_str(&entry.full_name);
    reply.map(4 + usize::from(!arguments.is_empty()) + usize::from(entry.is_container()));
    let fields = [
        ("summary", spec.summary),
        ("since", spec.since),
        ("group", group(spec.group)),
        ("complexity", spec.complexity),
    ];
    for (name, text) in fields {
        reply.bulk_str(name);
        reply.bulk_str(text);
    }
    if !arguments.is_empty() {
        reply.bulk(b"arguments");
        write_arguments(reply, &arguments);
    }
    if entry.is_container() {
        reply.bulk(b"subcommands");
        reply.map(entry.subcommands.len());
        entry
            .subcommands
            .clone()
            .for_each(|id| write(reply, COMMANDS.get(id)));
    }
}

pub(super) fn group(group: Group) -> &'static str {
    match group {
        Group::Generic => "generic",
        Group::String => "string",
        Group::List => "list",
        Group::Set => "set",
        Group::SortedSet => "sorted-set",
        Group::Hash => "hash",
        Group::PubSub => "pubsub",
        Group::Transactions => "transactions",
        Group::Connection => "connection",
        Group::Server => "server",
        Group::Scripting => "scripting",
        Group::HyperLogLog => "hyperloglog",
        Group::Stream => "stream",
        Group::Geo => "geo",
        Group::Bitmap => "bitmap",
        Group::Cluster => "cluster",
        Group::Native => "native",
    }
}

fn write_arguments(reply: &mut Reply, arguments: &[Argument]) {
    reply.array(arguments.len());
    arguments
        .iter()
        .for_each(|argument| write_argument(reply, argument));
}

fn write_argument(reply: &mut Reply, argument: &Argument) {
    let nested = matches!(argument.kind, Kind::Block | Kind::OneOf);
    let flags: Vec<&str> = [
        (argument.optional, "optional"),
        (argument.multiple, "multiple"),
        (argument.token_repeats, "multiple_token"),
    ]
    .iter()
    .filter(|(holds, _)| *holds)
    .map(|(_, name)| *name)
    .collect();
    reply.map(
        3 + usize::from(argument.key_spec.is_some())
            + usize::from(argument.token.is_some())
            + usize::from(!flags.is_empty()),
    );
    reply.bulk(b"name");
    reply.bulk_str(&argument.name);
    reply.bulk(b"type");
    reply.bulk_str(argument.kind.name());
    if !nested {
        reply.bulk(b"display_text");
        reply.bulk_str(&argument.name);
    }
    if let Some(index) = argument.key_spec {
        reply.bulk(b"key_spec_index");
        reply.count(index);
    }
    if let Some(token) = &argument.token {
        reply.bulk(b"token");
        reply.bulk_str(token);
    }
    if !flags.is_empty() {
        reply.bulk(b"flags");
        reply.set(flags.len());
        flags.iter().for_each(|flag| reply.simple(flag));
    }
    if nested {
        reply.bulk(b"arguments");
        write_arguments(reply, &argument.arguments);
    }
}

//! `COMMAND`: what the server can do, read from its command table.

mod arguments;
mod docs;
mod getkeys;
mod info;
mod listing;
mod syntax;
#[cfg(test)]
mod tests;
mod tips;

use crate::command::spec::{Categories, Command, Flags, Group, Handler, command};
use crate::command::{Args, help as help_text};
use crate::exec::{Exec, Outcome};

const fn row(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Server, name, arity, run)
        .flags(Flags::LOADING.or(Flags::STALE))
        .acl(Categories::CONNECTION)
}

const PER_NAME: &str = "O(N) in the number of commands asked for";
const PER_COMMAND: &str = "O(N) in the number of commands";
const PER_WORD: &str = "O(N) in the number of arguments";

pub const COMMAND: Command = row("command", -1, info::all)
    .docs("2.8.13", "", "Describes every command.")
    .complexity(PER_COMMAND)
    .subcommands(&[
        row("count", 2, listing::count).docs("2.8.13", "", "Answers how many commands there are."),
        row("docs", -2, docs::docs)
            .docs(
                "7.0.0",
                "[command-name [command-name ...]]",
                "Describes commands for people and for tools that complete them.",
            )
            .complexity(PER_NAME),
        row("getkeys", -3, getkeys::keys)
            .docs(
                "2.8.13",
                "command [arg [arg ...]]",
                "Answers which words of a command are keys.",
            )
            .complexity(PER_WORD),
        row("getkeysandflags", -3, getkeys::keys_and_flags)
            .docs(
                "7.0.0",
                "command [arg [arg ...]]",
                "Answers which words of a command are keys, and what is done to them.",
            )
            .complexity(PER_WORD),
        row("help", 2, help).docs("5.0.0", "", "Shows this text."),
        row("info", -2, info::some)
            .docs(
                "2.8.13",
                "[command-name [command-name ...]]",
                "Describes commands for clients: arity, flags, keys.",
            )
            .complexity(PER_NAME),
        row("list", -2, listing::list)
            .docs(
                "7.0.0",
                "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
                "Lists the names of all commands, or of those that a filter picks.",
            )
            .complexity(PER_COMMAND),
    ]);

pub const COMMANDS: &[Command] = &[COMMAND];

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &COMMAND);
    Ok(())
}

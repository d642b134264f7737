//! `ACL`: users and their rules, what was refused, and the file they are kept in.

mod files;
mod inspect;
mod refused;
mod users;

use crate::command::Args;
use crate::command::spec::{Command, Flags, Group, Handler, Join, Route, command};
use crate::error::Error;
use crate::exec::Exec;
use crate::text::escape::cut;

const PLAIN: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const ADMIN: Flags = PLAIN.or(Flags::ADMIN);

const fn sub(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Server, name, arity, run)
}

const PER_USER: &str = "O(N) in the number of users";

pub const ACL: Command = command(Group::Server, "acl", -2, inspect::help)
    .docs("6.0.0", "", "Holds the commands about users and their rights.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        sub("cat", -2, inspect::cat)
            .flags(PLAIN)
            .docs(
                "6.0.0",
                "[category]",
                "Lists the categories, or the commands of one.",
            )
            .complexity("O(N) in the number of commands"),
        sub("deluser", -3, users::deluser)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Own))
            .docs(
                "6.0.0",
                "username [username ...]",
                "Removes users and closes their connections.",
            ),
        sub("dryrun", -4, inspect::dryrun).flags(ADMIN).docs(
            "7.0.0",
            "username command [arg [arg ...]]",
            "Says whether a user might run a command, and runs nothing.",
        ),
        sub("genpass", -2, inspect::genpass).flags(PLAIN).docs(
            "6.0.0",
            "[bits]",
            "Makes up a password: as many random bits as asked, in hexadecimal.",
        ),
        sub("getuser", 3, inspect::getuser)
            .flags(ADMIN)
            .docs("6.0.0", "username", "Shows a user's rules field by field.")
            .complexity("O(N) in the number of the user's rules"),
        sub("help", 2, inspect::help)
            .flags(Flags::LOADING.or(Flags::STALE))
            .docs("6.0.0", "", "Shows this text."),
        sub("list", 2, inspect::list)
            .flags(ADMIN)
            .docs("6.0.0", "", "Shows every user as a line of the ACL file.")
            .complexity(PER_USER),
        sub("load", 2, files::load)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Ok))
            .docs(
                "6.0.0",
                "",
                "Replaces all users by those of the ACL file, if it has no fault.",
            )
            .complexity(PER_USER),
        sub("log", -2, refused::log)
            .flags(ADMIN)
            .route(Route::First)
            .docs(
                "6.0.0",
                "[count | RESET]",
                "Shows what was refused lately, or forgets it.",
            )
            .complexity("O(N) in the number of entries shown"),
        sub("save", 2, files::save)
            .flags(ADMIN)
            .docs("6.0.0", "", "Writes all users into the ACL file.")
            .complexity(PER_USER),
        sub("setuser", -3, users::setuser)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Ok))
            .docs(
                "6.0.0",
                "username [rule [rule ...]]",
                "Adds a user, or rules to a known one.",
            )
            .complexity("O(N) in the number of rules"),
        sub("users", 2, inspect::users)
            .flags(ADMIN)
            .docs("6.0.0", "", "Lists the users' names.")
            .complexity(PER_USER),
        sub("whoami", 2, inspect::whoami).flags(PLAIN).docs(
            "6.0.0",
            "",
            "Answers the name of the connection's user.",
        ),
    ]);

pub const COMMANDS: &[Command] = &[ACL];

/// The arity of a row says no more than "at least"; this is for the words beyond.
fn at_most(args: Args<'_>, words: usize) -> Result<(), Error> {
    if args.len() <= words {
        return Ok(());
    }
    let sub = String::from_utf8_lossy(cut(args.get(1)));
    Err(Error::from(format!(
        "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try ACL HELP."
    )))
}

/// Writes a text of the command's own making as a bulk.
fn bulk(x: &mut Exec<'_>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut text = Vec::new();
    write(&mut text);
    x.reply.bulk(&text);
}

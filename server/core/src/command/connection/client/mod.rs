//! `CLIENT`: asking about connections, and changing or ending them.

mod filter;
mod listing;
mod pause;
mod settings;

pub(super) use settings::valid_name;

use super::connection;
use crate::command::spec::{Categories, Command, Flags, Group, Handler, Join, Route, command};

const fn sub(name: &'static str, arity: i16, run: Handler) -> Command {
    connection(name, arity, run)
}

/// For any user, at any time.
const PLAIN: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const BUSY: Flags = PLAIN.or(Flags::ALLOW_BUSY);
const ADMIN: Flags = PLAIN.or(Flags::ADMIN);

const LIST_SYNTAX: &str = "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME <YES | NO>] [MAXAGE maxage] [NAME name] [IDLE idle] [FLAGS flags] [LIB-NAME lib-name] [LIB-VER lib-ver] [DB db] [CAPA capa] [IP ip] [NOT-TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [NOT-ID not-client-id [not-client-id ...]] [NOT-USER not-username] [NOT-ADDR ip:port] [NOT-LADDR ip:port] [NOT-NAME not-name] [NOT-FLAGS not-flags] [NOT-LIB-NAME not-lib-name] [NOT-LIB-VER not-lib-ver] [NOT-DB not-db] [NOT-CAPA not-capa] [NOT-IP not-ip]";
const KILL_SYNTAX: &str = "<ip:port | <[ID client-id [client-id ...]] | [TYPE <NORMAL | MASTER | PRIMARY | SLAVE | REPLICA | PUBSUB>] | [USER username] | [ADDR ip:port] | [LADDR ip:port] | [SKIPME <YES | NO>] | [MAXAGE maxage] | [NAME name] | [IDLE idle] | [FLAGS flags] | [LIB-NAME lib-name] | [LIB-VER lib-ver] | [DB db] | [CAPA capa] | [IP ip] | [NOT-TYPE <NORMAL | MASTER | PRIMARY | SLAVE | REPLICA | PUBSUB>] | [NOT-ID not-client-id [not-client-id ...]] | [NOT-USER not-username] | [NOT-ADDR ip:port] | [NOT-LADDR ip:port] | [NOT-NAME not-name] | [NOT-FLAGS not-flags] | [NOT-LIB-NAME not-lib-name] | [NOT-LIB-VER not-lib-ver] | [NOT-DB not-db] | [NOT-CAPA not-capa] | [NOT-IP not-ip] ...>>";

pub const CLIENT: Command = command(Group::Connection, "client", -2, listing::help)
    .docs("2.4.0", "", "Holds the commands about connections.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        sub("capa", -3, settings::capa).flags(BUSY).docs(
            "8.0.0",
            "capability [capability ...]",
            "Tells the server what the client understands; REDIRECT is known.",
        ),
        sub("getname", 2, settings::getname)
            .flags(BUSY)
            .docs("2.6.9", "", "Answers the connection's name."),
        sub("getredir", 2, settings::getredir).flags(BUSY).docs(
            "6.0.0",
            "",
            "Answers which client gets this one's invalidation messages; -1 without tracking.",
        ),
        sub("help", 2, listing::help)
            .flags(Flags::LOADING.or(Flags::STALE))
            .docs("5.0.0", "", "Shows this text."),
        sub("id", 2, settings::id)
            .flags(BUSY)
            .docs("5.0.0", "", "Answers the connection's number."),
        sub("import-source", 3, settings::import_source)
            .flags(PLAIN)
            .docs(
                "8.1.0",
                "<ON | OFF>",
                "Marks the connection as the source of an import.",
            ),
        sub("info", 2, listing::info).flags(PLAIN).docs(
            "6.2.0",
            "",
            "Describes this connection in one line.",
        ),
        sub("kill", -3, listing::kill)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Own))
            .docs(
                "2.4.0",
                KILL_SYNTAX,
                "Closes the connections that all filters agree on, or the one at an address.",
            )
            .complexity("O(N) in the number of connections"),
        sub("list", -2, listing::list)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Own))
            .docs(
                "2.4.0",
                LIST_SYNTAX,
                "Describes the connections that all filters agree on, one a line.",
            )
            .complexity("O(N) in the number of connections"),
        sub("no-evict", 3, settings::no_evict)
            .flags(ADMIN.or(Flags::ALLOW_BUSY))
            .docs(
                "7.0.0",
                "<ON | OFF>",
                "Spares the connection when clients use too much memory.",
            ),
        sub("no-touch", 3, settings::no_touch).flags(BUSY).docs(
            "7.2.0",
            "<ON | OFF>",
            "Lets the connection's reads not count as use of the keys.",
        ),
        sub("pause", -3, pause::pause)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Ok))
            .docs(
                "3.0.0",
                "timeout [WRITE | ALL]",
                "Holds back all commands, or those that write, for a time in milliseconds.",
            ),
        sub("reply", 3, settings::reply)
            .flags(BUSY.or(Flags::NO_MULTI))
            .docs(
                "3.2.0",
                "<ON | OFF | SKIP>",
                "Turns replies to this connection off and on, or drops the next one.",
            ),
        sub("setinfo", 4, settings::setinfo).flags(BUSY).docs(
            "7.2.0",
            "<LIB-NAME libname | LIB-VER libver>",
            "Notes which client library is behind the connection.",
        ),
        sub("setname", 3, settings::setname).flags(BUSY).docs(
            "2.6.9",
            "connection-name",
            "Names the connection.",
        ),
        sub("unblock", -3, pause::unblock)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Sum))
            .docs(
                "5.0.0",
                "client-id [TIMEOUT | ERROR]",
                "Ends the wait of a client that is blocked in a command.",
            ),
        sub("unpause", 2, pause::unpause)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Ok))
            .docs("6.2.0", "", "Ends a pause before its time.")
            .complexity("O(N) in the number of clients that were held back"),
    ])
    .acl(Categories::none());

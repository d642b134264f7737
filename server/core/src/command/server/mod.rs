//! Commands about the server itself: its options, its figures, its end.

mod config;
mod debug;
mod info;
mod latency;
mod lolwut;
mod memory;
pub(crate) mod memory_report;
mod misc;
mod save;
mod slowlog;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod watch_tests;

pub(crate) use info::human;

use crate::command::spec::{Categories, Command, Flags, Group, Handler, Join, Route, command};

const fn server(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Server, name, arity, run)
}

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = ANY_TIME.or(Flags::ADMIN);
const ADMIN_NOSCRIPT: Flags = ADMIN.or(Flags::NOSCRIPT);
const SAVES: Flags = Flags::ADMIN.or(Flags::NOSCRIPT).or(Flags::NO_ASYNC_LOADING);

pub const COMMANDS: &[Command] = &[
    config::CONFIG,
    debug::DEBUG,
    latency::LATENCY,
    slowlog::COMMANDLOG,
    slowlog::SLOWLOG,
    server("info", -1, info::info)
        .flags(ANY_TIME)
        .acl(Categories::DANGEROUS)
        .route(Route::Everywhere(Join::Own))
        .docs(
            "1.0.0",
            "[section [section ...]]",
            "Shows figures about the server, by section.",
        ),
    server("lolwut", -1, lolwut::lolwut)
        .flags(Flags::READONLY.or(Flags::FAST))
        .docs(
            "5.0.0",
            "[VERSION version [arg [arg ...]]]",
            "Draws something, and says which version this is.",
        )
        .complexity("O(1)"),
    memory::MEMORY,
    server("monitor", 1, misc::monitor)
        .flags(ADMIN_NOSCRIPT)
        .route(Route::Everywhere(Join::Ok))
        .docs(
            "1.0.0",
            "",
            "Shows every command that the server runs, from now on.",
        ),
    server("role", 1, misc::role)
        .flags(ANY_TIME.or(Flags::NOSCRIPT).or(Flags::FAST))
        .acl(Categories::ADMIN.or(Categories::DANGEROUS))
        .docs("2.8.12", "", "Answers what the server is to its replicas."),
    server("bgrewriteaof", 1, save::background_rewrite)
        .flags(SAVES)
        .route(Route::Everywhere(Join::Ok))
        .docs(
            "1.0.0",
            "",
            "Has the image take in what the log has, in the background.",
        ),
    server("bgsave", -1, save::background_save)
        .flags(SAVES)
        .route(Route::Everywhere(Join::Ok))
        .docs(
            "1.0.0",
            "[SCHEDULE | CANCEL]",
            "Has the image take in all that was written, in the background.",
        ),
    server("lastsave", 1, save::last_save)
        .flags(ANY_TIME.or(Flags::FAST))
        .acl(Categories::ADMIN.or(Categories::DANGEROUS))
        .docs(
            "1.0.0",
            "",
            "Answers when the last save was, or the start, in Unix seconds.",
        ),
    server("save", 1, save::save)
        .flags(SAVES.or(Flags::NO_MULTI))
        .route(Route::Everywhere(Join::Ok))
        .docs(
            "1.0.0",
            "",
            "Has the image take in all that was written, and waits for that.",
        ),
    server("shutdown", -1, misc::shutdown)
        .flags(ADMIN_NOSCRIPT.or(Flags::NO_MULTI).or(Flags::ALLOW_BUSY))
        .docs(
            "1.0.0",
            "[[NOSAVE | SAVE] [NOW] [FORCE] | ABORT]",
            "Ends the server.",
        ),
    server("time", 1, misc::time)
        .flags(ANY_TIME.or(Flags::FAST))
        .docs("2.6.0", "", "Answers the server's time."),
    command(Group::Generic, "wait", 3, save::wait)
        .flags(Flags::BLOCKING)
        .acl(Categories::CONNECTION)
        .docs(
            "3.0.0",
            "numreplicas timeout",
            "Waits until replicas have what the connection wrote; answers how many do.",
        ),
    command(Group::Generic, "waitaof", 4, save::wait_aof)
        .flags(Flags::BLOCKING)
        .acl(Categories::CONNECTION)
        .route(Route::Everywhere(Join::Own))
        .docs(
            "7.2.0",
            "numlocal numreplicas timeout",
            "Waits until what the connection wrote is durable; answers whether it is, and on how many replicas.",
        ),
];

//! Commands about the server itself: its options, its figures, its end.

mod config;
mod info;
#[cfg(test)]
mod tests;

use crate::command::spec::{Categories, Command, Flags, Group, Handler, Join, Route, command};

const fn server(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Server, name, arity, run)
}

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = ANY_TIME.or(Flags::ADMIN);
const ADMIN_NOSCRIPT: Flags = ADMIN.or(Flags::NOSCRIPT);

pub const COMMANDS: &[Command] = &[
    config::CONFIG,
    server("info", -1, info::info)
        .flags(ANY_TIME)
        .acl(Categories::DANGEROUS)
        .route(Route::Everywhere(Join::Own))
        .docs(
            "1.0.0",
            "[section [section ...]]",
            "Shows figures about the server, by section.",
        ),
];

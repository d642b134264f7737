//! Commands: one row and one function each, a file (or folder) per family.
//!
//! A family's `COMMANDS` are its rows; `FAMILIES` joins them into the table.

pub mod acl;
pub mod args;
pub mod bitmap;
pub mod cluster;
pub mod connection;
pub mod counts;
pub mod deadline;
pub mod element_scan;
pub mod generic;
pub mod hash;
pub mod help;
pub mod hyperloglog;
pub mod introspect;
pub mod keys;
pub mod list;
pub mod native;
pub mod pubsub;
pub mod server;
pub mod set;
pub mod sorted_set;
pub mod spec;
pub mod string;
pub mod table;
pub mod timeout;
pub mod transaction;

pub use args::{Args, OwnedArgs};
pub use spec::Command;
pub use table::{COMMANDS, CommandTable, Entry};

/// Every family's rows.
pub const FAMILIES: &[&[Command]] = &[
    acl::COMMANDS,
    bitmap::COMMANDS,
    cluster::COMMANDS,
    connection::COMMANDS,
    generic::COMMANDS,
    hyperloglog::COMMANDS,
    introspect::COMMANDS,
    server::COMMANDS,
    list::COMMANDS,
    pubsub::COMMANDS,
    transaction::COMMANDS,
    sorted_set::COMMANDS,
    hash::COMMANDS,
    set::COMMANDS,
    string::COMMANDS,
    native::COMMANDS,
];

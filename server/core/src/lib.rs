//! `ruvio-core`: what a Ruvio node does, without the node.
//!
//! Everything here is a function of its arguments: time and randomness are passed in, nothing reads a
//! clock, a file or a socket, nothing starts a thread. `ruvio-server` feeds it bytes and carries its
//! answers out.

pub mod acl;
pub mod cluster;
pub mod command;
pub mod effect;
pub mod engine;
pub mod error;
pub mod exec;
pub mod image;
pub mod keyspace;
pub mod memory;
pub mod options;
pub mod pubsub;
pub mod resp;
pub mod text;
pub mod value;

#[cfg(test)]
mod sizes;

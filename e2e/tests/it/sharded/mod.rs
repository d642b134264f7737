//! A keyspace spread over owner threads looks like one to a plain client.
//!
//! Which owner a connection or a key belongs to cannot be seen from outside, so every test uses enough of both
//! that commands run at home and elsewhere.

pub(crate) mod differential;
mod everywhere;
mod observed;
mod pipelines;
mod pressure;
mod transactions;
mod transcripts;
mod waits;

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

const FLAGS: &[&str] = &[
    "--shards",
    "6",
    "--owner-threads",
    "2",
    "--enable-debug-command",
    "yes",
];
/// With as many it is as good as certain that each owner has some.
const CLIENTS: usize = 12;

fn server() -> Result<Server> {
    Server::start(Kind::Ruvio, FLAGS)
}

fn clients(server: &Server) -> Result<Vec<Client>> {
    (0..CLIENTS).map(|_| server.client()).collect()
}

fn ok() -> Value {
    Value::Simple(b"OK".to_vec())
}

fn bulk(text: impl AsRef<[u8]>) -> Value {
    Value::Bulk(text.as_ref().to_vec())
}

fn error(value: &Value) -> String {
    match value {
        Value::Error(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("an error was expected, not {other}"),
    }
}

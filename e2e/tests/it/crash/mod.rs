//! Ends of the process that nobody planned, and directories that cannot be used.

mod failing_disk;
mod failing_filler;
mod full_disk;
mod handover;
mod kill;
mod parts;
mod power;
mod refused;
mod stalled;
mod synced;

use ruvio_e2e::server::Server;

/// The log's threads by their names.
const WRITER: &str = "log-writer";

/// Options that spread the keyspace over owners.
const SPREAD: &[&str] = &["--shards", "4", "--owner-threads", "2"];
const ALONE: &[&str] = &["--owner-threads", "1"];

fn keeping(durability: &str, flags: &[&str]) -> anyhow::Result<Server> {
    let mut all = vec!["--durability", durability];
    all.extend(flags);
    Server::start(ruvio_e2e::server::Kind::Ruvio, &all)
}

/// The last line that a server said.
fn last_words(server: &Server) -> String {
    let log = server.log();
    log.trim_end().lines().next_back().unwrap_or_default().to_owned()
}

//! TLS: certificates from files, kept fresh, and what is spoken with them.
//!
//! `settings` is what the options say, `files` reads what they name, `validity` says how long a certificate holds, and
//! `configs` makes of all that what a handshake needs. `current` keeps it and takes in new files while connections go
//! on; `watch` notices them. `session` is a connection of an owner's loop: bytes in and out, without a runtime. `stream`
//! is the same for what nodes and those who administer them say by gRPC, and `incoming` takes in who comes for that.
//!
//! Invariant: a connection keeps what it began with; what begins later has the newest certificates.
//! Invariant: files that are no good leave those in force that were.

mod configs;
mod current;
mod fault;
mod files;
mod incoming;
mod session;
mod settings;
mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod told;
mod validity;
mod watch;

pub use current::Tls;
pub use fault::Fault;
pub use incoming::{Accepted, incoming};
pub use session::{Got, Session};
pub use settings::Settings;
pub use stream::{Acceptor, Connector, Stream};

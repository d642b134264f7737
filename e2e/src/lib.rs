//! Tools of the black-box tests: servers as child processes, a raw RESP client, transcripts, and
//! random commands compared between two servers.
//!
//! Nothing here uses Ruvio's own crates: the replies are read by a parser of its own, so that a
//! fault of the server's encoder cannot cancel itself out in the test.

pub mod certificates;
pub mod client;
pub mod clocks;
pub mod cluster;
pub mod command_table;
pub mod crash;
pub mod differential;
pub mod disk;
pub mod linear;
pub mod load;
pub mod mutate;
#[cfg(target_arch = "x86_64")]
pub mod power;
#[cfg(not(target_arch = "x86_64"))]
#[path = "power/elsewhere.rs"]
pub mod power;
pub mod resp;
pub mod server;
pub mod tracer;
pub mod transcript;

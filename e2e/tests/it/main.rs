//! The one integration binary of the black-box tests: a module per kind of proof.

mod bad_input;
mod clients;
mod command_table;
mod configuration;
mod crash;
mod differential;
mod durable;
mod every_command;
mod followers;
mod linearizable;
mod listening;
mod recovery;
mod routed;
mod sharded;
mod slow_readers;
mod suites;
mod tidy;
mod tls;
mod transcripts;
mod waits;

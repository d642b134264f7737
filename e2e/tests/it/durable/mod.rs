//! What outlives the process, and what clients are told when it would not.

mod full_disk;
mod keyspace;
mod large;
mod native;
mod restart;
mod saved;
mod synced;

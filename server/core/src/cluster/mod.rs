//! What a node knows of its cluster: the nodes, and of every shard who leads it and who follows.
//!
//! Pure: the server makes a [`Table`] from what nodes tell each other and hands it to its owners whole. Nothing
//! here is asked while a command finds its shard led here.

mod digest;
mod node;
mod row;
mod table;
#[cfg(test)]
mod tests;

pub use node::{Node, NodeId};
pub use row::Row;
pub(crate) use table::ShardName;
pub use table::Table;

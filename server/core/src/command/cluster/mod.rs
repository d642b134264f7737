//! `CLUSTER` and what else only means something to the node of a cluster.
//!
//! Everything is told from the table of the cluster (`crate::cluster`), in the words of Redis Cluster. A shard of
//! this server's is a shard there; a node that leads any is a primary. Nothing here changes the cluster.

mod keys;
mod lines;
mod rows;
mod view;

use std::sync::Arc;

pub use rows::{CLUSTER, COMMANDS};

use crate::cluster::{NodeId, Table};
use crate::command::{Args, help as help_text};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::text::crc16::slot_of;

const DISABLED: Error = Error::new("ERR This instance has cluster support disabled");

/// The cluster that the client sees.
fn table(x: &Exec<'_>) -> Result<Arc<Table>, Error> {
    x.world.cluster_of(x.caller.client).cloned().ok_or(DISABLED)
}

fn known_node(table: &Table, word: &[u8]) -> Result<NodeId, Error> {
    let id = NodeId::parse(word).filter(|id| table.nodes.contains_key(id));
    id.ok_or_else(|| Error::from(format!("ERR Unknown node {}", String::from_utf8_lossy(word))))
}

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    table(x)?;
    help_text::write(x.reply, &CLUSTER);
    Ok(())
}

fn keyslot(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.reply.integer(slot_of(args.get(2)).into());
    Ok(())
}

/// What would change the cluster is not for clients.
fn refuse(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    table(x)?;
    let sub = String::from_utf8_lossy(args.get(1)).to_uppercase();
    Err(Error::from(format!(
        "ERR CLUSTER {sub} is not for clients: nodes and shards are managed with ruvioctl, and on Kubernetes by the \
         operator. Nothing was changed."
    ))
    .into())
}

fn count_failure_reports(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    known_node(&*table(x)?, args.get(2))?;
    x.reply.integer(0);
    Ok(())
}

fn readonly(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    read_followers(x, true)
}

fn readwrite(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    read_followers(x, false)
}

fn read_followers(x: &mut Exec<'_>, reads: bool) -> Outcome {
    if let Some(session) = x.world.sessions.get_mut(x.caller.client) {
        session.entrance.reads_followers = reads;
    }
    x.reply.ok();
    Ok(())
}

/// No slot is ever on its way from one node to another, so there is nothing to ask for.
fn asking(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    table(x)?;
    x.reply.ok();
    Ok(())
}

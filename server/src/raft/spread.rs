//! Leaderships are spread evenly over nodes, and a node that drains gives all of its away.
//!
//! Every node knows the same table, so all come to the same next move, and the one that leads the shard makes it. One
//! move at a time, and none while the table has just changed: a node that came back takes its part slowly.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ruvio_core::cluster::Table;

use super::current::Current;
use super::members;
use super::placement::{Held, Move, next_move};
use super::topology::Tables;
use crate::replica::Port;
use crate::wal::{NodeId, ShardId};

/// The table has to be as it is for so long before a move.
const CALM: Duration = Duration::from_secs(3);
/// Likewise where a node drains, which somebody waits for.
const HASTE: Duration = Duration::from_millis(100);

/// For as long as the node runs.
pub(super) async fn spread(groups: BTreeMap<ShardId, (Current, Arc<Port>)>, tables: Arc<dyn Tables>) {
    loop {
        let changed = tables.changed();
        let table = tables.table();
        let is_draining = table.nodes.get(&table.me).is_some_and(|me| me.is_draining);
        let pause = if is_draining { HASTE } else { CALM };
        if tokio::time::timeout(pause, changed).await.is_ok() && !is_draining {
            continue;
        }
        let Some(Move { shard, to, .. }) = move_of(&tables.table()) else {
            continue;
        };
        let Some((current, port)) = groups.get(&shard) else {
            continue;
        };
        match members::transfer(&current.raft(), port, to).await {
            Ok(()) => tracing::info!(shard = shard.0, to = to.0, "the leadership was handed over"),
            Err(why) => tracing::info!(shard = shard.0, to = to.0, %why, "the leadership stays for now"),
        }
    }
}

/// The next move, if it is this node's to make.
fn move_of(table: &Table) -> Option<Move> {
    let held: Vec<Held> = (0..)
        .zip(&table.rows)
        .map(|(shard, row)| Held {
            shard: ShardId(shard),
            leader: row.leader.map(|node| NodeId(node.0)),
            voters: row.voters.iter().map(|node| NodeId(node.0)).collect(),
        })
        .collect();
    let may_lead = table
        .nodes
        .values()
        .filter(|node| (node.is_alive || node.id == table.me) && !node.is_draining);
    let takers: Vec<NodeId> = may_lead.map(|node| NodeId(node.id.0)).collect();
    next_move(&held, &takers).filter(|step| step.from.0 == table.me.0)
}

#[cfg(test)]
mod tests {
    use ruvio_core::cluster::{self, Node, Row};

    use super::*;

    fn table(me: u64, leaders: &[u64]) -> Table {
        let ids = [1, 2, 3].map(cluster::NodeId);
        let mut table = Table::new(cluster::NodeId(me), leaders.len() as u16);
        for id in ids {
            let node = Node {
                id,
                is_alive: true,
                ..Node::default()
            };
            table.merge_node(node);
        }
        for (shard, leader) in (0..).zip(leaders) {
            let row = Row {
                term: 1,
                leader: Some(cluster::NodeId(*leader)),
                voters: ids.to_vec(),
                ..Row::default()
            };
            table.merge_row(shard, row);
        }
        table
    }

    fn node(table: &mut Table, id: u64) -> &mut Node {
        table.nodes.get_mut(&cluster::NodeId(id)).expect("it is there")
    }

    #[test]
    fn who_leads_too_much_gives_to_who_leads_least_and_nobody_else_moves() {
        let step = move_of(&table(1, &[1, 1, 1, 2, 2, 1])).expect("node 1 has four");
        assert_eq!((step.from, step.to), (NodeId(1), NodeId(3)));
        assert_eq!(
            move_of(&table(2, &[1, 1, 1, 2, 2, 1])),
            None,
            "it is not for node 2 to do"
        );
        assert_eq!(move_of(&table(1, &[1, 1, 2, 2, 3, 3])), None, "it is even");
    }

    #[test]
    fn who_does_not_answer_or_drains_is_given_nothing_and_who_drains_gives_all() {
        let mut dead = table(1, &[1, 1, 1, 2, 2, 1]);
        node(&mut dead, 3).is_alive = false;
        assert_eq!(move_of(&dead).map(|step| step.to), Some(NodeId(2)));
        let mut drains = table(2, &[1, 1, 2, 2, 3, 3]);
        node(&mut drains, 2).is_draining = true;
        assert!(move_of(&drains).is_some_and(|step| step.from == NodeId(2)));
        drains.me = cluster::NodeId(1);
        assert_eq!(move_of(&drains), None);
    }
}

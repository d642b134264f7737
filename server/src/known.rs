//! The cluster's table as this node knows it: groups and other nodes tell what they know, and owners are shown
//! what comes of it.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ruvio_core::cluster::{Node, NodeId, Row, Table};
use ruvio_server::datadir::RemovedNodes;
use ruvio_server::raft::{Roster, Tables};
use ruvio_server::wal::{self, ShardId};
use tokio::sync::Notify;

use super::host;
use super::owners::Noticer;

/// Now, by the wall clock.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as u64
}

pub struct Known {
    table: Mutex<Arc<Table>>,
    noticer: Noticer,
    changed: Notify,
    /// Why it drains: it was told to, or its disk has no room.
    told: AtomicBool,
    is_full: AtomicBool,
    removed: Mutex<RemovedNodes>,
    roster: Arc<Roster>,
    node: Arc<host::Node>,
}

impl Known {
    /// What a node knows at its start: itself, and who was removed.
    pub fn new(
        me: Node,
        shards: u16,
        noticer: Noticer,
        (removed, nodes): (RemovedNodes, BTreeSet<wal::NodeId>),
        roster: Arc<Roster>,
        node: Arc<host::Node>,
    ) -> Self {
        let mut table = Table::new(me.id, shards);
        table.merge_node(me);
        for removed in nodes {
            roster.remove(removed);
            table.remove_node(NodeId(removed.0));
        }
        let table = Arc::new(table);
        noticer.put_up(Arc::clone(&table));
        Self {
            table: Mutex::new(table),
            noticer,
            changed: Notify::new(),
            told: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            removed: Mutex::new(removed),
            roster,
            node,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Table>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the table; `change` says whether it did.
    fn change(&self, change: impl FnOnce(&mut Table) -> bool) {
        let mut table = self.lock();
        if change(Arc::make_mut(&mut table)) {
            self.noticer.put_up(Arc::clone(&table));
            drop(table);
            self.changed.notify_waiters();
        }
    }

    fn say_whether_it_drains(&self) {
        self.change(|table| {
            // Under the table's lock: whoever comes last has seen both.
            let is_draining = self.told.load(Relaxed) || self.is_full.load(Relaxed);
            let me = table.me;
            let own = table
                .nodes
                .get_mut(&me)
                .filter(|own| own.is_draining != is_draining);
            own.is_some_and(|own| {
                own.is_draining = is_draining;
                own.version = unix_ms().max(own.version + 1);
                true
            })
        });
    }
}

impl Tables for Known {
    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.lock())
    }

    fn take_row(&self, shard: ShardId, row: Row) {
        self.change(|table| table.merge_row(shard.0, row));
    }

    fn take_table(&self, other: &Table) {
        self.change(|table| table.learn(other));
    }

    fn remove(&self, nodes: &[wal::NodeId]) -> io::Result<()> {
        let file = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = self.table().removed.clone();
        let mut all: BTreeSet<_> = removed.iter().map(|node| wal::NodeId(node.0)).collect();
        all.extend(nodes);
        file.write(&all)?;
        for node in nodes {
            tracing::warn!(
                node = node.0,
                "a node was removed from the cluster: it is not heard any longer"
            );
            self.roster.remove(*node);
        }
        self.change(|table| {
            let news = nodes.iter().filter(|node| table.remove_node(NodeId(node.0)));
            news.count() > 0
        });
        Ok(())
    }

    /// It would lead what is left of shards that others have recovered without it: two nodes that were lost together would
    /// even find a majority.
    fn note_removed(&self, by: wal::NodeId) {
        self.node.end_with(format!(
            "node {} says that this node was removed from the cluster: what it has is not used any more. Give it an empty \
             folder, and let it join as a new node",
            by.0
        ));
    }

    fn note_heard(&self, node: u64, is_heard: bool) {
        self.change(|table| {
            let known = table.nodes.get_mut(&NodeId(node));
            known.is_some_and(|known| std::mem::replace(&mut known.is_alive, is_heard) != is_heard)
        });
    }

    fn set_draining(&self, is_draining: bool) {
        self.told.store(is_draining, Relaxed);
        self.say_whether_it_drains();
    }

    fn set_full(&self, is_full: bool) {
        if self.is_full.swap(is_full, Relaxed) != is_full {
            self.say_whether_it_drains();
        }
    }

    fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

//! The cluster's table as this node knows it: groups and other nodes tell what they know, and owners are shown
//! what comes of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ruvio_core::cluster::{Node, Row, Table};
use ruvio_server::raft::Tables;
use ruvio_server::wal::ShardId;
use tokio::sync::Notify;

use super::owners::Noticer;

pub struct Known {
    table: Mutex<Arc<Table>>,
    noticer: Noticer,
    changed: Notify,
}

impl Known {
    /// What a node knows at its start: itself.
    pub fn new(me: Node, shards: u16, noticer: Noticer) -> Self {
        let mut table = Table::new(me.id, shards);
        table.merge_node(me);
        let table = Arc::new(table);
        noticer.put_up(Arc::clone(&table));
        Self {
            table: Mutex::new(table),
            noticer,
            changed: Notify::new(),
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
}

impl Tables for Known {
    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.lock())
    }

    fn take_row(&self, shard: ShardId, row: Row) {
        self.change(|table| table.merge_row(shard.0, row));
    }

    fn take_table(&self, other: &Table) {
        self.change(|table| table.merge(other));
    }

    fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.changed.notified()
    }
}

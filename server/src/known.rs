//! The cluster's table as this node knows it: groups and other nodes tell what they know, and owners are shown
//! what comes of it.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ruvio_core::cluster::{Node, NodeId, Row, Table};
use ruvio_server::raft::Tables;
use ruvio_server::wal::ShardId;
use tokio::sync::Notify;

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
            told: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
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

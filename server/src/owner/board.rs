//! The cluster's table as owners see it: whoever learns something puts a new one up, and each owner looks whether
//! there is another than the one it has.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ruvio_core::cluster::Table;

use super::links::Names;
use super::{Owner, now};

#[derive(Default)]
pub struct Board {
    version: AtomicU64,
    table: Mutex<Option<Arc<Table>>>,
    names: Names,
}

impl Board {
    /// Puts a table up. Owners look at it when they are rung for.
    pub fn put_up(&self, table: Arc<Table>) {
        *self.table.lock().unwrap_or_else(PoisonError::into_inner) = Some(table);
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// The table, if it is another than that of the version that was seen.
    fn newer(&self, seen: &mut u64) -> Option<Arc<Table>> {
        let version = self.version.load(Ordering::Acquire);
        if version == *seen {
            return None;
        }
        *seen = version;
        self.table.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Owner {
    /// Takes in what is new of the cluster.
    pub(super) fn heed_board(&mut self) {
        let Some(table) = self.board.newer(&mut self.seen_board) else {
            return;
        };
        self.engine.set_cluster(Some(table));
        self.routes = true;
        self.deliver_news(now());
    }
}

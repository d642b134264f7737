//! Who wants to hear of a change to a key: transactions that watch it, commands that block on it.
//!
//! One map for both, empty almost always: a write on a shard nobody listens to pays one test.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::engine::session::ClientId;

#[derive(Default)]
pub struct Listeners {
    pub watchers: Vec<ClientId>,
    /// In the order in which they began to wait.
    pub blocked: VecDeque<ClientId>,
}

/// Keyed by database and key.
#[derive(Default)]
pub struct Interest {
    by_key: HashMap<(u16, Box<[u8]>), Listeners, foldhash::fast::RandomState>,
    /// Clients whose watched keys changed since they were last asked about.
    pub dirty: Vec<ClientId>,
    /// Keys with blocked clients that changed, in order, each once.
    pub ready: VecDeque<(u16, Box<[u8]>)>,
}

impl Interest {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Tells that a key changed.
    #[inline]
    pub fn touch(&mut self, db: u16, key: &[u8]) {
        if !self.by_key.is_empty() {
            self.touch_listened(db, key);
        }
    }

    #[cold]
    fn touch_listened(&mut self, db: u16, key: &[u8]) {
        let name = (db, Box::from(key));
        if let Some(listeners) = self.by_key.get(&name) {
            self.dirty.extend_from_slice(&listeners.watchers);
            if !listeners.blocked.is_empty() && !self.ready.contains(&name) {
                self.ready.push_back(name);
            }
        }
    }

    /// All keys of these databases changed at once (FLUSHDB, SWAPDB); `existed` tells whether a key was or
    /// is now there, since a flush does not touch what never was.
    pub fn touch_all(&mut self, databases: &[u16], existed: impl Fn(u16, &[u8]) -> bool) {
        for (name, listeners) in &self.by_key {
            if databases.contains(&name.0) && existed(name.0, &name.1) {
                self.dirty.extend_from_slice(&listeners.watchers);
                if !listeners.blocked.is_empty() && !self.ready.contains(name) {
                    self.ready.push_back(name.clone());
                }
            }
        }
    }

    pub fn watch(&mut self, db: u16, key: &[u8], client: ClientId) {
        let listeners = self.by_key.entry((db, Box::from(key))).or_default();
        if !listeners.watchers.contains(&client) {
            listeners.watchers.push(client);
        }
    }

    pub fn unwatch(&mut self, db: u16, key: &[u8], client: ClientId) {
        self.remove(db, key, |listeners| listeners.watchers.retain(|c| *c != client));
    }

    /// Queues `client` behind those who wait already; a client that waits keeps its place.
    pub fn block(&mut self, db: u16, key: &[u8], client: ClientId) {
        let listeners = self.by_key.entry((db, Box::from(key))).or_default();
        if !listeners.blocked.contains(&client) {
            listeners.blocked.push_back(client);
        }
    }

    pub fn unblock(&mut self, db: u16, key: &[u8], client: ClientId) {
        self.remove(db, key, |listeners| listeners.blocked.retain(|c| *c != client));
    }

    /// Those who wait for the key, first come first.
    pub fn waiting(&self, db: u16, key: &[u8]) -> Vec<ClientId> {
        self.by_key
            .get(&(db, Box::from(key)))
            .map_or_else(Vec::new, |l| l.blocked.iter().copied().collect())
    }

    /// Keys that somebody watches, and keys that somebody waits for.
    pub fn counts(&self) -> (usize, usize) {
        let watched = self.by_key.values().filter(|l| !l.watchers.is_empty()).count();
        let blocking = self.by_key.values().filter(|l| !l.blocked.is_empty()).count();
        (watched, blocking)
    }

    fn remove(&mut self, db: u16, key: &[u8], change: impl FnOnce(&mut Listeners)) {
        let name = (db, Box::from(key));
        if let Some(listeners) = self.by_key.get_mut(&name) {
            change(listeners);
            if listeners.watchers.is_empty() && listeners.blocked.is_empty() {
                self.by_key.remove(&name);
            }
        }
    }
}

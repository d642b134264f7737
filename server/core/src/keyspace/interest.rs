//! Who wants to hear of a change to a key: transactions that watch it, commands that block on it.
//!
//! One map for both, empty almost always: a write on a shard nobody listens to pays one test. Those who
//! block stand in the order of their tickets, and a ticket is given when a wait begins: whoever began to
//! wait first is served first, on whichever of its keys.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hashbrown::{Equivalent, HashMap};

use crate::engine::session::ClientId;

/// A place in all queues of one wait; only grows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Ticket(u64);

#[derive(Default)]
pub struct Listeners {
    watchers: BTreeSet<ClientId>,
    blocked: BTreeMap<Ticket, ClientId>,
    /// The key stands in `ready`.
    is_ready: bool,
}

type Name = (u16, Box<[u8]>);

/// A name that is looked for; hashes as [`Name`] does.
#[derive(Hash)]
struct Sought<'k>(u16, &'k [u8]);

impl Equivalent<Name> for Sought<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.0 == name.0 && *self.1 == *name.1
    }
}

/// Keyed by database and key.
#[derive(Default)]
pub struct Interest {
    by_key: HashMap<Name, Listeners, foldhash::fast::RandomState>,
    /// Clients whose watched keys changed and who were not told so far. They watch those keys no longer.
    pub dirty: Vec<ClientId>,
    /// Keys with blocked clients that changed, in order, each once.
    ready: VecDeque<Name>,
    last_ticket: Ticket,
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
        let Some(listeners) = self.by_key.get_mut(&Sought(db, key)) else {
            return;
        };
        self.dirty.extend(std::mem::take(&mut listeners.watchers));
        if listeners.becomes_ready() {
            self.ready.push_back((db, Box::from(key)));
        }
    }

    /// All keys of these databases changed at once (FLUSHDB, SWAPDB); `existed` tells whether a key was or
    /// is now there, since a flush does not touch what never was.
    pub fn touch_all(&mut self, databases: &[u16], existed: impl Fn(u16, &[u8]) -> bool) {
        let before = self.ready.len();
        for (name, listeners) in &mut self.by_key {
            if databases.contains(&name.0) && existed(name.0, &name.1) {
                self.dirty.extend(std::mem::take(&mut listeners.watchers));
                if listeners.becomes_ready() {
                    self.ready.push_back(name.clone());
                }
            }
        }
        // The map's order is chance; those who wait are served in an order that can be told.
        self.ready.make_contiguous()[before..].sort_unstable();
    }

    /// `false` if the client watches the key already.
    pub fn watch(&mut self, db: u16, key: &[u8], client: ClientId) -> bool {
        let listeners = self.by_key.entry((db, Box::from(key))).or_default();
        listeners.watchers.insert(client)
    }

    pub fn unwatch(&mut self, db: u16, key: &[u8], client: ClientId) {
        self.remove(db, key, |listeners| {
            listeners.watchers.remove(&client);
        });
    }

    /// The ticket of a wait that begins now.
    pub fn take_ticket(&mut self) -> Ticket {
        self.last_ticket.0 += 1;
        self.last_ticket
    }

    /// Queues `client` where its ticket says. A key that is named twice is one.
    pub fn block(&mut self, db: u16, key: &[u8], ticket: Ticket, client: ClientId) {
        self.by_key
            .entry((db, Box::from(key)))
            .or_default()
            .blocked
            .insert(ticket, client);
    }

    pub fn unblock(&mut self, db: u16, key: &[u8], ticket: Ticket) {
        self.remove(db, key, |listeners| {
            listeners.blocked.remove(&ticket);
        });
    }

    /// The next key that changed while somebody waited for it.
    pub fn next_ready(&mut self) -> Option<Name> {
        let name = self.ready.pop_front()?;
        if let Some(listeners) = self.by_key.get_mut(&name) {
            listeners.is_ready = false;
        }
        Some(name)
    }

    /// Who waits for the key next, after `ticket`.
    pub fn next_waiting(&self, db: u16, key: &[u8], after: Ticket) -> Option<(Ticket, ClientId)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let listeners = self.by_key.get(&Sought(db, key))?;
        listeners
            .blocked
            .range((Excluded(after), Unbounded))
            .next()
            .map(|(ticket, client)| (*ticket, *client))
    }

    /// The last ticket given so far.
    pub fn last_ticket(&self) -> Ticket {
        self.last_ticket
    }

    /// Keys of these databases that somebody listens to, in order.
    pub fn keys_in(&self, databases: &[u16]) -> Vec<Box<[u8]>> {
        let names = self.by_key.keys();
        let mut keys: Vec<Box<[u8]>> = names
            .filter(|name| databases.contains(&name.0))
            .map(|name| name.1.clone())
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Keys that somebody watches, and keys that somebody waits for.
    pub fn counts(&self) -> (usize, usize) {
        let watched = self.by_key.values().filter(|l| !l.watchers.is_empty()).count();
        let blocking = self.by_key.values().filter(|l| !l.blocked.is_empty()).count();
        (watched, blocking)
    }

    fn remove(&mut self, db: u16, key: &[u8], change: impl FnOnce(&mut Listeners)) {
        let name = Sought(db, key);
        if let Some(listeners) = self.by_key.get_mut(&name) {
            change(listeners);
            if listeners.watchers.is_empty() && listeners.blocked.is_empty() {
                self.by_key.remove(&name);
            }
        }
    }
}

impl Listeners {
    /// `true` the first time that the key changes while somebody waits for it.
    fn becomes_ready(&mut self) -> bool {
        let first = !self.is_ready && !self.blocked.is_empty();
        self.is_ready |= first;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients<const N: usize>() -> [ClientId; N] {
        let mut engine = crate::engine::testing::engine();
        [(); N].map(|()| crate::engine::testing::connect(&mut engine))
    }

    fn queue(interest: &Interest, key: &[u8]) -> Vec<ClientId> {
        let mut at = Ticket::default();
        std::iter::from_fn(|| {
            let (ticket, client) = interest.next_waiting(0, key, at)?;
            at = ticket;
            Some(client)
        })
        .collect()
    }

    #[test]
    fn those_who_wait_stand_in_the_order_in_which_they_came() {
        let [a, b, c] = clients();
        let mut interest = Interest::default();
        let [ta, tb, tc] = [(); 3].map(|()| interest.take_ticket());
        interest.block(0, b"k", tb, b);
        interest.block(0, b"k", tc, c);
        interest.block(0, b"k", ta, a);
        interest.block(0, b"k", ta, a);
        assert_eq!(queue(&interest, b"k"), [a, b, c]);
        interest.unblock(0, b"k", tb);
        assert_eq!(queue(&interest, b"k"), [a, c]);
        interest.unblock(0, b"k", ta);
        interest.unblock(0, b"k", tc);
        assert!(interest.is_empty());
    }

    #[test]
    fn a_key_is_ready_once_and_only_for_those_who_wait() {
        let [a, b] = clients();
        let mut interest = Interest::default();
        interest.watch(0, b"w", b);
        let ticket = interest.take_ticket();
        interest.block(0, b"k", ticket, a);
        for key in [b"k", b"w", b"k"] {
            interest.touch(0, key);
            interest.touch(1, key);
        }
        assert_eq!(interest.dirty, [b]);
        assert_eq!(interest.next_ready(), Some((0, Box::from(*b"k"))));
        assert_eq!(interest.next_ready(), None);
        interest.touch(0, b"k");
        assert!(interest.next_ready().is_some());
    }
}

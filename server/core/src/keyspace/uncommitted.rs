//! Which keys have changes that are not committed yet, so that nobody is shown one.
//!
//! The owner numbers its turns of logged changes. A small table keeps, by a part of the key's hash, the turn
//! of the last change; a reply has to wait for the latest turn among the keys that its command named. Two keys
//! that share a place only make a reply wait longer. Off (nothing is logged) it holds no memory, and a key
//! costs one test.

use std::cell::Cell;

use crate::memory::prefetch;

/// Places of the table: a power of two, some times the keys that change while one write of the log takes.
const PLACES: usize = 1 << 14;

#[derive(Default, Debug)]
pub struct Uncommitted {
    turns: Box<[u64]>,
    /// The number that changes made now will have.
    turn: u64,
    /// The last turn with a change, and the last that changed whole databases.
    last: u64,
    whole: u64,
    /// The latest turn that the running command depends on.
    wait: Cell<u64>,
}

impl Uncommitted {
    /// From now on changes are logged.
    pub fn switch_on(&mut self) {
        self.turns = vec![0; PLACES].into_boxed_slice();
    }

    #[inline]
    fn is_on(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Changes from here on belong to the turn of that number, which only grows.
    pub fn begin(&mut self, turn: u64) {
        self.turn = turn;
    }

    /// A command will soon name a key: the table is larger than the nearest cache.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        if let Some(turn) = self.turns.get(place(hash)) {
            prefetch(turn);
        }
    }

    /// A command names a key.
    #[inline]
    pub fn note_named(&self, hash: u64) {
        if let Some(turn) = self.turns.get(place(hash)) {
            self.depend(*turn);
        }
    }

    /// A command looks at keys that it does not name.
    pub fn note_any(&self) {
        self.depend(self.last);
    }

    #[inline]
    fn depend(&self, turn: u64) {
        self.wait.set(self.wait.get().max(turn).max(self.whole));
    }

    /// A key changed.
    #[inline]
    pub fn note_change(&mut self, hash: u64) {
        if self.is_on() {
            self.turns[place(hash)] = self.turn;
            self.note_turn();
        }
    }

    /// Whole databases changed.
    pub fn note_whole(&mut self) {
        if self.is_on() {
            self.whole = self.turn;
            self.note_turn();
        }
    }

    fn note_turn(&mut self) {
        self.last = self.turn;
        self.wait.set(self.turn);
    }

    /// A place to go back to with `forgo`.
    #[inline]
    pub fn mark(&self) -> u64 {
        self.wait.get()
    }

    /// Nothing that ran since the mark is waited for.
    pub fn forgo(&self, mark: u64) {
        self.wait.set(mark);
    }

    /// The turn that what ran since the last call depends on; zero: none.
    #[inline]
    pub fn take_wait(&self) -> u64 {
        self.wait.replace(0)
    }
}

/// Other bits than those that order a table, in which neighbours of a scan would share a place.
#[inline]
fn place(hash: u64) -> usize {
    (hash >> 24) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: u64 = 1 << 24;
    const OTHER: u64 = 2 << 24;

    #[test]
    fn a_reply_waits_for_the_last_change_of_the_keys_it_names() {
        let mut uncommitted = Uncommitted::default();
        uncommitted.note_change(ONE);
        uncommitted.note_named(ONE);
        uncommitted.note_any();
        assert_eq!(uncommitted.take_wait(), 0, "nothing is logged");

        uncommitted.switch_on();
        uncommitted.begin(7);
        uncommitted.note_change(ONE);
        assert_eq!(uncommitted.take_wait(), 7, "the change itself");
        uncommitted.begin(8);
        uncommitted.note_change(OTHER);
        uncommitted.take_wait();
        uncommitted.begin(9);
        uncommitted.note_named(ONE);
        assert_eq!(uncommitted.take_wait(), 7);
        uncommitted.note_named(ONE);
        uncommitted.note_named(OTHER);
        assert_eq!(uncommitted.take_wait(), 8);
        uncommitted.note_named(3 << 24);
        assert_eq!(uncommitted.take_wait(), 0, "nobody changed that one");
        uncommitted.note_any();
        assert_eq!(uncommitted.take_wait(), 8);
        uncommitted.note_whole();
        assert_eq!(uncommitted.take_wait(), 9);
        uncommitted.note_named(3 << 24);
        assert_eq!(uncommitted.take_wait(), 9, "all keys were flushed");
    }
}

//! A set of commands: one bit an id of the command table.

use crate::command::{COMMANDS, Entry};

#[derive(Clone, PartialEq, Eq)]
pub struct CommandSet(Box<[u64]>);

impl CommandSet {
    pub fn none() -> Self {
        Self(vec![0; COMMANDS.len().div_ceil(64)].into())
    }

    pub fn all() -> Self {
        Self(vec![u64::MAX; COMMANDS.len().div_ceil(64)].into())
    }

    #[inline]
    pub fn has(&self, id: u16) -> bool {
        self.0
            .get(usize::from(id / 64))
            .is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub fn set(&mut self, id: u16, allowed: bool) {
        if let Some(word) = self.0.get_mut(usize::from(id / 64)) {
            let bit = 1 << (id % 64);
            if allowed { *word |= bit } else { *word &= !bit }
        }
    }

    /// The command, and its sub-commands with it.
    pub fn set_whole(&mut self, entry: &Entry, allowed: bool) {
        self.set(entry.id, allowed);
        for id in entry.subcommands.clone() {
            self.set(id, allowed);
        }
    }
}

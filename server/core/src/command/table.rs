//! The table of all commands: rows by name, found with one multiply.
//!
//! Names are folded to upper case eight bytes at a time (`& 0xDF`), so a look-up neither allocates nor
//! loops over characters. The table is built once, from the families' rows.

use std::sync::LazyLock;

use super::args::Args;
use super::keys;
use super::spec::{Categories, Command, Flags};
use crate::engine::stopwatch;

/// A row with its place in the table.
pub struct Entry {
    pub spec: &'static Command,
    /// Dense: index for ACL bit sets and counters.
    pub id: u16,
    /// The container of a sub-command.
    pub parent: Option<u16>,
    /// `get`, or `client|list`.
    pub full_name: String,
    /// With everything that the flags imply.
    pub categories: Categories,
    pub flags: Flags,
    /// Of constant, small cost: timed in rows.
    pub quick: bool,
    /// Ids of the sub-commands; they follow their parent.
    pub subcommands: std::ops::Range<u16>,
}

pub struct CommandTable {
    entries: Vec<Entry>,
    slots: Vec<u16>,
    mask: u64,
}

const EMPTY: u16 = u16::MAX;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// All commands of this build.
pub static COMMANDS: LazyLock<CommandTable> = LazyLock::new(|| CommandTable::new(super::FAMILIES));

/// A name folded to two words: equal for equal names without regard to case. Names are at most 24 bytes
/// and none differ only between their first and last eight, so length and both ends tell them apart; the
/// caller compares the whole name once.
#[inline]
fn fold(name: &[u8]) -> u64 {
    let load = |bytes: &[u8]| -> u64 {
        let mut word = [0u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let (a, b) = if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
    } else {
        (load(name), name.len() as u64)
    };
    let (a, b) = (a & 0xDFDF_DFDF_DFDF_DFDF, b & 0xDFDF_DFDF_DFDF_DFDF);
    // The rotation keeps an eight-byte name (a == b) from folding to zero.
    (a ^ b.rotate_left(23)).wrapping_mul(MULTIPLIER)
}

impl CommandTable {
    pub fn new(families: &[&'static [Command]]) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for spec in families.iter().flat_map(|rows| rows.iter()) {
            let parent = entries.len() as u16;
            let count = spec.subcommands.len() as u16;
            entries.push(Entry::new(spec, parent, None, parent + 1..parent + 1 + count));
            for sub in spec.subcommands {
                let id = entries.len() as u16;
                entries.push(Entry::new(sub, id, Some((parent, spec)), 0..0));
            }
        }
        let size = (entries.len() * 4).next_power_of_two();
        let mut table = Self {
            slots: vec![EMPTY; size],
            mask: size as u64 - 1,
            entries,
        };
        for id in 0..table.entries.len() as u16 {
            if table.entries[id as usize].parent.is_none() {
                let mut at = table.slot(table.entries[id as usize].spec.name.as_bytes());
                while table.slots[at] != EMPTY {
                    at = (at + 1) & table.mask as usize;
                }
                table.slots[at] = id;
            }
        }
        table
    }

    #[inline]
    fn slot(&self, name: &[u8]) -> usize {
        ((fold(name) >> 40) & self.mask) as usize
    }

    /// The command of that name, in any case.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<&Entry> {
        let mut at = self.slot(name);
        loop {
            let entry = self.entries.get(self.slots[at] as usize)?;
            if entry.spec.name.as_bytes().eq_ignore_ascii_case(name) {
                return Some(entry);
            }
            at = (at + 1) & self.mask as usize;
        }
    }

    pub fn subcommand(&self, parent: &Entry, name: &[u8]) -> Option<&Entry> {
        let range = parent.subcommands.start as usize..parent.subcommands.end as usize;
        self.entries[range]
            .iter()
            .find(|e| e.spec.name.as_bytes().eq_ignore_ascii_case(name))
    }

    /// `get`, `client|list` or `client list`-less full names as ACL rules write them.
    pub fn find_full(&self, name: &[u8]) -> Option<&Entry> {
        match name.iter().position(|b| *b == b'|') {
            None => self.find(name),
            Some(bar) => self.subcommand(self.find(&name[..bar])?, &name[bar + 1..]),
        }
    }

    /// The command that the first words name, with its sub-command if it takes one.
    pub fn find_words(&self, words: Args<'_>) -> Option<&Entry> {
        let entry = self.find(words.get(0))?;
        match words.try_get(1) {
            Some(sub) if entry.is_container() => self.subcommand(entry, sub),
            _ => Some(entry),
        }
    }

    pub fn get(&self, id: u16) -> &Entry {
        &self.entries[id as usize]
    }

    /// Commands and sub-commands together.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// Without the sub-commands.
    pub fn top_level(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|e| e.parent.is_none())
    }
}

impl Entry {
    fn new(
        spec: &'static Command,
        id: u16,
        parent: Option<(u16, &Command)>,
        subs: std::ops::Range<u16>,
    ) -> Self {
        let full_name = match parent {
            None => spec.name.to_string(),
            Some((_, container)) => format!("{}|{}", container.name, spec.name),
        };
        Self {
            spec,
            id,
            parent: parent.map(|(id, _)| id),
            full_name,
            categories: spec.categories(),
            flags: if keys::legacy_range(spec.keys).movable {
                spec.flags.or(Flags::MOVABLE_KEYS)
            } else {
                spec.flags
            },
            quick: stopwatch::quick(spec.flags, spec.complexity),
            subcommands: subs,
        }
    }

    pub fn is_container(&self) -> bool {
        !self.spec.subcommands.is_empty()
    }

    #[inline]
    pub fn is_write(&self) -> bool {
        self.flags.has(Flags::WRITE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case() {
        for entry in COMMANDS.top_level() {
            let upper = entry.spec.name.to_uppercase();
            assert_eq!(COMMANDS.find(upper.as_bytes()).map(|e| e.id), Some(entry.id));
            assert_eq!(
                COMMANDS.find(entry.spec.name.as_bytes()).map(|e| e.id),
                Some(entry.id)
            );
        }
        assert!(COMMANDS.find(b"").is_none());
        assert!(COMMANDS.find(b"nosuchcommandatallwhatever").is_none());
    }

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut seen = std::collections::HashSet::new();
        for entry in COMMANDS.iter() {
            assert!(seen.insert(entry.full_name.clone()), "{} twice", entry.full_name);
            assert_eq!(entry.full_name, entry.full_name.to_lowercase());
        }
    }
}

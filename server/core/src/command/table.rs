//! The table of all commands: rows by name, found with one multiply.
//!
//! Names are folded to upper case eight bytes at a time (`& 0xDF`), so a look-up neither allocates nor
//! loops over characters. The table is built once, from the families' rows.

use std::sync::LazyLock;

use super::args::Args;
use super::keys;
use super::spec::{Categories, Command, Flags, Route};
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
    /// It, or one of its sub-commands, shows what has gone over the sockets.
    pub shows_traffic: bool,
    arity: i16,
    is_container: bool,
    /// Quick, has keys and nothing but keys to do with.
    plain: bool,
    /// Where the first key always stands; 0: its specs must be asked.
    first_key_at: u8,
    /// Ids of the sub-commands; they follow their parent.
    pub subcommands: std::ops::Range<u16>,
}

pub struct CommandTable {
    entries: Vec<Entry>,
    slots: Vec<Slot>,
    mask: u64,
}

/// A name's place: compared whole with two words.
#[derive(Clone, Copy)]
struct Slot {
    folded: (u64, u64),
    id: u16,
    len: u16,
    /// Both words hold every byte of the name, and all are letters: what folds alike is the same name.
    by_words: bool,
}

const EMPTY: u16 = u16::MAX;
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// All commands of this build.
pub static COMMANDS: LazyLock<CommandTable> = LazyLock::new(|| CommandTable::new(super::FAMILIES));

/// A name folded to two words, its first and last eight bytes (or all of a shorter one, and its length).
#[inline]
fn fold(name: &[u8]) -> (u64, u64) {
    const CASE: u64 = 0xDFDF_DFDF_DFDF_DFDF;
    if let (Some(first), Some(last)) = (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        return (
            u64::from_le_bytes(*first) & CASE,
            u64::from_le_bytes(*last) & CASE,
        );
    }
    let four = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let word = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (Some(first), Some(last)) => four(first) | four(last) << (8 * (name.len() - 4)),
        _ => name
            .iter()
            .rev()
            .fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    (word & CASE, name.len() as u64)
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
        let empty = Slot {
            folded: (0, 0),
            id: EMPTY,
            len: 0,
            by_words: false,
        };
        let mut table = Self {
            slots: vec![empty; size],
            mask: size as u64 - 1,
            entries,
        };
        for id in 0..table.entries.len() as u16 {
            if table.entries[id as usize].parent.is_none() {
                table.place(id);
            }
        }
        table
    }

    fn place(&mut self, id: u16) {
        let name = self.entries[id as usize].spec.name.as_bytes();
        let folded = fold(name);
        let mut at = self.slot(folded);
        while self.slots[at].id != EMPTY {
            at = (at + 1) & self.mask as usize;
        }
        let by_words = name.len() <= 16 && name.iter().all(u8::is_ascii_alphabetic);
        self.slots[at] = Slot {
            folded,
            id,
            len: name.len() as u16,
            by_words,
        };
    }

    /// The rotation keeps an eight-byte name (both words alike) from coming to zero.
    #[inline]
    fn slot(&self, (first, last): (u64, u64)) -> usize {
        let hash = (first ^ last.rotate_left(23)).wrapping_mul(MULTIPLIER);
        ((hash >> 40) & self.mask) as usize
    }

    /// The command of that name, in any case.
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<&Entry> {
        let folded = fold(name);
        let mut at = self.slot(folded);
        loop {
            let slot = &self.slots[at];
            if slot.folded == folded && usize::from(slot.len) == name.len() {
                let entry = self.entries.get(usize::from(slot.id))?;
                if slot.by_words || entry.spec.name.as_bytes().eq_ignore_ascii_case(name) {
                    return Some(entry);
                }
            }
            if slot.id == EMPTY {
                return None;
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
            shows_traffic: matches!(spec.name, "client" | "info"),
            arity: spec.arity,
            plain: spec.route == Route::Keys
                && spec.subcommands.is_empty()
                && stopwatch::quick(spec.flags, spec.complexity),
            is_container: !spec.subcommands.is_empty(),
            first_key_at: keys::fixed_first_key(spec).unwrap_or(0),
            subcommands: subs,
        }
    }

    #[inline]
    pub fn is_container(&self) -> bool {
        self.is_container
    }

    /// A quick command of the keyspace, well formed: it neither waits nor concerns its session.
    #[inline]
    pub fn is_plain(&self, words: usize) -> bool {
        self.plain && self.arity_fits(words) && stopwatch::is_quick(self, words)
    }

    /// The position of the first key, where there is one.
    #[inline]
    pub fn first_key(&self, args: Args<'_>) -> Option<usize> {
        match usize::from(self.first_key_at) {
            0 => keys::first_key(self.spec, args),
            at => (at < args.len()).then_some(at),
        }
    }

    /// Whether so many words, name included, are what the command takes.
    #[inline]
    pub fn arity_fits(&self, words: usize) -> bool {
        if self.arity >= 0 {
            words == self.arity as usize
        } else {
            words >= usize::from(self.arity.unsigned_abs())
        }
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
        assert!(COMMANDS.find(b"ge").is_none());
        assert!(COMMANDS.find(b"gett").is_none());
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

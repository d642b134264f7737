//! Reads entries and notes where each row was told last.
//!
//! Notes are kept by database, so that emptying one is to forget them, and exchanging two costs nothing.

use std::collections::HashSet;

use crate::effect::Decoder;
use crate::image::row::DatabaseId;
use crate::image::{Change, Meta, changes};
use crate::memory::KeyHash;

use super::entries::Entries;
use super::error::WindowError;
use super::partition::{Partitions, Table};
use super::record::{ElementRecord, KeyRecord, Word};

/// What a gathering may hold in notes. They are compacted when they have grown to some times what was left of
/// them, or reach it; if most of it is still in use then the window ends. Three million keys take so much.
const NOTES_BYTES_MAX: usize = 64 << 20;
const NOTES_GROWTH: usize = 4;
const NOTES_BYTES_MIN: usize = 4 << 20;
/// What a generation that is gone takes in its set, about.
const DEAD_BYTES: usize = 16;

/// How far a window went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// All that there was.
    End,
    /// As far as notes had room; there is more.
    Full,
}

/// The rows of one database that were told.
pub struct Rows {
    pub id: DatabaseId,
    pub keys: Partitions<KeyRecord>,
    pub elements: Partitions<ElementRecord>,
    /// Generations that are gone and had rows before the window.
    pub dead: HashSet<u64>,
    /// Those that have come and gone within the window, until their notes are dropped.
    passing: HashSet<u64>,
}

impl Rows {
    fn new(id: DatabaseId) -> Self {
        Self {
            id,
            keys: Partitions::new(),
            elements: Partitions::new(),
            dead: HashSet::new(),
            passing: HashSet::new(),
        }
    }

    fn bytes(&self) -> usize {
        self.keys.bytes() + self.elements.bytes() + (self.dead.len() + self.passing.len()) * DEAD_BYTES
    }

    fn compact(&mut self, table: &mut Table) {
        self.keys.compact(table, |_| false);
        let (dead, passing) = (&self.dead, &self.passing);
        if dead.is_empty() && passing.is_empty() {
            self.elements.compact(table, |_| false);
        } else {
            self.elements.compact(table, |record| {
                passing.contains(&record.generation) || dead.contains(&record.generation)
            });
        }
        // Nothing is told of them any more.
        self.passing.clear();
    }
}

/// A window as notes.
pub struct Gathered {
    /// Of the image after it.
    pub meta: Meta,
    pub hash: KeyHash,
    pub databases: Vec<Rows>,
    /// Databases that had rows before the window and were emptied in it.
    pub emptied: Vec<DatabaseId>,
    pub reach: Reach,
    pub entries: u64,
    pub effects: u64,
    pub payload_bytes: u64,
}

/// Reads entries until they end or notes have no more room.
pub fn gather(entries: &mut dyn Entries, before: &Meta) -> Result<Gathered, WindowError> {
    gather_within(entries, before, NOTES_BYTES_MAX)
}

pub fn gather_within(
    entries: &mut dyn Entries,
    before: &Meta,
    bytes_max: usize,
) -> Result<Gathered, WindowError> {
    let mut gathering = Gathering {
        before,
        gathered: Gathered {
            meta: before.clone(),
            hash: KeyHash::new(before.seed),
            databases: Vec::new(),
            emptied: Vec::new(),
            reach: Reach::End,
            entries: 0,
            effects: 0,
            payload_bytes: 0,
        },
        second: KeyHash::new(before.seed.rotate_left(29) ^ SECOND_SEED),
        table: Table::default(),
        bytes: 0,
        last: None,
    };
    let mut compact_at = NOTES_BYTES_MIN.min(bytes_max);
    while let Some(entry) = entries.next().map_err(WindowError::Log)? {
        let last = gathering.gathered.meta.at;
        if entry.at.index != last.index + 1 {
            return Err(WindowError::Gap {
                found: entry.at,
                after: last,
            });
        }
        gathering
            .entry(entry.payload, entry.place)
            .map_err(|source| WindowError::Entry { at: entry.at, source })?;
        gathering.gathered.meta.at = entry.at;
        if gathering.bytes >= compact_at {
            gathering.compact();
            if gathering.bytes > bytes_max / 4 * 3 {
                gathering.gathered.reach = Reach::Full;
                return Ok(gathering.gathered);
            }
            compact_at = (gathering.bytes * NOTES_GROWTH).clamp(NOTES_BYTES_MIN.min(bytes_max), bytes_max);
        }
    }
    gathering.compact();
    Ok(gathering.gathered)
}

/// The second hash is of the same secret, and not the first.
const SECOND_SEED: u64 = 0x6A09_E667_F3BC_C908;

struct Gathering<'m> {
    before: &'m Meta,
    gathered: Gathered,
    second: KeyHash,
    table: Table,
    /// What notes take.
    bytes: usize,
    /// The database of the last effect, and where its rows are.
    last: Option<(u16, usize)>,
}

impl Gathering<'_> {
    fn entry(&mut self, payload: &[u8], place: u32) -> Result<(), crate::effect::DecodeError> {
        let mut decoder = Decoder::new(payload);
        let hash = self.gathered.hash.clone();
        loop {
            let at = place + decoder.offset() as u32;
            let Some(next) = decoder.next() else { break };
            let (number, effect) = next?;
            self.gathered.effects += 1;
            changes(&effect, &hash, &mut |change| {
                self.change(number, at, &hash, change)
            });
        }
        self.gathered.entries += 1;
        self.gathered.payload_bytes += payload.len() as u64;
        Ok(())
    }

    #[inline]
    fn change(&mut self, number: u16, place: u32, hash: &KeyHash, change: Change<'_>) {
        match change {
            Change::Key {
                key,
                part,
                created,
                stays,
            } => {
                let word = Word::new(self.second.of(key), part, created, stays);
                let record = KeyRecord {
                    hash: hash.of(key),
                    word,
                    place,
                };
                self.rows(number).keys.push(record);
                self.bytes += size_of::<KeyRecord>();
            }
            Change::Element {
                generation,
                order,
                rest,
                fraction,
                created,
                stays,
            } => {
                let tells_apart = match fraction {
                    0 => self.second.of(rest),
                    _ => self.second.of(&fraction.to_be_bytes()),
                };
                let record = ElementRecord {
                    generation,
                    order,
                    word: Word::new(tells_apart, crate::image::Part::Whole, created, stays),
                    place,
                };
                self.rows(number).elements.push(record);
                self.bytes += size_of::<ElementRecord>();
            }
            Change::Drop { generation } => {
                let is_old = generation <= self.before.generation;
                let rows = self.rows(number);
                let set = if is_old { &mut rows.dead } else { &mut rows.passing };
                set.insert(generation);
                self.bytes += DEAD_BYTES;
            }
            Change::Exchange { with } => self.exchange(number, with),
            Change::Empty => self.empty(number),
            Change::Fence { fence } => {
                self.gathered.meta.fence = self.gathered.meta.fence.max(fence);
            }
            Change::Generation { generation } => {
                self.gathered.meta.generation = self.gathered.meta.generation.max(generation);
            }
            Change::Keys { by } => {
                let database = self.gathered.meta.database_mut(number);
                database.keys = database.keys.wrapping_add_signed(by);
            }
        }
    }

    /// The rows of the database that is selected by that number now.
    #[inline]
    fn rows(&mut self, number: u16) -> &mut Rows {
        let at = match self.last {
            Some((last, at)) if last == number => at,
            _ => self.find(number),
        };
        &mut self.gathered.databases[at]
    }

    fn find(&mut self, number: u16) -> usize {
        let id = self.gathered.meta.database_mut(number).id;
        let databases = &mut self.gathered.databases;
        let found = databases.iter().position(|rows| rows.id == id);
        let at = found.unwrap_or_else(|| {
            databases.push(Rows::new(id));
            databases.len() - 1
        });
        self.last = Some((number, at));
        at
    }

    fn exchange(&mut self, one: u16, other: u16) {
        self.last = None;
        self.gathered.meta.exchange(one, other);
    }

    fn empty(&mut self, number: u16) {
        self.last = None;
        let Some(id) = self.gathered.meta.empty(number) else {
            return;
        };
        self.gathered.databases.retain(|rows| rows.id != id);
        if id < self.before.next_database {
            self.gathered.emptied.push(id);
        }
        self.count();
    }

    fn compact(&mut self) {
        for rows in &mut self.gathered.databases {
            rows.compact(&mut self.table);
        }
        self.count();
    }

    fn count(&mut self) {
        self.bytes = self.gathered.databases.iter().map(Rows::bytes).sum();
    }
}

//! Writes the rows of a window in their order. Each is read where it was told, from the log; what was told
//! in part is joined, with the whole row if that was told as well, else as an operand that finds its row.

use std::hint::black_box;

use crate::effect::{Effect, decode_at};
use crate::image::row::{self, DatabaseId};
use crate::image::{Unreadable, change, merge};

use super::entries::{Entries, Failure};
use super::error::WindowError;
use super::gather::{Gathered, Rows};
use super::partition::sort;
use super::record::{ElementRecord, Record};

/// Rows whose places are asked of memory at once: misses overlap, and the log is larger than any cache.
const AHEAD: usize = 16;

/// Takes rows in the order of their keys, each once; ranges come before all rows that are not the first.
pub trait Sink {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure>;
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Failure>;
    fn delete(&mut self, key: &[u8]) -> Result<(), Failure>;
    /// What was there before goes; rows that are written beside it stay.
    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Failure>;
}

/// What a window came to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub entries: u64,
    pub effects: u64,
    pub payload_bytes: u64,
    pub puts: u64,
    pub merges: u64,
    pub deletes: u64,
    pub ranges: u64,
}

/// Writes all that was gathered: the meta row, what goes in whole ranges, keys, elements.
pub fn emit(
    mut gathered: Gathered,
    entries: &dyn Entries,
    sink: &mut dyn Sink,
) -> Result<Counts, WindowError> {
    let counts = Counts {
        entries: gathered.entries,
        effects: gathered.effects,
        payload_bytes: gathered.payload_bytes,
        ..Counts::default()
    };
    sink.put(&row::META_KEY, &gathered.meta.encode())
        .map_err(WindowError::Sink)?;
    let mut databases = std::mem::take(&mut gathered.databases);
    databases.sort_unstable_by_key(|rows| rows.id);
    let mut emitting = Emitting {
        gathered: &gathered,
        entries,
        sink,
        counts,
        key: Vec::new(),
        value: Vec::new(),
    };
    emitting.ranges(&databases)?;
    for rows in &mut databases {
        emitting.keys(rows)?;
    }
    for rows in &mut databases {
        emitting.elements(rows)?;
    }
    Ok(emitting.counts)
}

/// How far the notes of a part were read, and asked for.
#[derive(Default)]
struct Ahead {
    at: usize,
    asked: usize,
}

struct Emitting<'e> {
    gathered: &'e Gathered,
    entries: &'e dyn Entries,
    sink: &'e mut dyn Sink,
    counts: Counts,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl<'e> Emitting<'e> {
    fn effect(&self, place: u32) -> Result<Effect<'e>, WindowError> {
        let (bytes, at) = self.entries.bytes(place);
        let read = decode_at(bytes, at);
        read.map(|(_, effect)| effect)
            .map_err(|source| WindowError::Entry {
                at: self.gathered.meta.at,
                source,
            })
    }

    fn ranges(&mut self, databases: &[Rows]) -> Result<(), WindowError> {
        for id in &self.gathered.emptied {
            for sort in [row::KEY, row::ELEMENT] {
                let (from, to) = row::range_of_database(sort, *id);
                self.sink.delete_range(&from, &to).map_err(WindowError::Sink)?;
                self.counts.ranges += 1;
            }
        }
        for rows in databases {
            let mut dead: Vec<u64> = rows.dead.iter().copied().collect();
            dead.sort_unstable();
            // Neighbours go together: nothing can stand between them.
            for together in dead.chunk_by(|one, next| one + 1 == *next) {
                let (first, after) = (together[0], together[together.len() - 1] + 1);
                let (from, to) = row::range_of_generations(rows.id, first, after);
                self.sink.delete_range(&from, &to).map_err(WindowError::Sink)?;
                self.counts.ranges += 1;
            }
        }
        Ok(())
    }

    fn keys(&mut self, rows: &mut Rows) -> Result<(), WindowError> {
        let id = rows.id;
        let keys = std::mem::replace(&mut rows.keys, super::partition::Partitions::new());
        for mut part in keys.into_parts() {
            sort(&mut part);
            self.untie(&mut part, |this, place, stays| {
                let effect = this.effect(place)?;
                Ok(change::key_of(&effect, stays).unwrap_or_default().to_vec())
            })?;
            let mut ahead = Ahead::default();
            for of_one in part.chunk_by(|one, next| one.same_row(next)) {
                self.ask_ahead(&part, &mut ahead, of_one.len());
                self.key_row(id, of_one)?;
            }
        }
        Ok(())
    }

    /// The row of a key, from the notes of it in the order of the log.
    fn key_row<R: Record<Order = u64>>(&mut self, id: DatabaseId, notes: &[R]) -> Result<(), WindowError> {
        let (first, parts) = match notes.split_first() {
            Some((first, rest)) if first.word().whole() => (Some(first), rest),
            _ => (None, notes),
        };
        let stays = notes[0].word().stays();
        let told = self.effect(notes[0].place())?;
        let name = change::key_of(&told, stays).ok_or(WindowError::Row(Unreadable::Operand))?;
        row::key_of_key(&mut self.key, id, notes[0].order(), name);
        let is_there = match first {
            Some(_) if change::write_key_value(&mut self.value, &told, stays) => true,
            Some(_) => {
                self.counts.deletes += 1;
                return self.sink.delete(&self.key).map_err(WindowError::Sink);
            }
            None => false,
        };
        if parts.is_empty() {
            self.counts.puts += 1;
            return self.sink.put(&self.key, &self.value).map_err(WindowError::Sink);
        }
        let mut operand = Vec::new();
        for note in parts {
            merge::push_operand(&mut operand, &self.effect(note.place())?);
        }
        if is_there {
            let merged = merge::merge(&self.value, [operand.as_slice()].into_iter());
            let merged = merged.map_err(WindowError::Row)?;
            self.counts.puts += 1;
            return self.sink.put(&self.key, &merged).map_err(WindowError::Sink);
        }
        self.counts.merges += 1;
        self.sink.merge(&self.key, &operand).map_err(WindowError::Sink)
    }

    fn elements(&mut self, rows: &mut Rows) -> Result<(), WindowError> {
        let id = rows.id;
        let elements = std::mem::replace(&mut rows.elements, super::partition::Partitions::new());
        let mut all: Vec<ElementRecord> = elements.into_all();
        sort(&mut all);
        self.untie(&mut all, |this, place, _| {
            let mut key = Vec::new();
            let effect = this.effect(place)?;
            change::write_element_key(&mut key, id, &effect, &this.gathered.hash);
            Ok(key)
        })?;
        let mut ahead = Ahead::default();
        for of_one in all.chunk_by(|one, next| one.same_row(next)) {
            self.ask_ahead(&all, &mut ahead, of_one.len());
            let effect = self.effect(of_one[0].place())?;
            change::write_element_key(&mut self.key, id, &effect, &self.gathered.hash)
                .ok_or(WindowError::Row(Unreadable::Operand))?;
            if change::write_element_value(&mut self.value, &effect) {
                self.counts.puts += 1;
                self.sink.put(&self.key, &self.value).map_err(WindowError::Sink)?;
            } else {
                self.counts.deletes += 1;
                self.sink.delete(&self.key).map_err(WindowError::Sink)?;
            }
        }
        Ok(())
    }

    /// Rows of the same order are sorted by hash, which is not how they stand: puts them right. Elements of
    /// a list that were inserted at one place share their order; of others hardly ever two.
    fn untie<R: Record>(
        &self,
        records: &mut [R],
        key: impl Fn(&Self, u32, bool) -> Result<Vec<u8>, WindowError>,
    ) -> Result<(), WindowError> {
        for tied in records.chunk_by_mut(|one, next| one.order() == next.order()) {
            if tied.len() == 1 || tied.iter().all(|record| record.same_row(&tied[0])) {
                continue;
            }
            let mut keyed = Vec::with_capacity(tied.len());
            for record in tied.iter() {
                keyed.push((
                    key(self, record.place(), record.word().stays())?,
                    record.place(),
                    *record,
                ));
            }
            keyed.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
            for (record, (_, _, sorted)) in tied.iter_mut().zip(keyed) {
                *record = sorted;
            }
        }
        Ok(())
    }

    /// Has the places of the next notes loaded, before `step` of them are read.
    #[inline]
    fn ask_ahead<R: Record>(&self, records: &[R], ahead: &mut Ahead, step: usize) {
        if ahead.at >= ahead.asked {
            let next = &records[ahead.at..records.len().min(ahead.at + AHEAD)];
            let mut read = 0;
            for record in next {
                let (bytes, at) = self.entries.bytes(record.place());
                read ^= bytes[at];
            }
            black_box(read);
            ahead.asked = ahead.at + next.len();
        }
        ahead.at += step;
    }
}

//! What stood in a file before the changes that no sync has covered, and a choice of what the disk has of them.

use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use fastrand::Rng;

/// One change, as what takes it back.
pub struct Change {
    pub serial: u64,
    /// Of the file, before.
    len: u64,
    /// What was overwritten or cut off: from `offset` on, `covers` bytes, which are zeros behind `bytes`.
    offset: u64,
    covers: u64,
    bytes: Vec<u8>,
}

impl Change {
    /// Looks at a file before `covers` bytes of it change.
    pub fn before(serial: u64, file: &File, offset: u64, covers: u64) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let there = len.saturating_sub(offset).min(covers);
        let mut bytes = vec![0; there as usize];
        let mut read = 0;
        while read < bytes.len() {
            match file.read_at(&mut bytes[read..], offset + read as u64)? {
                0 => break,
                count => read += count,
            }
        }
        let end = bytes
            .iter()
            .rposition(|byte| *byte != 0)
            .map_or(0, |last| last + 1);
        bytes.truncate(end);
        bytes.shrink_to_fit();
        Ok(Self {
            serial,
            len,
            offset,
            covers,
            bytes,
        })
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len() + size_of::<Self>()
    }

    fn touches(&self, from: u64, to: u64) -> bool {
        self.offset < to && from < self.offset + self.covers
    }

    /// Takes the change back in a piece of the file.
    fn undo(&self, from: u64, piece: &mut [u8]) {
        for (nth, byte) in piece.iter_mut().enumerate() {
            let at = from + nth as u64;
            if let Some(within) = at.checked_sub(self.offset).filter(|within| *within < self.covers) {
                *byte = self.bytes.get(within as usize).copied().unwrap_or(0);
            }
        }
    }
}

/// What is lost of a file, at worst.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Nothing of the changes reached the disk.
    None,
    /// All of them did.
    All,
    /// Each piece of each change did or did not.
    Torn { piece: u64 },
}

/// Takes back a part of the changes; how many pieces are not as they were.
pub fn lose(file: &File, changes: &VecDeque<Change>, fate: Fate, rng: &mut Rng) -> io::Result<u64> {
    let piece = match fate {
        Fate::All => return Ok(0),
        Fate::None => 4096,
        Fate::Torn { piece } => piece,
    };
    let now = file.metadata()?.len();
    let len_at = |version: usize| changes.get(version).map_or(now, |change| change.len);
    let version = match fate {
        Fate::None => 0,
        // Pages show only where the file is long enough.
        _ if rng.bool() => changes.len(),
        _ => rng.usize(..=changes.len()),
    };
    let len = len_at(version);
    let mut pieces = BTreeSet::new();
    for change in changes.iter().filter(|change| change.covers > 0) {
        pieces.extend(change.offset / piece..(change.offset + change.covers).div_ceil(piece));
    }
    file.set_len(now.max(len))?;
    let mut changed = u64::from(len != now);
    let mut bytes = vec![0; piece as usize];
    for from in pieces
        .into_iter()
        .map(|number| number * piece)
        .filter(|from| *from < len)
    {
        let version = if fate == Fate::None {
            0
        } else {
            rng.usize(..=changes.len())
        };
        let part = &mut bytes[..(len - from).min(piece) as usize];
        part.fill(0);
        let mut read = 0;
        while read < part.len() {
            match file.read_at(&mut part[read..], from + read as u64)? {
                0 => break,
                count => read += count,
            }
        }
        let before = part.to_vec();
        for change in changes.iter().skip(version).rev() {
            if change.touches(from, from + piece) {
                change.undo(from, part);
            }
        }
        if *part != before {
            file.write_all_at(part, from)?;
            changed += 1;
        }
    }
    file.set_len(len)?;
    Ok(changed)
}

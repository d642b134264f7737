//! The cut: of what was not synced, a random part is not there.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fastrand::Rng;

use super::content::{Fate, lose};
use super::unsynced::Unsynced;

/// What a cut took.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Pieces of files that are not what the server wrote last.
    pub pieces: u64,
    pub names: u64,
    /// Changes of either kind that no sync had covered.
    pub unsynced: u64,
}

impl Loss {
    pub fn add(&mut self, other: Loss) {
        self.pieces += other.pieces;
        self.names += other.names;
        self.unsynced += other.unsynced;
    }
}

impl Unsynced {
    /// Takes a part of it back, after the end of the process.
    pub fn cut(self, rng: &mut Rng) -> Result<Loss> {
        let mut loss = Loss::default();
        // Folders before what is in them.
        for (folder, changes) in &self.folders {
            loss.unsynced += changes.len() as u64;
            let kept = match rng.u8(..4) {
                0 => 0,
                1 => changes.len(),
                _ => rng.usize(..=changes.len()),
            };
            // It may have gone with the one around it.
            if !folder.exists() {
                continue;
            }
            for (_, change) in changes.iter().skip(kept).rev() {
                change.undo().with_context(|| format!("take back {change:?}"))?;
                loss.names += 1;
            }
        }
        // A file with two names is one file.
        let mut done = HashSet::new();
        for path in files(&self.root)? {
            let inode = fs::metadata(&path)?.ino();
            let Some(changes) = self.files.get(&inode).filter(|changes| !changes.is_empty()) else {
                continue;
            };
            if done.insert(inode) {
                loss.unsynced += changes.len() as u64;
                let fate = match rng.u8(..8) {
                    0 | 1 => Fate::None,
                    2 => Fate::All,
                    3 => Fate::Torn { piece: 512 },
                    _ => Fate::Torn { piece: 4096 },
                };
                let file = File::options().read(true).write(true).open(&path)?;
                loss.pieces += lose(&file, changes, fate, rng).with_context(|| path.display().to_string())?;
            }
        }
        self.empty_stash()?;
        Ok(loss)
    }
}

/// All files below a folder, in an order that is always the same.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

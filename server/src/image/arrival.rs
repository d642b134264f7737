//! What comes of another node's image, in a file until it is complete.
//!
//! Invariant: a shard has one file at most, and one stream writes it: a later one ends the one before.
//! Invariant: a file's name says the stream's id. So what came of a stream that was cut short is gone on with, also
//! after a restart; a stream of another id begins anew.
//!
//! All of it waits for the disk: it is no work for a thread that must not.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::export::{PART_BYTES_MAX, Part, Progress};
use crate::wal::ShardId;

const ID_BYTES_MAX: usize = 128;
const READ_BYTES: usize = 1 << 20;
/// What is not on the disk yet: much of it at once would hold up the log.
const UNSYNCED_BYTES_MAX: u64 = 8 << 20;
/// Room that is left to all others.
const SPARE_BYTES: u64 = 256 << 20;
/// Nobody goes on with a stream after so long.
const KEPT: Duration = Duration::from_secs(3600);

#[derive(Debug, thiserror::Error)]
pub enum ArrivalError {
    #[error("a snapshot in {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("a snapshot's id has letters, digits, dots and dashes, {ID_BYTES_MAX} at most")]
    Id,
    #[error("there is no room for a snapshot of {bytes} bytes: {available} bytes are free")]
    Room { bytes: u64, available: u64 },
    #[error("a snapshot's part begins at {offset} where {expected} is next")]
    Gap { offset: u64, expected: u64 },
    #[error("a snapshot's part has {0} bytes, more than {PART_BYTES_MAX}")]
    Large(usize),
    #[error("a snapshot's bytes behind {0} are not those that were sent")]
    Damaged(u64),
    #[error("a snapshot ends at {bytes} where {expected} bytes were sent")]
    Short { bytes: u64, expected: u64 },
    #[error("a snapshot is not what was sent: its checksum is another")]
    Other,
    #[error("another snapshot of the shard has begun")]
    Superseded,
}

/// Where snapshots arrive.
pub struct Arrivals {
    folder: PathBuf,
    shards: Mutex<BTreeMap<ShardId, Arc<Mutex<Turn>>>>,
}

/// The stream that may write a shard's file.
#[derive(Default)]
struct Turn(u64);

/// A stream that is under way.
pub struct Arrival {
    path: PathBuf,
    file: File,
    got: Progress,
    unsynced: u64,
    shard: Arc<Mutex<Turn>>,
    turn: u64,
}

fn lock(turn: &Mutex<Turn>) -> MutexGuard<'_, Turn> {
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prefix(shard: ShardId) -> String {
    format!("shard-{}.", shard.0)
}

impl Arrivals {
    /// Makes the folder if it is not there, and removes what nobody will go on with.
    pub fn open(folder: &Path) -> Result<Self, ArrivalError> {
        let arrivals = Self {
            folder: folder.to_owned(),
            shards: Mutex::default(),
        };
        fs::create_dir_all(folder).map_err(|source| arrivals.failed(source))?;
        arrivals.remove(|_, age| age >= KEPT)?;
        Ok(arrivals)
    }

    fn failed(&self, source: io::Error) -> ArrivalError {
        ArrivalError::Io {
            path: self.folder.clone(),
            source,
        }
    }

    /// Removes files by name and age.
    fn remove(&self, is_over: impl Fn(&str, Duration) -> bool) -> Result<(), ArrivalError> {
        let try_remove = || -> io::Result<()> {
            for entry in fs::read_dir(&self.folder)? {
                let entry = entry?;
                let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
                if is_over(&entry.file_name().to_string_lossy(), age) {
                    fs::remove_file(entry.path())?;
                }
            }
            Ok(())
        };
        try_remove().map_err(|source| self.failed(source))
    }

    fn path(&self, shard: ShardId, id: &str) -> Result<PathBuf, ArrivalError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
        if id.is_empty() || id.len() > ID_BYTES_MAX || !id.bytes().all(fits) {
            return Err(ArrivalError::Id);
        }
        Ok(self.folder.join(prefix(shard) + id))
    }

    /// What there is of a stream.
    pub fn progress(&self, shard: ShardId, id: &str) -> Result<Progress, ArrivalError> {
        let path = self.path(shard, id)?;
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Progress::default()),
            opened => opened.map_err(|source| self.failed(source))?,
        };
        sum(file, u64::MAX).map_err(|source| ArrivalError::Io { path, source })
    }

    /// A stream begins, or goes on at `offset`. `bytes_about`: how long it is.
    pub fn begin(
        &self,
        shard: ShardId,
        id: &str,
        offset: u64,
        bytes_about: u64,
    ) -> Result<Arrival, ArrivalError> {
        let path = self.path(shard, id)?;
        self.check_room(bytes_about, offset)?;
        let turns = {
            let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shards.entry(shard).or_default())
        };
        let mut current = lock(&turns);
        current.0 += 1;
        let turn = current.0;
        let of_shard = prefix(shard);
        self.remove(|name, _| {
            name.starts_with(&of_shard) && Some(name) != path.file_name().and_then(|n| n.to_str())
        })?;
        let open = || -> io::Result<(File, Progress)> {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path)?;
            let got = sum(&file, offset)?;
            file.set_len(got.bytes)?;
            file.seek(SeekFrom::Start(got.bytes))?;
            Ok((file, got))
        };
        let (file, got) = open().map_err(|source| ArrivalError::Io {
            path: path.clone(),
            source,
        })?;
        drop(current);
        if got.bytes != offset {
            return Err(ArrivalError::Gap {
                offset,
                expected: got.bytes,
            });
        }
        Ok(Arrival {
            path,
            file,
            got,
            unsynced: 0,
            shard: turns,
            turn,
        })
    }

    /// What came of a shard goes, and a stream of it that is under way ends.
    pub fn forget(&self, shard: ShardId) -> Result<(), ArrivalError> {
        let turns = {
            let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(shards.entry(shard).or_default())
        };
        let mut current = lock(&turns);
        current.0 += 1;
        let of_shard = prefix(shard);
        self.remove(|name, _| name.starts_with(&of_shard))
    }

    /// The file and the rows that are made of it have to find room.
    fn check_room(&self, bytes_about: u64, offset: u64) -> Result<(), ArrivalError> {
        let disk = rustix::fs::statvfs(&self.folder).map_err(|source| self.failed(source.into()))?;
        let available = disk.f_bavail.saturating_mul(disk.f_frsize);
        let wanted = bytes_about.saturating_mul(2).saturating_sub(offset);
        if available < wanted.saturating_add(SPARE_BYTES) {
            return Err(ArrivalError::Room {
                bytes: bytes_about,
                available,
            });
        }
        Ok(())
    }
}

impl Arrival {
    /// The next part.
    pub fn part(&mut self, part: &Part) -> Result<(), ArrivalError> {
        if part.offset != self.got.bytes {
            return Err(ArrivalError::Gap {
                offset: part.offset,
                expected: self.got.bytes,
            });
        }
        if part.data.len() > PART_BYTES_MAX {
            return Err(ArrivalError::Large(part.data.len()));
        }
        if crc32c::crc32c(&part.data) != part.crc32c {
            return Err(ArrivalError::Damaged(part.offset));
        }
        let turn = lock(&self.shard);
        if turn.0 != self.turn {
            return Err(ArrivalError::Superseded);
        }
        if let Err(source) = self.file.write_all(&part.data) {
            // Others need the room more.
            let _ = fs::remove_file(&self.path);
            let path = self.path.clone();
            return Err(ArrivalError::Io { path, source });
        }
        self.got.add(part);
        self.unsynced += part.data.len() as u64;
        drop(turn);
        if self.unsynced >= UNSYNCED_BYTES_MAX {
            self.unsynced = 0;
            self.file.sync_data().map_err(|source| ArrivalError::Io {
                path: self.path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// The stream is complete: the file, if it is what was sent.
    pub fn end(self, sent: Progress) -> Result<PathBuf, ArrivalError> {
        if lock(&self.shard).0 != self.turn {
            return Err(ArrivalError::Superseded);
        }
        if self.got.bytes != sent.bytes {
            return Err(ArrivalError::Short {
                bytes: self.got.bytes,
                expected: sent.bytes,
            });
        }
        if self.got != sent {
            // Going on with it would never end otherwise.
            let _ = fs::remove_file(&self.path);
            return Err(ArrivalError::Other);
        }
        Ok(self.path)
    }
}

/// Of a file's first bytes, `limit` at most.
fn sum(file: impl Read, limit: u64) -> io::Result<Progress> {
    let mut file = file.take(limit);
    let mut buffer = vec![0; READ_BYTES];
    let mut found = Progress::default();
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(found),
            count => {
                found.bytes += count as u64;
                found.crc32c = crc32c::crc32c_append(found.crc32c, &buffer[..count]);
            }
        }
    }
}

//! Puts an image that came from another node in the place of a shard's.
//!
//! Its rows are written into sorted files, which a new family takes in with one ingest: that is the moment from which on
//! it is the shard's (see `families`). What is done before it leaves the old image as it is, what is done after it
//! only tidies up.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use rocksdb::SstFileWriter;
use ruvio_core::image::{Meta, row};

use super::error::ImageError;
use super::export::MAGIC;
use super::store::{FILE_BYTES, Image, ingesting};
use crate::wal::ShardId;

const READ_BYTES: usize = 1 << 20;
/// Rows between two looks at a file's size.
const LOOK_ROWS: u64 = 1024;

/// What has been done so far of an installation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The rows stand in sorted files.
    Staged,
    /// The new family is there, and empty.
    Made,
    /// It has the rows: the new image is the shard's, also after a crash.
    Ingested,
    /// The old rows are gone.
    Dropped,
}

impl Image {
    /// Replaces all rows of a shard by those of a stream that was received whole and is intact; what they hold. Whoever
    /// reads the old rows still can.
    pub fn install(&self, shard: ShardId, stream: &Path) -> Result<Meta, ImageError> {
        self.install_by_steps(shard, stream, &mut |_| Ok(()))
    }

    /// The same, with something that is done after each step; its error ends the installation there.
    pub fn install_by_steps(
        &self,
        shard: ShardId,
        stream: &Path,
        done: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<Meta, ImageError> {
        let mut staged = Vec::new();
        let installed = self.try_install(shard, stream, &mut staged, done);
        if installed.is_err() {
            for path in staged {
                // Otherwise the next start removes it.
                let _ = fs::remove_file(path);
            }
        }
        installed
    }

    fn try_install(
        &self,
        shard: ShardId,
        stream: &Path,
        staged: &mut Vec<PathBuf>,
        done: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<Meta, ImageError> {
        let failed = |source| ImageError::Io {
            path: stream.to_owned(),
            source,
        };
        let mut rows = Rows::open(stream).map_err(failed)?;
        let meta = self.stage(shard, &mut rows, staged)?;
        done(Step::Staged).map_err(failed)?;
        let next = self.families.make_next(shard, &self.options)?;
        done(Step::Made).map_err(failed)?;
        let db = &self.families.db;
        db.ingest_external_file_cf_opts(&next.family, &ingesting(), staged.clone())?;
        self.families.turn_to(shard, next.generation);
        done(Step::Ingested).map_err(failed)?;
        self.families.drop_before(shard, next.generation)?;
        done(Step::Dropped).map_err(failed)?;
        Ok(meta)
    }

    /// Writes sorted files of all rows.
    fn stage(&self, shard: ShardId, rows: &mut Rows, staged: &mut Vec<PathBuf>) -> Result<Meta, ImageError> {
        let failed = |rows: &Rows, source| ImageError::Io {
            path: rows.path.clone(),
            source,
        };
        let mut meta = None;
        let mut is_over = false;
        while !is_over {
            let path = self
                .staging()
                .join(format!("received-{}-{}.sst", shard.0, staged.len()));
            staged.push(path.clone());
            let mut file = SstFileWriter::create(&self.options);
            file.open(&path)?;
            let mut count = 0_u64;
            is_over = loop {
                if !rows.next().map_err(|source| failed(rows, source))? {
                    break true;
                }
                if meta.is_none() {
                    meta = Some(first(shard, rows)?);
                }
                // It refuses what is not in order.
                file.put(&rows.key, &rows.value)?;
                count += 1;
                if count.is_multiple_of(LOOK_ROWS) && file.file_size() >= FILE_BYTES {
                    break false;
                }
            };
            if count > 0 {
                file.finish()?;
            } else {
                drop(file);
                staged.pop();
                // Otherwise the next start removes it.
                let _ = fs::remove_file(path);
            }
        }
        meta.ok_or_else(|| failed(rows, io::ErrorKind::UnexpectedEof.into()))
    }
}

/// The first row is the meta row: without it nobody could tell what the others are.
fn first(shard: ShardId, rows: &Rows) -> Result<Meta, ImageError> {
    if rows.key != row::META_KEY {
        let source = io::Error::new(io::ErrorKind::InvalidData, "the first row is missing");
        let path = rows.path.clone();
        return Err(ImageError::Io { path, source });
    }
    Meta::decode(&rows.value).map_err(|source| ImageError::Meta {
        shard: shard.0,
        source,
    })
}

/// What a stream in a file says that it holds.
pub fn meta_of_stream(stream: &Path) -> Result<Meta, ImageError> {
    let failed = |source| ImageError::Io {
        path: stream.to_owned(),
        source,
    };
    let mut rows = Rows::open(stream).map_err(failed)?;
    rows.next().map_err(failed)?;
    first(ShardId(0), &rows)
}

/// The rows of a stream in a file.
struct Rows {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes that are not read yet: no row is longer.
    left: u64,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Rows {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let left = file.metadata()?.len();
        let mut rows = Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(READ_BYTES, file),
            left,
            key: Vec::new(),
            value: Vec::new(),
        };
        let mut magic = [0; MAGIC.len()];
        rows.read(&mut magic)?;
        if &magic != MAGIC {
            let why = "this is no image, or one of a newer release";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(rows)
    }

    /// False behind the last one.
    fn next(&mut self) -> io::Result<bool> {
        if self.left == 0 {
            return Ok(false);
        }
        let (key, value) = (self.length()?, self.length()?);
        if key.saturating_add(value) > self.left {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (mut into_key, mut into_value) = (std::mem::take(&mut self.key), std::mem::take(&mut self.value));
        into_key.resize(key as usize, 0);
        into_value.resize(value as usize, 0);
        self.read(&mut into_key)?;
        self.read(&mut into_value)?;
        (self.key, self.value) = (into_key, into_value);
        Ok(true)
    }

    fn length(&mut self) -> io::Result<u64> {
        let mut length = 0;
        for shift in (0..u64::BITS - 7).step_by(7) {
            let mut byte = [0];
            self.read(&mut byte)?;
            length |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(length);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "a row's length"))
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<()> {
        self.left = self
            .left
            .checked_sub(into.len() as u64)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        self.file.read_exact(into)
    }
}

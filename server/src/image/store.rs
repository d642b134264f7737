//! RocksDB, as the image uses it: a column family a shard, one sorted file a run, no memtable, no log of its
//! own. An ingest is atomic and synced, so the index in a file's first row is durable when it returns.
//! Which family is a shard's is for `families` to say.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rocksdb::{
    BlockBasedOptions, ChecksumType, ColumnFamilyDescriptor, DBCompressionType, Env,
    IngestExternalFileOptions, LogLevel, MergeOperands, Options, SstFileWriter, WaitForCompactOptions,
};
use ruvio_core::image::window::{Counts, Entries, Failure, Reach, Sink, emit, gather};
use ruvio_core::image::{Meta, merge};

use super::error::ImageError;
use super::export::Exports;
use super::families::{DB, Families, name};
use super::priority;
use crate::wal::ShardId;

/// Files that a column family collects before they are merged into the sorted rest.
const RUNS_MAX: i32 = 4;
pub(super) const FILE_BYTES: u64 = 64 << 20;
const LEVEL_BYTES: u64 = 256 << 20;
const BLOCK_BYTES: usize = 32 << 10;
/// What is written is handed to the disk in pieces of this, not all at the end.
const SYNC_BYTES: u64 = 1 << 20;
/// Nothing is ever written to a memtable.
const MEMTABLE_BYTES: usize = 64 << 10;

/// See the module.
pub struct Image {
    pub(super) families: Arc<Families>,
    pub(super) options: Options,
    folder: PathBuf,
}

/// How far an image came by a run.
#[derive(Clone, Debug)]
pub struct Advanced {
    /// Durable: of the index that it holds now.
    pub meta: Meta,
    pub reach: Reach,
    pub counts: Counts,
    /// Of the file that was written; none if there were no entries.
    pub file_bytes: u64,
}

impl Image {
    /// Opens or makes the image in a folder, with these shards. What a run left behind that was cut short
    /// is removed.
    pub fn open(folder: &Path, shards: &[ShardId]) -> Result<Self, ImageError> {
        let rows = folder.join("rows");
        make(folder, &rows).map_err(|source| ImageError::Io {
            path: folder.to_owned(),
            source,
        })?;
        let options = options()?;
        let mut names = if rows.join("CURRENT").exists() {
            DB::list_cf(&options, &rows)?
        } else {
            vec!["default".to_owned()]
        };
        for shard in shards {
            if !names.iter().any(|known| Families::is_of(known, *shard)) {
                names.push(name(*shard, 0));
            }
        }
        let described = names
            .iter()
            .map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
        let db = open_lowered(&options, &rows, described)?;
        Ok(Self {
            families: Arc::new(Families::new(db, &names)?),
            options,
            folder: folder.to_owned(),
        })
    }

    /// What the image holds of a shard; none before its first run.
    pub fn meta(&self, shard: ShardId) -> Result<Option<Meta>, ImageError> {
        self.families.meta(shard)
    }

    /// For those who send it elsewhere.
    pub fn exports(&self) -> Exports {
        Exports::new(Arc::clone(&self.families))
    }

    /// Bytes of a shard's rows on the disk.
    pub fn bytes(&self, shard: ShardId) -> Result<u64, ImageError> {
        self.families.bytes(shard)
    }

    /// About the bytes of a shard's rows that nothing newer has replaced: what is merged, or the largest run.
    pub fn live_bytes(&self, shard: ShardId) -> Result<u64, ImageError> {
        let family = self.families.name(shard)?;
        let (mut merged, mut run_max) = (0, 0);
        for file in self.families.db.live_files()? {
            if file.column_family_name != family {
                continue;
            }
            let size = file.size as u64;
            if file.level > 0 {
                merged += size;
            } else {
                run_max = size.max(run_max);
            }
        }
        Ok(merged.max(run_max))
    }

    /// Adds a window of the log: all entries, or as many as one run has room for; called again with the same
    /// entries it goes on. `seed` is the shard's, for an image that holds nothing of it yet.
    pub fn advance(
        &self,
        shard: ShardId,
        seed: u64,
        entries: &mut dyn Entries,
    ) -> Result<Advanced, ImageError> {
        let before = self.meta(shard)?.unwrap_or_else(|| Meta::new(seed));
        let broken = |source| ImageError::Window {
            shard: shard.0,
            source,
        };
        let gathered = gather(entries, &before).map_err(broken)?;
        let (meta, reach) = (gathered.meta.clone(), gathered.reach);
        if gathered.entries == 0 {
            return Ok(Advanced {
                meta,
                reach,
                counts: Counts::default(),
                file_bytes: 0,
            });
        }
        let path = self
            .staging()
            .join(format!("{}-{}.sst", name(shard, 0), meta.at.index));
        let added = self.add_file(shard, &path, |file| emit(gathered, entries, file).map_err(broken));
        if added.is_err() {
            // On a full disk what was staged takes room; otherwise the next start removes it.
            let _ = fs::remove_file(&path);
        }
        let (counts, file_bytes) = added?;
        Ok(Advanced {
            meta,
            reach,
            counts,
            file_bytes,
        })
    }

    /// Writes a sorted file and takes it in; what `fill` says of it, and its size.
    fn add_file(
        &self,
        shard: ShardId,
        path: &Path,
        fill: impl FnOnce(&mut SortedFile) -> Result<Counts, ImageError>,
    ) -> Result<(Counts, u64), ImageError> {
        let mut file = SortedFile(SstFileWriter::create(&self.options));
        file.0.open(path)?;
        let counts = fill(&mut file)?;
        file.0.finish()?;
        let file_bytes = file.0.file_size();
        let family = self.families.family(shard)?;
        let ingesting = ingesting();
        let db = &self.families.db;
        db.ingest_external_file_cf_opts(&family, &ingesting, vec![path])?;
        Ok((counts, file_bytes))
    }

    /// Where files are written before they are ingested: beside the rows, so that they are moved by name.
    pub(super) fn staging(&self) -> PathBuf {
        staging(&self.folder)
    }

    /// Merges all files of a shard into one order, and waits for it.
    pub fn compact(&self, shard: ShardId) -> Result<(), ImageError> {
        let (from, to) = (None::<&[u8]>, None::<&[u8]>);
        let family = self.families.family(shard)?;
        self.families.db.compact_range_cf(&family, from, to);
        Ok(())
    }

    /// Waits until nothing is to be merged in the background.
    pub fn wait_for_compaction(&self) -> Result<(), ImageError> {
        let db = &self.families.db;
        Ok(db.wait_for_compact(&WaitForCompactOptions::default())?)
    }

    /// Forgets a shard, which then has no rows and no index.
    pub fn forget(&self, shard: ShardId) -> Result<(), ImageError> {
        let name = self.families.name(shard)?;
        self.families.db.drop_cf(&name)?;
        Ok(self.families.db.create_cf(name, &self.options)?)
    }
}

struct SortedFile<'o>(SstFileWriter<'o>);

impl Sink for SortedFile<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        Ok(self.0.put(key, value)?)
    }

    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Failure> {
        Ok(self.0.merge(key, operand)?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), Failure> {
        Ok(self.0.delete(key)?)
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Failure> {
        Ok(self.0.delete_range(from, to)?)
    }
}

/// Files are moved, not copied.
pub(super) fn ingesting() -> IngestExternalFileOptions {
    let mut ingesting = IngestExternalFileOptions::default();
    ingesting.set_move_files(true);
    // It would write a memtable, which there never is.
    ingesting.set_allow_blocking_flush(false);
    ingesting
}

fn staging(folder: &Path) -> PathBuf {
    folder.join("staging")
}

/// Opens it on a thread whose priority its own threads inherit: merges have to keep up with the runs, and no more.
fn open_lowered(
    options: &Options,
    rows: &Path,
    families: impl Iterator<Item = ColumnFamilyDescriptor> + Send,
) -> Result<DB, ImageError> {
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            priority::lower_thread();
            DB::open_cf_descriptors(options, rows, families)
        });
        match opening.join() {
            Ok(opened) => Ok(opened?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The folders, with names that survive a power cut, and nothing staged.
fn make(folder: &Path, rows: &Path) -> io::Result<()> {
    let staging = staging(folder);
    match fs::remove_dir_all(&staging) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::create_dir_all(rows)?;
    fs::create_dir(&staging)?;
    File::open(folder)?.sync_all()?;
    match folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn options() -> Result<Options, ImageError> {
    let mut env = Env::new()?;
    env.lower_thread_pool_io_priority();
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_size(BLOCK_BYTES);
    blocks.set_format_version(6);
    blocks.set_checksum_type(ChecksumType::XXH3);
    // A load reads everything once.
    blocks.disable_cache();
    let mut options = Options::default();
    options.set_env(&env);
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options.set_block_based_table_factory(&blocks);
    options.set_merge_operator("ruvio", full_merge, partial_merge);
    options.set_compression_type(DBCompressionType::None);
    options.set_level_zero_file_num_compaction_trigger(RUNS_MAX);
    // Nobody waits for an ingest: it is late by design.
    options.set_level_zero_slowdown_writes_trigger(1000);
    options.set_level_zero_stop_writes_trigger(1000);
    options.set_target_file_size_base(FILE_BYTES);
    options.set_max_bytes_for_level_base(LEVEL_BYTES);
    options.set_max_background_jobs(1);
    options.set_write_buffer_size(MEMTABLE_BYTES);
    options.set_max_open_files(-1);
    options.set_bytes_per_sync(SYNC_BYTES);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_log_level(LogLevel::Warn);
    options.set_keep_log_file_num(2);
    Ok(options)
}

fn full_merge(_key: &[u8], value: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    Some(merge::merge_or_orphan(value, operands.iter()))
}

/// Operands that find no row where they are met are joined as they stand.
fn partial_merge(_key: &[u8], _value: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    Some(operands.iter().flatten().copied().collect())
}

//! What can go wrong with an image. None of it loses anything that the log still holds.

use std::io;
use std::path::PathBuf;

use crate::wal::{EXIT_CORRUPT, EXIT_IO};
use ruvio_core::image::window::WindowError;
use ruvio_core::image::{LoadError, Unreadable};

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("the image in {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("the image: {0}")]
    Store(#[from] rocksdb::Error),
    #[error("the image has no shard {0}")]
    NoShard(u16),
    #[error("the image of shard {shard}: {source}")]
    Rows { shard: u16, source: LoadError },
    #[error("the image of shard {shard}: its first row: {source}")]
    Meta { shard: u16, source: Unreadable },
    #[error("the image of shard {shard}: {source}")]
    Window { shard: u16, source: WindowError },
    #[error("the image of shard {shard} was not sent to its end: {source}")]
    Export { shard: u16, source: io::Error },
}

impl ImageError {
    /// The disk is full, which may pass.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            // RocksDB tells it in words alone.
            Self::Store(error) => error.as_ref().contains("No space left on device"),
            Self::Window { source, .. } => source.to_string().contains("No space left on device"),
            _ => false,
        }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Io { .. } | Self::Export { .. } => EXIT_IO,
            Self::Store(error) if error.kind() == rocksdb::ErrorKind::IOError => EXIT_IO,
            _ => EXIT_CORRUPT,
        }
    }
}

//! Why a data directory is not used: one clear sentence each, and the way out.

use std::io;
use std::path::{Path, PathBuf};

use super::identity::{FORMAT, Fault};
use crate::wal::{ClusterId, EXIT_CORRUPT, EXIT_REFUSED};

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the data directory {path} is in use by another process{}: stop it, or give this one its own dir", by(*.holder), path = .path.display())]
    InUse { path: PathBuf, holder: Option<u32> },
    #[error(
        "the data directory {path} belongs to cluster {found}, not to {wanted}: point dir at this cluster's directory, \
         or empty this one if its data is not wanted", path = .path.display()
    )]
    OtherCluster {
        path: PathBuf,
        found: ClusterId,
        wanted: ClusterId,
    },
    #[error(
        "the data directory {path} was made for {found} shards, not for {wanted}: set shards as it was, or load a \
         backup into a new directory", path = .path.display()
    )]
    OtherShards { path: PathBuf, found: u16, wanted: u16 },
    #[error(
        "the data directory {path} was written by a newer version (format {format}, this one knows {FORMAT}): run \
         that version or a later one", path = .path.display()
    )]
    Newer { path: PathBuf, format: u32 },
    #[error(
        "the data directory {path} holds a log and no identity, so part of it was deleted: restore the file identity, \
         or empty the directory and let the node start anew", path = .0.display()
    )]
    NoIdentity(PathBuf),
    #[error(
        "the data directory {path} has an identity and no log, so part of it was deleted: restore the folder wal, or \
         empty the directory and let the node start anew", path = .0.display()
    )]
    NoLog(PathBuf),
    #[error(
        "the file {path} is damaged: restore it, or empty the directory and let the node start anew",
        path = .path.display()
    )]
    Damaged { path: PathBuf },
    #[error(
        "the data directory {path} is that of a node of a cluster, whose log others agreed to: start it with \
         cluster-enabled yes, or give this server its own dir", path = .0.display()
    )]
    OfMember(PathBuf),
    #[error(
        "the data directory {path} holds the log of a server that stood alone: start it without cluster-enabled, or \
         give the node of the cluster an empty dir", path = .0.display()
    )]
    StoodAlone(PathBuf),
    #[error("{path} is not a directory: point dir at one", path = .0.display())]
    NoDirectory(PathBuf),
    #[error(
        "{path} cannot be read and written by user {user} ({source}): change its owner or mode (on Kubernetes, fsGroup)",
        path = .path.display()
    )]
    Rights {
        path: PathBuf,
        user: u32,
        source: io::Error,
    },
    #[error("cannot use {path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl Refusal {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        if matches!(
            source.kind(),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        ) {
            return Self::rights(path, source);
        }
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn rights(path: &Path, source: io::Error) -> Self {
        Self::Rights {
            path: path.to_owned(),
            user: rustix::process::geteuid().as_raw(),
            source,
        }
    }

    pub(super) fn identity(file: &Path, fault: Fault) -> Self {
        match fault {
            Fault::Damaged => Self::Damaged {
                path: file.to_owned(),
            },
            Fault::Newer(format) => Self::Newer {
                path: file.parent().unwrap_or(file).to_owned(),
                format,
            },
        }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoIdentity(_) | Self::NoLog(_) | Self::Damaged { .. } => EXIT_CORRUPT,
            _ => EXIT_REFUSED,
        }
    }
}

fn by(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |pid| format!(" ({pid})"))
}

//! Changes of the names in a folder, and taking them back.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// One change; `stashed` is where what lost its name is kept.
#[derive(Debug)]
pub enum Change {
    /// A file, or another name of one.
    Made {
        path: PathBuf,
    },
    MadeFolder {
        path: PathBuf,
    },
    RemovedFolder {
        path: PathBuf,
    },
    Removed {
        path: PathBuf,
        stashed: PathBuf,
    },
    Renamed {
        from: PathBuf,
        to: PathBuf,
        stashed: Option<PathBuf>,
    },
}

impl Change {
    /// Where the name stands that it makes or takes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Made { path } | Self::MadeFolder { path } => path,
            Self::RemovedFolder { path } | Self::Removed { path, .. } => path,
            Self::Renamed { to, .. } => to,
        }
    }

    pub fn stashed(&self) -> Option<&Path> {
        match self {
            Self::Removed { stashed, .. } => Some(stashed),
            Self::Renamed { stashed, .. } => stashed.as_deref(),
            _ => None,
        }
    }

    /// Whether a call did this whose end nobody saw.
    pub fn happened(&self) -> bool {
        match self {
            Self::Made { path } | Self::MadeFolder { path } => path.exists(),
            Self::RemovedFolder { path } | Self::Removed { path, .. } => !path.exists(),
            Self::Renamed { from, .. } => !from.exists(),
        }
    }

    pub fn undo(&self) -> io::Result<()> {
        match self {
            Self::Made { path } => fs::remove_file(path),
            // With all that is in it.
            Self::MadeFolder { path } => fs::remove_dir_all(path),
            Self::RemovedFolder { path } => fs::create_dir(path),
            Self::Removed { path, stashed } => fs::hard_link(stashed, path),
            Self::Renamed { from, to, stashed } => {
                fs::rename(to, from)?;
                match stashed {
                    None => Ok(()),
                    Some(stashed) => fs::hard_link(stashed, to),
                }
            }
        }
    }
}

pub fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

//! The guard of a data directory: nobody else's, of this cluster, of a version that is known, whole, and
//! writable. Each refusal is one sentence and the way out, and changes nothing on the disk.
//!
//! A directory is claimed in three steps: `open` looks and locks; the caller then makes or reads the log;
//! `settle` writes the identity of a new directory. So an identity is only ever there beside a log, and
//! a log without one can only be that of a first start that was cut short.

mod identity;
mod refusal;
mod removed;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation};

pub use identity::Identity;
pub use refusal::Refusal;
pub use removed::RemovedNodes;

use crate::wal::{self, ClusterId};
use identity::FORMAT;

const LOCK: &str = "LOCK";
const IDENTITY: &str = "identity";
const LOG: &str = "wal";
const IMAGE: &str = "image";

/// A directory that is ours until this is dropped or the process ends.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    lock: File,
    identity: Identity,
    new: bool,
}

impl DataDir {
    /// Claims an existing directory. A new one gets `fresh` as its identity once it is settled; one that
    /// has an identity keeps it, and is refused if `cluster` says another or it was made for other shards.
    pub fn open(path: &Path, cluster: Option<ClusterId>, fresh: Identity) -> Result<Self, Refusal> {
        check_rights(path)?;
        let lock = path.join(LOCK);
        // Without a lock file nobody holds it: look before making one.
        if !lock.exists() {
            inspect(path, cluster, fresh.shards)?;
        }
        let lock = take_lock(path, &lock)?;
        let found = inspect(path, cluster, fresh.shards)?;
        let log = path.join(LOG);
        if found.is_none() {
            remove_untouched(&log)?;
        }
        fs::create_dir_all(&log).map_err(|source| Refusal::io(&log, source))?;
        Ok(Self {
            path: path.to_owned(),
            lock,
            new: found.is_none(),
            identity: found.unwrap_or(fresh),
        })
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn is_new(&self) -> bool {
        self.new
    }

    /// Where the segments are.
    pub fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Where the image is.
    pub fn image(&self) -> PathBuf {
        self.path.join(IMAGE)
    }

    /// Writes who holds the directory into its lock, for people alone: the lock is what counts. Not before all that may
    /// refuse it has been looked at: a start that is refused leaves no trace.
    pub fn name_holder(&self) {
        let holder = format!("{}\n", std::process::id());
        let told = self
            .lock
            .set_len(0)
            .and_then(|()| self.lock.write_all_at(holder.as_bytes(), 0));
        if let Err(error) = told {
            tracing::debug!(%error, "cannot write the process into the lock file");
        }
    }

    /// Writes the identity of a new directory, durably, after its log was made.
    pub fn settle(&mut self) -> io::Result<()> {
        if !self.new {
            return Ok(());
        }
        let beside = self.path.join("identity.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(self.identity.to_text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, self.path.join(IDENTITY))?;
        File::open(&self.path)?.sync_all()?;
        self.new = false;
        Ok(())
    }
}

fn check_rights(path: &Path) -> Result<(), Refusal> {
    let facts = fs::metadata(path).map_err(|source| Refusal::io(path, source))?;
    if !facts.is_dir() {
        return Err(Refusal::NoDirectory(path.to_owned()));
    }
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    for place in [path.to_owned(), path.join(LOG)] {
        match rustix::fs::access(&place, wanted) {
            Err(rustix::io::Errno::NOENT) => {}
            other => other.map_err(|errno| Refusal::rights(&place, errno.into()))?,
        }
    }
    Ok(())
}

fn take_lock(directory: &Path, path: &Path) -> Result<File, Refusal> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|source| Refusal::io(path, source))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // Whoever holds it may not yet have written who it is, and who held it before may be gone.
            let _ = file.read_to_string(&mut holder);
            return Err(Refusal::InUse {
                path: directory.to_owned(),
                holder: holder.trim().parse().ok().filter(|id| runs(*id)),
            });
        }
        Err(errno) => return Err(Refusal::io(path, errno.into())),
    }
    Ok(file)
}

fn runs(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Looks at what is there, without changing it: the identity, if the directory has one.
fn inspect(path: &Path, cluster: Option<ClusterId>, shards: u16) -> Result<Option<Identity>, Refusal> {
    let segments = segments(&path.join(LOG))?;
    let file = path.join(IDENTITY);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A first start that was cut short leaves a segment that nothing was written to.
            return if segments.iter().all(|segment| is_untouched(segment)) {
                Ok(None)
            } else {
                Err(Refusal::NoIdentity(path.to_owned()))
            };
        }
        Err(source) => return Err(Refusal::io(&file, source)),
    };
    let identity = Identity::parse(&text).map_err(|fault| Refusal::identity(&file, fault))?;
    if identity.format > FORMAT {
        return Err(Refusal::Newer {
            path: path.to_owned(),
            format: identity.format,
        });
    }
    if let Some(wanted) = cluster
        && wanted != identity.cluster
    {
        return Err(Refusal::OtherCluster {
            path: path.to_owned(),
            found: identity.cluster,
            wanted,
        });
    }
    if identity.shards != shards {
        return Err(Refusal::OtherShards {
            path: path.to_owned(),
            found: identity.shards,
            wanted: shards,
        });
    }
    if segments.is_empty() {
        return Err(Refusal::NoLog(path.to_owned()));
    }
    Ok(Some(identity))
}

/// The files of segments; what is in those of a node is for the recovery to look at.
fn segments(log: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let entries = match fs::read_dir(log) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(Refusal::io(log, source)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| Refusal::io(log, source))?;
        if entry.file_name().to_str().is_some_and(wal::is_segment) {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Whether no record was ever written to a segment.
fn is_untouched(segment: &Path) -> bool {
    let head = File::open(segment).and_then(|file| {
        let mut head = [0; 8];
        let count = file.read_at(&mut head, wal::HEADER_BYTES)?;
        Ok(head[..count].iter().all(|byte| *byte == 0))
    });
    head.unwrap_or(false)
}

/// What a first start left that was cut short: it bears an identity that nobody kept.
fn remove_untouched(log: &Path) -> Result<(), Refusal> {
    for segment in segments(log)? {
        fs::remove_file(&segment).map_err(|source| Refusal::io(&segment, source))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

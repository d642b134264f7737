//! What no sync has covered: of each file and each folder below the root, in the order of the changes.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::calls::{Call, Caller};
use super::content::Change;
use super::names;

/// So much is kept; above that the oldest counts as written back, which the system may do at any time.
const BYTES_MAX: usize = 256 << 20;

/// A call that has begun, and what it means once it has ended well.
pub enum Begun {
    /// The file or folder is durable as it was when the call began.
    Sync {
        inode: u64,
        folder: Option<PathBuf>,
        serial: u64,
    },
    Names(names::Change),
}

pub struct Unsynced {
    pub(super) root: PathBuf,
    /// Where files are kept that lost their names.
    stash: PathBuf,
    pub(super) files: HashMap<u64, VecDeque<Change>>,
    pub(super) folders: BTreeMap<PathBuf, VecDeque<(u64, names::Change)>>,
    serial: u64,
    bytes: usize,
}

impl Unsynced {
    /// All that is below the root by now is durable. The stash stands beside it, on the same file system.
    pub fn new(root: &Path) -> Result<Self> {
        let stash = root.with_extension("stash");
        fs::create_dir_all(&stash)?;
        Ok(Self {
            root: root.to_owned(),
            stash,
            files: HashMap::new(),
            folders: BTreeMap::new(),
            serial: 0,
            bytes: 0,
        })
    }

    fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// A call begins. What has to be known at its end, if that matters.
    pub fn begin(&mut self, caller: &Caller, call: Call) -> Result<Option<Begun>> {
        match call {
            Call::Write { fd, offset, len } => {
                if self.has(caller, fd) {
                    let file = caller.file(fd);
                    let offset = match offset {
                        Some(offset) => offset,
                        None => caller.position(fd)?.unwrap_or(fs::metadata(&file)?.len()),
                    };
                    self.changes(&file, offset, len)?;
                }
                Ok(None)
            }
            Call::Resize { fd, len } => {
                if self.has(caller, fd) {
                    let file = caller.file(fd);
                    let before = fs::metadata(&file)?.len();
                    self.changes(&file, len, before.saturating_sub(len))?;
                }
                Ok(None)
            }
            Call::Extend { fd, len } => {
                let grows = self.has(caller, fd) && fs::metadata(caller.file(fd))?.len() < len;
                if grows {
                    self.changes(&caller.file(fd), len, 0)?;
                }
                Ok(None)
            }
            Call::Sync { fd } => {
                if !self.has(caller, fd) {
                    return Ok(None);
                }
                let facts = fs::metadata(caller.file(fd))?;
                Ok(Some(Begun::Sync {
                    inode: facts.ino(),
                    folder: facts.is_dir().then(|| caller.target(fd)).transpose()?,
                    serial: self.serial,
                }))
            }
            call => Ok(self.begin_names(call)?.map(Begun::Names)),
        }
    }

    fn begin_names(&mut self, call: Call) -> Result<Option<names::Change>> {
        Ok(match call {
            Call::Open { path, empties } if self.owns(&path) => {
                match fs::metadata(&path) {
                    Err(_) => return Ok(Some(names::Change::Made { path })),
                    Ok(facts) if empties => self.changes(&path, 0, facts.len())?,
                    Ok(_) => {}
                }
                None
            }
            Call::Rename { from, to } if self.owns(&from) || self.owns(&to) => {
                ensure!(
                    from.parent() == to.parent(),
                    "a rename from folder to folder is not followed"
                );
                let stashed = to.exists().then(|| self.stash(&to)).transpose()?;
                Some(names::Change::Renamed { from, to, stashed })
            }
            Call::Link { to } if self.owns(&to) => Some(names::Change::Made { path: to }),
            Call::Remove { path } if self.owns(&path) && path.exists() => Some(names::Change::Removed {
                stashed: self.stash(&path)?,
                path,
            }),
            Call::MakeFolder { path } if self.owns(&path) && !path.exists() => {
                Some(names::Change::MadeFolder { path })
            }
            Call::RemoveFolder { path } if self.owns(&path) && path.exists() => {
                Some(names::Change::RemovedFolder { path })
            }
            _ => None,
        })
    }

    /// A call that mattered has ended.
    pub fn end(&mut self, begun: Begun, went_well: bool) -> Result<()> {
        match begun {
            Begun::Sync {
                inode,
                folder,
                serial,
            } if went_well => {
                if let Some(changes) = self.files.get_mut(&inode) {
                    while changes.front().is_some_and(|change| change.serial <= serial) {
                        self.bytes -= changes.pop_front().map_or(0, |change| change.bytes());
                    }
                }
                if let Some(changes) = folder.and_then(|folder| self.folders.get_mut(&folder)) {
                    while changes.front().is_some_and(|change| change.0 <= serial) {
                        if let Some(stashed) =
                            changes.pop_front().as_ref().and_then(|change| change.1.stashed())
                        {
                            names::remove_if_there(stashed)?;
                        }
                    }
                }
            }
            Begun::Names(change) if went_well => self.named(change)?,
            _ => {}
        }
        Ok(())
    }

    /// A call whose end nobody saw, because the process ended.
    pub fn end_unseen(&mut self, begun: Begun) -> Result<()> {
        match begun {
            Begun::Names(change) if change.happened() => self.named(change),
            _ => Ok(()),
        }
    }

    fn named(&mut self, change: names::Change) -> Result<()> {
        if let names::Change::Made { path } = &change
            && let Ok(facts) = fs::metadata(path)
            && facts.nlink() == 1
        {
            // The number may have been that of a file that is gone.
            self.forget(facts.ino());
        }
        let folder = change
            .path()
            .parent()
            .context("a name without a folder")?
            .to_owned();
        let serial = self.next();
        self.folders
            .entry(folder)
            .or_default()
            .push_back((serial, change));
        Ok(())
    }

    fn forget(&mut self, inode: u64) {
        for change in self.files.remove(&inode).into_iter().flatten() {
            self.bytes -= change.bytes();
        }
    }

    fn owns(&self, path: &Path) -> bool {
        path.starts_with(&self.root)
    }

    fn has(&self, caller: &Caller, fd: i32) -> bool {
        caller.target(fd).is_ok_and(|target| self.owns(&target))
    }

    /// Keeps what is about to change.
    fn changes(&mut self, path: &Path, offset: u64, covers: u64) -> Result<()> {
        let file = File::open(path).with_context(|| format!("look at {}", path.display()))?;
        let inode = file.metadata()?.ino();
        let change = Change::before(self.next(), &file, offset, covers)?;
        self.bytes += change.bytes();
        let changes = self.files.entry(inode).or_default();
        changes.push_back(change);
        while self.bytes > BYTES_MAX {
            let Some(oldest) = changes.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
        Ok(())
    }

    /// Keeps a file that is about to lose this name.
    fn stash(&mut self, path: &Path) -> Result<PathBuf> {
        let number = self.next().to_string();
        let stashed = self.stash.join(number);
        fs::hard_link(path, &stashed).with_context(|| format!("keep {}", path.display()))?;
        Ok(stashed)
    }

    /// Nothing in it is needed any more.
    pub(super) fn empty_stash(&self) -> Result<()> {
        for entry in fs::read_dir(&self.stash)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }
}

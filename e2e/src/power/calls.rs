//! What a thread asks of the disk, read out of its registers and its memory.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use nix::libc;
use nix::unistd::Pid;

/// A call that changes files or folders, or makes changes durable.
#[derive(Debug)]
pub enum Call {
    /// At the file's own position, where none is told.
    Write {
        fd: i32,
        offset: Option<u64>,
        len: u64,
    },
    Resize {
        fd: i32,
        len: u64,
    },
    /// Makes the file at least so long.
    Extend {
        fd: i32,
        len: u64,
    },
    Sync {
        fd: i32,
    },
    /// Only one that may make or empty a file.
    Open {
        path: PathBuf,
        empties: bool,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Link {
        to: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    MakeFolder {
        path: PathBuf,
    },
    RemoveFolder {
        path: PathBuf,
    },
}

/// A thread that stands still at the beginning of a call.
pub struct Caller {
    tid: Pid,
}

const PATH_MAX: usize = 4096;

impl Caller {
    pub fn new(tid: Pid) -> Self {
        Self { tid }
    }

    /// What it is about to do; nothing, if that has nothing to do with the disk.
    pub fn call(&self, registers: &libc::user_regs_struct) -> Result<Option<Call>> {
        let arguments = [
            registers.rdi,
            registers.rsi,
            registers.rdx,
            registers.r10,
            registers.r8,
        ];
        let [a, b, c, d, _] = arguments;
        let here = libc::AT_FDCWD;
        let (fd, second) = (a as i32, c as i32);
        Ok(Some(match registers.orig_rax as i64 {
            libc::SYS_write => write(fd, None, c),
            libc::SYS_pwrite64 => write(fd, Some(d), c),
            libc::SYS_writev => write(fd, None, self.vector_len(b, c)?),
            libc::SYS_pwritev | libc::SYS_pwritev2 => write(fd, Some(d), self.vector_len(b, c)?),
            libc::SYS_ftruncate => Call::Resize { fd, len: b },
            libc::SYS_fallocate => {
                // Room alone changes nothing that could be read.
                let keeps_size = b as i32 == libc::FALLOC_FL_KEEP_SIZE;
                ensure!(keeps_size || b == 0, "fallocate with mode {b} is not followed");
                let len = if keeps_size { 0 } else { c + d };
                Call::Extend { fd, len }
            }
            libc::SYS_fsync | libc::SYS_fdatasync => Call::Sync { fd },
            libc::SYS_open => return self.open(here, a, b as i32),
            libc::SYS_creat => return self.open(here, a, libc::O_CREAT | libc::O_TRUNC),
            libc::SYS_openat => return self.open(fd, b, c as i32),
            libc::SYS_rename => self.rename((here, a), (here, b))?,
            libc::SYS_renameat | libc::SYS_renameat2 => self.rename((fd, b), (second, d))?,
            libc::SYS_link => Call::Link {
                to: self.path(here, b)?,
            },
            libc::SYS_linkat => Call::Link {
                to: self.path(second, d)?,
            },
            libc::SYS_unlink => Call::Remove {
                path: self.path(here, a)?,
            },
            libc::SYS_unlinkat if second & libc::AT_REMOVEDIR == 0 => Call::Remove {
                path: self.path(fd, b)?,
            },
            libc::SYS_unlinkat => Call::RemoveFolder {
                path: self.path(fd, b)?,
            },
            libc::SYS_rmdir => Call::RemoveFolder {
                path: self.path(here, a)?,
            },
            libc::SYS_mkdir => Call::MakeFolder {
                path: self.path(here, a)?,
            },
            libc::SYS_mkdirat => Call::MakeFolder {
                path: self.path(fd, b)?,
            },
            libc::SYS_truncate
            | libc::SYS_copy_file_range
            | libc::SYS_sendfile
            | libc::SYS_io_uring_setup => {
                bail!("call {} is not followed", registers.orig_rax)
            }
            _ => return Ok(None),
        }))
    }

    fn open(&self, folder: i32, path: u64, flags: i32) -> Result<Option<Call>> {
        if flags & (libc::O_CREAT | libc::O_TRUNC) == 0 {
            return Ok(None);
        }
        Ok(Some(Call::Open {
            path: self.path(folder, path)?,
            empties: flags & libc::O_TRUNC != 0,
        }))
    }

    fn rename(&self, from: (i32, u64), to: (i32, u64)) -> Result<Call> {
        Ok(Call::Rename {
            from: self.path(from.0, from.1)?,
            to: self.path(to.0, to.1)?,
        })
    }

    /// A path that it names, relative to one of its folders.
    fn path(&self, folder: i32, at: u64) -> Result<PathBuf> {
        let mut bytes = vec![0; PATH_MAX];
        // What follows the path may not be mapped.
        let count = self.memory()?.read_at(&mut bytes, at).context("a path")?;
        bytes.truncate(count);
        let end = bytes
            .iter()
            .position(|byte| *byte == 0)
            .context("a path without end")?;
        bytes.truncate(end);
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        if path.is_absolute() {
            return Ok(path);
        }
        let folder = if folder == libc::AT_FDCWD {
            fs::read_link(format!("/proc/{}/cwd", self.tid))?
        } else {
            self.target(folder)?
        };
        Ok(folder.join(path))
    }

    fn vector_len(&self, at: u64, count: u64) -> Result<u64> {
        let mut bytes = vec![0; 16 * count as usize];
        self.memory()?.read_exact_at(&mut bytes, at).context("a vector")?;
        let lens = bytes
            .chunks_exact(16)
            .map(|one| one[8..].try_into().map(u64::from_le_bytes));
        lens.sum::<Result<u64, _>>().context("a vector")
    }

    fn memory(&self) -> Result<File> {
        Ok(File::open(format!("/proc/{}/mem", self.tid))?)
    }

    /// A way to one of its files that works whatever became of its name.
    pub fn file(&self, fd: i32) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{fd}", self.tid))
    }

    /// What one of its descriptors is of.
    pub fn target(&self, fd: i32) -> Result<PathBuf> {
        Ok(fs::read_link(self.file(fd))?)
    }

    /// Where the next write without an offset goes; none: to the end.
    pub fn position(&self, fd: i32) -> Result<Option<u64>> {
        let facts = File::open(format!("/proc/{}/fdinfo/{fd}", self.tid))?;
        let (mut position, mut appends) = (0, false);
        for line in BufReader::new(facts).lines() {
            let line = line?;
            if let Some(text) = line.strip_prefix("pos:") {
                position = text.trim().parse()?;
            } else if let Some(text) = line.strip_prefix("flags:") {
                appends = i32::from_str_radix(text.trim(), 8)? & libc::O_APPEND != 0;
            }
        }
        Ok((!appends).then_some(position))
    }
}

fn write(fd: i32, offset: Option<u64>, len: u64) -> Call {
    Call::Write { fd, offset, len }
}

//! Follows a server's threads from its first call to its end. Owner threads are let go as soon as they have their
//! name: they never touch the disk, and run at full speed.
//!
//! ptrace obeys the thread that attached, so one thread here does all of it. It leaves the process's own end to be
//! seen by whoever started it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use super::calls::Caller;
use super::unsynced::{Begun, Unsynced};

/// A server that is watched.
pub struct Watch {
    thread: JoinHandle<Result<Unsynced>>,
}

impl Watch {
    /// Begins with a process of one thread that waits to become the server.
    pub fn begin(pid: u32, root: &Path) -> Result<Self> {
        let unsynced = Unsynced::new(root)?;
        let (attached, is_attached) = sync_channel(1);
        let leader = Pid::from_raw(pid as i32);
        let thread = std::thread::spawn(move || {
            let result = Follower::follow(leader, unsynced, &attached);
            if let Err(error) = &result {
                // The server ends with it, which is all that others see.
                eprintln!("the watch of process {pid} failed: {error:#}");
            }
            result
        });
        match is_attached.recv() {
            Ok(()) => Ok(Self { thread }),
            // It says why.
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error),
                _ => bail!("the watch ended"),
            },
        }
    }

    /// Whether the process has ended.
    pub fn is_over(&self) -> bool {
        self.thread.is_finished()
    }

    /// What was not synced, once the process has ended.
    pub fn end(self) -> Result<Unsynced> {
        self.thread.join().map_err(|_| anyhow!("the watch panicked"))?
    }
}

struct Follower {
    leader: Pid,
    unsynced: Unsynced,
    /// Calls under way, by thread.
    begun: HashMap<Pid, Begun>,
    /// Threads that are about to have a name.
    naming: HashMap<Pid, ()>,
}

fn mine() -> WaitPidFlag {
    WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD
}

impl Follower {
    fn follow(leader: Pid, unsynced: Unsynced, attached: &SyncSender<()>) -> Result<Unsynced> {
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::seize(leader, options).context("ptrace is not permitted here")?;
        ptrace::interrupt(leader)?;
        waitpid(leader, Some(mine()))?;
        ptrace::syscall(leader, None)?;
        let mut follower = Self {
            leader,
            unsynced,
            begun: HashMap::new(),
            naming: HashMap::new(),
        };
        // The other end waits for it.
        let _ = attached.send(());
        while follower.step()? {}
        for begun in follower.begun.into_values() {
            follower.unsynced.end_unseen(begun)?;
        }
        Ok(follower.unsynced)
    }

    /// One stop of one thread; false at the end of the process.
    fn step(&mut self) -> Result<bool> {
        let peek = mine() | WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT;
        let seen = match waitid(Id::All, peek) {
            Err(Errno::EINTR) => return Ok(true),
            other => other.context("wait for a stop")?,
        };
        let ended = matches!(seen, WaitStatus::Exited(..) | WaitStatus::Signaled(..));
        let tid = seen.pid().context("a stop of a thread")?;
        if ended && tid == self.leader {
            return Ok(false);
        }
        let status = waitpid(tid, Some(mine()))?;
        let went_on = match status {
            WaitStatus::PtraceSyscall(_) => self.at_call(tid),
            WaitStatus::Stopped(_, signal) => go_on(tid, Some(signal)),
            WaitStatus::PtraceEvent(..) => go_on(tid, None),
            _ => Ok(()),
        };
        match went_on {
            // Killed meanwhile: its end is seen by itself. One that is alive should have been understood.
            Err(_) if go_on(tid, None).is_err() => Ok(true),
            other => other.map(|()| true),
        }
    }

    fn at_call(&mut self, tid: Pid) -> Result<()> {
        let info = ptrace::syscall_info(tid)?;
        if info.op == libc::PTRACE_SYSCALL_INFO_ENTRY {
            let registers = ptrace::getregs(tid)?;
            if registers.orig_rax as i64 == libc::SYS_prctl && registers.rdi as i32 == libc::PR_SET_NAME {
                self.naming.insert(tid, ());
            }
            let caller = Caller::new(tid);
            if let Some(call) = caller.call(&registers)?
                && let Some(begun) = self.unsynced.begin(&caller, call)?
            {
                self.begun.insert(tid, begun);
            }
        } else {
            if self.naming.remove(&tid).is_some() && name(tid).starts_with("owner-") {
                return Ok(ptrace::detach(tid, None)?);
            }
            if let Some(begun) = self.begun.remove(&tid) {
                let result = ptrace::getregs(tid);
                if result.is_err() {
                    self.begun.insert(tid, begun);
                    return Ok(result.map(drop)?);
                }
                let went_well = result.is_ok_and(|registers| registers.rax as i64 >= 0);
                self.unsynced.end(begun, went_well)?;
            }
        }
        go_on(tid, None)
    }
}

fn go_on(tid: Pid, signal: Option<Signal>) -> Result<()> {
    Ok(ptrace::syscall(tid, signal)?)
}

fn name(tid: Pid) -> String {
    std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default()
}

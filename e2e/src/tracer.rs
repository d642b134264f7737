//! Faults put into a running server from outside, by ptrace: one of its threads stands still, or its calls to the
//! disk fail. The server knows nothing of it and needs no switch for it.
//!
//! ptrace obeys the thread that attached, so each fault has a thread of its own; what that thread traces is let go
//! when it ends.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A thread of a server that stands still until this is dropped.
pub struct Frozen {
    thaw: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.thaw = None;
        if let Some(thread) = self.thread.take() {
            // It only fails where the process is gone.
            let _ = thread.join();
        }
    }
}

/// Stops the thread of that name, alone, wherever it is.
pub fn freeze(pid: u32, thread: &str) -> Result<Frozen> {
    let tid = thread_named(pid, thread)?;
    let (thaw, wait_for_thaw) = sync_channel::<()>(0);
    let (stopped, is_stopped) = sync_channel(1);
    let thread = std::thread::spawn(move || {
        let result = stop(tid, ptrace::Options::empty());
        let fine = result.is_ok();
        // The receiver waits for it.
        let _ = stopped.send(result);
        if fine {
            // An error, since nothing is ever sent: the other end is gone.
            let _ = wait_for_thaw.recv();
            let _ = ptrace::detach(tid, None);
        }
    });
    is_stopped.recv().context("the tracer ended")??;
    Ok(Frozen {
        thaw: Some(thaw),
        thread: Some(thread),
    })
}

/// A call to the disk that can be made to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    Sync,
    Write,
    /// Setting room aside.
    Allocate,
}

impl Call {
    fn numbers(self) -> &'static [i64] {
        use nix::libc::{SYS_fallocate, SYS_fdatasync, SYS_fsync};
        use nix::libc::{SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_write};
        match self {
            Self::Sync => &[SYS_fdatasync, SYS_fsync],
            Self::Write => &[SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_write],
            Self::Allocate => &[SYS_fallocate],
        }
    }
}

/// From now on such calls of the thread of that name fail with EIO, without being made.
#[cfg(target_arch = "x86_64")]
pub fn fail_calls(pid: u32, thread: &str, call: Call) -> Result<()> {
    fail_calls_with(pid, thread, call, nix::libc::EIO)
}

/// The same with another error.
#[cfg(target_arch = "x86_64")]
pub fn fail_calls_with(pid: u32, thread: &str, call: Call, error: i32) -> Result<()> {
    let tid = thread_named(pid, thread)?;
    let (attached, is_attached) = sync_channel(1);
    // It ends with the process.
    std::thread::spawn(move || {
        let result = stop(tid, ptrace::Options::PTRACE_O_TRACESYSGOOD);
        let fine = result.is_ok();
        let _ = attached.send(result);
        if fine {
            // An error says that the traced thread is gone.
            let _ = inject(tid, call, error);
        }
    });
    wait(&is_attached)
}

#[cfg(target_arch = "x86_64")]
fn wait(attached: &Receiver<Result<()>>) -> Result<()> {
    attached.recv().context("the tracer ended")?
}

#[cfg(target_arch = "x86_64")]
fn inject(tid: Pid, call: Call, error: i32) -> nix::Result<()> {
    let mut within = false;
    let mut replaced = false;
    let mut pass_on = None;
    loop {
        ptrace::syscall(tid, pass_on.take())?;
        match waitpid(tid, Some(WaitPidFlag::__WALL))? {
            WaitStatus::PtraceSyscall(_) if !within => {
                within = true;
                let mut registers = ptrace::getregs(tid)?;
                replaced = call.numbers().contains(&(registers.orig_rax as i64));
                if replaced {
                    // No such call: the kernel does nothing.
                    registers.orig_rax = u64::MAX;
                    ptrace::setregs(tid, registers)?;
                }
            }
            WaitStatus::PtraceSyscall(_) => {
                within = false;
                if std::mem::take(&mut replaced) {
                    let mut registers = ptrace::getregs(tid)?;
                    registers.rax = (-i64::from(error)) as u64;
                    ptrace::setregs(tid, registers)?;
                }
            }
            WaitStatus::Stopped(_, signal) => pass_on = Some(signal),
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Ok(()),
            _ => {}
        }
    }
}

/// Attaches to a thread and stops it.
fn stop(tid: Pid, options: ptrace::Options) -> Result<()> {
    ptrace::seize(tid, options).context("ptrace is not permitted here")?;
    ptrace::interrupt(tid)?;
    match waitpid(tid, Some(WaitPidFlag::__WALL))? {
        WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..) => Ok(()),
        other => bail!("the thread did not stop: {other:?}"),
    }
}

fn thread_named(pid: u32, name: &str) -> Result<Pid> {
    for task in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let task = task?;
        // One that has just ended has no name any more.
        let called = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if called.trim_end() == name {
            let id = task.file_name().to_string_lossy().parse()?;
            return Ok(Pid::from_raw(id));
        }
    }
    Err(anyhow!("process {pid} has no thread {name}"))
}

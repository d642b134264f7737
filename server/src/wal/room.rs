//! Room on the disk: the log says that there is none before a write fails.
//!
//! Room is taken ahead of what is written. When that fails the log is `Full`: owners refuse writes, and
//! what they already executed goes into the room ahead and into a reserve that is given up for it. With
//! the reserve back and room ahead taken, the log is `Open` again.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::counters::Counters;
use super::disk::{self, Disk, File};

const RESERVE: &str = "reserve";

/// Whether owners may take writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Room {
    Open,
    Full,
}

/// Removes the reserve, if there is one.
pub(super) fn give_up(disk: &dyn Disk) -> io::Result<()> {
    match disk.remove(RESERVE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub struct Reserve {
    disk: Arc<dyn Disk>,
    counters: Arc<Counters>,
    bytes: u64,
    full: AtomicBool,
    /// Whether the reserve file is there, whole.
    held: Mutex<bool>,
}

impl Reserve {
    pub(super) fn new(disk: Arc<dyn Disk>, counters: Arc<Counters>, bytes: u64) -> Self {
        Self {
            disk,
            counters,
            bytes,
            full: AtomicBool::new(false),
            held: Mutex::new(false),
        }
    }

    pub fn room(&self) -> Room {
        if self.full.load(Ordering::Acquire) {
            Room::Full
        } else {
            Room::Open
        }
    }

    /// Sets the reserve aside, if there is room for it; whether it is held.
    pub(super) fn hold(&self) -> io::Result<bool> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if *held {
            return Ok(true);
        }
        let result = self.take();
        match result {
            Ok(()) => *held = true,
            Err(error) if disk::is_full(&error) => {
                self.mark_full();
                self.remove()?;
            }
            Err(error) => return Err(error),
        }
        Ok(*held)
    }

    fn take(&self) -> io::Result<()> {
        let file = match self.disk.open(RESERVE) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.disk.create(RESERVE)?,
            Err(error) => return Err(error),
        };
        file.allocate(0, self.bytes)?;
        file.sync_all()
    }

    fn remove(&self) -> io::Result<()> {
        give_up(&*self.disk)
    }

    /// Takes room ahead; false if there is none, and then the log is full.
    pub(super) fn allocate_ahead(&self, file: &dyn File, offset: u64, len: u64) -> io::Result<bool> {
        match file.allocate(offset, len) {
            Ok(()) => Ok(true),
            Err(error) if disk::is_full(&error) => {
                self.mark_full();
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// A new file ahead; none if there is no room, and then the log is full.
    pub(super) fn create_ahead(&self, disk: &dyn Disk, name: &str) -> io::Result<Option<Arc<dyn File>>> {
        match disk.create(name) {
            Err(error) if disk::is_full(&error) => {
                self.mark_full();
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Takes room that is needed now, at the price of the reserve.
    pub(super) fn allocate_now(&self, file: &dyn File, offset: u64, len: u64) -> io::Result<()> {
        self.spend(|| file.allocate(offset, len))
    }

    /// Does what takes room, and does it again without the reserve if there is none.
    pub(super) fn spend<T>(&self, act: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match act() {
            Err(error) if disk::is_full(&error) => {
                self.mark_full();
                let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
                if !std::mem::replace(&mut *held, false) {
                    return Err(error);
                }
                self.remove()?;
                drop(held);
                act()
            }
            other => other,
        }
    }

    pub(super) fn mark_open(&self) {
        if self.full.swap(false, Ordering::AcqRel) {
            tracing::info!("the log has room again: writes are taken");
        }
    }

    fn mark_full(&self) {
        if !self.full.swap(true, Ordering::AcqRel) {
            Counters::add(&self.counters.filled_up, 1);
            tracing::warn!("the disk is full: the log refuses writes until there is room");
        }
    }
}

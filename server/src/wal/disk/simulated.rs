//! A disk in memory that fails when told to, fills up, and loses power.
//!
//! Until it is synced, a file's page may be on the disk as it was, as it is now, or torn between the two; a
//! power cut decides for each page by itself. Names change in order, and a cut keeps some of the first
//! changes. A failed sync leaves pages that memory shows and the disk never got, as Linux does.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, File};

/// What a disk writes at once, or tears.
const PAGE: usize = 512;

/// What happens at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It fails, and so does every later call until `crash`.
    PowerCut,
    /// It fails with this error and has no effect; a sync loses what it was to save.
    Error(ErrorKind),
    /// A write takes half; other calls are not touched.
    Short,
}

#[derive(Clone, Default)]
struct Node {
    /// As the process sees it.
    current: Vec<u8>,
    /// As it is on the disk.
    disk: Vec<u8>,
    /// Pages that differ and that a sync will write.
    dirty: BTreeSet<usize>,
    /// Bytes that room is taken for.
    room: u64,
}

#[derive(Clone)]
enum NameChange {
    Set(String, usize),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Default)]
struct State {
    nodes: Vec<Node>,
    names: BTreeMap<String, usize>,
    disk_names: BTreeMap<String, usize>,
    changes: Vec<NameChange>,
    calls: u64,
    armed: Option<(u64, Fault)>,
    off: bool,
    capacity: Option<u64>,
}

/// See the module. Clones are the same disk.
#[derive(Clone, Default)]
pub struct Simulated(Arc<Mutex<State>>);

impl Simulated {
    /// A copy that lives on by itself.
    pub fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.lock().clone())))
    }

    /// How many calls there were that can fail.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// Lets the call of this number fail, counted from the disk's beginning.
    pub fn arm(&self, call: u64, fault: Fault) {
        self.lock().armed = Some((call, fault));
    }

    /// How many bytes fit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// Bytes that room is taken for.
    pub fn used(&self) -> u64 {
        self.lock().used()
    }

    /// Loses power, by the throw of `seed`, and comes back.
    pub fn crash(&self, seed: u64) {
        let mut state = self.lock();
        let mut dice = Dice(seed);
        let kept = dice.below(state.changes.len() as u64 + 1) as usize;
        let mut names = std::mem::take(&mut state.disk_names);
        for change in state.changes.drain(..).take(kept) {
            apply(&mut names, change);
        }
        state.disk_names = names.clone();
        state.names = names;
        for node in &mut state.nodes {
            node.lose_power(&mut dice);
        }
        state.armed = None;
        state.off = false;
    }

    /// The process sees no fault any more; memory is kept.
    pub fn repair(&self) {
        self.lock().armed = None;
    }

    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let node = *state.names.get(name)?;
        Some(state.nodes[node].current.clone())
    }

    /// Replaces a file on the disk itself, or removes it.
    pub fn replace(&self, name: &str, contents: Option<Vec<u8>>) {
        let mut state = self.lock();
        let Some(bytes) = contents else {
            state.names.remove(name);
            state.disk_names.remove(name);
            return;
        };
        state.nodes.push(Node {
            room: bytes.len() as u64,
            current: bytes.clone(),
            disk: bytes,
            dirty: BTreeSet::new(),
        });
        let node = state.nodes.len() - 1;
        state.names.insert(name.to_owned(), node);
        state.disk_names.insert(name.to_owned(), node);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn used(&self) -> u64 {
        let live: BTreeSet<usize> = self.names.values().copied().collect();
        live.into_iter().map(|node| self.nodes[node].room).sum()
    }

    /// Counts a call; the fault that it has to meet.
    fn call(&mut self) -> io::Result<Option<Fault>> {
        if self.off {
            return Err(io::Error::other("there is no power"));
        }
        self.calls += 1;
        match self.armed {
            Some((call, fault)) if call == self.calls => {
                self.armed = None;
                self.off = fault == Fault::PowerCut;
                Ok(Some(fault))
            }
            _ => Ok(None),
        }
    }

    /// A call that either works or does not.
    fn plain_call(&mut self) -> io::Result<()> {
        match self.call()? {
            Some(Fault::PowerCut) => Err(io::Error::other("the power went")),
            Some(Fault::Error(kind)) => Err(kind.into()),
            Some(Fault::Short) | None => Ok(()),
        }
    }

    fn take_room(&mut self, node: usize, end: u64) -> io::Result<()> {
        let more = end.saturating_sub(self.nodes[node].room);
        if self
            .capacity
            .is_some_and(|capacity| self.used() + more > capacity)
        {
            return Err(ErrorKind::StorageFull.into());
        }
        self.nodes[node].room += more;
        Ok(())
    }

    fn change(&mut self, change: NameChange) {
        apply(&mut self.names, change.clone());
        self.changes.push(change);
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: NameChange) {
    match change {
        NameChange::Set(name, node) => {
            names.insert(name, node);
        }
        NameChange::Rename(from, to) => {
            if let Some(node) = names.remove(&from) {
                names.insert(to, node);
            }
        }
        NameChange::Remove(name) => {
            names.remove(&name);
        }
    }
}

impl Node {
    fn write(&mut self, offset: usize, bytes: &[u8]) {
        let end = offset + bytes.len();
        if self.current.len() < end {
            self.current.resize(end, 0);
        }
        self.current[offset..end].copy_from_slice(bytes);
        if !bytes.is_empty() {
            self.dirty.extend(offset / PAGE..=(end - 1) / PAGE);
        }
    }

    fn sync(&mut self) {
        self.disk.resize(self.current.len(), 0);
        for page in std::mem::take(&mut self.dirty) {
            self.copy_page(page, PAGE);
        }
    }

    /// The first `part` bytes of a page reach the disk.
    fn copy_page(&mut self, page: usize, part: usize) {
        let start = page * PAGE;
        let end = (start + part).min(self.current.len()).min(self.disk.len());
        if start < end {
            self.disk[start..end].copy_from_slice(&self.current[start..end]);
        }
    }

    fn lose_power(&mut self, dice: &mut Dice) {
        if dice.below(2) == 0 {
            self.disk.resize(self.current.len(), 0);
        }
        for page in std::mem::take(&mut self.dirty) {
            match dice.below(4) {
                0 | 1 => self.copy_page(page, PAGE),
                2 => self.copy_page(page, dice.below(PAGE as u64) as usize),
                _ => {}
            }
        }
        self.current.clone_from(&self.disk);
    }

    fn forget(&mut self) {
        self.current.resize(self.disk.len().max(self.current.len()), 0);
        for page in 0..self.disk.len().div_ceil(PAGE) {
            if !self.dirty.contains(&page) {
                let range = page * PAGE..(page * PAGE + PAGE).min(self.disk.len());
                self.current[range.clone()].copy_from_slice(&self.disk[range]);
            }
        }
        // Pages that the disk has no length for.
        let known = self.disk.len();
        for page in known.div_ceil(PAGE)..self.current.len().div_ceil(PAGE) {
            if !self.dirty.contains(&page) {
                let end = (page * PAGE + PAGE).min(self.current.len());
                self.current[page * PAGE..end].fill(0);
            }
        }
    }
}

struct Handle {
    disk: Simulated,
    node: usize,
}

impl Disk for Simulated {
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        state.plain_call()?;
        if state.names.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.nodes.push(Node::default());
        let node = state.nodes.len() - 1;
        state.change(NameChange::Set(name.to_owned(), node));
        Ok(Arc::new(Handle {
            disk: self.clone(),
            node,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn File>> {
        let mut state = self.lock();
        let Some(&node) = state.names.get(name) else {
            return Err(ErrorKind::NotFound.into());
        };
        state.plain_call()?;
        Ok(Arc::new(Handle {
            disk: self.clone(),
            node,
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut state = self.lock();
        state.plain_call()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.lock();
        state.plain_call()?;
        if !state.names.contains_key(from) {
            return Err(ErrorKind::NotFound.into());
        }
        state.change(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.lock();
        if !state.names.contains_key(name) {
            return Err(ErrorKind::NotFound.into());
        }
        state.plain_call()?;
        state.change(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.plain_call()?;
        state.changes.clear();
        state.disk_names = state.names.clone();
        Ok(())
    }
}

impl File for Handle {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().nodes[self.node].current.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.disk.lock();
        let bytes = &state.nodes[self.node].current;
        let from = (offset as usize).min(bytes.len());
        let len = buffer.len().min(bytes.len() - from);
        buffer[..len].copy_from_slice(&bytes[from..from + len]);
        Ok(len)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut state = self.disk.lock();
        let mut bytes = slices
            .iter()
            .flat_map(|slice| slice.iter())
            .copied()
            .collect::<Vec<u8>>();
        let fault = state.call()?;
        if let Some(Fault::Error(kind)) = fault {
            return Err(kind.into());
        }
        if fault == Some(Fault::Short) {
            bytes.truncate(bytes.len() / 2);
        }
        state.take_room(self.node, offset + bytes.len() as u64)?;
        state.nodes[self.node].write(offset as usize, &bytes);
        if fault == Some(Fault::PowerCut) {
            return Err(io::Error::other("the power went"));
        }
        Ok(bytes.len())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.disk.lock();
        let result = state.plain_call();
        let off = state.off;
        let node = &mut state.nodes[self.node];
        match result {
            Ok(()) => node.sync(),
            // The pages count as clean from now on, and are nowhere but in memory.
            Err(_) if !off => node.dirty.clear(),
            Err(_) => {}
        }
        result
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.plain_call()?;
        state.take_room(self.node, offset + len)?;
        let node = &mut state.nodes[self.node];
        let end = (offset + len) as usize;
        if node.current.len() < end {
            node.current.resize(end, 0);
        }
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        state.plain_call()?;
        let node = &mut state.nodes[self.node];
        node.current.resize(len as usize, 0);
        node.room = node.room.min(len);
        Ok(())
    }

    fn forget_cached(&self) -> io::Result<()> {
        self.disk.lock().nodes[self.node].forget();
        Ok(())
    }
}

/// Numbers that look random and are the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.throw() % limit
    }
}

//! An owner without commands: its keyspace is the list of what was committed, in order. It does with a port what the
//! one of the server does.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use bytes::Bytes;

use openraft::impls::BasicNode;
use openraft::{EntryPayload, RaftLogReader};

use super::shelf::Shelf;
use crate::raft::store::Store;
use crate::raft::types::Batch;
use crate::replica::{Event, Instant, Port, Refused, Stint};
use crate::wal::{LogId, Wake};

#[derive(Default)]
pub struct Bell(OnceLock<Thread>);

impl Wake for Bell {
    fn wake(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

/// What a test and an owner share.
#[derive(Default)]
pub struct Desk {
    pub to_propose: Mutex<VecDeque<Bytes>>,
    /// Told to be committed, in the order of telling.
    pub acknowledged: Mutex<Vec<Bytes>>,
    /// Executed by a stint that ended before they were known to be committed.
    pub uncertain: Mutex<Vec<Bytes>>,
    pub keyspace: Mutex<Vec<Bytes>>,
    pub rebuilds: Mutex<usize>,
    stops: AtomicBool,
}

pub struct Owner {
    pub desk: Arc<Desk>,
    pub port: Arc<Port>,
    thread: Option<JoinHandle<()>>,
}

const UNDER_WAY_MAX: usize = 2;

impl Owner {
    pub fn start(port: Arc<Port>, bell: Arc<Bell>, store: Store, shelf: Option<Arc<Shelf>>) -> Self {
        let desk = Arc::new(Desk::default());
        let mut turns = Turns {
            desk: Arc::clone(&desk),
            port: Arc::clone(&port),
            store,
            stint: None,
            number: 0,
            pending: VecDeque::new(),
            held: 0,
            shelf,
        };
        turns.begin();
        let run = move || {
            let _ = bell.0.set(std::thread::current());
            turns.run();
        };
        let thread = Some(std::thread::spawn(run));
        Self { desk, port, thread }
    }

    pub fn propose(&self, payload: impl Into<Bytes>) {
        let mut queue = self.desk.to_propose.lock().expect("no test panics in here");
        queue.push_back(payload.into());
    }

    pub fn keyspace(&self) -> Vec<Bytes> {
        self.desk.keyspace.lock().expect("no test panics in here").clone()
    }

    pub fn acknowledged(&self) -> Vec<Bytes> {
        self.desk
            .acknowledged
            .lock()
            .expect("no test panics in here")
            .clone()
    }

    pub fn rebuilds(&self) -> usize {
        *self.desk.rebuilds.lock().expect("no test panics in here")
    }

    pub fn stop(&mut self) {
        self.desk.stops.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the owner ends well");
        }
    }
}

struct Turns {
    desk: Arc<Desk>,
    port: Arc<Port>,
    store: Store,
    stint: Option<Stint>,
    number: u64,
    pending: VecDeque<(u64, Bytes)>,
    held: u64,
    shelf: Option<Arc<Shelf>>,
}

impl Turns {
    /// With what the image holds.
    fn begin(&mut self) {
        let image = self.shelf.as_ref().map(|shelf| shelf.keyspace(self.port.shard()));
        if let Some((keyspace, held)) = image {
            *self.desk.keyspace.lock().expect("locked") = keyspace;
            self.held = held.0;
        }
    }

    fn run(mut self) {
        let mut events = VecDeque::new();
        while !self.desk.stops.load(Ordering::Acquire) {
            self.port.take(&mut events);
            self.settle();
            while let Some(event) = events.pop_front() {
                self.heed(event);
            }
            self.execute();
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    /// What is committed is acknowledged, as long as the stint lasts.
    fn settle(&mut self) {
        let committed = self.port.committed();
        while self
            .pending
            .front()
            .is_some_and(|(number, _)| *number <= committed)
        {
            let (_, payload) = self.pending.pop_front().expect("there is one");
            self.desk.acknowledged.lock().expect("locked").push(payload);
        }
    }

    fn heed(&mut self, event: Event) {
        match event {
            Event::Entry { id, payload } if id.index.0 > self.held => {
                self.held = id.index.0;
                if !payload.is_empty() {
                    self.desk.keyspace.lock().expect("locked").push(payload);
                }
                self.port.note_applied(self.held);
            }
            Event::Entry { .. } => {}
            Event::Lead(stint) => self.stint = Some(stint),
            Event::Follow { given } => {
                self.stint = None;
                self.settle();
                if self.pending.is_empty() {
                    self.held = self.held.max(given.index.0).max(self.port.committed_index());
                } else {
                    let lost = self.pending.drain(..).map(|(_, payload)| payload);
                    self.desk.uncertain.lock().expect("locked").extend(lost);
                    self.rebuild(given);
                }
                self.port.note_applied(self.held);
            }
            Event::Replace { at } => {
                let is_nothing = at == LogId::default();
                assert!(
                    self.shelf.is_some() || is_nothing,
                    "nobody sends a snapshot, and there is one at {at}"
                );
                if is_nothing {
                    self.held = 0;
                    self.desk.keyspace.lock().expect("locked").clear();
                }
                self.begin();
                assert!(self.held >= at.index.0, "the image is not there");
                self.port.note_applied(self.held);
            }
        }
    }

    /// From the log, up to the last entry that was given.
    fn rebuild(&mut self, given: LogId) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        self.begin();
        let from = self.shelf.as_ref().map_or(0, |_| self.held);
        if from == 0 {
            self.desk.keyspace.lock().expect("locked").clear();
        }
        let entries = self.store.try_get_log_entries(from..given.index.0);
        let entries = runtime.block_on(entries).expect("the log is readable");
        let payload = |payload: EntryPayload<Batch, u64, BasicNode>| match payload {
            EntryPayload::Normal(batch) if !batch.0.is_empty() => Some(batch.0),
            _ => None,
        };
        let keyspace = entries.into_iter().filter_map(|entry| payload(entry.payload));
        self.desk.keyspace.lock().expect("locked").extend(keyspace);
        *self.desk.rebuilds.lock().expect("locked") += 1;
        self.held = self.held.max(given.index.0);
    }

    fn execute(&mut self) {
        let Some(stint) = self.stint else { return };
        if !self.port.has_lease(stint, Instant::now()) {
            if self.pending.is_empty() {
                self.port.note_drained();
            }
            return;
        }
        let mut queue = self.desk.to_propose.lock().expect("locked");
        while self.pending.len() < UNDER_WAY_MAX
            && let Some(payload) = queue.pop_front()
        {
            match self.port.propose(stint, self.number + 1, payload.clone()) {
                Ok(()) => {
                    self.number += 1;
                    self.desk.keyspace.lock().expect("locked").push(payload.clone());
                    self.pending.push_back((self.number, payload));
                }
                Err(Refused::Full(payload) | Refused::Over(payload)) => {
                    queue.push_front(payload);
                    return;
                }
            }
        }
    }
}

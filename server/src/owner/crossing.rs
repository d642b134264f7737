//! Commands and answers between owner threads: a batch a turn in each direction, and a bell to wake who sleeps.
//!
//! Invariants: a batch's commands run in their order, and batches in theirs, so one client's commands for one
//! owner are never overtaken. Nobody waits for another owner: what is sent and unanswered is counted against a
//! window, and a full window leaves the sockets unread that would fill it, so an inbox holds no more than the
//! windows of those who send to it. A batch goes back to its sender when it is done with, so that each
//! thread frees what it took from the allocator.

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::Passport;
use ruvio_core::engine::session::ClientId;
use ruvio_core::resp::Span;
use ruvio_server::wal::Wake;

use super::handover::{Filled, Handover};
use super::seats::Rebuilt;

/// Which part of which answer.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// The owner that waits for the answer.
    pub home: u16,
    pub client: ClientId,
    /// Counts a connection's answers.
    pub number: u64,
    pub part: u16,
    /// What the command counts against the window, bytes. Zero: it does not count.
    pub cost: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Run,
    /// Nobody wants the answer.
    Quiet,
    /// To be passed on to every owner, in the order in which this one meets such commands.
    Everywhere,
    /// The client is gone.
    Gone,
    /// The client, one of the receiver's, is to be closed: it asked for more than it may have elsewhere.
    Close,
    /// Something to keep or to show, about a client or nobody.
    Errand,
}

/// A command for another owner.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub kind: Kind,
    pub ticket: Ticket,
    pub passport: Passport,
    first: u32,
    argc: u32,
}

/// An answer to one.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub ticket: Ticket,
    pub db: u16,
    start: usize,
    end: usize,
}

#[derive(Default)]
pub struct Batch {
    pub from: usize,
    bytes: Vec<u8>,
    spans: Vec<Span>,
    pub tasks: Vec<Task>,
    pub dones: Vec<Done>,
    answers: Vec<u8>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.dones.is_empty()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.tasks.clear();
        self.dones.clear();
        self.answers.clear();
    }

    fn is_large(&self) -> bool {
        self.bytes.capacity().max(self.answers.capacity()) > KEPT
    }

    pub fn args(&self, task: &Task) -> Args<'_> {
        let spans = &self.spans[task.first as usize..(task.first + task.argc) as usize];
        Args::new(&self.bytes, spans)
    }

    pub fn answer(&self, done: &Done) -> &[u8] {
        &self.answers[done.start..done.end]
    }
}

/// What reaches an owner from the others.
pub struct Inbox {
    batches: Mutex<Vec<Batch>>,
    /// Batches of this owner's that others are done with.
    spare: Mutex<Vec<Batch>>,
    pub bell: OwnedFd,
    /// Connections of this owner.
    clients: AtomicUsize,
    handover: Handover,
}

impl Inbox {
    pub fn new() -> std::io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        Ok(Self {
            batches: Mutex::default(),
            spare: Mutex::default(),
            bell: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            clients: AtomicUsize::new(0),
            handover: Handover::default(),
        })
    }

    /// Gives the owner its shards.
    pub fn hand_over(&self, filled: Filled) {
        self.handover.put(filled);
        self.ring();
    }

    /// Gives the owner one of its shards, made anew.
    pub fn hand_over_rebuilt(&self, rebuilt: Rebuilt) {
        self.handover.put_rebuilt(rebuilt);
        self.ring();
    }

    /// Has the owner seal what it changed and change nothing more until it is given its shards anew.
    pub fn ask_for_rest(&self) {
        self.handover.ask_for_rest();
        self.ring();
    }

    /// The owner has its shards, and nobody wants them made anew.
    pub fn is_settled(&self) -> bool {
        self.handover.is_settled()
    }

    pub fn is_at_rest(&self) -> bool {
        self.handover.is_at_rest()
    }

    fn push(&self, batch: Batch) {
        let mut batches = lock(&self.batches);
        let sleeps = batches.is_empty();
        batches.push(batch);
        drop(batches);
        if sleeps {
            self.ring();
        }
    }

    /// Wakes the owner.
    pub fn ring(&self) {
        // It can only fail where the count is at its end, and then the bell rings anyway.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

impl Wake for Inbox {
    /// The log has completed something.
    fn wake(&self) {
        self.ring();
    }
}

/// Nothing is left half done where a thread could panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sent to one owner and unanswered.
#[derive(Clone, Copy, Default)]
struct Debt {
    commands: usize,
    bytes: usize,
}

/// A command that waits here, for a client of any owner.
pub struct Waiting {
    pub ticket: Ticket,
    pub kind: Kind,
    pub bytes: Vec<u8>,
    /// What came from the client meanwhile (`CLIENT PAUSE` holds commands of which nobody knew that they would
    /// wait).
    pub behind: VecDeque<Parked>,
}

/// A command that runs when the one before it is answered.
pub struct Parked {
    pub kind: Kind,
    pub ticket: Ticket,
    pub passport: Passport,
    pub args: OwnedArgs,
}

/// One owner's end of it.
pub struct Crossing {
    pub me: usize,
    inboxes: Vec<Arc<Inbox>>,
    out: Vec<Batch>,
    debts: Vec<Debt>,
    /// By the session that waits.
    pub waiting: HashMap<ClientId, Waiting>,
    /// Connections that wait for room in a window.
    pub stuck: Vec<u32>,
}

/// Commands and bytes under way to one owner.
const COMMANDS: usize = 8192;
const BYTES: usize = 8 * 1024 * 1024;
/// Room that an idle batch may keep.
const KEPT: usize = 1024 * 1024;
/// Idle batches kept.
const SPARES: usize = 8;

impl Crossing {
    pub fn new(me: usize, inboxes: Vec<Arc<Inbox>>) -> Self {
        let owners = inboxes.len();
        let batch = || Batch {
            from: me,
            ..Batch::default()
        };
        Self {
            me,
            inboxes,
            out: (0..owners).map(|_| batch()).collect(),
            debts: vec![Debt::default(); owners],
            waiting: HashMap::new(),
            stuck: Vec::new(),
        }
    }

    pub fn bell(&self) -> &OwnedFd {
        &self.inboxes[self.me].bell
    }

    /// Has every owner look around.
    pub fn ring_all(&self) {
        self.inboxes.iter().for_each(|inbox| inbox.ring());
    }

    pub fn handover(&self) -> &Handover {
        &self.inboxes[self.me].handover
    }

    pub fn owners(&self) -> usize {
        self.inboxes.len()
    }

    /// Tells the others how many connections this owner has.
    pub fn note_clients(&self, count: usize) {
        self.inboxes[self.me].clients.store(count, Ordering::Relaxed);
    }

    /// Connections of all owners.
    pub fn clients(&self) -> usize {
        let counts = self
            .inboxes
            .iter()
            .map(|inbox| inbox.clients.load(Ordering::Relaxed));
        counts.sum()
    }

    /// Whether no more may be sent to the owner for now.
    pub fn is_full(&self, owner: usize) -> bool {
        let debt = self.debts[owner];
        debt.commands >= COMMANDS || debt.bytes >= BYTES
    }

    /// Whether those who are stuck may try again.
    pub fn has_room(&self) -> bool {
        let roomy = |debt: &Debt| debt.commands < COMMANDS / 2 && debt.bytes < BYTES / 2;
        self.debts.iter().all(roomy)
    }

    /// Appends a command to the batch for an owner. `ticket.cost` is set here where it counts.
    pub fn send<'w>(
        &mut self,
        owner: usize,
        kind: Kind,
        ticket: Ticket,
        passport: Passport,
        words: impl Iterator<Item = &'w [u8]>,
    ) {
        let batch = &mut self.out[owner];
        let (first, began) = (batch.spans.len(), batch.bytes.len());
        for word in words {
            let start = batch.bytes.len() as u32;
            batch.bytes.extend_from_slice(word);
            batch.spans.push(Span {
                start,
                len: word.len() as u32,
            });
        }
        let mut task = Task {
            kind,
            ticket,
            passport,
            first: first as u32,
            argc: (batch.spans.len() - first) as u32,
        };
        if matches!(kind, Kind::Run | Kind::Errand) && ticket.cost > 0 {
            task.ticket.cost = (batch.bytes.len() - began) as u32 + 1;
            let debt = &mut self.debts[owner];
            debt.commands += 1;
            debt.bytes += task.ticket.cost as usize;
        }
        batch.tasks.push(task);
        if batch.bytes.len() > BATCH {
            self.flush_to(owner);
        }
    }

    /// Sends a command on to another owner as it came, but for its kind.
    pub fn pass_on(&mut self, owner: usize, batch: &Batch, task: &Task) {
        let ticket = Ticket {
            part: owner as u16,
            ..task.ticket
        };
        self.send(owner, Kind::Run, ticket, task.passport, batch.args(task).iter());
    }

    pub fn answer(&mut self, ticket: Ticket, db: u16, bytes: &[u8]) {
        let batch = &mut self.out[usize::from(ticket.home)];
        let start = batch.answers.len();
        batch.answers.extend_from_slice(bytes);
        batch.dones.push(Done {
            ticket,
            db,
            start,
            end: start + bytes.len(),
        });
        if batch.answers.len() > BATCH {
            self.flush_to(usize::from(ticket.home));
        }
    }

    /// An answer came from the owner.
    pub fn settle(&mut self, owner: usize, ticket: &Ticket) {
        if ticket.cost > 0 {
            let debt = &mut self.debts[owner];
            debt.commands = debt.commands.saturating_sub(1);
            debt.bytes = debt.bytes.saturating_sub(ticket.cost as usize);
        }
    }

    /// Sends what the turn has gathered.
    pub fn flush(&mut self) {
        for owner in 0..self.out.len() {
            if !self.out[owner].is_empty() {
                self.flush_to(owner);
            }
        }
    }

    fn flush_to(&mut self, owner: usize) {
        let mut spare = lock(&self.inboxes[self.me].spare);
        spare.retain(|batch| !batch.is_large());
        spare.truncate(SPARES);
        let next = spare.pop();
        drop(spare);
        let next = next.unwrap_or_else(|| Batch {
            from: self.me,
            ..Batch::default()
        });
        let batch = std::mem::replace(&mut self.out[owner], next);
        self.inboxes[owner].push(batch);
    }

    /// What has come, in order.
    pub fn receive(&mut self) -> Vec<Batch> {
        std::mem::take(&mut *lock(&self.inboxes[self.me].batches))
    }

    /// Gives a batch back to its sender, to be used again.
    pub fn give_back(&self, mut batch: Batch) {
        batch.clear();
        let from = batch.from;
        lock(&self.inboxes[from].spare).push(batch);
    }
}

/// Bytes above which a batch does not wait for the end of the turn.
const BATCH: usize = 256 * 1024;

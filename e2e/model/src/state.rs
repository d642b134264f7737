//! What the model remembers: of each node what its disk keeps, its group, its port and its owner; and of all of them
//! what only an onlooker knows.
//!
//! Spans of time are counted down, and ages are cut off where they make no difference any more, so that time alone
//! makes no end of states.

pub const NODES: usize = 3;

/// A leadership, in the order in which votes compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch {
    pub term: u8,
    pub node: u8,
}

/// A write by its number, from 1 on; 0 is an empty entry.
pub type Write = u8;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Entry {
    pub epoch: Epoch,
    pub write: Write,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Core {
    #[default]
    Follows,
    /// It was told to take over, and asks for votes with the leave of the leader that told it.
    Stands,
    Leads {
        /// Since what it sent last that a majority took in.
        acked_age: u8,
        /// It gave its leadership away: it takes no entry any more.
        hands_over: bool,
    },
}

/// Who waits for an entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Responder {
    pub index: usize,
    pub stint: u8,
    pub number: u8,
}

/// The task of a shard that stands between port and core.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Group {
    #[default]
    Follows,
    /// Its empty entry has yet to be given.
    Begins {
        epoch: Epoch,
        index: usize,
    },
    Leads {
        epoch: Epoch,
        stint: u8,
    },
}

/// How far a move of the leadership to another node is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Move {
    Drains { to: usize },
    HandedOver { epoch: Epoch },
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Event {
    Entry { index: usize, write: Write },
    Lead(u8),
    Follow { given: usize },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Proposal {
    pub stint: u8,
    pub number: u8,
    pub write: Write,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Port {
    pub leads: Option<(Epoch, u8)>,
    pub stint: u8,
    /// The last stint of which a proposal was lost.
    pub lost: u8,
    /// No stint begins in this epoch or an earlier one.
    pub closed: Epoch,
    pub given: usize,
    pub events: Vec<Event>,
    pub proposals: Vec<Proposal>,
    pub committed: u8,
    pub committed_index: usize,
    pub lease_left: u8,
    pub is_held: bool,
    pub is_drained: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Standing {
    #[default]
    Follows,
    Leads(u8),
}

/// A read that was executed, and waits at the gate.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub value: Vec<Write>,
    /// The last change that it depends on.
    pub number: u8,
    pub floor: u8,
}

/// A turn between the look at the lease and its commands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    /// What clients knew when the read was sent, if it was received before the look.
    pub floor: Option<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Owner {
    pub standing: Standing,
    /// One key: the list of the writes to it, as by RPUSH.
    pub keyspace: Vec<Write>,
    pub held: usize,
    pub number: u8,
    pub under_way: Vec<(u8, Write)>,
    pub read: Option<Held>,
    pub turn: Option<Turn>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Node {
    /// On its disk.
    pub vote: Epoch,
    pub log: Vec<Entry>,
    pub core: Core,
    pub committed: usize,
    pub responders: Vec<Responder>,
    /// It votes for nobody else, since it has heard of a leader.
    pub vote_left: u8,
    /// It votes for nobody, since it has just started.
    pub muted_left: u8,
    pub group: Group,
    pub moves: Option<Move>,
    pub port: Port,
    pub owner: Owner,
}

/// The word to take over, on its way for as long as it likes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Letter {
    pub epoch: Epoch,
    pub to: usize,
    pub last: usize,
}

/// What a client was told of its write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// Nothing yet, by this node.
    Waits(usize),
    Acknowledged,
    Uncertain,
    NotApplied,
    /// Its connection ended.
    Broken,
}

/// A promise that was broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fault {
    ShownUncommitted,
    AcknowledgedUncommitted,
    Stale,
    TwoAnswers,
    /// An entry was applied to a keyspace with changes that are in no log, or a follower's is not what the log says.
    Diverged,
    /// Raft's own promise: what is agreed upon stays.
    NotAgreed,
}

/// What may still happen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Left {
    pub writes: u8,
    pub reads: u8,
    pub restarts: u8,
    pub transfers: u8,
    pub sleeps: u8,
    pub drifts: u8,
    /// For all; `TIMELESS` has no end.
    pub ticks: u8,
}

pub const TIMELESS: u8 = u8::MAX;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub nodes: [Node; NODES],
    pub letter: Option<Letter>,
    /// What a majority has had, in order.
    pub agreed: Vec<Entry>,
    pub outcomes: Vec<Outcome>,
    /// Writes, as bits, that some client was told of or has seen.
    pub known: u8,
    pub left: Left,
    pub fault: Option<Fault>,
}

pub fn bit(write: Write) -> u8 {
    1 << write
}

pub fn bits(writes: &[Write]) -> u8 {
    writes.iter().fold(0, |all, write| all | bit(*write))
}

/// What a keyspace holds that was made of these entries.
pub fn keyspace(entries: &[Entry]) -> Vec<Write> {
    let writes = entries.iter().map(|entry| entry.write);
    writes.filter(|write| *write > 0).collect()
}

impl Node {
    pub fn given_is_behind(&self) -> bool {
        self.port.given < self.committed
    }
}

impl State {
    pub fn break_promise(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    pub fn answer(&mut self, write: Write, outcome: Outcome) {
        let told = &mut self.outcomes[usize::from(write) - 1];
        if !matches!(told, Outcome::Waits(_)) {
            self.break_promise(Fault::TwoAnswers);
            return;
        }
        *told = outcome;
        if outcome == Outcome::Acknowledged {
            self.known |= bit(write);
            if !self.agreed.iter().any(|entry| entry.write == write) {
                self.break_promise(Fault::AcknowledgedUncommitted);
            }
        }
    }

    /// A client is shown this; `floor` was known when it asked.
    pub fn show(&mut self, value: &[Write], floor: u8) {
        if !keyspace(&self.agreed).starts_with(value) {
            self.break_promise(Fault::ShownUncommitted);
        } else if floor & !bits(value) != 0 {
            self.break_promise(Fault::Stale);
        }
        self.known |= bits(value);
    }
}

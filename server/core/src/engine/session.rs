//! A client's connection as the commands see it: everything but the socket.

use std::sync::Arc;

use super::door::Entrance;
use super::identity::Identity;
use super::link::Nonce;
use super::spread::Topology;
use super::transaction::Transaction;
use crate::acl::User;
use crate::command::OwnedArgs;
use crate::exec::{Await, OnTimeout};
use crate::keyspace::interest::Ticket;
use crate::pubsub::Listening;
use crate::resp::Protocol;

/// Names a session for as long as the process lives: a serial number that only grows, and the place where
/// the session stands. A stale id finds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClientId(u64);

const INDEX_BITS: u32 = 20;

impl ClientId {
    /// No client: commands that the server runs by itself.
    pub const NONE: Self = Self(0);

    /// What `CLIENT ID` shows: 1 for the first connection.
    pub fn serial(self) -> u64 {
        self.0 >> INDEX_BITS
    }

    /// The place among the sessions; below 2^20 and reused.
    #[inline]
    pub fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }
}

/// `CLIENT REPLY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReplyMode {
    #[default]
    On,
    Off,
    /// The reply of the next command is dropped.
    SkipNext,
    /// The command that runs now is the one whose reply is dropped.
    Skip,
}

/// A command that waits for a key.
pub struct Blocked {
    pub command: u16,
    pub args: OwnedArgs,
    pub keys: OwnedArgs,
    pub db: u16,
    /// Its place in the queues of its keys.
    pub ticket: Ticket,
    pub deadline_ms: Option<u64>,
    /// When it is tried again without a change to its keys.
    pub wake_ms: Option<u64>,
    pub on_timeout: OnTimeout,
    pub awaits: Await,
    /// Tells this wait from others of the same owner; only grows.
    pub number: u64,
    /// What it awaits, other than keys, is there.
    pub has_come: bool,
    pub since_ms: u64,
    /// `CLIENT REPLY` was off or skipping when the wait began: its end is not answered.
    pub silent: bool,
}

impl Blocked {
    /// When time alone has something to do with it.
    pub fn next_ms(&self) -> Option<u64> {
        self.deadline_ms.into_iter().chain(self.wake_ms).min()
    }
}

/// What the socket's side counts, for `CLIENT LIST` and `INFO`. Bytes.
#[derive(Clone, Copy, Default, Debug)]
pub struct Traffic {
    pub query_buffer: usize,
    pub query_buffer_free: usize,
    /// Replies not yet taken by the socket.
    pub output_pending: usize,
    pub moved: Moved,
}

/// What has gone over sockets since they were opened: bytes, and how often they were read and written.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub reads: u64,
    pub writes: u64,
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.reads += other.reads;
        self.writes += other.writes;
    }
}

impl Moved {
    /// What has moved since it was `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            bytes_in: self.bytes_in.saturating_sub(before.bytes_in),
            bytes_out: self.bytes_out.saturating_sub(before.bytes_out),
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
        }
    }
}

impl Traffic {
    /// Whether bytes have gone either way between this and what is known `later`.
    pub fn has_moved(&self, later: &Self) -> bool {
        self.moved != later.moved
    }
}

pub struct Session {
    pub id: ClientId,
    /// `127.0.0.1:50000`.
    pub addr: String,
    /// The local end.
    pub laddr: String,
    pub fd: i32,
    pub protocol: Protocol,
    pub db: u16,
    pub created_ms: u64,
    pub active_ms: u64,
    /// The last command, for `CLIENT LIST`.
    pub last_command: Option<u16>,
    pub commands: u64,
    pub reply_mode: ReplyMode,
    pub no_touch: bool,
    /// `MONITOR`.
    pub monitors: bool,
    pub blocked: Option<Box<Blocked>>,
    /// A command that `CLIENT PAUSE` holds back.
    pub paused: Option<Box<OwnedArgs>>,
    pub identity: Identity,
    /// The slot of the keys that it watches, or that its transaction is about, where there are several shards.
    pub slot: Option<u16>,
    /// It stands for a client of another owner, of this id.
    pub home: Option<ClientId>,
    pub(super) transaction: Option<Box<Transaction>>,
    /// Never empty where there is one.
    pub(super) listening: Option<Box<Listening>>,
    /// Close once what is owed has been sent.
    pub closing: bool,
    pub entrance: Entrance,
    /// What a link is to prove itself by.
    pub(super) nonce: Option<Box<Nonce>>,
    /// See `link`.
    pub(super) is_refusing: bool,
    pub traffic: Traffic,
}

/// The sessions of one owner thread.
#[derive(Default)]
pub struct Sessions {
    places: Vec<Option<Box<Session>>>,
    free: Vec<u32>,
    last_serial: u64,
    /// Serial numbers are given in steps of so many, so that no two owners give the same.
    step: u64,
    live: usize,
    /// Among them, those that stand for clients of other owners.
    shadows: usize,
}

impl Session {
    /// It came over a Unix socket, whose ends are told with port 0.
    pub fn is_unix(&self) -> bool {
        self.addr.ends_with("]:0")
    }

    /// Nothing about the session makes its commands special: all are allowed, run at once and are answered.
    /// Whatever makes one special must be named here.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.reply_mode == ReplyMode::On
            && !self.closing
            && self.identity.is_unrestricted()
            && self.transaction.is_none()
            && self.listening.is_none()
    }
}

impl Sessions {
    pub fn open(
        &mut self,
        addr: String,
        laddr: String,
        fd: i32,
        now_ms: u64,
        default_user: &Arc<User>,
    ) -> ClientId {
        self.last_serial = self.last_serial.wrapping_add(self.step.max(1));
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() as u32 - 1
        });
        let id = ClientId(self.last_serial << INDEX_BITS | u64::from(index));
        self.places[index as usize] = Some(Box::new(Session {
            id,
            addr,
            laddr,
            fd,
            protocol: Protocol::Resp2,
            db: 0,
            created_ms: now_ms,
            active_ms: now_ms,
            last_command: None,
            commands: 0,
            reply_mode: ReplyMode::On,
            no_touch: false,
            monitors: false,
            blocked: None,
            paused: None,
            identity: Identity::new(default_user),
            slot: None,
            home: None,
            transaction: None,
            listening: None,
            closing: false,
            entrance: Entrance::default(),
            nonce: None,
            is_refusing: false,
            traffic: Traffic::default(),
        }));
        self.live += 1;
        id
    }

    pub fn close(&mut self, id: ClientId) -> Option<Box<Session>> {
        let place = self.places.get_mut(id.index())?;
        if place.as_ref()?.id != id {
            return None;
        }
        self.free.push(id.index() as u32);
        let closed = place.take();
        match closed.as_ref().is_some_and(|session| session.home.is_some()) {
            true => self.shadows -= 1,
            false => self.live -= 1,
        }
        closed
    }

    #[inline]
    pub fn get(&self, id: ClientId) -> Option<&Session> {
        self.places.get(id.index())?.as_deref().filter(|s| s.id == id)
    }

    #[inline]
    pub fn get_mut(&mut self, id: ClientId) -> Option<&mut Session> {
        self.places
            .get_mut(id.index())?
            .as_deref_mut()
            .filter(|s| s.id == id)
    }

    /// Gives numbers that no other owner gives.
    pub(super) fn number_for(&mut self, topology: Topology) {
        self.step = u64::from(topology.owners);
        // The first number of the first owner is 1.
        self.last_serial = (u64::from(topology.me) + 1).wrapping_sub(self.step);
    }

    /// The session stands for a client of another owner from now on: it is none of those who are here.
    pub(super) fn mark_shadow(&mut self, id: ClientId, home: ClientId) {
        if let Some(session) = self.get_mut(id)
            && session.home.replace(home).is_none()
        {
            self.live -= 1;
            self.shadows += 1;
        }
    }

    /// Those who are here, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Session> {
        let here = |session: &&Session| session.home.is_none();
        let mut all: Vec<&Session> = self
            .places
            .iter()
            .filter_map(Option::as_deref)
            .filter(here)
            .collect();
        all.sort_unstable_by_key(|s| s.id);
        all.into_iter()
    }

    /// With those that stand for clients of other owners, in no order.
    pub(super) fn with_shadows(&self) -> impl Iterator<Item = &Session> {
        self.places.iter().filter_map(Option::as_deref)
    }

    pub fn for_each_mut(&mut self, visit: impl FnMut(&mut Session)) {
        self.places
            .iter_mut()
            .filter_map(Option::as_deref_mut)
            .filter(|session| session.home.is_none())
            .for_each(visit);
    }

    /// By the number that `CLIENT ID` shows; also those that stand for a client of another owner.
    pub fn find_serial(&self, serial: u64) -> Option<&Session> {
        self.places
            .iter()
            .filter_map(Option::as_deref)
            .find(|session| session.home.unwrap_or(session.id).serial() == serial)
    }

    pub fn len(&self) -> usize {
        self.live
    }

    pub fn is_empty(&self) -> bool {
        self.live == 0
    }
}

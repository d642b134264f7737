//! What an owner thread knows beside its keyspaces: sessions, statistics, and what is on its way out.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::errand::Errand;
use super::figures::{Cycles, MemoryMarks, Rates};
use super::host::Host;
use super::observe::Observer;
use super::obstacles::Obstacles;
use super::paused::Pause;
use super::session::{ClientId, Moved, Sessions};
use super::spread::Topology;
use super::stopwatch::Stopwatch;
use super::unblock::UnblockAs;
use super::wishes::Wishes;
use crate::acl::{AclLog, Users};
use crate::cluster::Table;
use crate::command::COMMANDS;
use crate::options::Options;
use crate::pubsub::Directory;
use crate::resp::Reply;

/// Bytes for a client other than the one whose command runs (or pushes to it), in order.
pub struct Parcel {
    pub client: ClientId,
    /// It answers a command that has waited; else it answers none.
    pub is_answer: bool,
    /// Shared by all who are sent the same.
    pub bytes: Rc<[u8]>,
}

/// `SAVE` and its like, and since when nobody said so.
#[derive(Clone, Copy, Default, Debug)]
pub struct Saves {
    /// The last one, or the start. Unix seconds.
    pub last_seconds: u64,
    pub count: u64,
    /// The last one failed.
    pub has_failed: bool,
}

/// Calls and time of one command. Microseconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct CommandStats {
    pub calls: u64,
    pub usec: u64,
    pub rejected: u64,
    pub failed: u64,
}

#[derive(Default)]
pub struct Stats {
    /// By command id.
    pub commands: Vec<CommandStats>,
    pub connections_received: u64,
    pub connections_rejected: u64,
    /// Clients dropped for replies they did not read, and for requests without end.
    pub output_limit_disconnections: u64,
    pub query_limit_disconnections: u64,
    pub commands_processed: u64,
    /// Error replies by their first word.
    pub errors: std::collections::BTreeMap<String, u64>,
    /// What had moved when the statistics were last reset.
    pub moved_before: Moved,
    pub rates: Rates,
    pub cycles: Cycles,
}

pub struct World {
    pub sessions: Sessions,
    /// Where this owner stands among others.
    pub topology: Topology,
    /// The cluster that this node is of: `Engine::set_cluster` changes it. `None`: plain Redis.
    pub cluster: Option<Arc<Table>>,
    /// What nodes of the cluster prove themselves by to each other; without it there are no links.
    pub link_token: Option<Arc<[u8]>>,
    /// The number of the shard that commands run on now.
    pub shard_at_hand: u16,
    /// Emptied by the caller after each command.
    pub outbox: Vec<Parcel>,
    /// Memory of keys and small values in shards that are not at hand.
    pub(super) parked_bytes: usize,
    /// What other owners have to hear of.
    pub errands: Vec<Errand>,
    /// Sessions that must be closed by the caller, once what is owed has been sent.
    pub closing: Vec<ClientId>,
    /// Sessions that no longer wait: the caller goes on with what they have sent meanwhile.
    pub unblocked: Vec<ClientId>,
    /// How many sessions wait for a key.
    pub blocked_count: usize,
    /// When their time is up, Unix milliseconds, earliest first.
    pub deadlines: BTreeSet<(u64, ClientId)>,
    /// Waits that `CLIENT UNBLOCK` ends once its own command is done.
    pub(super) unblock_requests: Vec<(ClientId, UnblockAs)>,
    /// Client numbers of those who wait at other nodes, and which of them are to wait no longer.
    pub awaited_away: BTreeSet<u64>,
    pub unblock_away: Vec<(u64, UnblockAs)>,
    pub pause: Pause,
    /// Who listens to what.
    pub directory: Directory,
    pub users: Users,
    pub acl_log: AclLog,
    pub options: Options,
    /// `aclfile`.
    pub acl_file: Option<String>,
    pub stats: Stats,
    /// By connections that are closed.
    pub(super) moved_by_closed: Moved,
    pub host: Box<dyn Host>,
    pub(super) memory: MemoryMarks,
    pub obstacles: Obstacles,
    /// Changes of shards that lead yield effects.
    pub(super) logs_changes: bool,
    pub saves: Saves,
    pub wishes: Wishes,
    pub(super) stopwatch: Stopwatch,
    pub observer: Observer,
}

impl World {
    pub fn new(host: Box<dyn Host>) -> Self {
        let stats = Stats {
            commands: vec![CommandStats::default(); COMMANDS.len()],
            ..Stats::default()
        };
        Self {
            sessions: Sessions::default(),
            topology: Topology::ALONE,
            cluster: None,
            link_token: None,
            shard_at_hand: 0,
            outbox: Vec::new(),
            parked_bytes: 0,
            errands: Vec::new(),
            closing: Vec::new(),
            unblocked: Vec::new(),
            blocked_count: 0,
            deadlines: BTreeSet::new(),
            unblock_requests: Vec::new(),
            awaited_away: BTreeSet::new(),
            unblock_away: Vec::new(),
            pause: Pause::default(),
            directory: Directory::default(),
            users: Users::default(),
            acl_log: AclLog::default(),
            options: Options::default(),
            acl_file: None,
            stats,
            moved_by_closed: Moved::default(),
            host,
            memory: MemoryMarks::default(),
            obstacles: Obstacles::default(),
            logs_changes: false,
            saves: Saves::default(),
            wishes: Wishes::default(),
            stopwatch: Stopwatch::default(),
            observer: Observer::default(),
        }
    }

    /// Shards may be led by other nodes.
    #[inline]
    pub(super) fn is_clustered(&self) -> bool {
        self.cluster.is_some()
    }

    /// Whether a key belongs to the shard that commands run on now.
    pub fn has_at_hand(&self, key: &[u8]) -> bool {
        !self.topology.is_spread() || self.topology.shard_of_key(key) == self.shard_at_hand
    }

    /// Nothing is on that every command would have to look at. Whatever is added here must also be looked at
    /// in `dispatch::execute_checked`.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.obstacles.is_empty() && !self.pause.is_on() && self.unblock_requests.is_empty()
    }

    /// Moves a waiting client to another time.
    pub(super) fn reschedule(&mut self, client: ClientId, before_ms: Option<u64>, next_ms: Option<u64>) {
        if let Some(before_ms) = before_ms {
            self.deadlines.remove(&(before_ms, client));
        }
        if let Some(next_ms) = next_ms {
            self.deadlines.insert((next_ms, client));
        }
    }

    /// Whether the caller has something to carry out.
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.outbox.is_empty()
            && self.closing.is_empty()
            && self.unblocked.is_empty()
            && self.errands.is_empty())
    }

    /// Sends bytes written by `write`, in the client's own protocol. Nothing if it is gone.
    pub fn send(&mut self, client: ClientId, write: impl FnOnce(&mut Reply)) {
        self.send_as(client, false, write);
    }

    /// The same for the answer to a command that has waited.
    pub(super) fn send_answer(&mut self, client: ClientId, write: impl FnOnce(&mut Reply)) {
        self.send_as(client, true, write);
    }

    fn send_as(&mut self, client: ClientId, is_answer: bool, write: impl FnOnce(&mut Reply)) {
        if let Some(session) = self.sessions.get(client) {
            let mut reply = Reply::new(session.protocol);
            write(&mut reply);
            self.outbox.push(Parcel {
                client,
                is_answer,
                bytes: reply.take().into(),
            });
        }
    }

    /// Closes the session after what it is owed.
    pub fn close(&mut self, client: ClientId) {
        if let Some(session) = self.sessions.get_mut(client)
            && !session.closing
        {
            session.closing = true;
            self.closing.push(client);
        }
    }
}

//! The replicated shards of an owner: it leads some and follows others' entries in the rest.
//!
//! A shard that leads executes at once and proposes; its lease is checked by the clock before each turn, since a role
//! that has not changed yet proves nothing. A shard that stops leading while something is not committed has a
//! keyspace that may be ahead of the log: whoever waits is told so, and the keyspace is made anew from what the
//! node keeps, as at every start.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ruvio_core::keyspace::{Role, Shard};
use ruvio_server::replica::{Digest, Event, Instant, Port, Stint};
use ruvio_server::wal::{LogId, ShardId};
use tokio::sync::oneshot;

use super::gate::Way;
use super::{Owner, now};

/// Makes a shard's keyspace anew from what the node keeps, up to an entry that the log has, and hands it to
/// the shard's owner.
pub trait Rebuild: Send + Sync {
    fn rebuild(&self, shard: ShardId, up_to: LogId);
}

/// A shard that was made anew.
pub struct Rebuilt {
    pub shard: ShardId,
    pub keyspace: Box<Shard>,
    /// It has everything up to here.
    pub held: u64,
    /// What the thread that filled it took from the allocator for it.
    pub allocated: usize,
}

/// Where replicated shards of an owner come from.
pub struct Replicas {
    /// In the order of the owner's places, each with the index that its keyspace has everything up to.
    pub ports: Vec<(Arc<Port>, u64)>,
    pub rebuild: Arc<dyn Rebuild>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Standing {
    Follows,
    Leads(Stint),
    /// It leads, as far as it knows, and its lease is over.
    Unsure(Stint),
    /// The keyspace is being made anew.
    Absent,
}

struct Seat {
    port: Arc<Port>,
    standing: Standing,
    /// The keyspace has everything up to this entry. While it leads: up to when it began.
    held: u64,
    events: VecDeque<Event>,
    questions: Vec<oneshot::Sender<Digest>>,
}

#[derive(Default)]
pub(super) struct Seats {
    seats: Vec<Seat>,
    rebuild: Option<Arc<dyn Rebuild>>,
    /// Some events were left for the next round.
    has_more: bool,
}

/// Bytes applied in one round, so that clients of other shards are served in between.
const ROUND_BYTES: usize = 1 << 20;
/// What waits for a leader whose lease is over is given up after this.
const PATIENCE: Duration = Duration::from_secs(1);
/// A follower that has not heard of its leader for so long is not read from.
const FRESH: Duration = Duration::from_secs(1);

impl Seats {
    pub fn new(replicas: Option<Replicas>) -> Self {
        let Some(replicas) = replicas else {
            return Self::default();
        };
        let seat = |(port, held)| Seat {
            port,
            standing: Standing::Follows,
            held,
            events: VecDeque::new(),
            questions: Vec::new(),
        };
        Self {
            seats: replicas.ports.into_iter().map(seat).collect(),
            rebuild: Some(replicas.rebuild),
            has_more: false,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    pub fn has_more(&self) -> bool {
        self.has_more
    }
}

/// A committed entry that does not fit the keyspace: the two have diverged.
fn diverged(shard: ShardId, id: LogId, why: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!(
        "entry {id} of shard {} does not fit its keyspace ({why}): the node ends, and makes it anew when it starts",
        shard.0
    ))
}

impl Owner {
    /// Takes over what was handed over for replicated shards: until told otherwise they follow.
    pub(super) fn take_seats(&mut self, replicas: Option<Replicas>) {
        self.seats = Seats::new(replicas);
        for place in 0..self.seats.seats.len() {
            self.engine.set_role(place, Role::Follows);
        }
    }

    /// Does what has happened to the shards of this owner.
    pub(super) fn heed_ports(&mut self) -> io::Result<()> {
        if self.seats.is_empty() {
            return Ok(());
        }
        self.take_rebuilt();
        self.seats.has_more = false;
        let mut budget = ROUND_BYTES;
        for place in 0..self.seats.seats.len() {
            let seat = &mut self.seats.seats[place];
            if seat.port.has_events() {
                seat.port.take(&mut seat.events);
                seat.questions.append(&mut seat.port.take_questions());
            }
            while budget > 0
                && self.seats.seats[place].standing != Standing::Absent
                && let Some(event) = self.seats.seats[place].events.pop_front()
            {
                budget -= self.heed(place, event)?.min(budget);
            }
            self.answer_questions(place);
            let seat = &self.seats.seats[place];
            self.seats.has_more |= !seat.events.is_empty() && seat.standing != Standing::Absent;
        }
        self.look_at_leases();
        Ok(())
    }

    /// One event; the bytes that it was about.
    fn heed(&mut self, place: usize, event: Event) -> io::Result<usize> {
        let seat = &mut self.seats.seats[place];
        match event {
            Event::Entry { id, payload } => {
                if id.index.0 > seat.held {
                    seat.held = id.index.0;
                    self.engine
                        .apply_entry(place, &payload, now())
                        .map_err(|why| diverged(seat.port.shard(), id, &why))?;
                    seat.port.note_applied(id.index.0);
                }
                Ok(payload.len() + 64)
            }
            Event::Lead(stint) => {
                seat.standing = Standing::Unsure(stint);
                self.set_stint(place, Some(stint));
                Ok(0)
            }
            Event::Follow { given } => {
                self.step_down(place, given);
                Ok(0)
            }
            Event::Replace { at } => {
                self.leave(place);
                self.lose_place(place);
                self.make_anew(place, at);
                Ok(0)
            }
        }
    }

    /// Says how large the keyspaces are, for those who administer the node.
    pub(super) fn note_sizes(&self) {
        for (place, seat) in self.seats.seats.iter().enumerate() {
            let (keys, memory_bytes) = match seat.standing {
                Standing::Absent => (0, 0),
                _ => self.engine.size_at(place),
            };
            seat.port.note_size(keys, memory_bytes);
        }
    }

    /// Says what the keyspace holds, where that is what is committed up to an entry.
    fn answer_questions(&mut self, place: usize) {
        let seat = &self.seats.seats[place];
        if seat.questions.is_empty() || seat.standing == Standing::Absent || !self.gate.is_clean(place) {
            return;
        }
        let index = match seat.standing {
            Standing::Follows => seat.held,
            // Its own entries are committed before they are given back to it.
            _ => seat
                .held
                .max(seat.port.given().index.0)
                .max(seat.port.committed_index()),
        };
        let (digest, keys) = self.engine.digest_at(place);
        for question in std::mem::take(&mut self.seats.seats[place].questions) {
            // Whoever asked may have stopped waiting.
            let _ = question.send(Digest { index, digest, keys });
        }
    }

    fn set_stint(&mut self, place: usize, now: Option<Stint>) {
        if let Some(Way::Replicated { stint, .. }) = self.gate.way(place) {
            *stint = now;
        }
    }

    /// The shard does not lead here any longer.
    fn leave(&mut self, place: usize) {
        self.set_stint(place, None);
        self.engine.set_role(place, Role::Absent);
        for displaced in self.engine.leave_shard(place, now()) {
            self.wait_elsewhere(displaced);
        }
        self.deliver_between(now());
    }

    fn step_down(&mut self, place: usize, given: LogId) {
        self.leave(place);
        if self.gate.is_clean(place) {
            let seat = &mut self.seats.seats[place];
            seat.standing = Standing::Follows;
            // Its own last entries may be committed and not yet given.
            seat.held = seat.held.max(given.index.0).max(seat.port.committed_index());
            seat.port.note_applied(seat.held);
            self.engine.set_role(place, Role::Follows);
        } else {
            self.lose_place(place);
            self.make_anew(place, given);
        }
    }

    fn make_anew(&mut self, place: usize, up_to: LogId) {
        let seat = &mut self.seats.seats[place];
        seat.standing = Standing::Absent;
        tracing::info!(shard = seat.port.shard().0, %up_to, "the keyspace is made anew from image and log");
        if let Some(rebuild) = &self.seats.rebuild {
            rebuild.rebuild(seat.port.shard(), up_to);
        }
    }

    fn take_rebuilt(&mut self) {
        for rebuilt in self.crossing.handover().take_rebuilt() {
            let of_shard = |seat: &Seat| seat.port.shard() == rebuilt.shard;
            let Some(place) = self.seats.seats.iter().position(of_shard) else {
                continue;
            };
            self.engine.world.host.adopt(rebuilt.allocated);
            self.engine.take_shard(place, *rebuilt.keyspace);
            self.engine.begin_logged_turn(self.gate.turn());
            self.engine.set_role(place, Role::Follows);
            let seat = &mut self.seats.seats[place];
            seat.standing = Standing::Follows;
            seat.held = rebuilt.held;
            seat.port.note_applied(rebuilt.held);
        }
    }

    /// After commands were received and before they run: only who holds a lease now may answer for its shard. The node may
    /// stand still at any point, so a look before they were received proves nothing.
    pub(super) fn look_at_leases(&mut self) {
        if self.seats.is_empty() {
            return;
        }
        let now = Instant::now();
        for place in 0..self.seats.seats.len() {
            let seat = &mut self.seats.seats[place];
            match seat.standing {
                Standing::Leads(stint) if !seat.port.has_lease(stint, now) => {
                    seat.standing = Standing::Unsure(stint);
                    self.engine.set_role(place, Role::Absent);
                }
                Standing::Unsure(stint) if seat.port.has_lease(stint, now) => {
                    seat.standing = Standing::Leads(stint);
                    self.engine.set_role(place, Role::Leads);
                }
                Standing::Unsure(_) if self.gate.is_clean(place) => seat.port.note_drained(),
                Standing::Unsure(stint) => {
                    if now > seat.port.lease_end().after(PATIENCE) {
                        // It hears of its end as of any other.
                        seat.port.end(stint);
                    }
                }
                Standing::Follows => {
                    let is_fresh = now < seat.port.heard().after(FRESH);
                    self.engine.set_fresh(place, is_fresh);
                }
                Standing::Leads(_) | Standing::Absent => {}
            }
        }
    }
}

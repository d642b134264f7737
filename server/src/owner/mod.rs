//! An owner thread: one loop around one gathered turn, the sockets it serves and the keyspaces it alone
//! touches.
//!
//! Invariant: nothing here waits while commands could run; background work comes in slices between turns.

mod answers;
mod board;
mod bounds;
mod connection;
mod connections;
mod crossing;
mod errands;
mod gate;
mod handover;
mod links;
mod listener;
mod news;
mod parts;
mod poll;
mod populate;
mod route;
mod routed;
mod seats;
mod stop;
mod synced;
mod turn;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ruvio_core::engine::{Engine, Obstacle};
use ruvio_core::exec::Now;
use ruvio_server::tls::Tls;

pub use board::Board;
use connection::Hold;
use connections::Connections;
use crossing::Crossing;
pub use crossing::Inbox;
use gate::Gate;
pub use gate::{Log, Way};
pub use handover::Filled;
use links::Links;
pub use listener::{Listener, Local};
use poll::{Poller, Ready};
use populate::Populator;
use seats::Seats;
pub use seats::{Rebuild, Rebuilt, Replicas};
pub use stop::Stop;
use synced::SyncWaits;
use turn::Turn;

/// Between slices of background work.
const TICK: Duration = Duration::from_millis(10);
/// Tokens from here on are listeners; below, connections by their place.
const LISTENERS: u64 = 1 << 32;
/// From here on, links to other nodes.
const LINKS: u64 = 1 << 33;
/// Other owners have sent something.
const BELL: u64 = u64::MAX;

pub struct Owner {
    engine: Engine,
    connections: Connections,
    listeners: Vec<Listener>,
    turn: Turn,
    crossing: Crossing,
    gate: Gate,
    /// Of replicated shards, by place.
    seats: Seats,
    /// What is known of the cluster, and the version of it that was seen.
    board: Arc<Board>,
    seen_board: u64,
    /// Where some listeners speak it.
    tls: Option<Arc<Tls>>,
    /// To other nodes.
    links: Links,
    /// Somebody decides where commands run before they do: there are several shards, or other nodes.
    routes: bool,
    sync_waits: SyncWaits,
    /// Connections whose next command a pause keeps from leaving.
    paused: Vec<u32>,
    /// Connections that answers of other owners came for.
    answered: Vec<u32>,
    /// Room for the answer of a part of a command.
    part_buffer: Vec<u8>,
    /// Connections to be served one by one after the gathered ones.
    listed: Vec<u32>,
    next_tick: Instant,
    populator: Populator,
    /// The last wait before the keyspace is made anew; zero: it is not.
    reload_number: u64,
    /// The place that `look_after_some` saw last.
    next_look: usize,
    /// Nobody is accepted until then.
    accept_again: Option<Instant>,
    /// The last connection could not be accepted, and that has been said.
    is_short: bool,
}

impl Owner {
    /// `inboxes` are those of all owners, in order. Where the node keeps its data the owner loads until it is
    /// handed its shards; else nothing outlives the process.
    pub fn new(
        mut engine: Engine,
        listeners: Vec<Listener>,
        inboxes: Vec<Arc<Inbox>>,
        board: Arc<Board>,
        keeps: bool,
    ) -> Self {
        engine.world.obstacles.set(Obstacle::Loading, keeps);
        Self {
            crossing: Crossing::new(engine.world.topology.me.into(), inboxes),
            gate: Gate::new(None),
            seats: Seats::default(),
            board,
            seen_board: 0,
            tls: None,
            links: Links::default(),
            routes: engine.world.topology.is_spread(),
            sync_waits: SyncWaits::default(),
            reload_number: 0,
            paused: Vec::new(),
            answered: Vec::new(),
            part_buffer: Vec::new(),
            engine,
            connections: Connections::default(),
            listeners,
            turn: Turn::new(),
            listed: Vec::new(),
            next_tick: Instant::now(),
            populator: Populator::default(),
            next_look: 0,
            accept_again: None,
            is_short: false,
        }
    }

    #[must_use]
    pub fn with_tls(self, tls: Option<Arc<Tls>>) -> Self {
        Self { tls, ..self }
    }

    /// Serves until it is asked to stop, which its bell tells.
    pub fn run(mut self, stop: &Stop) -> io::Result<()> {
        self.engine.mark_startup(now());
        let result = Poller::new().and_then(|mut poller| {
            self.serve_until(stop, &mut poller)?;
            self.wind_up(stop, &mut poller);
            Ok(())
        });
        if result.is_err() {
            // The others do not wait for it.
            stop.note_settled();
        }
        self.finish();
        result
    }

    fn serve_until(&mut self, stop: &Stop, poller: &mut Poller) -> io::Result<()> {
        self.watch_listeners(poller)?;
        poller.watch_edges(self.crossing.bell(), BELL)?;
        let mut events: Vec<Ready> = Vec::new();
        let mut ready: Vec<u32> = Vec::new();
        while !stop.is_asked() {
            let rests = self.is_behind() || self.rests() && ready.is_empty();
            let wait = if rests {
                self.next_tick.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            poller.poll(&mut events, wait)?;
            self.take_events(poller, &events, &mut ready)?;
            self.heed_handover();
            self.heed_ports()?;
            self.heed_board();
            self.hear_links();
            self.open_gate()?;
            let has_work = !ready.is_empty() || !self.rests() || self.links.is_busy();
            // A bell may have brought nothing but what other owners sent.
            if !self.is_behind() && (has_work || !events.is_empty()) {
                self.serve(&mut ready, now());
            }
            self.attend_links(poller);
            if Instant::now() >= self.next_tick {
                self.tick(poller)?;
            }
            self.attend_syncs();
        }
        Ok(())
    }

    /// Sorts events into connections to be read, and does what cannot wait for the turn.
    fn take_events(&mut self, poller: &Poller, events: &[Ready], ready: &mut Vec<u32>) -> io::Result<()> {
        for event in events {
            if event.token == BELL {
                continue;
            }
            if event.token >= LINKS {
                let place = (event.token - LINKS) as usize;
                self.links.stir(place, event.peer_done);
                continue;
            }
            if event.token >= LISTENERS {
                self.accept((event.token - LISTENERS) as usize, poller)?;
                continue;
            }
            let index = event.token as u32;
            let Some(connection) = self.connections.get_mut(index) else {
                continue;
            };
            connection.peer_done |= event.peer_done;
            if connection.waits_for_nobody() {
                self.list(index);
                continue;
            }
            let unsent = connection.unsent() > 0;
            if event.readable {
                connection.readable = true;
                if connection.hold == Hold::None && !connection.closing {
                    ready.push(index);
                }
            }
            if event.writable && unsent {
                self.list(index);
            }
        }
        Ok(())
    }

    /// Nothing is to be done before something comes.
    fn rests(&self) -> bool {
        self.listed.is_empty() && self.answered.is_empty() && !self.seats.has_more()
    }

    fn is_authenticated(&self, index: u32) -> bool {
        self.connections
            .get(index)
            .is_some_and(|c| self.engine.is_authenticated(c.client))
    }

    /// Has the connection served at the end of the turn.
    fn list(&mut self, index: u32) {
        if let Some(connection) = self.connections.get_mut(index) {
            turn::list(connection, index, &mut self.listed);
        }
    }

    fn close(&mut self, index: u32) {
        if let Some(mut connection) = self.connections.remove(index) {
            connection.part();
            self.crossing.note_clients(self.connections.len());
            if let Some(session) = self.engine.world.sessions.get_mut(connection.client) {
                session.traffic = connection.traffic();
            }
            if connection.travelled {
                self.forget_elsewhere(connection.client);
            }
            self.engine.disconnect(connection.client);
        }
    }

    /// A slice of background work.
    fn tick(&mut self, poller: &Poller) -> io::Result<()> {
        let now = now();
        if self.accept_again.is_some_and(|at| at <= Instant::now()) {
            self.watch_listeners(poller)?;
        }
        let more = self.engine.tick(now);
        if !self.paused.is_empty() && !self.engine.world.pause.is_on() {
            for index in std::mem::take(&mut self.paused) {
                self.let_go_on(index);
            }
        }
        self.populator.offer(&mut self.engine);
        self.look_after_some(now);
        self.deliver_news(now);
        self.note_changes();
        self.note_sizes();
        let pause = if more { Duration::ZERO } else { TICK };
        let mut next = Instant::now() + pause;
        if let Some(deadline) = self.engine.next_deadline_ms() {
            let left = Duration::from_millis(deadline.saturating_sub(now.ms()).max(1));
            next = next.min(Instant::now() + left);
        }
        self.next_tick = next;
        Ok(())
    }

    /// Sends what is owed, once, and closes.
    fn finish(&mut self) {
        for index in self.connections.places() {
            if let Some(connection) = self.connections.get_mut(index) {
                let _ = connection.flush();
            }
            self.close(index);
        }
    }
}

/// The wall clock.
fn now() -> Now {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Now {
        us: since.as_micros() as u64,
    }
}

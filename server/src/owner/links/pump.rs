//! What waits goes where its shard is led: over a link, or here, or nowhere until its time is up.

use std::io;
use std::time::{Duration, Instant};

use ruvio_core::cluster::{NodeId, Table};
use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::UnblockAs;
use ruvio_core::engine::session::ClientId;
use ruvio_core::error;
use ruvio_core::exec::Now;
use ruvio_core::options::Id;
use ruvio_server::tls::Session;

use super::super::Owner;
use super::super::crossing::Kind;
use super::Flights;
use super::link::Link;
use super::parcel::Parcel;

/// Under way over one link.
const WINDOW: usize = 2048;
const WINDOW_BYTES: usize = 4 * 1024 * 1024;
/// A node that could not be reached is left alone for so long.
pub(super) const REST: Duration = Duration::from_millis(100);

/// What is to be done with the first that waits.
enum Next {
    Stay,
    Expire,
    Run,
    Send(usize),
    SendOwn(NodeId),
}

impl Owner {
    /// Has what waits go as far as it can.
    pub(in crate::owner) fn pump(&mut self, now: Now) {
        if self.links.waiting.is_empty() {
            return;
        }
        let Some(table) = self.engine.world.cluster.clone() else {
            return;
        };
        let (began, shards) = (
            Instant::now(),
            self.links.waiting.keys().copied().collect::<Vec<u16>>(),
        );
        for shard in shards {
            loop {
                let next = self.next_of(shard, &table, began);
                if matches!(next, Next::Stay) {
                    break;
                }
                let Some(parcel) = self.take_waiting(shard) else {
                    break;
                };
                match next {
                    Next::Stay => {}
                    Next::Expire => {
                        let told = format!("-{}\r\n", error::NOT_LED.text());
                        self.answer_parcel(&parcel, told.as_bytes());
                    }
                    Next::Run => {
                        self.links.count_out(&parcel);
                        self.run_parcel(parcel, now);
                    }
                    Next::Send(place) => self.pass_on(place, parcel),
                    Next::SendOwn(node) => self.pass_on_alone(node, &table, parcel),
                }
            }
            self.note_detained(shard);
        }
    }

    fn take_waiting(&mut self, shard: u16) -> Option<Parcel> {
        let queue = self.links.waiting.get_mut(&shard)?;
        let parcel = queue.pop_front();
        if queue.is_empty() {
            self.links.waiting.remove(&shard);
        }
        parcel
    }

    fn next_of(&mut self, shard: u16, table: &Table, began: Instant) -> Next {
        let Some(parcel) = self.links.waiting.get(&shard).and_then(|queue| queue.front()) else {
            return Next::Stay;
        };
        let flights = self.links.flights.get(&shard);
        let (client, lingers, is_transaction) = (parcel.client(), parcel.away.lingers, parcel.is_transaction);
        if parcel.deadline <= began {
            return Next::Expire;
        }
        if is_transaction && self.links.watches(client) {
            if self.links.shares_any_of(client) {
                // What it wrote before is to be seen by what it watches.
                return Next::Stay;
            }
            // It stands or falls with the link by which its keys are watched.
            let node = self.pinned_node(client);
            return Next::SendOwn(node.unwrap_or_default());
        }
        if self.engine.leads(shard) {
            return if flights.is_none() { Next::Run } else { Next::Stay };
        }
        let Some(node) = table
            .leader(shard)
            .map(|node| node.id)
            .filter(|id| *id != table.me)
        else {
            return Next::Stay;
        };
        if self.links.pauses.get(&shard).is_some_and(|until| *until > began) {
            return Next::Stay;
        }
        self.links.pauses.remove(&shard);
        if lingers && !is_transaction {
            return match self.links.shares_any_of(client) {
                true => Next::Stay,
                false => Next::SendOwn(node),
            };
        }
        if flights.is_some_and(|flights| flights.node != node) {
            return Next::Stay;
        }
        let Some(place) = self.shared_link(node, table, began) else {
            return Next::Stay;
        };
        match &self.links.links[place] {
            Some(link)
                if link.is_ready
                    && link.refused.is_empty()
                    && link.commands < WINDOW
                    && link.bytes < WINDOW_BYTES =>
            {
                Next::Send(place)
            }
            _ => Next::Stay,
        }
    }

    /// Has those hear a message who listen at other nodes. A node that cannot be reached now does not: messages
    /// are for those who are there.
    pub(in crate::owner) fn tell_nodes(&mut self, words: Args<'_>) {
        let Some(table) = self.engine.world.cluster.clone() else {
            return;
        };
        let now = Instant::now();
        for node in table.nodes.keys().filter(|node| **node != table.me) {
            let Some(place) = self.shared_link(*node, &table, now) else {
                continue;
            };
            if let Some(Some(link)) = self.links.links.get_mut(place) {
                link.tell(words);
                self.links.stirred.push(place);
            }
        }
    }

    fn pinned_node(&self, client: ClientId) -> Option<NodeId> {
        let place = self.links.pins.get(&client)?.link?;
        Some(self.links.links.get(place)?.as_ref()?.node)
    }

    fn shared_link(&mut self, node: NodeId, table: &Table, began: Instant) -> Option<usize> {
        if let Some(place) = self.links.shared.get(&node) {
            return Some(*place);
        }
        if self.links.rests.get(&node).is_some_and(|until| *until > began) {
            return None;
        }
        let place = self.open_link(node, table, None)?;
        self.links.shared.insert(node, place);
        Some(place)
    }

    /// Begins to connect. `None`: it cannot be now, and is tried again after a rest.
    fn open_link(&mut self, node: NodeId, table: &Table, client: Option<ClientId>) -> Option<usize> {
        let known = table.nodes.get(&node)?;
        let token = self.engine.world.link_token.clone()?;
        let tls = self.link_session(&known.host);
        let port = if tls.is_some() { known.tls_port } else { known.port };
        let address = self.board.names().find(&known.host, port);
        let opened = address.map(|address| Link::open(node, address, token, client, tls.transpose()?));
        let Some(Ok(link)) = opened else {
            self.links.rests.insert(node, Instant::now() + REST);
            return None;
        };
        let links = &mut self.links.links;
        let place = links.iter().position(Option::is_none).unwrap_or_else(|| {
            links.push(None);
            links.len() - 1
        });
        links[place] = Some(link);
        self.links.fresh.push(place);
        Some(place)
    }

    /// Where nodes speak TLS to each other: the certificate of the other one has to be for its host.
    fn link_session(&self, host: &str) -> Option<io::Result<Session>> {
        let tls = self.tls.as_ref()?;
        let among_nodes = self.engine.world.options.flag(Id::TlsCluster);
        among_nodes.then(|| tls.dial(host))
    }

    fn pass_on(&mut self, place: usize, parcel: Parcel) {
        let Some(Some(link)) = self.links.links.get_mut(place) else {
            return;
        };
        if !parcel.away.lingers {
            let flights = self.links.flights.entry(parcel.away.shard).or_insert(Flights {
                count: 0,
                node: link.node,
            });
            flights.count += 1;
        }
        if parcel.away.lingers && !parcel.away.watches && !parcel.is_transaction {
            self.engine.world.awaited_away.insert(parcel.client().serial());
        }
        link.pass_on(parcel);
        self.links.stirred.push(place);
    }

    /// Has those wait no longer at other nodes of whom `CLIENT UNBLOCK` said so. Their answers come as always.
    pub(super) fn unblock_away(&mut self) {
        let Some(table) = self.engine.world.cluster.clone() else {
            return;
        };
        for (serial, how) in std::mem::take(&mut self.engine.world.unblock_away) {
            let of_client = |link: &&Link| link.client.is_some_and(|client| client.serial() == serial);
            let Some(link) = self.links.links.iter().flatten().find(of_client) else {
                continue;
            };
            let (node, Some(id)) = (link.node, link.id) else {
                // It has yet to introduce itself.
                self.engine.world.unblock_away.push((serial, how));
                continue;
            };
            let id = id.to_string();
            let reason: &[u8] = match how {
                UnblockAs::Timeout => b"TIMEOUT",
                UnblockAs::Error => b"ERROR",
            };
            let words = [&b"CLIENT"[..], b"UNBLOCK", id.as_bytes(), reason];
            let words = OwnedArgs::from_words(words.into_iter());
            match self.shared_link(node, &table, Instant::now()) {
                Some(place) => {
                    if let Some(Some(link)) = self.links.links.get_mut(place) {
                        link.tell(words.view());
                        self.links.stirred.push(place);
                    }
                }
                None => self.engine.world.unblock_away.push((serial, how)),
            }
        }
    }

    /// By the client's own link.
    fn pass_on_alone(&mut self, node: NodeId, table: &Table, parcel: Parcel) {
        let client = parcel.client();
        let pin = self.links.pins.entry(client).or_default();
        if let Some(place) = pin.link {
            let is_same = self.links.links[place]
                .as_ref()
                .is_some_and(|link| link.node == node);
            if is_same {
                self.pass_on(place, parcel);
                return;
            }
            pin.broken |= pin.watches;
            pin.link = None;
            self.end_link(place);
        }
        if parcel.is_transaction {
            self.answer_parcel(&parcel, parcel.broken());
            self.unpin(client);
            return;
        }
        match self.open_link(node, table, Some(client)) {
            Some(place) => {
                self.links.pins.entry(client).or_default().link = Some(place);
                self.pass_on(place, parcel);
            }
            None => self.put_back_waiting(vec![parcel]),
        }
    }

    /// They are tried again after a moment, before what came later.
    pub(super) fn put_back_waiting(&mut self, parcels: Vec<Parcel>) {
        let patience = self.routed_patience();
        for mut parcel in parcels.into_iter().rev() {
            let shard = parcel.away.shard;
            if parcel.away.lingers && std::mem::take(&mut parcel.was_said) {
                parcel.deadline = parcel.deadline.max(Instant::now() + patience);
            }
            self.links.pauses.insert(shard, Instant::now() + PAUSE);
            self.links.waiting.entry(shard).or_default().push_front(parcel);
        }
    }

    /// One that was under way is so no longer.
    pub(super) fn note_landed(&mut self, parcel: &Parcel) {
        let shard = parcel.away.shard;
        if parcel.away.lingers {
            self.engine.world.awaited_away.remove(&parcel.client().serial());
            return;
        }
        if let Some(flights) = self.links.flights.get_mut(&shard) {
            flights.count -= 1;
            if flights.count == 0 {
                self.links.flights.remove(&shard);
            }
        }
    }

    /// Gives an answer to whoever waits for it.
    pub(super) fn answer_parcel(&mut self, parcel: &Parcel, answer: &[u8]) {
        self.links.count_out(parcel);
        if parcel.kind != Kind::Quiet {
            self.hand_over_part(parcel.ticket, parcel.database_after(answer), answer);
        }
        self.note_detained(parcel.away.shard);
    }

    /// The shard is led here now.
    fn run_parcel(&mut self, parcel: Parcel, now: Now) {
        let client = parcel.client();
        let is_mine = usize::from(parcel.ticket.home) == self.crossing.me;
        if is_mine && !self.engine.is_connected(client) {
            return;
        }
        if is_mine && let Some(connection) = self.connections.of(client) {
            connection.travelled = true;
        }
        let knew = is_mine || self.engine.has_shadow(client) || parcel.away.watches;
        let runner = match is_mine && parcel.away.watches {
            true => client,
            false => self.engine.shadow_of(client, now),
        };
        self.run_commands(runner, parcel, now);
        if !knew && !self.crossing.waiting.contains_key(&runner) {
            self.forget_here(client);
        }
        self.deliver_between(now);
    }

    pub(super) fn run_commands(&mut self, runner: ClientId, parcel: Parcel, now: Now) {
        let Parcel {
            kind,
            ticket,
            passport,
            commands,
            is_transaction,
            ..
        } = parcel;
        if !is_transaction {
            for words in &commands {
                self.run_part_here(runner, words.view(), (kind, ticket, passport), now);
            }
            return;
        }
        let word = |word: &'static [u8]| OwnedArgs::from_words(std::iter::once(word));
        let quiet = (Kind::Quiet, ticket, passport);
        self.run_part_here(runner, word(b"MULTI").view(), quiet, now);
        for words in &commands {
            self.run_part_here(runner, words.view(), quiet, now);
        }
        self.run_part_here(runner, word(b"EXEC").view(), (kind, ticket, passport), now);
    }
}

/// Before refused commands are tried again.
const PAUSE: Duration = Duration::from_millis(10);

//! The links themselves: what arrives over them, what is sent, and when one is given up.

use std::io;
use std::time::{Duration, Instant};

use super::super::poll::Poller;
use super::super::{LINKS, Owner};
use super::link::Left;
use super::parcel::Parcel;
use super::pump::REST;

/// Reads of one link in a row.
const READS: usize = 16;
/// A node that has not led what it was asked for so long may still have something to say,
const UNLED: Duration = Duration::from_millis(300);
/// unless it has been silent for this.
const SILENT: Duration = Duration::from_secs(1);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(1);

const UNCERTAIN: &[u8] =
    b"-UNCERTAIN The node that leads the shard went away before it answered: the command may or may \
not have been executed, and no other command was affected\r\n";

impl Owner {
    /// Takes in what came over links.
    pub(in crate::owner) fn hear_links(&mut self) {
        for place in std::mem::take(&mut self.links.stirred) {
            if let Err(error) = self.hear_link_at(place) {
                self.break_link(place, &error);
            }
        }
    }

    fn hear_link_at(&mut self, place: usize) -> io::Result<()> {
        let Some(Some(link)) = self.links.links.get_mut(place) else {
            return Ok(());
        };
        // What was answered before the link ended is an answer all the same.
        let mut answers = Vec::new();
        let heard = link.hear(READS, &mut answers);
        let result = heard.and_then(|()| link.flush());
        let more = link.readable;
        for (parcel, answer) in answers {
            self.note_landed(&parcel);
            self.answer_parcel(&parcel, &answer);
            self.note_pinned(&parcel, &answer);
        }
        if more {
            self.links.stirred.push(place);
        }
        self.take_back_refused(place);
        result
    }

    /// What an answer means for the client's own link.
    fn note_pinned(&mut self, parcel: &Parcel, answer: &[u8]) {
        let client = parcel.client();
        let Some(pin) = self.links.pins.get_mut(&client) else {
            return;
        };
        if parcel.away.watches {
            pin.watches |= answer == b"+OK\r\n";
        }
        // One that waited keeps its link for the next time.
        if parcel.is_transaction {
            self.unpin(client);
        }
    }

    /// What was refused waits again, once all that was behind it is answered.
    fn take_back_refused(&mut self, place: usize) {
        let Some(Some(link)) = self.links.links.get_mut(place) else {
            return;
        };
        if !link.is_drained() {
            return;
        }
        let (refused, client) = (link.take_refused(), link.client);
        let mut again = Vec::new();
        let mut has_ended = false;
        for parcel in refused {
            self.note_landed(&parcel);
            if parcel.is_transaction && client.is_some() {
                self.answer_parcel(&parcel, parcel.broken());
                has_ended = true;
            } else {
                again.push(parcel);
            }
        }
        self.put_back_waiting(again);
        if let Some(client) = client {
            self.lose_pin(client, has_ended);
        }
    }

    /// The client's own link serves it no longer. `has_ended`: its transaction was answered, so it watches nothing any more.
    fn lose_pin(&mut self, client: ruvio_core::engine::session::ClientId, has_ended: bool) {
        if has_ended {
            self.unpin(client);
            return;
        }
        let Some(pin) = self.links.pins.get_mut(&client) else {
            return;
        };
        let place = pin.link.take();
        pin.broken |= pin.watches;
        if !pin.broken {
            self.links.pins.remove(&client);
        }
        if let Some(place) = place {
            self.end_link(place);
        }
    }

    /// A link broke with whatever was under way.
    fn break_link(&mut self, place: usize, why: &io::Error) {
        let Some(link) = self.links.links.get_mut(place).and_then(Option::take) else {
            return;
        };
        tracing::debug!(node = link.node.0, address = %link.address, %why, "a link to another node has ended");
        self.links.unled.remove(&place);
        let (left, node, client) = link.break_up();
        if client.is_none() {
            self.links.shared.remove(&node);
        }
        self.links.rests.insert(node, Instant::now() + REST);
        let (mut again, mut has_ended) = (Vec::new(), false);
        for left in left {
            let (Left::Again(parcel) | Left::Uncertain(parcel)) = &left;
            let is_of_pin = parcel.is_transaction && client.is_some();
            has_ended |= is_of_pin;
            self.note_landed(parcel);
            match left {
                Left::Again(parcel) if is_of_pin => self.answer_parcel(&parcel, parcel.broken()),
                Left::Again(parcel) => again.push(parcel),
                Left::Uncertain(parcel) => self.answer_parcel(&parcel, UNCERTAIN),
            }
        }
        self.put_back_waiting(again);
        if let Some(client) = client {
            if let Some(pin) = self.links.pins.get_mut(&client) {
                pin.link = None;
            }
            self.lose_pin(client, has_ended);
        }
    }

    /// A link that nobody needs any longer.
    pub(super) fn end_link(&mut self, place: usize) {
        let Some(link) = self.links.links.get_mut(place).and_then(Option::take) else {
            return;
        };
        self.links.unled.remove(&place);
        for left in link.break_up().0 {
            let (Left::Again(parcel) | Left::Uncertain(parcel)) = left;
            self.note_landed(&parcel);
            self.answer_parcel(&parcel, UNCERTAIN);
        }
    }

    /// Watches new links, sends what was said, and looks whether the other ends live.
    pub(in crate::owner) fn attend_links(&mut self, poller: &Poller) {
        if !self.links.is_busy() {
            return;
        }
        for place in std::mem::take(&mut self.links.fresh) {
            if let Some(Some(link)) = self.links.links.get(place)
                && let Err(error) = poller.watch_edges(&link.fd, LINKS + place as u64)
            {
                self.break_link(place, &error);
            }
        }
        for place in std::mem::take(&mut self.links.stirred) {
            let Some(Some(link)) = self.links.links.get_mut(place) else {
                continue;
            };
            let reads = link.readable;
            if let Err(error) = link.flush() {
                self.break_link(place, &error);
            } else if reads {
                self.links.stirred.push(place);
            }
        }
        if !self.engine.world.unblock_away.is_empty() {
            self.unblock_away();
        }
        self.give_up_silent();
        self.crossing.flush();
    }

    fn give_up_silent(&mut self) {
        let (now, patience) = (Instant::now(), self.routed_patience());
        let Some(table) = self.engine.world.cluster.clone() else {
            return;
        };
        let mut silent = Vec::new();
        for (place, link) in self.links.links.iter().enumerate() {
            let Some((link, since)) = link.as_ref().and_then(|link| Some((link, link.waits_since()?))) else {
                self.links.unled.remove(&place);
                continue;
            };
            let is_led = link.parcels().next().is_none()
                || link
                    .parcels()
                    .any(|parcel| table.leads(link.node, parcel.away.shard));
            let limit = match (link.is_ready, is_led, link.client) {
                (false, ..) => CONNECT,
                (_, false, _) => {
                    let unled = *self.links.unled.entry(place).or_insert(now);
                    if now.duration_since(unled) < UNLED {
                        continue;
                    }
                    SILENT
                }
                (_, true, Some(_)) => continue,
                (_, true, None) => patience,
            };
            if is_led {
                self.links.unled.remove(&place);
            }
            if now.duration_since(since) > limit {
                silent.push(place);
            }
        }
        for place in silent {
            self.break_link(place, &io::ErrorKind::TimedOut.into());
        }
    }
}

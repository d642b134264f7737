//! Subscriptions of sessions, messages to them, and keyspace events as messages.

use std::collections::BTreeSet;
use std::io::Write;
use std::rc::Rc;

use super::errand::{Errand, To};
use super::session::{ClientId, Session, Sessions};
use super::{Engine, Parcel, World};
use crate::command::{Entry, OwnedArgs};
use crate::error::Error;
use crate::keyspace::Classes;
use crate::options::OutputClass;
use crate::pubsub::{Kind, Listening, Message};
use crate::resp::Protocol;
use crate::text::glob;

impl Session {
    /// Channels, patterns and shard channels.
    pub fn subscriptions(&self) -> [usize; 3] {
        let count = |kind| self.listening.as_ref().map_or(0, |l| l.names(kind).len());
        Kind::ALL.map(count)
    }

    #[inline]
    pub fn is_subscribed(&self) -> bool {
        self.listening.is_some()
    }

    /// What one who listens is sent does not depend on what it asks for.
    pub fn output_class(&self) -> OutputClass {
        if self.is_subscribed() {
            OutputClass::PubSub
        } else {
            OutputClass::Normal
        }
    }

    /// Whether the user may listen to all that the session listens to.
    pub fn may_stay_subscribed(&self) -> bool {
        let Some(listening) = &self.listening else {
            return true;
        };
        let user = self.identity.user();
        Kind::ALL.into_iter().all(|kind| {
            let names = listening.names(kind);
            names
                .iter()
                .all(|name| user.may_use_channel(name, kind == Kind::Pattern))
        })
    }
}

impl World {
    /// Adds a subscription; how many there are now, as the confirmation counts them.
    pub fn subscribe(&mut self, client: ClientId, kind: Kind, name: &[u8]) -> usize {
        let Some(session) = self.sessions.get_mut(client) else {
            return 0;
        };
        let listening = session.listening.get_or_insert_default();
        if !listening.names(kind).contains(name) {
            let kept = self.directory.enter(kind, name, client);
            listening.names_mut(kind).insert(kept);
        }
        listening.counted_with(kind)
    }

    /// Takes a subscription away, if there is one; how many are left.
    pub fn unsubscribe(&mut self, client: ClientId, kind: Kind, name: &[u8]) -> usize {
        let Some(session) = self.sessions.get_mut(client) else {
            return 0;
        };
        let Some(listening) = &mut session.listening else {
            return 0;
        };
        if listening.names_mut(kind).remove(name) {
            self.directory.remove(kind, name, client);
        }
        let left = listening.counted_with(kind);
        if listening.is_empty() {
            session.listening = None;
        }
        left
    }

    /// How many subscriptions the client has, as a confirmation counts them.
    pub fn subscription_count(&self, client: ClientId, kind: Kind) -> usize {
        let listening = self.sessions.get(client).and_then(|s| s.listening.as_ref());
        listening.map_or(0, |listening| listening.counted_with(kind))
    }

    /// The names that the client listens to.
    pub fn subscribed(&self, client: ClientId, kind: Kind) -> Vec<Rc<[u8]>> {
        let listening = self.sessions.get(client).and_then(|s| s.listening.as_ref());
        listening.map_or(Vec::new(), |l| l.names(kind).iter().cloned().collect())
    }

    /// Without a word to the client.
    pub fn unsubscribe_all(&mut self, client: ClientId) {
        let taken = self.sessions.get_mut(client).and_then(|s| s.listening.take());
        if let Some(listening) = taken {
            self.forget_listener(client, &listening);
        }
    }

    fn forget_listener(&mut self, client: ClientId, listening: &Listening) {
        for kind in Kind::ALL {
            for name in listening.names(kind) {
                self.directory.remove(kind, name, client);
            }
        }
    }

    /// The same for a message that comes up on this owner alone: the others are told. How often it was sent
    /// here.
    pub fn publish_everywhere(&mut self, kind: Kind, channel: &[u8], message: &[u8]) -> usize {
        if self.topology.owners > 1 {
            let words = [kind.publish_command(), channel, message];
            self.errands.push(Errand {
                to: To::Others,
                words: OwnedArgs::from_words(words.into_iter()),
            });
        }
        self.publish(kind, channel, message)
    }

    /// Has those hear it who listen at other nodes.
    pub fn publish_to_nodes(&mut self, kind: Kind, channel: &[u8], message: &[u8]) {
        if self.is_clustered() {
            let words = [kind.publish_command(), channel, message];
            self.errands.push(Errand {
                to: To::Nodes,
                words: OwnedArgs::from_words(words.into_iter()),
            });
        }
    }

    /// Sends a message to all who listen to the channel, in whichever way; how often it was sent. It reaches
    /// the one whose command runs, too, behind the reply.
    pub fn publish(&mut self, kind: Kind, channel: &[u8], message: &[u8]) -> usize {
        let Self {
            directory,
            sessions,
            outbox,
            ..
        } = self;
        let mut sent = 0;
        if let Some(listeners) = directory.listeners(kind, channel) {
            let parts = [kind.message(), channel, message];
            sent += post(sessions, outbox, listeners, Message::new(&parts));
        }
        if kind == Kind::Channel {
            for (pattern, listeners) in directory.patterns() {
                if glob::matches(pattern, channel) {
                    let parts = [Kind::Pattern.message(), pattern, channel, message];
                    sent += post(sessions, outbox, listeners, Message::new(&parts));
                }
            }
        }
        sent
    }
}

/// Messages go out whatever `CLIENT REPLY` says: they answer nothing.
fn post(
    sessions: &Sessions,
    outbox: &mut Vec<Parcel>,
    listeners: &BTreeSet<ClientId>,
    mut message: Message<'_>,
) -> usize {
    let before = outbox.len();
    for client in listeners {
        if let Some(session) = sessions.get(*client).filter(|session| !session.closing) {
            outbox.push(Parcel {
                is_answer: false,
                client: *client,
                bytes: message.encoded(session.protocol),
            });
        }
    }
    outbox.len() - before
}

impl Engine {
    /// A RESP2 connection that listens cannot tell messages from replies: only these commands are for it.
    pub(super) fn check_subscriber(&self, client: ClientId, entry: &Entry) -> Result<(), Error> {
        let session = self.world.sessions.get(client);
        let listens = session.is_some_and(|s| s.is_subscribed() && s.protocol == Protocol::Resp2);
        let fits = matches!(
            entry.spec.name,
            "subscribe"
                | "unsubscribe"
                | "psubscribe"
                | "punsubscribe"
                | "ssubscribe"
                | "sunsubscribe"
                | "ping"
                | "quit"
                | "reset"
        ) && entry.parent.is_none();
        if !listens || fits {
            return Ok(());
        }
        Err(Error::from(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
             this context",
            entry.full_name
        )))
    }

    /// Publishes the keyspace events that have come up.
    #[inline]
    pub(super) fn publish_events(&mut self) {
        if !self.shard.events.is_empty() {
            self.publish_each_event();
        }
    }

    #[cold]
    fn publish_each_event(&mut self) {
        let classes = self.shard.notify;
        let mut events = std::mem::take(&mut self.shard.events);
        if self.world.directory.is_empty() && self.world.topology.owners == 1 {
            events.clear();
        }
        let mut channel: Vec<u8> = Vec::new();
        for event in events.drain(..) {
            // Writing to a Vec cannot fail.
            if classes.any(Classes::KEYSPACE) {
                channel.clear();
                let _ = write!(channel, "__keyspace@{}__:", event.db);
                channel.extend_from_slice(&event.key);
                self.world
                    .publish_everywhere(Kind::Channel, &channel, event.name.as_bytes());
            }
            if classes.any(Classes::KEYEVENT) {
                channel.clear();
                let _ = write!(channel, "__keyevent@{}__:{}", event.db, event.name);
                self.world.publish_everywhere(Kind::Channel, &channel, &event.key);
            }
        }
        if events.capacity() <= EVENTS_KEPT {
            self.shard.events = events;
        }
    }
}

/// Room for events that is kept from one command to the next.
const EVENTS_KEPT: usize = 1024;

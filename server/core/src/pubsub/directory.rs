//! All subscriptions of an owner thread, by name.
//!
//! Channels are looked up with every message, patterns are walked with every message: so the former are
//! hashed and the latter in order. Listeners are in the order in which their connections came.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hashbrown::HashMap;

use super::Kind;
use crate::engine::session::ClientId;

/// Never empty where it stands in the directory.
type Listeners = BTreeSet<ClientId>;
type ByName = HashMap<Rc<[u8]>, Listeners, foldhash::fast::RandomState>;

#[derive(Default)]
pub struct Directory {
    channels: ByName,
    shard_channels: ByName,
    patterns: BTreeMap<Rc<[u8]>, Listeners>,
}

impl Directory {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }

    /// Channels, patterns and shard channels that somebody listens to.
    pub fn counts(&self) -> [usize; 3] {
        [
            self.channels.len(),
            self.patterns.len(),
            self.shard_channels.len(),
        ]
    }

    /// Enters the client, and hands out the name as it is kept here.
    pub fn enter(&mut self, kind: Kind, name: &[u8], client: ClientId) -> Rc<[u8]> {
        let channels = match kind {
            Kind::Channel => &mut self.channels,
            Kind::ShardChannel => &mut self.shard_channels,
            Kind::Pattern => {
                let kept = self
                    .patterns
                    .get_key_value(name)
                    .map_or_else(|| Rc::from(name), |(kept, _)| Rc::clone(kept));
                self.patterns.entry(Rc::clone(&kept)).or_default().insert(client);
                return kept;
            }
        };
        let kept = channels
            .get_key_value(name)
            .map_or_else(|| Rc::from(name), |(kept, _)| Rc::clone(kept));
        channels.entry(Rc::clone(&kept)).or_default().insert(client);
        kept
    }

    pub fn remove(&mut self, kind: Kind, name: &[u8], client: ClientId) {
        let channels = match kind {
            Kind::Channel => &mut self.channels,
            Kind::ShardChannel => &mut self.shard_channels,
            Kind::Pattern => {
                if let Some(listeners) = self.patterns.get_mut(name) {
                    listeners.remove(&client);
                    if listeners.is_empty() {
                        self.patterns.remove(name);
                    }
                }
                return;
            }
        };
        if let Some(listeners) = channels.get_mut(name) {
            listeners.remove(&client);
            if listeners.is_empty() {
                channels.remove(name);
            }
        }
    }

    pub fn listeners(&self, kind: Kind, name: &[u8]) -> Option<&BTreeSet<ClientId>> {
        match kind {
            Kind::Channel => self.channels.get(name),
            Kind::ShardChannel => self.shard_channels.get(name),
            Kind::Pattern => self.patterns.get(name),
        }
    }

    pub fn patterns(&self) -> impl ExactSizeIterator<Item = (&[u8], &BTreeSet<ClientId>)> {
        self.patterns
            .iter()
            .map(|(pattern, listeners)| (&**pattern, listeners))
    }

    /// The channels that somebody listens to, in the order of their names.
    pub fn channels(&self, sharded: bool) -> Vec<&[u8]> {
        let channels = if sharded {
            &self.shard_channels
        } else {
            &self.channels
        };
        let mut names: Vec<&[u8]> = channels.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }
}

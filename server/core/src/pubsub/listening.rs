//! What one session listens to.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Kind;

#[derive(Default)]
pub struct Listening {
    channels: BTreeSet<Rc<[u8]>>,
    patterns: BTreeSet<Rc<[u8]>>,
    shard_channels: BTreeSet<Rc<[u8]>>,
}

impl Listening {
    pub fn names(&self, kind: Kind) -> &BTreeSet<Rc<[u8]>> {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::ShardChannel => &self.shard_channels,
        }
    }

    pub fn names_mut(&mut self, kind: Kind) -> &mut BTreeSet<Rc<[u8]>> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::ShardChannel => &mut self.shard_channels,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }

    /// The number in a confirmation: channels and patterns count together, shard channels by themselves.
    pub fn counted_with(&self, kind: Kind) -> usize {
        match kind {
            Kind::Channel | Kind::Pattern => self.channels.len() + self.patterns.len(),
            Kind::ShardChannel => self.shard_channels.len(),
        }
    }
}

//! Publish and subscribe: who listens to what, and messages on their way.
//!
//! Invariants: the [`Directory`] and the sessions' [`Listening`] say the same, and both are changed only by
//! `World::subscribe` and `World::unsubscribe`. A message is encoded once for each protocol, however many
//! receive it. Nothing here is kept for those who are not there: who does not listen hears nothing.

mod directory;
mod listening;
mod message;

pub use directory::Directory;
pub use listening::Listening;
pub use message::Message;

/// What is subscribed to: a channel, all channels that fit a pattern, or a channel of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Channel,
    Pattern,
    ShardChannel,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::ShardChannel];

    /// The first word of a confirmation.
    pub fn subscribed(self) -> &'static [u8] {
        match self {
            Self::Channel => b"subscribe",
            Self::Pattern => b"psubscribe",
            Self::ShardChannel => b"ssubscribe",
        }
    }

    pub fn unsubscribed(self) -> &'static [u8] {
        match self {
            Self::Channel => b"unsubscribe",
            Self::Pattern => b"punsubscribe",
            Self::ShardChannel => b"sunsubscribe",
        }
    }

    /// The command by which such a message is sent.
    pub fn publish_command(self) -> &'static [u8] {
        match self {
            Self::Channel | Self::Pattern => b"PUBLISH",
            Self::ShardChannel => b"SPUBLISH",
        }
    }

    /// The first word of a message.
    pub fn message(self) -> &'static [u8] {
        match self {
            Self::Channel => b"message",
            Self::Pattern => b"pmessage",
            Self::ShardChannel => b"smessage",
        }
    }
}

//! What the gate holds back: whole buffers of replies, of which each range waits for its own changes and for the
//! ranges before it of its connection; and bytes for others that stand in no such buffer.

use ruvio_core::command::OwnedArgs;
use ruvio_core::engine::Wait;
use ruvio_core::engine::session::ClientId;
use ruvio_core::resp::{Protocol, Reply};

use crate::owner::crossing::Ticket;

/// Replies of one connection in a buffer that was put aside.
pub struct HeldRange {
    pub client: ClientId,
    pub start: usize,
    pub end: usize,
    pub wait: Wait,
    /// Counts the ranges that were held of its connection: they go out in this order.
    pub number: u64,
    /// It went out.
    pub is_out: bool,
    /// What goes out instead, since what it waited for will never be committed.
    pub instead: Option<Vec<u8>>,
}

/// Where bytes that stand in no buffer of a turn go.
#[derive(Clone, Copy)]
pub enum Goal {
    /// The answer to a command that another owner sent, or that is part of one.
    Part(Ticket, u16),
    /// A reply among answers of others: that of this number.
    Reply(ClientId, u64),
    /// A message to a client that waits elsewhere.
    Message(ClientId),
}

pub struct HeldPart {
    pub goal: Goal,
    pub bytes: Vec<u8>,
    pub wait: Wait,
    pub is_out: bool,
}

/// A command for all other owners that waits likewise.
pub struct HeldWord {
    pub words: OwnedArgs,
    /// For other nodes, else for other owners.
    pub is_for_nodes: bool,
    pub wait: Wait,
    pub is_out: bool,
}

pub struct Held {
    pub reply: Reply,
    pub ranges: Vec<HeldRange>,
    pub parts: Vec<HeldPart>,
    pub for_others: Vec<HeldWord>,
    /// Of all three, those that have yet to go out.
    pub left: usize,
}

impl Held {
    /// Stands in while the real one is gone through.
    pub fn nothing() -> Self {
        Self {
            reply: Reply::new(Protocol::Resp2),
            ranges: Vec::new(),
            parts: Vec::new(),
            for_others: Vec::new(),
            left: 0,
        }
    }

    pub fn bytes(&self) -> usize {
        self.reply.capacity() + self.parts.iter().map(|part| part.bytes.len()).sum::<usize>()
    }
}

//! A shard's way into the log: the entries that were handed over, in order, and how far they are committed.
//!
//! A node of its own has a log that commits by itself. A replicated shard proposes its entries; few are under
//! way at once, and what is executed meanwhile grows into the next one: a round costs the same whatever it carries.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use ruvio_core::engine::Taken;
use ruvio_core::options::Durability;
use ruvio_server::replica::{Port, Refused, Stint};
use ruvio_server::wal::{Lane, LogId, ShardId, Ticket, Why};

/// When a change of a node of its own counts as committed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Commit {
    /// In the page cache: it survives the process.
    Written,
    /// On stable storage: it survives the machine.
    #[default]
    Durable,
}

impl From<Durability> for Commit {
    fn from(durability: Durability) -> Self {
        match durability {
            Durability::Memory | Durability::Everysec => Self::Written,
            Durability::Always => Self::Durable,
        }
    }
}

/// Where a shard's entries go.
pub enum Way {
    Alone {
        lane: Arc<Lane>,
        shard: ShardId,
        /// The index of its last entry, and its ticket.
        last: u64,
        ticket: Ticket,
    },
    Replicated {
        port: Arc<Port>,
        /// While it leads.
        stint: Option<Stint>,
        /// Of its last proposal.
        number: u64,
    },
}

/// Proposals under way of a replicated shard.
const UNDER_WAY: usize = 2;

/// The largest entry that is proposed: one message to a peer has to hold it.
const AGREED_MAX: usize = 48 << 20;

/// An entry, or one of its parts before the last.
pub(super) enum Piece {
    Part(Vec<u8>),
    Last(Vec<u8>),
}

/// A piece that was not taken.
pub(super) struct NotTaken {
    pub piece: Piece,
    /// It never will be.
    pub why: Option<Why>,
}

impl Way {
    /// Hands over a piece; what it is known by.
    pub(super) fn append(&mut self, piece: Piece) -> Result<u64, NotTaken> {
        match self {
            Self::Alone {
                lane,
                shard,
                last,
                ticket,
                ..
            } => {
                // One node, so one leader, in one term.
                let id = LogId::new(1, 0, *last + 1);
                let is_part = matches!(piece, Piece::Part(_));
                let taken = match piece {
                    Piece::Part(payload) => lane.append_part(*shard, id, payload),
                    Piece::Last(payload) => lane.append(*shard, id, payload),
                };
                match taken {
                    Ok(taken) => {
                        *last += 1;
                        *ticket = taken;
                        Ok(taken.0)
                    }
                    Err(refused) => Err(NotTaken {
                        piece: match is_part {
                            true => Piece::Part(refused.payload),
                            false => Piece::Last(refused.payload),
                        },
                        // Once it has ended the process is about to end, and no reply goes out any more.
                        why: Some(refused.why).filter(|why| !matches!(why, Why::Full | Why::Ended)),
                    }),
                }
            }
            Self::Replicated { port, stint, number } => {
                let (Piece::Part(payload) | Piece::Last(payload)) = piece;
                let payload = Bytes::from(payload);
                // Whoever executed without a stint would be ahead of the log for good.
                let proposed = match stint {
                    Some(stint) => port.propose(*stint, *number + 1, payload),
                    None => Err(Refused::Over(payload)),
                };
                match proposed {
                    Ok(()) => {
                        *number += 1;
                        Ok(*number)
                    }
                    Err(Refused::Full(payload) | Refused::Over(payload)) => Err(NotTaken {
                        piece: Piece::Last(payload.into()),
                        why: None,
                    }),
                }
            }
        }
    }

    /// All entries up to this one are committed.
    fn committed(&self, commit: Commit) -> u64 {
        match self {
            Self::Alone { lane, .. } => match commit {
                Commit::Written => lane.written().0.0,
                Commit::Durable => lane.durable().0.0,
            },
            Self::Replicated { port, .. } => port.committed(),
        }
    }

    pub(super) fn buffer(&self) -> Vec<u8> {
        match self {
            Self::Alone { lane, .. } => lane.buffer(),
            Self::Replicated { .. } => Vec::new(),
        }
    }
}

/// A shard's way, and which turns' changes have yet to come out at its other end.
pub(super) struct Track {
    pub way: Way,
    /// Entries under way: the first turn of each, and what it is known by.
    under_way: VecDeque<(u64, u64)>,
    /// Pieces of an entry that were not taken, in order, with its first turn. Behind them nothing passes.
    refused: VecDeque<(u64, Piece)>,
    /// The first turn with changes that are in no entry; zero: none.
    open: u64,
}

impl Track {
    pub fn new(way: Way) -> Self {
        Self {
            way,
            under_way: VecDeque::new(),
            refused: VecDeque::new(),
            open: 0,
        }
    }

    /// Changes of the turn are to become an entry. Whether they may now.
    pub fn note(&mut self, turn: u64) -> bool {
        if self.open == 0 {
            self.open = turn;
        }
        self.is_ready()
    }

    /// There are changes that may become an entry now and are none.
    pub fn is_due(&self) -> bool {
        self.open > 0 && self.is_ready()
    }

    fn is_ready(&self) -> bool {
        let few = match self.way {
            Way::Alone { .. } => true,
            Way::Replicated { .. } => self.under_way.len() < UNDER_WAY,
        };
        few && self.refused.is_empty()
    }

    /// All changes so far are in this entry.
    pub fn hand_over(&mut self, taken: Taken) -> Result<(), Why> {
        let turn = std::mem::take(&mut self.open);
        let Taken { parts, last } = taken;
        match &self.way {
            Way::Alone { .. } => {
                for payload in parts {
                    self.append(turn, Piece::Part(payload))?;
                }
                self.append(turn, Piece::Last(last))
            }
            Way::Replicated { port, stint, .. } => {
                // It is agreed upon whole. Effects refer back by distance, so parts can be joined.
                let whole = match parts.is_empty() {
                    true => last,
                    false => parts.iter().chain([&last]).flatten().copied().collect(),
                };
                if whole.len() > AGREED_MAX {
                    tracing::error!(
                        shard = port.shard().0,
                        bytes = whole.len(),
                        "a change is larger than nodes can agree upon: it is taken back, and the keyspace made anew"
                    );
                    stint.iter().for_each(|stint| port.end(*stint));
                    // It stands in the way of all others until the end of the stint is heeded.
                    self.refused.push_back((turn, Piece::Last(whole)));
                    return Ok(());
                }
                self.append(turn, Piece::Last(whole))
            }
        }
    }

    /// Hands over what was not taken.
    pub fn retry(&mut self) -> Result<(), Why> {
        for (turn, piece) in std::mem::take(&mut self.refused) {
            self.append(turn, piece)?;
        }
        Ok(())
    }

    /// Behind what was refused a piece waits as well.
    fn append(&mut self, turn: u64, piece: Piece) -> Result<(), Why> {
        if self.is_refused() {
            self.refused.push_back((turn, piece));
            return Ok(());
        }
        match self.way.append(piece) {
            Ok(number) => {
                self.under_way.push_back((turn, number));
                Ok(())
            }
            Err(NotTaken { piece, why }) => {
                self.refused.push_back((turn, piece));
                why.map_or(Ok(()), Err)
            }
        }
    }

    pub fn is_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Forgets what is committed, which stays so whatever `commit` is later. The first turn with changes that are not.
    pub fn look(&mut self, commit: Commit) -> u64 {
        if !self.under_way.is_empty() {
            let committed = self.way.committed(commit);
            while self
                .under_way
                .front()
                .is_some_and(|(_, number)| *number <= committed)
            {
                self.under_way.pop_front();
            }
        }
        self.first_uncommitted()
    }

    /// `u64::MAX`: all are.
    pub fn first_uncommitted(&self) -> u64 {
        let under_way = self.under_way.front().map(|(turn, _)| *turn);
        let refused = self.refused.front().map(|(turn, _)| *turn);
        let open = (self.open > 0).then_some(self.open);
        under_way.or(refused).or(open).unwrap_or(u64::MAX)
    }

    /// Nothing that was executed will come out.
    pub fn forget(&mut self) {
        self.under_way.clear();
        self.refused.clear();
        self.open = 0;
    }
}

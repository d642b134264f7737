//! Effects: the outcome of a command as primitive, deterministic changes.
//!
//! Each effect names its row (a key, or an element of a collection's generation) and carries the full new
//! row, so that a follower and the image can apply it without evaluating or reading anything. `created`
//! says that the row was absent before: rows born and dead within a window of the log cost nothing.
//!
//! Invariant: no effect replaces a collection in silence. What stood at the key goes first, by a `Delete`
//! that names its generation, so that its elements are known to be gone without looking.
//!
//! Effects are encoded only while something reads them; otherwise `push` is never reached.

pub mod apply;
pub mod codec;
#[cfg(test)]
pub(crate) mod equality;
pub mod rows;

pub use codec::{DecodeError, Decoder, decode_at};

/// Where an element stands in a list. Pushes step `whole` by one from the middle of the range; an insert
/// in the middle takes a `fraction` between its neighbours. Ordered as (whole, fraction).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ListPosition {
    pub whole: u64,
    pub fraction: u64,
}

impl ListPosition {
    /// The first element of a new list.
    pub const MIDDLE: Self = Self {
        whole: 1 << 63,
        fraction: 0,
    };
}

/// One change to one row of the effects' current database. Times are Unix milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect<'a> {
    /// A value that is one row: a string, an `IDEM` or `LIMIT` record.
    Put {
        key: &'a [u8],
        kind: u8,
        value: &'a [u8],
        expire_at: Option<u64>,
        created: bool,
    },
    /// Bytes of a string replaced from `offset` on; the string grows with zeros where it is shorter.
    Patch {
        key: &'a [u8],
        offset: u64,
        bytes: &'a [u8],
    },
    Expire {
        key: &'a [u8],
        at: Option<u64>,
    },
    /// The key and, if it held a collection, all rows of its generation.
    Delete {
        key: &'a [u8],
        generation: Option<u64>,
    },
    /// A new, empty collection stands at the key, where nothing stood.
    Create {
        key: &'a [u8],
        kind: u8,
        generation: u64,
    },
    /// The collection at `from` now stands at `to`, where nothing stood, with its elements and the rest of
    /// its row as told. Values of one row are told as a `Delete` and a `Put`, and what goes to another
    /// database as a collection of its own.
    Rename {
        from: &'a [u8],
        to: &'a [u8],
        kind: u8,
        generation: u64,
        expire_at: Option<u64>,
    },
    HashPut {
        key: &'a [u8],
        generation: u64,
        field: &'a [u8],
        value: &'a [u8],
        expire_at: Option<u64>,
        created: bool,
    },
    HashDelete {
        key: &'a [u8],
        generation: u64,
        field: &'a [u8],
    },
    SetAdd {
        key: &'a [u8],
        generation: u64,
        member: &'a [u8],
    },
    SetDelete {
        key: &'a [u8],
        generation: u64,
        member: &'a [u8],
    },
    ScorePut {
        key: &'a [u8],
        generation: u64,
        member: &'a [u8],
        score: f64,
        created: bool,
    },
    ScoreDelete {
        key: &'a [u8],
        generation: u64,
        member: &'a [u8],
    },
    ListPut {
        key: &'a [u8],
        generation: u64,
        position: ListPosition,
        value: &'a [u8],
        created: bool,
    },
    ListDelete {
        key: &'a [u8],
        generation: u64,
        position: ListPosition,
    },
    /// Two databases exchanged.
    Swap {
        with: u16,
    },
    /// The current database emptied.
    Flush,
    /// The shard's fence, which only grows.
    Fence {
        fence: u64,
    },
}

/// The effects of one shard since they were last taken: one entry in the making. What becomes large is in parts, which
/// are decoded one by one and count together.
#[derive(Default)]
pub struct Effects {
    on: bool,
    encoder: codec::Encoder,
}

impl Effects {
    /// Whether anything reads effects. Off, a write pays this test and nothing else.
    #[inline]
    pub fn on(&self) -> bool {
        self.on
    }

    pub fn switch(&mut self, on: bool) {
        self.on = on;
    }

    pub fn push(&mut self, db: u16, effect: &Effect<'_>) {
        self.encoder.push(db, effect);
    }

    pub fn is_empty(&self) -> bool {
        self.encoder.bytes().is_empty()
    }

    /// Bytes of all parts.
    pub fn len(&self) -> usize {
        self.encoder.len()
    }

    /// The parts that have ended; `take` gives the last one.
    pub fn take_ended_parts(&mut self) -> Vec<Vec<u8>> {
        self.encoder.take_ended()
    }

    /// The encoded effects of the last part so far; decode with [`Decoder`].
    pub fn bytes(&self) -> &[u8] {
        self.encoder.bytes()
    }

    pub fn clear(&mut self) {
        self.encoder.clear();
    }

    /// The encoded effects of the last part, in exchange for an empty buffer.
    pub fn take(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        self.encoder.take(buffer)
    }
}

/// Where a collection's writer, which holds the entry, leaves its effects.
pub struct Emitter<'a> {
    effects: &'a mut Effects,
    db: u16,
}

impl<'a> Emitter<'a> {
    #[inline]
    pub fn new(effects: &'a mut Effects, db: u16) -> Self {
        Self { effects, db }
    }

    #[inline]
    pub fn emit(&mut self, effect: Effect<'_>) {
        if self.effects.on() {
            self.effects.push(self.db, &effect);
        }
    }
}

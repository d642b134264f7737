//! What an entry's 4-bit kind means. A kind says how the bytes are to be read; whether they stand in the
//! entry, outside or in a boxed collection is the memory module's affair.

/// The kinds; numbers are never reused, since the image will store them.
pub mod kind {
    /// Any string as SET leaves it.
    pub const STRING: u8 = 0;
    /// A string that was edited in place (APPEND, SETRANGE, SETBIT): `OBJECT ENCODING` says `raw`.
    pub const STRING_RAW: u8 = 1;
    pub const HASH: u8 = 2;
    pub const LIST: u8 = 3;
    pub const SET: u8 = 4;
    /// A packed set of integers only, sorted.
    pub const SET_INTS: u8 = 5;
    pub const SORTED_SET: u8 = 6;
    pub const STREAM: u8 = 7;
    pub const IDEM: u8 = 8;
    pub const LIMIT: u8 = 9;
}

/// What `TYPE` answers and `SCAN … TYPE` takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    String,
    Hash,
    List,
    Set,
    SortedSet,
    Stream,
    Idem,
    Limit,
}

impl Type {
    pub fn of(kind: u8) -> Self {
        match kind {
            kind::HASH => Self::Hash,
            kind::LIST => Self::List,
            kind::SET | kind::SET_INTS => Self::Set,
            kind::SORTED_SET => Self::SortedSet,
            kind::STREAM => Self::Stream,
            kind::IDEM => Self::Idem,
            kind::LIMIT => Self::Limit,
            _ => Self::String,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
            Self::Stream => "stream",
            Self::Idem => "idem",
            Self::Limit => "limit",
        }
    }

    /// Collections carry a generation and have element rows of their own.
    pub fn is_collection(self) -> bool {
        matches!(
            self,
            Self::Hash | Self::List | Self::Set | Self::SortedSet | Self::Stream
        )
    }
}

//! Keyspace events (`notify-keyspace-events`): what commands tell, and to whom it will be published.

/// Event classes as in the option's letters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Classes(pub u16);

impl Classes {
    pub const KEYSPACE: Self = Self(1);
    pub const KEYEVENT: Self = Self(1 << 1);
    pub const GENERIC: Self = Self(1 << 2);
    pub const STRING: Self = Self(1 << 3);
    pub const LIST: Self = Self(1 << 4);
    pub const SET: Self = Self(1 << 5);
    pub const HASH: Self = Self(1 << 6);
    pub const SORTED_SET: Self = Self(1 << 7);
    pub const EXPIRED: Self = Self(1 << 8);
    pub const EVICTED: Self = Self(1 << 9);
    pub const STREAM: Self = Self(1 << 10);
    pub const KEY_MISS: Self = Self(1 << 11);
    pub const MODULE: Self = Self(1 << 12);
    pub const NEW: Self = Self(1 << 13);
    /// `IDEM` and `LIMIT`.
    pub const NATIVE: Self = Self(1 << 14);

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// One event on its way to `__keyspace@db__` and `__keyevent@db__`.
#[derive(Debug, PartialEq, Eq)]
pub struct Event {
    pub class: Classes,
    pub name: &'static str,
    pub db: u16,
    pub key: Box<[u8]>,
}

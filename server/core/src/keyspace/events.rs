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

/// The letters of `notify-keyspace-events`, in the order in which Valkey shows them.
const LETTERS: [(Classes, char); 15] = [
    (Classes::GENERIC, 'g'),
    (Classes::STRING, '$'),
    (Classes::LIST, 'l'),
    (Classes::SET, 's'),
    (Classes::HASH, 'h'),
    (Classes::SORTED_SET, 'z'),
    (Classes::EXPIRED, 'x'),
    (Classes::EVICTED, 'e'),
    (Classes::STREAM, 't'),
    (Classes::MODULE, 'd'),
    (Classes::NEW, 'n'),
    (Classes::NATIVE, 'r'),
    (Classes::KEYSPACE, 'K'),
    (Classes::KEYEVENT, 'E'),
    (Classes::KEY_MISS, 'm'),
];

impl Classes {
    /// The same if there are channels to publish on, and nothing otherwise: then no event is even noted.
    pub fn published(self) -> Self {
        if self.any(Self(Self::KEYSPACE.0 | Self::KEYEVENT.0)) {
            self
        } else {
            Self::default()
        }
    }

    /// `A`: what happens to keys, without those that are only told when asked for by name (`n`, `m`).
    const ALL: Self = Self(
        Self::GENERIC.0
            | Self::STRING.0
            | Self::LIST.0
            | Self::SET.0
            | Self::HASH.0
            | Self::SORTED_SET.0
            | Self::EXPIRED.0
            | Self::EVICTED.0
            | Self::STREAM.0
            | Self::MODULE.0
            | Self::NATIVE.0,
    );

    /// Reads the option's letters; none for one that is not known.
    pub fn parse(letters: &[u8]) -> Option<Self> {
        let mut classes = 0;
        for letter in letters {
            classes |= match letter {
                b'A' => Self::ALL.0,
                letter => LETTERS.iter().find(|(_, known)| *known == *letter as char)?.0.0,
            };
        }
        Some(Self(classes))
    }

    /// As `CONFIG GET` shows them.
    pub fn letters(self) -> String {
        let all = self.0 & Self::ALL.0 == Self::ALL.0;
        let mut letters = String::new();
        if all {
            letters.push('A');
        }
        letters.extend(
            LETTERS
                .iter()
                .filter(|(class, _)| self.any(*class) && !(all && Self::ALL.any(*class)))
                .map(|(_, letter)| *letter),
        );
        letters
    }
}

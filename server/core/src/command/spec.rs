//! What a command is: one row of the table. `COMMAND`, arity, routing, ACL and the docs page read it.

use super::args::Args;
use crate::exec::{Exec, Outcome};

pub type Handler = fn(&mut Exec<'_>, Args<'_>) -> Outcome;

macro_rules! bits {
    ($(#[$doc:meta])* $name:ident: $int:ty { $($flag:ident = $bit:expr, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name(pub $int);
        impl $name {
            $(pub const $flag: Self = Self(1 << $bit);)*
            /// Every flag with the name that clients see, in the order Valkey prints them.
            pub const NAMES: &'static [(Self, &'static str)] = &[$((Self::$flag, $text)),*];
            pub const fn none() -> Self { Self(0) }
            pub const fn or(self, other: Self) -> Self { Self(self.0 | other.0) }
            pub const fn has(self, other: Self) -> bool { self.0 & other.0 == other.0 }
            pub const fn any(self, other: Self) -> bool { self.0 & other.0 != 0 }
            pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
                Self::NAMES.iter().filter(move |(flag, _)| self.has(*flag)).map(|(_, name)| *name)
            }
        }
        impl std::ops::BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self { self.or(other) }
        }
    };
}

bits! {
    /// How a command behaves, as in the third field of `COMMAND INFO`.
    Flags: u32 {
        WRITE = 0, "write";
        READONLY = 1, "readonly";
        DENYOOM = 2, "denyoom";
        MODULE = 3, "module";
        ADMIN = 4, "admin";
        PUBSUB = 5, "pubsub";
        NOSCRIPT = 6, "noscript";
        BLOCKING = 7, "blocking";
        LOADING = 8, "loading";
        STALE = 9, "stale";
        SKIP_MONITOR = 10, "skip_monitor";
        SKIP_COMMANDLOG = 11, "skip_commandlog";
        ASKING = 12, "asking";
        FAST = 13, "fast";
        NO_AUTH = 14, "no_auth";
        MAY_REPLICATE = 15, "may_replicate";
        NO_ASYNC_LOADING = 16, "no_async_loading";
        NO_MULTI = 17, "no_multi";
        MOVABLE_KEYS = 18, "movablekeys";
        ALLOW_BUSY = 19, "allow_busy";
    }
}

impl Flags {
    /// Writes at times and only looks at others: on a full disk it is not refused before it runs, and refuses itself where
    /// it would change something. No client sees it.
    pub const ASKS_FOR_ROOM: Self = Self(1 << 31);
}

bits! {
    /// ACL categories, named `@name` in rules.
    Categories: u32 {
        KEYSPACE = 0, "keyspace";
        READ = 1, "read";
        WRITE = 2, "write";
        SET = 3, "set";
        SORTED_SET = 4, "sortedset";
        LIST = 5, "list";
        HASH = 6, "hash";
        STRING = 7, "string";
        BITMAP = 8, "bitmap";
        HYPERLOGLOG = 9, "hyperloglog";
        GEO = 10, "geo";
        STREAM = 11, "stream";
        PUBSUB = 12, "pubsub";
        ADMIN = 13, "admin";
        FAST = 14, "fast";
        SLOW = 15, "slow";
        BLOCKING = 16, "blocking";
        DANGEROUS = 17, "dangerous";
        CONNECTION = 18, "connection";
        TRANSACTION = 19, "transaction";
        SCRIPTING = 20, "scripting";
        IDEMPOTENCY = 21, "idempotency";
        LIMIT = 22, "limit";
    }
}

bits! {
    /// What a command does to the keys of one key spec.
    KeyFlags: u16 {
        RO = 0, "RO";
        RW = 1, "RW";
        OW = 2, "OW";
        RM = 3, "RM";
        ACCESS = 4, "access";
        UPDATE = 5, "update";
        INSERT = 6, "insert";
        DELETE = 7, "delete";
        NOT_KEY = 8, "not_key";
        INCOMPLETE = 9, "incomplete";
        VARIABLE = 10, "variable_flags";
    }
}

/// Where the keys of one spec begin.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    Index(u8),
    /// After this word, searched from that position (negative: from the end, backwards).
    Keyword(&'static str, i8),
    Unknown,
}

/// Which of the words from the beginning on are keys.
#[derive(Clone, Copy, Debug)]
pub enum Find {
    /// `last` counts from the first key; negative counts from the end of the command. `limit` > 1 takes
    /// only the first `1/limit` of what is left.
    Range {
        last: i32,
        step: u8,
        limit: u8,
    },
    /// A count at `count_at` (from the beginning), keys from `first` on.
    KeyNum {
        count_at: u8,
        first: u8,
        step: u8,
    },
    Unknown,
}

#[derive(Clone, Copy, Debug)]
pub struct KeySpec {
    pub begin: Begin,
    pub find: Find,
    pub flags: KeyFlags,
}

impl KeySpec {
    /// One key at position 1.
    pub const fn one(flags: KeyFlags) -> Self {
        Self::at(1, 0, 1, flags)
    }

    /// Every word from position 1 on.
    pub const fn all(flags: KeyFlags) -> Self {
        Self::at(1, -1, 1, flags)
    }

    pub const fn at(index: u8, last: i32, step: u8, flags: KeyFlags) -> Self {
        Self {
            begin: Begin::Index(index),
            find: Find::Range { last, step, limit: 0 },
            flags,
        }
    }

    pub const fn counted(index: u8, flags: KeyFlags) -> Self {
        Self {
            begin: Begin::Index(index),
            find: Find::KeyNum {
                count_at: 0,
                first: 1,
                step: 1,
            },
            flags,
        }
    }
}

pub const RO_ACCESS: KeyFlags = KeyFlags::RO.or(KeyFlags::ACCESS);
pub const RO: KeyFlags = KeyFlags::RO;
pub const RW_UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::UPDATE);
pub const RW_INSERT: KeyFlags = KeyFlags::RW.or(KeyFlags::INSERT);
pub const RW_DELETE: KeyFlags = KeyFlags::RW.or(KeyFlags::DELETE);
pub const RW_ACCESS_UPDATE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::UPDATE);
pub const RW_ACCESS_DELETE: KeyFlags = KeyFlags::RW.or(KeyFlags::ACCESS).or(KeyFlags::DELETE);
pub const OW_UPDATE: KeyFlags = KeyFlags::OW.or(KeyFlags::UPDATE);
pub const OW_INSERT: KeyFlags = KeyFlags::OW.or(KeyFlags::INSERT);
pub const RM_DELETE: KeyFlags = KeyFlags::RM.or(KeyFlags::DELETE);

/// Which owner runs the command when a node has several shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The owner of its keys; several shards' keys are an error unless `Split` says how to join.
    Keys,
    /// Split by shard and joined again.
    Split(Join),
    /// The connection's own owner: needs no key.
    Local,
    /// The first owner, who keeps what a node has one of.
    First,
    /// Every owner, in one order; the answers are joined.
    Everywhere(Join),
}

/// How the partial answers of several shards become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// All said OK, or the first error.
    Ok,
    /// The sum of integers.
    Sum,
    /// Arrays in the order of the keys asked for.
    Interleave,
    /// Arrays one after the other.
    Concat,
    /// The command itself knows (SCAN, RANDOMKEY, INFO, CLIENT LIST).
    Own,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Generic,
    String,
    List,
    Set,
    SortedSet,
    Hash,
    PubSub,
    Transactions,
    Connection,
    Server,
    Scripting,
    HyperLogLog,
    Stream,
    Geo,
    Bitmap,
    Cluster,
    Native,
}

/// One row of the command table.
#[derive(Clone, Copy)]
pub struct Command {
    /// Lower case; a sub-command has its own word only (`list` of `client|list`).
    pub name: &'static str,
    /// Words including the name (and the sub-command); negative: at least.
    pub arity: i16,
    pub run: Handler,
    pub flags: Flags,
    /// As written in the row; `categories()` adds those that flags imply.
    pub acl: Categories,
    pub keys: &'static [KeySpec],
    pub route: Route,
    pub group: Group,
    pub since: &'static str,
    pub summary: &'static str,
    /// Everything after the name in the notation of the docs: `key [NX | XX] value`.
    pub syntax: &'static str,
    pub complexity: &'static str,
    pub subcommands: &'static [Command],
}

/// Starts a row; the methods below fill the rest.
pub const fn command(group: Group, name: &'static str, arity: i16, run: Handler) -> Command {
    Command {
        name,
        arity,
        run,
        flags: Flags::none(),
        acl: Categories::none(),
        keys: &[],
        route: Route::Local,
        group,
        since: "1.0.0",
        summary: "",
        syntax: "",
        complexity: "O(1)",
        subcommands: &[],
    }
}

impl Command {
    pub const fn flags(mut self, flags: Flags) -> Self {
        self.flags = flags;
        self
    }
    pub const fn acl(mut self, acl: Categories) -> Self {
        self.acl = acl;
        self
    }
    /// Key positions; the command then runs where its keys are.
    pub const fn keys(mut self, keys: &'static [KeySpec]) -> Self {
        self.keys = keys;
        self.route = Route::Keys;
        self
    }
    pub const fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }
    pub const fn docs(mut self, since: &'static str, syntax: &'static str, summary: &'static str) -> Self {
        self.since = since;
        self.syntax = syntax;
        self.summary = summary;
        self
    }
    pub const fn complexity(mut self, complexity: &'static str) -> Self {
        self.complexity = complexity;
        self
    }
    pub const fn subcommands(mut self, subcommands: &'static [Command]) -> Self {
        self.subcommands = subcommands;
        self
    }

    /// The ACL categories, with those that the flags imply (as Valkey derives them).
    pub const fn categories(&self) -> Categories {
        let mut acl = self.acl;
        if self.flags.has(Flags::WRITE) {
            acl = acl.or(Categories::WRITE);
        }
        // Scripts' container commands carry their own category and are neither reads nor writes.
        if self.flags.has(Flags::READONLY) && !acl.has(Categories::SCRIPTING) {
            acl = acl.or(Categories::READ);
        }
        if self.flags.has(Flags::ADMIN) {
            acl = acl.or(Categories::ADMIN).or(Categories::DANGEROUS);
        }
        if self.flags.has(Flags::PUBSUB) {
            acl = acl.or(Categories::PUBSUB);
        }
        if self.flags.has(Flags::BLOCKING) {
            acl = acl.or(Categories::BLOCKING);
        }
        acl.or(if self.flags.has(Flags::FAST) {
            Categories::FAST
        } else {
            Categories::SLOW
        })
    }
}

//! Is this user allowed to run this command on these keys, channels and databases?
//!
//! A command is allowed if one selector allows all of it. What no selector allows is told by the farthest
//! that any of them came: database, command, key, channel, in that order.

use super::channels::for_each_channel;
use super::selector::{Access, Selector};
use super::user::User;
use crate::command::keys::for_each_key;
use crate::command::spec::{Categories, Flags, KeyFlags};
use crate::command::{Args, Entry};
use crate::text::{fold, glob, number};

/// What was refused. Ordered: the greater one is the one that is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    Database,
    Command,
    Key,
    /// A wrong password. Never comes from a check, only stands in the log.
    Auth,
    Channel,
}

/// A command that is refused, and the word of it that is to blame (0: the command itself).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Denial {
    pub reason: Reason,
    pub word: usize,
}

impl User {
    /// `database` is the one that the command would run in.
    #[inline]
    pub fn check(&self, entry: &Entry, args: Args<'_>, database: u16) -> Result<(), Denial> {
        if self.is_unrestricted() {
            Ok(())
        } else {
            self.check_selectors(entry, args, database)
        }
    }

    #[inline(never)]
    fn check_selectors(&self, entry: &Entry, args: Args<'_>, database: u16) -> Result<(), Denial> {
        let mut worst = Denial {
            reason: Reason::Database,
            word: 0,
        };
        for selector in self.selectors() {
            match selector.check(entry, args, database) {
                Ok(()) => return Ok(()),
                Err(denial) => worst = worst.max(denial),
            }
        }
        Err(worst)
    }

    /// Whether any key may be read by a command that the user may run: what `SORT … BY` and `GET` with
    /// patterns ask, since their keys are not among the command's words.
    pub fn may_read_every_key(&self, entry: &Entry, args: Args<'_>, database: u16) -> bool {
        self.is_unrestricted()
            || self
                .selectors()
                .any(|selector| selector.reads_every_key() && selector.check(entry, args, database).is_ok())
    }

    pub fn may_use_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        self.selectors()
            .any(|selector| selector.allows_channel(channel, is_pattern))
    }
}

impl Selector {
    fn check(&self, entry: &Entry, args: Args<'_>, database: u16) -> Result<(), Denial> {
        let deny = |reason, word| Err(Denial { reason, word });
        if let Some(word) = self.refused_database(entry, args, database) {
            return deny(Reason::Database, word);
        }
        if !self.allows_command(entry, args) {
            return deny(Reason::Command, 0);
        }
        if let Some(word) = self.refused_key(entry, args) {
            return deny(Reason::Key, word);
        }
        match self.refused_channel(entry, args) {
            Some(word) => deny(Reason::Channel, word),
            None => Ok(()),
        }
    }

    fn allows_command(&self, entry: &Entry, args: Args<'_>) -> bool {
        if self.all_commands || entry.flags.has(Flags::NO_AUTH) || self.commands.has(entry.id) {
            return true;
        }
        let Some(first) = args.try_get(1) else {
            return false;
        };
        self.first_args
            .iter()
            .any(|(id, allowed)| *id == entry.id && allowed.iter().any(|arg| arg.eq_ignore_ascii_case(first)))
    }

    fn refused_key(&self, entry: &Entry, args: Args<'_>) -> Option<usize> {
        self.keys.as_ref()?;
        // Where the keys cannot be told the command will be refused for its own reasons.
        for_each_key(entry.spec, args, |_, _| {})?;
        let mut refused = None;
        for_each_key(entry.spec, args, |at, flags| {
            if refused.is_none() && !self.allows_key(args.get(at), wanted(flags)) {
                refused = Some(at);
            }
        })?;
        refused
    }

    fn allows_key(&self, key: &[u8], wanted: Access) -> bool {
        match &self.keys {
            None => true,
            Some(keys) => keys
                .iter()
                .any(|known| known.access.covers(wanted) && glob::matches(&known.pattern, key)),
        }
    }

    fn reads_every_key(&self) -> bool {
        match &self.keys {
            None => true,
            Some(keys) => keys
                .iter()
                .any(|known| known.access.read && known.pattern == b"*"),
        }
    }

    fn refused_channel(&self, entry: &Entry, args: Args<'_>) -> Option<usize> {
        self.channels.as_ref()?;
        let mut refused = None;
        for_each_channel(entry, args, |at, is_pattern| {
            if refused.is_none() && !self.allows_channel(args.get(at), is_pattern) {
                refused = Some(at);
            }
        });
        refused
    }

    /// A pattern must have been allowed as it is, letter by letter.
    fn allows_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        match &self.channels {
            None => true,
            Some(channels) => channels.iter().any(|known| {
                if is_pattern {
                    known == channel
                } else {
                    glob::matches(known, channel)
                }
            }),
        }
    }

    /// The word that names a database out of reach; 0 where it is the current one or all of them.
    fn refused_database(&self, entry: &Entry, args: Args<'_>, current: u16) -> Option<usize> {
        let allowed = self.databases.as_ref()?;
        let refuses = |database: u32| allowed.binary_search(&database).is_err();
        if entry.spec.name == "flushall" && entry.parent.is_none() {
            return Some(0);
        }
        let named = named_databases(entry, args);
        if !named.instead_of_current && uses_keyspace(entry) && refuses(u32::from(current)) {
            return Some(0);
        }
        named
            .words
            .into_iter()
            .flatten()
            .find(|at| number_at(args, *at).is_some_and(refuses))
    }
}

fn number_at(args: Args<'_>, at: usize) -> Option<u32> {
    number::parse_i64(args.try_get(at)?).and_then(|number| u32::try_from(number).ok())
}

/// Whether the command works on the current database.
fn uses_keyspace(entry: &Entry) -> bool {
    let keyspace = Categories::KEYSPACE | Categories::READ | Categories::WRITE;
    entry.categories.any(keyspace)
        || entry
            .spec
            .keys
            .iter()
            .any(|spec| !spec.flags.has(KeyFlags::NOT_KEY))
}

/// The databases that the command's words name.
struct Named {
    words: [Option<usize>; 2],
    instead_of_current: bool,
}

fn named_databases(entry: &Entry, args: Args<'_>) -> Named {
    let (words, instead_of_current) = match entry.spec.name {
        "select" => ([Some(1), None], true),
        "swapdb" => ([Some(1), Some(2)], true),
        "move" => ([Some(2), None], false),
        "copy" => {
            let option = (3..args.len().saturating_sub(1)).rfind(|at| fold::is(args.get(*at), "DB"));
            ([option.map(|at| at + 1), None], false)
        }
        _ => ([None, None], false),
    };
    Named {
        words,
        instead_of_current,
    }
}

fn wanted(flags: KeyFlags) -> Access {
    Access {
        read: flags.has(KeyFlags::ACCESS),
        write: flags.any(KeyFlags::UPDATE | KeyFlags::INSERT | KeyFlags::DELETE),
    }
}

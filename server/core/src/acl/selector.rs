//! One set of permissions: commands, and the keys, channels and databases they may be used on.
//!
//! A user has one at its root and any number beside it in parentheses. The rules about commands are kept in
//! the order they were given, since a category after a command may take back what the command gave.

use super::command_set::CommandSet;
use super::has_blank;
use super::rules::{RuleError, split_words};
use crate::command::spec::Categories;
use crate::command::{COMMANDS, Entry};
use crate::text::fold;

/// What a key pattern allows to do with the keys it matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    pub read: bool,
    pub write: bool,
}

impl Access {
    pub const BOTH: Self = Self {
        read: true,
        write: true,
    };

    pub fn covers(self, wanted: Self) -> bool {
        (self.read || !wanted.read) && (self.write || !wanted.write)
    }
}

#[derive(Clone)]
pub struct KeyPattern {
    pub pattern: Vec<u8>,
    pub access: Access,
}

/// `None` stands for all there are.
type Only<T> = Option<Vec<T>>;

/// A rule about commands as it will be printed: `+get`, `-@write`, `+select|0`.
#[derive(Clone, PartialEq, Eq)]
struct CommandRule {
    allow: bool,
    /// Lower case, without the sign.
    what: String,
}

#[derive(Clone)]
pub struct Selector {
    pub(super) commands: CommandSet,
    /// Every command of the table is allowed, and nothing was taken away since.
    pub(super) all_commands: bool,
    /// The rules begin with `+@all`.
    from_all: bool,
    rules: Vec<CommandRule>,
    /// Commands that are allowed with these first arguments only.
    pub(super) first_args: Vec<(u16, Vec<Vec<u8>>)>,
    pub(super) keys: Only<KeyPattern>,
    pub(super) channels: Only<Vec<u8>>,
    /// Sorted.
    pub(super) databases: Only<u32>,
}

impl Selector {
    /// May nothing, in every database.
    pub fn new() -> Self {
        Self {
            commands: CommandSet::none(),
            all_commands: false,
            from_all: false,
            rules: Vec::new(),
            first_args: Vec::new(),
            keys: Some(Vec::new()),
            channels: Some(Vec::new()),
            databases: None,
        }
    }

    /// The same, but for every channel if `acl-pubsub-default` says so.
    pub fn with_channels(open_channels: bool) -> Self {
        let mut selector = Self::new();
        if open_channels {
            selector.channels = None;
        }
        selector
    }

    /// A whole selector from its text with the parentheses.
    pub fn parse(text: &[u8], open_channels: bool) -> Result<Self, RuleError> {
        let inner = text
            .strip_prefix(b"(")
            .and_then(|t| t.strip_suffix(b")"))
            .ok_or(RuleError::Syntax)?;
        let mut selector = Self::with_channels(open_channels);
        for rule in split_words(inner)?.view().iter() {
            selector.apply(rule)?;
        }
        Ok(selector)
    }

    /// Nothing is refused, whatever is asked.
    pub fn is_unrestricted(&self) -> bool {
        self.all_commands && self.keys.is_none() && self.channels.is_none() && self.databases.is_none()
    }

    pub fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
        if fold::is(rule, "ALLKEYS") || rule == b"~*" {
            self.keys = None;
        } else if fold::is(rule, "RESETKEYS") {
            self.keys = Some(Vec::new());
        } else if fold::is(rule, "ALLCHANNELS") || rule == b"&*" {
            self.channels = None;
        } else if fold::is(rule, "RESETCHANNELS") {
            self.channels = Some(Vec::new());
        } else if fold::is(rule, "ALLDBS") {
            self.databases = None;
        } else if fold::is(rule, "RESETDBS") {
            self.databases = Some(Vec::new());
        } else if fold::is(rule, "ALLCOMMANDS") || fold::is(rule, "+@ALL") {
            self.all_or_no_commands(true);
        } else if fold::is(rule, "NOCOMMANDS") || fold::is(rule, "-@ALL") {
            self.all_or_no_commands(false);
        } else if rule.get(..3).is_some_and(|start| fold::is(start, "DB=")) {
            self.databases = Some(databases(&rule[3..])?);
        } else {
            return match rule {
                [b'~', pattern @ ..] => self.add_keys(pattern, Access::BOTH),
                [b'%', rest @ ..] => {
                    let (access, pattern) = access(rest)?;
                    self.add_keys(pattern, access)
                }
                [b'&', pattern @ ..] => self.add_channels(pattern),
                [b'+', b'@', category @ ..] => self.change_category(category, true),
                [b'-', b'@', category @ ..] => self.change_category(category, false),
                [b'+', command @ ..] => self.allow_command(command),
                [b'-', command @ ..] => {
                    let entry = COMMANDS.find_full(command).ok_or(RuleError::UnknownCommand)?;
                    self.change_command(entry, false);
                    self.note(&entry.full_name, false);
                    Ok(())
                }
                _ => Err(RuleError::Syntax),
            };
        }
        Ok(())
    }

    fn all_or_no_commands(&mut self, all: bool) {
        self.commands = if all {
            CommandSet::all()
        } else {
            CommandSet::none()
        };
        self.all_commands = all;
        self.from_all = all;
        self.rules.clear();
        self.first_args.clear();
    }

    fn add_keys(&mut self, pattern: &[u8], access: Access) -> Result<(), RuleError> {
        let keys = self.keys.as_mut().ok_or(RuleError::KeysAfterAll)?;
        if has_blank(pattern) {
            return Err(RuleError::Syntax);
        }
        match keys.iter_mut().find(|known| known.pattern == pattern) {
            Some(known) => {
                known.access.read |= access.read;
                known.access.write |= access.write;
            }
            None => keys.push(KeyPattern {
                pattern: pattern.to_vec(),
                access,
            }),
        }
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        let channels = self.channels.as_mut().ok_or(RuleError::ChannelsAfterAll)?;
        if has_blank(pattern) {
            return Err(RuleError::Syntax);
        }
        if !channels.iter().any(|known| known == pattern) {
            channels.push(pattern.to_vec());
        }
        Ok(())
    }

    fn allow_command(&mut self, words: &[u8]) -> Result<(), RuleError> {
        let Some(bar) = words.iter().rposition(|byte| *byte == b'|') else {
            let entry = COMMANDS.find_full(words).ok_or(RuleError::UnknownCommand)?;
            self.change_command(entry, true);
            self.note(&entry.full_name, true);
            return Ok(());
        };
        let (command, first_arg) = (&words[..bar], &words[bar + 1..]);
        let entry = COMMANDS.find_full(command).ok_or(RuleError::UnknownCommand)?;
        if entry.parent.is_some() {
            return Err(RuleError::FirstArgOfSubcommand);
        }
        // A blank would make two rules of it when it is read back.
        if first_arg.is_empty() || has_blank(first_arg) {
            return Err(RuleError::Syntax);
        }
        if entry.is_container() {
            let sub = COMMANDS
                .subcommand(entry, first_arg)
                .ok_or(RuleError::UnknownCommand)?;
            self.change_command(sub, true);
        } else {
            self.allow_first_arg(entry.id, first_arg);
        }
        self.note(&String::from_utf8_lossy(words), true);
        Ok(())
    }

    fn allow_first_arg(&mut self, id: u16, first_arg: &[u8]) {
        let at = match self.first_args.iter().position(|(known, _)| *known == id) {
            Some(at) => at,
            None => {
                self.first_args.push((id, Vec::new()));
                self.first_args.len() - 1
            }
        };
        let known = &mut self.first_args[at].1;
        if !known.iter().any(|arg| arg.eq_ignore_ascii_case(first_arg)) {
            known.push(first_arg.to_vec());
        }
    }

    fn change_command(&mut self, entry: &Entry, allow: bool) {
        self.commands.set_whole(entry, allow);
        self.all_commands &= allow;
        self.first_args.retain(|(id, _)| *id != entry.id);
    }

    fn change_category(&mut self, name: &[u8], allow: bool) -> Result<(), RuleError> {
        let category = category(name).ok_or(RuleError::UnknownCommand)?;
        self.note(&format!("@{}", String::from_utf8_lossy(name)), allow);
        for entry in COMMANDS.iter().filter(|entry| entry.categories.has(category)) {
            self.change_command(entry, allow);
        }
        Ok(())
    }

    /// Keeps a rule for printing, in the place of those that it makes void.
    fn note(&mut self, what: &str, allow: bool) {
        let what = what.to_ascii_lowercase();
        self.rules.retain(|old| match old.what.strip_prefix(&what) {
            Some(rest) => !rest.is_empty() && !rest.starts_with('|'),
            None => true,
        });
        self.rules.push(CommandRule { allow, what });
    }

    /// `~a* resetchannels &c db=0,1 -@all +get`, ready to be applied to a new selector.
    pub fn describe(&self, out: &mut Vec<u8>) {
        self.describe_keys(out);
        if self.keys.as_ref().is_none_or(|keys| !keys.is_empty()) {
            out.push(b' ');
        }
        match &self.channels {
            None => out.extend(b"&* "),
            Some(channels) => {
                out.extend(b"resetchannels ");
                self.describe_channels(out);
                if !channels.is_empty() {
                    out.push(b' ');
                }
            }
        }
        if self.databases.is_some() {
            self.describe_databases(out);
            out.push(b' ');
        }
        self.describe_commands(out);
    }

    pub fn describe_commands(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if self.from_all { b"+@all" } else { b"-@all" });
        for rule in &self.rules {
            out.extend([b' ', if rule.allow { b'+' } else { b'-' }]);
            out.extend(rule.what.bytes());
        }
    }

    pub fn describe_keys(&self, out: &mut Vec<u8>) {
        let is_all = |key: &KeyPattern| key.pattern == b"*" && key.access == Access::BOTH;
        let keys = match &self.keys {
            Some(keys) if !keys.iter().any(is_all) => keys,
            // A pattern beside this one would say nothing, and could not be read back.
            _ => return out.extend(b"~*"),
        };
        for (at, key) in keys.iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            out.extend_from_slice(match (key.access.read, key.access.write) {
                (true, true) => b"~",
                (true, false) => b"%R~",
                _ => b"%W~",
            });
            out.extend_from_slice(&key.pattern);
        }
    }

    pub fn describe_channels(&self, out: &mut Vec<u8>) {
        let Some(channels) = &self.channels else {
            return out.extend(b"&*");
        };
        for (at, channel) in channels.iter().enumerate() {
            if at > 0 {
                out.push(b' ');
            }
            out.push(b'&');
            out.extend_from_slice(channel);
        }
    }

    pub fn describe_databases(&self, out: &mut Vec<u8>) {
        match self.databases.as_deref() {
            None => out.extend(b"alldbs"),
            Some([]) => out.extend(b"resetdbs"),
            Some(databases) => {
                out.extend(b"db=");
                for (at, database) in databases.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    crate::text::number::push_i64(i64::from(*database), out);
                }
            }
        }
    }
}

impl Default for Selector {
    fn default() -> Self {
        Self::new()
    }
}

/// The category of that name, in any case; `all` is none of them.
pub fn category(name: &[u8]) -> Option<Categories> {
    let found = Categories::NAMES
        .iter()
        .find(|(_, known)| known.as_bytes().eq_ignore_ascii_case(name));
    found.map(|(category, _)| *category)
}

/// `RW~pattern` after the percent sign.
fn access(rest: &[u8]) -> Result<(Access, &[u8]), RuleError> {
    let mut access = Access {
        read: false,
        write: false,
    };
    for (at, byte) in rest.iter().enumerate() {
        match byte.to_ascii_uppercase() {
            b'R' if !access.read => access.read = true,
            b'W' if !access.write => access.write = true,
            b'~' if access.read || access.write => return Ok((access, &rest[at + 1..])),
            _ => return Err(RuleError::Syntax),
        }
    }
    Err(RuleError::Syntax)
}

/// `0,3,12`: sorted, each once. A number may have blanks before it and zeros at its front.
fn databases(list: &[u8]) -> Result<Vec<u32>, RuleError> {
    let mut databases = Vec::new();
    for word in list.split(|byte| *byte == b',') {
        let word = word.trim_ascii_start();
        let digits = word
            .strip_prefix(b"-")
            .or(word.strip_prefix(b"+"))
            .unwrap_or(word);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(RuleError::Syntax);
        }
        let number = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse::<i32>().ok());
        databases.push(
            number
                .and_then(|n| u32::try_from(n).ok())
                .ok_or(RuleError::DatabaseOutOfRange)?,
        );
    }
    databases.sort_unstable();
    databases.dedup();
    Ok(databases)
}

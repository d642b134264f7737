//! Which connections `CLIENT LIST` and `CLIENT KILL` are about: all filters that are given must agree.

use crate::command::Args;
use crate::engine::World;
use crate::engine::describe::{FLAGS, capabilities, flags};
use crate::engine::session::Session;
use crate::error::{Error, SYNTAX};
use crate::exec::Now;
use crate::options::OutputClass;
use crate::text::escape::cut;
use crate::text::fold;
use crate::text::number::parse_i64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Primary,
    Replica,
    PubSub,
}

/// One question about a connection. A later one of the same sort takes the place of an earlier one.
enum Test<'a> {
    Ids(Vec<u64>),
    Kind(Kind),
    User(&'a [u8]),
    Addr(&'a [u8]),
    Laddr(&'a [u8]),
    Ip(&'a [u8]),
    Name(&'a [u8]),
    LibraryName(&'a [u8]),
    LibraryVersion(&'a [u8]),
    Flags(&'a [u8]),
    Capabilities(&'a [u8]),
    Database(u16),
    AgeSeconds(u64),
    IdleSeconds(u64),
}

struct Condition<'a> {
    test: Test<'a>,
    /// `NOT-…`: the test must fail.
    negated: bool,
}

#[derive(Default)]
pub(super) struct Filter<'a> {
    conditions: Vec<Condition<'a>>,
    pub(super) skip_me: Option<bool>,
}

impl<'a> Filter<'a> {
    /// The old form of `CLIENT KILL`.
    pub(super) fn addr(addr: &'a [u8]) -> Self {
        Self {
            conditions: vec![Condition {
                test: Test::Addr(addr),
                negated: false,
            }],
            skip_me: None,
        }
    }

    /// The options from the third word on.
    pub(super) fn parse(args: Args<'a>, world: &World, databases: usize) -> Result<Self, Error> {
        let mut filter = Self::default();
        let mut at = 2;
        while at < args.len() {
            let (option, value) = (args.get(at), args.try_get(at + 1).ok_or(SYNTAX)?);
            at += 2;
            if fold::is(option, "SKIPME") {
                filter.skip_me = Some(match value {
                    yes if fold::is(yes, "YES") => true,
                    no if fold::is(no, "NO") => false,
                    _ => return Err(SYNTAX),
                });
                continue;
            }
            let (name, negated) = match option.split_at_checked(4) {
                Some((not, name)) if fold::is(not, "NOT-") => (name, true),
                _ => (option, false),
            };
            let test = if fold::is(name, "ID") {
                let (ids, taken) = ids(args, at - 1)?;
                at += taken - 1;
                Test::Ids(ids)
            } else {
                test(name, negated, value, world, databases)?
            };
            filter.add(Condition { test, negated });
        }
        Ok(filter)
    }

    fn add(&mut self, condition: Condition<'a>) {
        let sort = std::mem::discriminant(&condition.test);
        self.conditions.retain(|known| {
            known.negated != condition.negated || std::mem::discriminant(&known.test) != sort
        });
        self.conditions.push(condition);
    }

    pub(super) fn takes(&self, session: &Session, now: Now) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.test.holds(session, now) != condition.negated)
    }
}

/// The numbers from `at` on, and how many words they are.
fn ids(args: Args<'_>, at: usize) -> Result<(Vec<u64>, usize), Error> {
    let mut ids = Vec::new();
    for word in args.iter_from(at) {
        match parse_i64(word) {
            None if ids.is_empty() => return Err(SYNTAX),
            None => break,
            Some(id) if id < 1 => return Err(Error::new("ERR client-id should be greater than 0")),
            Some(id) => ids.push(id as u64),
        }
    }
    let taken = ids.len();
    Ok((ids, taken))
}

fn test<'a>(
    name: &[u8],
    negated: bool,
    value: &'a [u8],
    world: &World,
    databases: usize,
) -> Result<Test<'a>, Error> {
    let shown = || String::from_utf8_lossy(cut(value)).into_owned();
    Ok(match name.to_ascii_uppercase().as_slice() {
        b"TYPE" => Test::Kind(
            kind(value).ok_or_else(|| Error::from(format!("ERR Unknown client type '{}'", shown())))?,
        ),
        b"USER" if world.users.get(value).is_none() => {
            return Err(Error::from(format!("ERR No such user '{}'", shown())));
        }
        b"USER" => Test::User(value),
        b"ADDR" => Test::Addr(value),
        b"LADDR" => Test::Laddr(value),
        b"IP" => Test::Ip(value),
        b"NAME" => Test::Name(value),
        b"LIB-NAME" => Test::LibraryName(value),
        b"LIB-VER" => Test::LibraryVersion(value),
        b"FLAGS" => Test::Flags(known_letters(value, FLAGS, negated, "FLAGS")?),
        b"CAPA" => Test::Capabilities(known_letters(value, b"r", negated, "CAPA")?),
        b"DB" => Test::Database(database(value, negated, databases)?),
        b"MAXAGE" if !negated => Test::AgeSeconds(seconds(value, "maxage")?),
        b"IDLE" if !negated => Test::IdleSeconds(seconds(value, "idle")?),
        _ => return Err(SYNTAX),
    })
}

fn kind(name: &[u8]) -> Option<Kind> {
    Some(match name.to_ascii_uppercase().as_slice() {
        b"NORMAL" => Kind::Normal,
        b"PRIMARY" | b"MASTER" => Kind::Primary,
        b"REPLICA" | b"SLAVE" => Kind::Replica,
        b"PUBSUB" => Kind::PubSub,
        _ => return None,
    })
}

fn known_letters<'a>(value: &'a [u8], known: &[u8], negated: bool, option: &str) -> Result<&'a [u8], Error> {
    if value.iter().all(|letter| known.contains(letter)) {
        return Ok(value);
    }
    let filter = if negated {
        format!("NOT-{option} filter")
    } else {
        "provided filter".to_string()
    };
    let value = String::from_utf8_lossy(cut(value));
    Err(Error::from(format!(
        "ERR Unknown {} found in the {filter}: {value}",
        option.to_lowercase()
    )))
}

fn database(value: &[u8], negated: bool, databases: usize) -> Result<u16, Error> {
    let option = if negated { "NOT-DB" } else { "DB" };
    let number = parse_i64(value)
        .filter(|number| i32::try_from(*number).is_ok())
        .ok_or_else(|| Error::from(format!("ERR {option} is not an integer or out of range")))?;
    let known = usize::try_from(number).ok().filter(|index| *index < databases);
    known.map(|index| index as u16).ok_or_else(|| {
        Error::from(format!(
            "ERR {option} number should be between 0 and {}",
            databases.saturating_sub(1)
        ))
    })
}

fn seconds(value: &[u8], option: &str) -> Result<u64, Error> {
    let number = parse_i64(value)
        .ok_or_else(|| Error::from(format!("ERR {option} is not an integer or out of range")))?;
    if number < 1 {
        return Err(Error::from(format!("ERR {option} should be greater than 0")));
    }
    Ok(number as u64)
}

impl Test<'_> {
    fn holds(&self, session: &Session, now: Now) -> bool {
        let identity = &session.identity;
        let since = |ms: u64| now.ms().saturating_sub(ms) / 1000;
        match self {
            Self::Ids(ids) => ids.contains(&session.id.serial()),
            Self::Kind(kind) => *kind == kind_of(session),
            Self::User(name) => identity.user().name() == *name,
            Self::Addr(addr) => session.addr.as_bytes() == *addr,
            Self::Laddr(laddr) => session.laddr.as_bytes() == *laddr,
            Self::Ip(ip) => ip_of(&session.addr).as_bytes() == *ip,
            Self::Name(name) => identity.name == *name,
            Self::LibraryName(name) => identity.library_name == *name,
            Self::LibraryVersion(version) => identity.library_version == *version,
            Self::Flags(wanted) => {
                let flags = flags(session);
                wanted.iter().all(|flag| flags.contains(flag))
            }
            Self::Capabilities(wanted) => wanted
                .iter()
                .all(|letter| capabilities(session).as_bytes().contains(letter)),
            Self::Database(index) => session.db == *index,
            Self::AgeSeconds(least) => since(session.created_ms) >= *least,
            Self::IdleSeconds(least) => since(session.active_ms) >= *least,
        }
    }
}

fn kind_of(session: &Session) -> Kind {
    match session.output_class() {
        OutputClass::PubSub => Kind::PubSub,
        OutputClass::Normal | OutputClass::Replica => Kind::Normal,
    }
}

/// The host of `host:port`, without the brackets of IPv6.
fn ip_of(addr: &str) -> &str {
    let host = addr.rsplit_once(':').map_or(addr, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

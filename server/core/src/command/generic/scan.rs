//! `SCAN`: a walk over a database in calls, with the guarantee of `Table::scan`.

use super::keys::is_due;
use crate::command::Args;
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::Type;
use crate::resp::Reply;
use crate::text::number::{parse_i64, parse_u64};
use crate::text::{fold, glob};

const INVALID_CURSOR: Error = Error::new("ERR invalid cursor");
const HASHES_ONLY: Error = Error::new("ERR NOVALUES option can only be used in HSCAN");
const SORTED_SETS_ONLY: Error = Error::new("ERR NOSCORES option can only be used in ZSCAN");
const COUNT_DEFAULT: usize = 10;
/// Buckets visited for each key asked for, at most: a sparse table does not keep a call for long.
const BUCKETS_PER_KEY: usize = 10;

const TYPES: [Type; 8] = [
    Type::String,
    Type::Hash,
    Type::List,
    Type::Set,
    Type::SortedSet,
    Type::Stream,
    Type::Idem,
    Type::Limit,
];

struct Options<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    only: Option<Type>,
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Error> {
    let mut options = Options {
        pattern: None,
        count: COUNT_DEFAULT,
        only: None,
    };
    let mut at = 2;
    while at < args.len() {
        let word = args.get(at);
        match args.try_get(at + 1) {
            Some(count) if fold::is(word, "COUNT") => {
                let count = parse_i64(count).ok_or(NOT_AN_INTEGER)?;
                let count = usize::try_from(count).ok().filter(|count| *count > 0);
                options.count = count.ok_or(SYNTAX)?;
            }
            Some(pattern) if fold::is(word, "MATCH") => {
                options.pattern = (pattern != b"*").then_some(pattern);
            }
            Some(name) if fold::is(word, "TYPE") => options.only = Some(parse_type(name)?),
            _ if fold::is(word, "NOVALUES") => return Err(HASHES_ONLY),
            _ if fold::is(word, "NOSCORES") => return Err(SORTED_SETS_ONLY),
            _ => return Err(SYNTAX),
        }
        at += 2;
    }
    Ok(options)
}

fn parse_type(name: &[u8]) -> Result<Type, Error> {
    TYPES
        .into_iter()
        .find(|known| name.eq_ignore_ascii_case(known.name().as_bytes()))
        .ok_or_else(|| {
            let name = String::from_utf8_lossy(name);
            Error::from(format!("ERR unknown type name '{name}'"))
        })
}

pub(super) fn scan(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut cursor = parse_u64(args.get(1)).ok_or(INVALID_CURSOR)?;
    let options = parse(args)?;
    x.db.shard.uncommitted.note_any();
    let now_ms = x.now.ms();
    let mut body = Reply::new(x.reply.proto());
    let (mut shown, mut seen, mut buckets) = (0, 0, 0);
    let mut due: Vec<Box<[u8]>> = Vec::new();
    let shard = &*x.db.shard;
    let table = &shard.databases[x.db.index as usize];
    loop {
        cursor = table.scan(&shard.heap, cursor, &mut |entry| {
            seen += 1;
            let is_wanted = options.pattern.is_none_or(|p| glob::matches(p, entry.key()))
                && options.only.is_none_or(|only| Type::of(entry.kind()) == only);
            if !is_wanted {
                return;
            }
            if is_due(&entry, now_ms) {
                due.push(entry.key().into());
                return;
            }
            body.bulk(entry.key());
            shown += 1;
        });
        buckets += 1;
        let is_enough = seen >= options.count || buckets >= options.count.saturating_mul(BUCKETS_PER_KEY);
        if cursor == 0 || is_enough {
            break;
        }
    }
    for name in due {
        let key = x.db.key(&name);
        x.db.expire(key);
    }
    x.reply.array(2);
    x.reply.bulk(itoa::Buffer::new().format(cursor).as_bytes());
    x.reply.array(shown);
    x.reply.raw(body.as_slice());
    Ok(())
}

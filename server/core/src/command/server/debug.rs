//! `DEBUG`: what tests of clients and servers need. Off unless `enable-debug-command` lets the caller in.

use super::{ADMIN_NOSCRIPT, server};
use crate::command::generic::encoding_of;
use crate::command::spec::Command;
use crate::command::{Args, spec};
use crate::engine::Obstacle;
use crate::error::{Error, LOADING, MISCONF, NO_SUCH_KEY, NOT_POSITIVE};
use crate::exec::{Await, Exec, Outcome};
use crate::keyspace::access::idle_seconds;
use crate::memory::Expiry;
use crate::options::DebugAccess;
use crate::text::escape::cut;
use crate::text::number::{parse_f64, parse_i64};
use crate::text::{fold, glob};

pub const DEBUG: Command = server("debug", -2, debug)
    .flags(ADMIN_NOSCRIPT)
    .route(spec::Route::Local)
    .docs("1.0.0", "<Depends on subcommand>", "Does what tests need.")
    .complexity("Depends on the sub-command");

const NOT_ALLOWED: Error = Error::new(
    "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from \
     a local connection, otherwise you need to set this option in the configuration file, and then restart the \
     server.",
);
const PACKED_THRESHOLD: Error =
    Error::new("ERR argument must be a memory value bigger than 1 and smaller than 4gb");
const NO_RESP2: Error = Error::new("ERR RESP2 is not supported by this command");
const PROTOCOL_TYPE: Error = Error::new(
    "ERR Wrong protocol type name. Please use one of the following: \
     string|integer|double|bignum|null|array|set|map|attrib|push|verbatim|true|false",
);
const RELOAD_OPTIONS: Error =
    Error::new("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
const NO_RELOAD: Error =
    Error::new("ERR there is nothing to load: durability is memory, or a load is under way already");
const NO_RELOAD_HERE: Error = Error::new("ERR a transaction cannot have the keyspace loaded anew");
/// Keys that one `DEBUG POPULATE` makes at most: it runs in one go.
const POPULATE_MAX: i64 = 10_000_000;
/// No longer than tests need, since the whole server stands still meanwhile.
const SLEEP_SECONDS_MAX: f64 = 600.0;

fn debug(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if !is_allowed(x) {
        return Err(NOT_ALLOWED.into());
    }
    let is = |name: &str, words: usize| args.len() == words && fold::is(args.get(1), name);
    if is("SLEEP", 3) {
        let seconds = parse_f64(args.get(2))
            .unwrap_or(0.0)
            .clamp(0.0, SLEEP_SECONDS_MAX);
        x.world.host.sleep_us((seconds * 1e6) as u64);
        x.reply.ok();
    } else if is("SET-ACTIVE-EXPIRE", 3) {
        x.db.shard.expiry_cycle.enabled = parse_i64(args.get(2)).unwrap_or(0) != 0;
        x.reply.ok();
    } else if is("OBJECT", 3) {
        return object(x, args);
    } else if is("PROTOCOL", 3) {
        return protocol(x, args.get(2));
    } else if is("STRINGMATCH-LEN", 4) {
        let len = parse_i64(args.get(2)).and_then(|len| usize::try_from(len).ok());
        let text = vec![b'a'; len.unwrap_or(0).min(1 << 20)];
        x.reply.integer(i64::from(glob::matches(args.get(3), &text)));
    } else if is("QUICKLIST-PACKED-THRESHOLD", 3) {
        // Large elements stand by themselves here whatever the threshold is.
        let bytes = crate::options::memory_value(args.get(2)).filter(|bytes| *bytes <= 4 << 30);
        bytes.ok_or(PACKED_THRESHOLD)?;
        x.reply.ok();
    } else if fold::is(args.get(1), "RELOAD") || is("LOADAOF", 2) {
        return reload(x, args);
    } else if is("JMAP", 2) || is("CHANGE-REPL-ID", 2) || is("SET-DISABLE-DENY-SCRIPTS", 3) {
        // Nothing here corresponds to these, and tests only need them not to fail.
        x.reply.ok();
    } else if fold::is(args.get(1), "POPULATE") && (3..=5).contains(&args.len()) {
        return populate(x, args);
    } else {
        let sub = String::from_utf8_lossy(cut(args.get(1)));
        return Err(Error::from(format!(
            "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try DEBUG HELP."
        ))
        .into());
    }
    Ok(())
}

/// `DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]` and `DEBUG LOADAOF`: the keyspace is made anew from what is kept, the
/// way that every start takes. What was executed is kept already, and nothing is there twice.
fn reload(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let known = |word: &[u8]| {
        ["MERGE", "NOFLUSH", "NOSAVE"]
            .iter()
            .any(|name| fold::is(word, name))
    };
    if !args.iter_from(2).all(known) {
        return Err(RELOAD_OPTIONS.into());
    }
    if x.has_come() {
        x.reply.ok();
        return Ok(());
    }
    if x.world.obstacles.has(Obstacle::Loading) {
        return Err(LOADING.into());
    }
    if !x.caller.may_block {
        return Err(NO_RELOAD_HERE.into());
    }
    if !x.world.host.reload() {
        return Err(NO_RELOAD.into());
    }
    x.block_for(Await::Reload, 0)
}

fn is_allowed(x: &Exec<'_>) -> bool {
    match x.world.options.debug_access() {
        DebugAccess::Nobody => false,
        DebugAccess::Everybody => true,
        DebugAccess::Local => x.world.sessions.get(x.caller.client).is_some_and(|session| {
            session.is_unix()
                || session
                    .addr
                    .parse::<core::net::SocketAddr>()
                    .is_ok_and(|addr| addr.ip().to_canonical().is_loopback())
        }),
    }
}

fn object(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(2));
    x.db.no_touch = true;
    let Some(mut slot) = x.db.find(key) else {
        return Err(NO_SUCH_KEY.into());
    };
    let encoding = encoding_of(&mut slot);
    let bytes = slot.entry().bytes().len();
    let access = slot.access();
    x.reply.simple(&format!(
        "Value at:0x0 refcount:1 encoding:{encoding} serializedlength:{bytes} lru:{access} lru_seconds_idle:{}",
        idle_seconds(access, x.now.ms())
    ));
    Ok(())
}

/// `DEBUG PROTOCOL type`: a reply of each type, for those who write clients.
fn protocol(x: &mut Exec<'_>, name: &[u8]) -> Outcome {
    let kind = name.to_ascii_lowercase();
    match kind.as_slice() {
        b"string" => x.reply.bulk_str("Hello World"),
        b"integer" => x.reply.integer(12345),
        b"double" => x.reply.double_text(b"3.141"),
        b"bignum" => x.reply.big_number("1234567999999999999999999999999999999"),
        b"null" => x.reply.null(),
        b"array" | b"set" => {
            match kind.as_slice() {
                b"set" => x.reply.set(3),
                _ => x.reply.array(3),
            }
            (0..3).for_each(|number| x.reply.integer(number));
        }
        b"map" => {
            x.reply.map(3);
            for number in 0..3 {
                x.reply.integer(number);
                x.reply.boolean(number == 1);
            }
        }
        b"attrib" => {
            if x.reply.attribute(1) {
                x.reply.bulk_str("key-popularity");
                x.reply.array(2);
                x.reply.bulk_str("key:123");
                x.reply.integer(90);
            }
            x.reply.bulk_str("Some real reply following the attribute");
        }
        b"push" if x.reply.is_resp3() => {
            // What is pushed to the client whose command runs goes behind its reply.
            x.reply.bulk_str("Some real reply following the push reply");
            x.world.send(x.caller.client, |reply| {
                reply.push(2);
                reply.bulk_str("server-cpu-usage");
                reply.integer(42);
            });
        }
        b"push" => return Err(NO_RESP2.into()),
        b"true" | b"false" => x.reply.boolean(kind == b"true"),
        b"verbatim" => x.reply.verbatim(b"txt", b"This is a verbatim\nstring"),
        _ => return Err(PROTOCOL_TYPE.into()),
    }
    Ok(())
}

/// `DEBUG POPULATE count [prefix [size]]`: strings `value:N`, cut or filled with zeros to the size.
fn populate(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if x.world.obstacles.has(Obstacle::LogFull) {
        return Err(MISCONF.into());
    }
    let positive = |word: &[u8]| parse_i64(word).filter(|number| *number >= 0).ok_or(NOT_POSITIVE);
    let count = positive(args.get(2))?.min(POPULATE_MAX);
    let prefix = args.try_get(3).unwrap_or(b"key");
    let size = args.try_get(4).map(positive).transpose()?;
    for number in 0..count {
        let name = [prefix, b":", number.to_string().as_bytes()].concat();
        let key = x.db.key(&name);
        if x.db.is_live(key) || !x.world.has_at_hand(&name) {
            continue;
        }
        let mut value = format!("value:{number}").into_bytes();
        if let Some(size) = size {
            value.resize(size as usize, 0);
        }
        x.db.put_string(key, &value, Expiry::Clear);
    }
    x.reply.ok();
    Ok(())
}

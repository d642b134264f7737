//! `HELLO`: protocol version, login and name in one step.

use super::client::valid_name;
use crate::command::Args;
use crate::engine::product;
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::resp::Protocol;
use crate::text::escape::cut;
use crate::text::fold;
use crate::text::number::parse_i64;

#[derive(Default)]
struct Options<'a> {
    protocol: Option<Protocol>,
    login: Option<(&'a [u8], &'a [u8])>,
    name: Option<&'a [u8]>,
}

fn parse<'a>(args: Args<'a>) -> Result<Options<'a>, Error> {
    let mut options = Options::default();
    let Some(version) = args.try_get(1) else {
        return Ok(options);
    };
    let version = parse_i64(version).ok_or(Error::new(
        "ERR Protocol version is not an integer or out of range",
    ))?;
    options.protocol = Some(match version {
        2 => Protocol::Resp2,
        3 => Protocol::Resp3,
        _ => return Err(Error::new("NOPROTO unsupported protocol version")),
    });
    let mut at = 2;
    while at < args.len() {
        let word = args.get(at);
        if let (true, Some(username), Some(password)) =
            (fold::is(word, "AUTH"), args.try_get(at + 1), args.try_get(at + 2))
        {
            options.login = Some((username, password));
            at += 3;
        } else if let (true, Some(name)) = (fold::is(word, "SETNAME"), args.try_get(at + 1)) {
            valid_name(name)?;
            options.name = Some(name);
            at += 2;
        } else {
            let word = String::from_utf8_lossy(cut(word));
            return Err(Error::from(format!("ERR Syntax error in HELLO option '{word}'")));
        }
    }
    Ok(options)
}

pub(super) fn hello(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let options = parse(args)?;
    if let Some((username, password)) = options.login {
        x.world
            .log_in(x.caller.client, username, password, args.get(0), x.now)?;
    }
    let mode = x.world.mode_for(x.caller.client);
    let default_user = x.world.users.default_user();
    let Some(session) = x.world.sessions.get_mut(x.caller.client) else {
        return Ok(());
    };
    if !session.identity.may_speak(default_user) {
        return Err(Error::new(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> \
             AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol \
             version at the same time",
        )
        .into());
    }
    if let Some(name) = options.name {
        session.identity.name = name.to_vec();
    }
    if let Some(protocol) = options.protocol {
        session.protocol = protocol;
        x.reply.set_proto(protocol);
    }
    let reply = &mut *x.reply;
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk_str(product::SERVER);
    reply.bulk(b"version");
    reply.bulk_str(product::COMPATIBLE_VERSION);
    reply.bulk(b"proto");
    reply.integer(if session.protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(session.id.serial() as i64);
    reply.bulk(b"mode");
    reply.bulk_str(mode);
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}

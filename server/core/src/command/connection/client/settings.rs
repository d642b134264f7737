//! What a connection says of itself and how it wants to be treated.

use crate::command::Args;
use crate::engine::session::{ReplyMode, Session};
use crate::error::{Error, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::text::escape::cut;
use crate::text::fold;

/// Printable ASCII without blanks, so that the lines of `CLIENT LIST` can be taken apart.
fn is_plain(text: &[u8]) -> bool {
    text.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

pub fn valid_name(name: &[u8]) -> Result<(), Error> {
    if is_plain(name) {
        Ok(())
    } else {
        Err(Error::new(
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ))
    }
}

/// Changes the caller's session, if it is here, and says OK.
fn change(x: &mut Exec<'_>, change: impl FnOnce(&mut Session)) -> Outcome {
    if let Some(session) = x.world.sessions.get_mut(x.caller.client) {
        change(session);
    }
    x.reply.ok();
    Ok(())
}

fn on_or_off(word: &[u8]) -> Result<bool, Error> {
    if fold::is(word, "ON") {
        Ok(true)
    } else if fold::is(word, "OFF") {
        Ok(false)
    } else {
        Err(SYNTAX)
    }
}

pub(super) fn id(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.integer(x.caller.client.serial() as i64);
    Ok(())
}

pub(super) fn setname(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    valid_name(args.get(2))?;
    change(x, |session| session.identity.name = args.get(2).to_vec())
}

pub(super) fn getname(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let name = x
        .world
        .sessions
        .get(x.caller.client)
        .map_or(&[][..], |session| &session.identity.name);
    x.reply.bulk_or_null((!name.is_empty()).then_some(name));
    Ok(())
}

pub(super) fn setinfo(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (option, value) = (args.get(2), args.get(3));
    let is_name = fold::is(option, "LIB-NAME");
    let shown = String::from_utf8_lossy(cut(option));
    if !is_name && !fold::is(option, "LIB-VER") {
        return Err(Error::from(format!("ERR Unrecognized option '{shown}'")).into());
    }
    if !is_plain(value) {
        let text = format!("ERR {shown} cannot contain spaces, newlines or special characters.");
        return Err(Error::from(text).into());
    }
    change(x, |session| {
        let identity = &mut session.identity;
        *if is_name {
            &mut identity.library_name
        } else {
            &mut identity.library_version
        } = value.to_vec();
    })
}

pub(super) fn reply(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let word = args.get(2);
    let (on, off) = (fold::is(word, "ON"), fold::is(word, "OFF"));
    if !on && !off && !fold::is(word, "SKIP") {
        return Err(SYNTAX.into());
    }
    let Some(session) = x.world.sessions.get_mut(x.caller.client) else {
        return Ok(());
    };
    if on {
        session.reply_mode = ReplyMode::On;
        x.reply.ok();
    } else if off {
        session.reply_mode = ReplyMode::Off;
    } else if session.reply_mode != ReplyMode::Off {
        session.reply_mode = ReplyMode::SkipNext;
    }
    Ok(())
}

pub(super) fn no_evict(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let on = on_or_off(args.get(2))?;
    change(x, |session| session.identity.no_evict = on)
}

pub(super) fn no_touch(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let on = on_or_off(args.get(2))?;
    change(x, |session| session.no_touch = on)
}

/// Unknown capabilities are no error: a client may be newer than the server.
pub(super) fn capa(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let redirect = args.iter_from(2).any(|word| fold::is(word, "REDIRECT"));
    change(x, |session| session.identity.follows_redirects |= redirect)
}

pub(super) fn getredir(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.integer(-1);
    Ok(())
}

/// There is no import mode here, which is what Valkey says as well while it is off.
pub(super) fn import_source(_: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    Err(Error::new("ERR Server is not in import mode").into())
}

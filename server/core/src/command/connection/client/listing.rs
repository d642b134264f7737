//! Describing connections, and closing them.

use super::filter::Filter;
use crate::command::{Args, help as help_text};
use crate::engine::describe;
use crate::engine::session::ClientId;
use crate::error::Error;
use crate::exec::{Exec, Outcome};

pub(super) fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &super::CLIENT);
    Ok(())
}

pub(super) fn info(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let mut text = Vec::new();
    if let Some(session) = x.world.sessions.get(x.caller.client) {
        text = describe::line(session, x.now.ms());
        text.push(b'\n');
    }
    x.reply.verbatim(b"txt", &text);
    Ok(())
}

pub(super) fn list(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let filter = Filter::parse(args, x.world, x.db.shard.databases.len())?;
    let mut text = Vec::new();
    for session in x.world.sessions.iter() {
        let is_me = session.id == x.caller.client;
        if filter.takes(session, x.now) && !(is_me && filter.skip_me == Some(true)) {
            text.extend(describe::line(session, x.now.ms()));
            text.push(b'\n');
        }
    }
    x.reply.verbatim(b"txt", &text);
    Ok(())
}

/// `KILL addr` answers OK or an error and may close the caller; the form with options answers a count and
/// spares the caller unless told otherwise.
pub(super) fn kill(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let is_old = args.len() == 3;
    let filter = if is_old {
        Filter::addr(args.get(2))
    } else {
        Filter::parse(args, x.world, x.db.shard.databases.len())?
    };
    let skip_me = !is_old && filter.skip_me.unwrap_or(true);
    let doomed: Vec<ClientId> = x
        .world
        .sessions
        .iter()
        .filter(|session| !session.closing && filter.takes(session, x.now))
        .map(|session| session.id)
        .filter(|client| !(skip_me && *client == x.caller.client))
        .collect();
    if is_old && doomed.is_empty() {
        return Err(Error::new("ERR No such client").into());
    }
    if is_old {
        x.reply.ok();
    } else {
        x.reply.count(doomed.len());
    }
    doomed.into_iter().for_each(|client| x.world.close(client));
    Ok(())
}

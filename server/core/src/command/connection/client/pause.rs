//! Holding clients back, and ending the wait of one that is blocked.

use crate::command::Args;
use crate::engine::{Scope, UnblockAs};
use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::{Exec, Outcome};
use crate::text::fold;
use crate::text::number::parse_i64;

pub(super) fn pause(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let scope = match args.try_get(3) {
        None => Scope::All,
        Some(word) if args.len() > 4 || fold::is(word, "ALL") => Scope::All,
        Some(word) if fold::is(word, "WRITE") => Scope::Writes,
        Some(_) => return Err(Error::new("ERR CLIENT PAUSE mode must be WRITE or ALL").into()),
    };
    let timeout =
        parse_i64(args.get(2)).ok_or(Error::new("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Error::new("ERR timeout is negative").into());
    }
    let until = timeout
        .checked_add(x.now.ms() as i64)
        .ok_or(Error::new("ERR timeout is out of range"))?;
    x.world.pause.begin(until as u64, scope, x.now);
    x.reply.ok();
    Ok(())
}

pub(super) fn unpause(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.pause.end();
    x.reply.ok();
    Ok(())
}

pub(super) fn unblock(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let how = match args.try_get(3) {
        None => UnblockAs::Timeout,
        Some(word) if fold::is(word, "TIMEOUT") => UnblockAs::Timeout,
        Some(word) if fold::is(word, "ERROR") => UnblockAs::Error,
        Some(_) => return Err(Error::new("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR").into()),
    };
    let id = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
    let found = u64::try_from(id).is_ok_and(|serial| x.world.request_unblock(serial, how));
    x.reply.integer(i64::from(found));
    Ok(())
}

//! How long a key still has, and when it goes.

use crate::command::Args;
use crate::exec::{Exec, Outcome};

const NO_KEY: i64 = -2;
const NO_EXPIRY: i64 = -1;

pub(super) fn ttl(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, |at, now| to_seconds(at.saturating_sub(now)))
}

pub(super) fn pttl(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, |at, now| at.saturating_sub(now))
}

pub(super) fn expiretime(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, |at, _| to_seconds(at))
}

pub(super) fn pexpiretime(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    answer(x, args, |at, _| at)
}

/// The nearest.
fn to_seconds(ms: u64) -> u64 {
    ms.saturating_add(500) / 1000
}

fn answer(x: &mut Exec<'_>, args: Args<'_>, show: impl FnOnce(u64, u64) -> u64) -> Outcome {
    x.db.no_touch = true;
    let key = x.db.key(args.get(1));
    let answer = match x.db.find(key).map(|slot| slot.expire_at_ms()) {
        None => NO_KEY,
        Some(None) => NO_EXPIRY,
        Some(Some(at)) => show(at, x.now.ms()).cast_signed(),
    };
    x.reply.integer(answer);
    Ok(())
}

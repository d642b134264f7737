//! `IDEM GET`: how the work stands, for people and for the curious.

use crate::command::Args;
use crate::command::native::UNREADABLE;
use crate::exec::{Exec, Outcome};
use crate::keyspace::Type;
use crate::value::idem::{Record, State};

pub(super) fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(2));
    let now = x.now;
    let Some(slot) = x.db.find_type(key, Type::Idem)? else {
        x.reply.null();
        return Ok(());
    };
    let record = Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?;
    x.reply.map(5);
    x.reply.bulk(b"status");
    x.reply.bulk(match record.state {
        State::Running { .. } => b"running".as_slice(),
        State::Done { .. } => b"done",
    });
    x.reply.bulk(b"fingerprint");
    x.reply.bulk(record.fingerprint);
    x.reply.bulk(b"fence");
    x.reply.integer(record.fence as i64);
    match record.state {
        State::Running { .. } => {
            x.reply.bulk(b"lease_ms");
            let left_us = record.lease_us(now).unwrap_or(0);
            x.reply.integer(left_us.div_ceil(1000) as i64);
        }
        State::Done { completed_ms, .. } => {
            x.reply.bulk(b"completed_unix_ms");
            x.reply.integer(completed_ms as i64);
        }
    }
    x.reply.bulk(b"ttl_ms");
    // PERSIST may have taken the time away.
    let left_ms = slot
        .expire_at_ms()
        .map_or(-1, |at| at.saturating_sub(now.ms()) as i64);
    x.reply.integer(left_ms);
    Ok(())
}

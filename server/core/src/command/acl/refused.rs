//! `ACL LOG`.

use super::at_most;
use crate::command::Args;
use crate::error::NOT_AN_INTEGER;
use crate::exec::{Exec, Outcome};
use crate::text::fold;
use crate::text::number::parse_i64;

/// Entries that are shown without a count.
const SHOWN: i64 = 10;

pub(super) fn log(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    at_most(args, 3)?;
    let count = match args.try_get(2) {
        Some(word) if fold::is(word, "RESET") => {
            x.world.acl_log.reset();
            x.reply.ok();
            return Ok(());
        }
        Some(word) => parse_i64(word).ok_or(NOT_AN_INTEGER)?,
        None => SHOWN,
    };
    let reply = &mut *x.reply;
    let entries = x.world.acl_log.iter();
    let count = entries.len().min(usize::try_from(count).unwrap_or(0));
    reply.array(count);
    for entry in entries.take(count) {
        let refusal = &entry.refusal;
        reply.map(10);
        reply.bulk(b"count");
        reply.integer(entry.count as i64);
        reply.bulk(b"reason");
        reply.bulk_str(refusal.reason.name());
        reply.bulk(b"context");
        reply.bulk_str(refusal.context.name());
        reply.bulk(b"object");
        reply.bulk(&refusal.object);
        reply.bulk(b"username");
        reply.bulk(&refusal.username);
        reply.bulk(b"age-seconds");
        reply.double(x.now.ms().saturating_sub(entry.updated_ms) as f64 / 1000.0);
        reply.bulk(b"client-info");
        reply.bulk(&refusal.client_info);
        reply.bulk(b"entry-id");
        reply.integer(entry.id as i64);
        reply.bulk(b"timestamp-created");
        reply.integer(entry.created_ms as i64);
        reply.bulk(b"timestamp-last-updated");
        reply.integer(entry.updated_ms as i64);
    }
    Ok(())
}

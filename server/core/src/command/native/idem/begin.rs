//! `IDEM BEGIN`: who runs the work.

use super::finish::store;
use super::{BAD_BLOCK, LEASE_DEFAULT, MISMATCH, TTL_DEFAULT};
use crate::command::Args;
use crate::command::native::{UNREADABLE, is_full};
use crate::effect::Effect;
use crate::error::{Error, MISCONF, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::{Classes, Key, Shard, Type};
use crate::resp::Reply;
use crate::text::fold;
use crate::text::number::parse_u64;
use crate::value::idem::{Record, State};

struct Request<'a> {
    fingerprint: &'a [u8],
    lease_ms: u64,
    ttl_ms: u64,
    owner: Option<&'a [u8]>,
    /// 0 waits for ever.
    block_ms: Option<u64>,
}

impl<'a> Request<'a> {
    fn parse(args: Args<'a>) -> Result<Self, Error> {
        let fingerprint = super::fingerprint(args.get(3))?;
        let (mut lease_ms, mut ttl_ms, mut owner, mut block_ms) = (None, None, None, None);
        let mut at = 4;
        while at < args.len() {
            let (word, value) = (args.get(at), args.try_get(at + 1).ok_or(SYNTAX)?);
            if fold::is(word, "LEASE") && lease_ms.is_none() {
                lease_ms = Some(super::lease(value)?);
            } else if fold::is(word, "TTL") && ttl_ms.is_none() {
                ttl_ms = Some(super::ttl(value)?);
            } else if fold::is(word, "OWNER") && owner.is_none() {
                owner = Some(super::token(value)?);
            } else if fold::is(word, "BLOCK") && block_ms.is_none() {
                block_ms = Some(
                    parse_u64(value)
                        .filter(|ms| *ms <= i64::MAX as u64)
                        .ok_or(BAD_BLOCK)?,
                );
            } else {
                return Err(SYNTAX);
            }
            at += 2;
        }
        Ok(Self {
            fingerprint,
            lease_ms: lease_ms.unwrap_or(LEASE_DEFAULT),
            ttl_ms: ttl_ms.unwrap_or(TTL_DEFAULT),
            owner,
            block_ms,
        })
    }
}

pub(super) fn begin(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let request = Request::parse(args)?;
    let key = x.db.key(args.get(2));
    let now = x.now;
    if let Some(slot) = x.db.find_write_type(key, Type::Idem)? {
        let record = Record::decode(slot.entry().bytes()).ok_or(UNREADABLE)?;
        if record.fingerprint != request.fingerprint {
            return Err(MISMATCH.into());
        }
        if let State::Done { completed_ms, result } = record.state {
            x.reply.array(3);
            x.reply.bulk(b"DONE");
            x.reply.bulk(result);
            x.reply.integer(completed_ms as i64);
            return Ok(());
        }
        if let Some(left_us) = record.lease_us(now) {
            if request.owner == Some(record.token) {
                // The same owner again, whose first answer was lost.
                reply_new(x.reply, record.fence, record.token);
                return Ok(());
            }
            if let Some(block_ms) = request.block_ms
                && x.caller.may_block
            {
                let over_ms = (now.us + left_us).div_ceil(1000);
                return x.block_until(key.bytes, block_ms, over_ms);
            }
            x.reply.array(3);
            x.reply.bulk(b"BUSY");
            x.reply.integer(record.fence as i64);
            x.reply.integer(left_us.div_ceil(1000) as i64);
            return Ok(());
        }
    }
    if is_full(x) {
        return Err(MISCONF.into());
    }
    take_on(x, key, &request);
    Ok(())
}

fn take_on(x: &mut Exec<'_>, key: Key<'_>, request: &Request<'_>) {
    let made_up = request.owner.is_none().then(|| make_token(x.db.shard));
    let token = request.owner.or(made_up.as_ref().map(<[u8; 32]>::as_slice));
    let record = Record {
        fence: x.db.shard.next_fence(),
        ttl_ms: request.ttl_ms,
        fingerprint: request.fingerprint,
        token: token.unwrap_or_default(),
        state: State::Running {
            lease_end_us: x.now.us.saturating_add(request.lease_ms * 1000),
        },
    };
    x.db.emit(Effect::Fence { fence: record.fence });
    store(&mut x.db, key, &record);
    x.db.notify(Classes::NATIVE, "idem-begin", key);
    reply_new(x.reply, record.fence, record.token);
}

fn reply_new(reply: &mut Reply, fence: u64, token: &[u8]) {
    reply.array(3);
    reply.bulk(b"NEW");
    reply.integer(fence as i64);
    reply.bulk(token);
}

/// A token for who brought none: 128 random bits in hexadecimal.
fn make_token(shard: &mut Shard) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bits = u128::from(shard.random()) << 64 | u128::from(shard.random());
    std::array::from_fn(|at| DIGITS[(bits >> (at * 4)) as usize & 15])
}

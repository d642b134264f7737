//! Beginning and ending to listen. Each name is confirmed by itself, as a message of its own.

use crate::command::Args;
use crate::engine::session::ReplyMode;
use crate::exec::{Exec, Outcome};
use crate::pubsub::Kind;
use crate::resp::Reply;

pub(super) fn to_channels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    subscribe(x, args, Kind::Channel)
}

pub(super) fn to_patterns(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    subscribe(x, args, Kind::Pattern)
}

pub(super) fn to_shard_channels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    subscribe(x, args, Kind::ShardChannel)
}

pub(super) fn from_channels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    unsubscribe(x, args, Kind::Channel)
}

pub(super) fn from_patterns(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    unsubscribe(x, args, Kind::Pattern)
}

pub(super) fn from_shard_channels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    unsubscribe(x, args, Kind::ShardChannel)
}

fn subscribe(x: &mut Exec<'_>, args: Args<'_>, kind: Kind) -> Outcome {
    for name in args.iter_from(1) {
        let count = x.world.subscribe(x.caller.client, kind, name);
        confirm(x, kind.subscribed(), Some(name), count);
    }
    Ok(())
}

fn unsubscribe(x: &mut Exec<'_>, args: Args<'_>, kind: Kind) -> Outcome {
    let client = x.caller.client;
    for name in args.iter_from(1) {
        let count = x.world.unsubscribe(client, kind, name);
        confirm(x, kind.unsubscribed(), Some(name), count);
    }
    if args.len() > 1 {
        return Ok(());
    }
    let names = x.world.subscribed(client, kind);
    for name in &names {
        let count = x.world.unsubscribe(client, kind, name);
        confirm(x, kind.unsubscribed(), Some(name), count);
    }
    if names.is_empty() {
        let count = x.world.subscription_count(client, kind);
        confirm(x, kind.unsubscribed(), None, count);
    }
    Ok(())
}

/// A confirmation is a message more than a reply: `CLIENT REPLY` does not keep it back.
fn confirm(x: &mut Exec<'_>, word: &[u8], name: Option<&[u8]>, count: usize) {
    let client = x.caller.client;
    let write = |out: &mut Reply| {
        out.push(3);
        out.bulk(word);
        out.bulk_or_null(name);
        out.count(count);
    };
    let replies = x.world.sessions.get(client).map(|session| session.reply_mode);
    if matches!(replies, Some(ReplyMode::Off | ReplyMode::Skip)) {
        x.world.send(client, write);
    } else {
        write(x.reply);
    }
}

//! Publish and subscribe: the commands. What stands behind them is in `pubsub/` and the engine.

mod inspect;
mod subscribe;

use super::Args;
use super::spec::{Command, Flags, Group, Handler, Join, KeyFlags, KeySpec, Route, command};
use crate::exec::{Exec, Outcome};
use crate::pubsub::Kind;

const PLAIN: Flags = Flags::PUBSUB.or(Flags::LOADING).or(Flags::STALE);
const SUBSCRIBING: Flags = PLAIN.or(Flags::NOSCRIPT);
const PUBLISHING: Flags = PLAIN.or(Flags::FAST);
/// Channels of shards are routed like keys, but are none.
const CHANNELS: &[KeySpec] = &[KeySpec::all(KeyFlags::NOT_KEY)];
const CHANNEL: &[KeySpec] = &[KeySpec::one(KeyFlags::NOT_KEY)];

const PER_CHANNEL: &str = "O(N) in the number of channels";
const PER_PATTERN: &str = "O(N) in the number of patterns";

const fn row(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::PubSub, name, arity, run)
}

pub const COMMANDS: &[Command] = &[
    row("psubscribe", -2, subscribe::to_patterns)
        .flags(SUBSCRIBING)
        .docs(
            "2.0.0",
            "pattern [pattern ...]",
            "Listens to all channels that fit the patterns.",
        )
        .complexity(PER_PATTERN),
    row("publish", 3, publish)
        .flags(PUBLISHING)
        .route(Route::Everywhere(Join::Sum))
        .docs(
            "2.0.0",
            "channel message",
            "Sends a message to all who listen to the channel.",
        )
        .complexity("O(N+M): N listeners of the channel, M patterns of all connections"),
    PUBSUB,
    row("punsubscribe", -1, subscribe::from_patterns)
        .flags(SUBSCRIBING)
        .docs(
            "2.0.0",
            "[pattern [pattern ...]]",
            "Listens to the patterns, or any pattern, no longer.",
        )
        .complexity(PER_PATTERN),
    row("spublish", 3, spublish)
        .flags(PUBLISHING)
        .keys(CHANNEL)
        .route(Route::Everywhere(Join::Sum))
        .docs(
            "7.0.0",
            "shardchannel message",
            "Sends a message to all who listen to the shard's channel.",
        )
        .complexity("O(N) in the number of the channel's listeners"),
    row("ssubscribe", -2, subscribe::to_shard_channels)
        .flags(SUBSCRIBING)
        .keys(CHANNELS)
        .route(Route::Local)
        .docs(
            "7.0.0",
            "shardchannel [shardchannel ...]",
            "Listens to channels of a shard.",
        )
        .complexity(PER_CHANNEL),
    row("subscribe", -2, subscribe::to_channels)
        .flags(SUBSCRIBING)
        .docs("2.0.0", "channel [channel ...]", "Listens to channels.")
        .complexity(PER_CHANNEL),
    row("sunsubscribe", -1, subscribe::from_shard_channels)
        .flags(SUBSCRIBING)
        .keys(CHANNELS)
        .route(Route::Local)
        .docs(
            "7.0.0",
            "[shardchannel [shardchannel ...]]",
            "Listens to the shard's channels, or any of them, no longer.",
        )
        .complexity(PER_CHANNEL),
    row("unsubscribe", -1, subscribe::from_channels)
        .flags(SUBSCRIBING)
        .docs(
            "2.0.0",
            "[channel [channel ...]]",
            "Listens to the channels, or any channel, no longer.",
        )
        .complexity(PER_CHANNEL),
];

const fn sub(name: &'static str, arity: i16, run: Handler) -> Command {
    row(name, arity, run)
        .flags(PLAIN)
        .route(Route::Everywhere(Join::Own))
}

pub const PUBSUB: Command = row("pubsub", -2, inspect::help)
    .docs("2.8.0", "", "Holds the commands that tell who listens to what.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        sub("channels", -2, inspect::channels)
            .docs(
                "2.8.0",
                "[pattern]",
                "Lists the channels that somebody listens to.",
            )
            .complexity("O(N) in the number of such channels"),
        row("help", 2, inspect::help)
            .flags(Flags::LOADING.or(Flags::STALE))
            .docs("6.2.0", "", "Shows this text."),
        sub("numpat", 2, inspect::numpat).docs("2.8.0", "", "Counts the patterns that somebody listens to."),
        sub("numsub", -2, inspect::numsub)
            .docs(
                "2.8.0",
                "[channel [channel ...]]",
                "Counts the listeners of each channel, without those by pattern.",
            )
            .complexity(PER_CHANNEL),
        sub("shardchannels", -2, inspect::shardchannels)
            .docs(
                "7.0.0",
                "[pattern]",
                "Lists the shard's channels that somebody listens to.",
            )
            .complexity("O(N) in the number of such channels"),
        sub("shardnumsub", -2, inspect::shardnumsub)
            .docs(
                "7.0.0",
                "[shardchannel [shardchannel ...]]",
                "Counts the listeners of each of the shard's channels.",
            )
            .complexity(PER_CHANNEL),
    ]);

fn publish(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    send(x, Kind::Channel, args)
}

fn spublish(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    send(x, Kind::ShardChannel, args)
}

/// Alone it goes to every owner by its route; within a transaction it runs on one, which tells the others.
fn send(x: &mut Exec<'_>, kind: Kind, args: Args<'_>) -> Outcome {
    let (channel, message) = (args.get(1), args.get(2));
    let sent = if x.caller.may_block {
        x.world.publish(kind, channel, message)
    } else {
        x.world.publish_to_nodes(kind, channel, message);
        x.world.publish_everywhere(kind, channel, message)
    };
    x.reply.count(sent);
    Ok(())
}

//! Transactions: `MULTI`, `EXEC`, `DISCARD`, and keys watched for them.
//!
//! What a transaction is, and how it runs, is the engine's (`engine/transaction.rs`).

use super::Args;
use super::spec::{Categories, Command, Flags, Group, Handler, KeySpec, RO, command};
use crate::engine::World;
use crate::error::Error;
use crate::exec::{Exec, Outcome};

const PLAIN: Flags = Flags::NOSCRIPT.or(Flags::LOADING).or(Flags::STALE);
const QUICK: Flags = PLAIN.or(Flags::FAST).or(Flags::ALLOW_BUSY);

const fn row(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Transactions, name, arity, run).acl(Categories::TRANSACTION)
}

pub const COMMANDS: &[Command] = &[
    row("discard", 1, discard)
        .flags(QUICK)
        .docs("2.0.0", "", "Drops the transaction and the watched keys.")
        .complexity("O(N) in the number of queued commands"),
    row("exec", 1, exec)
        .flags(PLAIN.or(Flags::SKIP_COMMANDLOG))
        .docs(
            "1.2.0",
            "",
            "Runs the transaction's commands as one, unless a watched key has changed.",
        )
        .complexity("Depends on the queued commands"),
    row("multi", 1, multi).flags(QUICK.or(Flags::NO_MULTI)).docs(
        "1.2.0",
        "",
        "Begins a transaction: the commands that follow are queued.",
    ),
    row("unwatch", 1, unwatch)
        .flags(QUICK)
        .docs("2.2.0", "", "Watches no key any longer."),
    row("watch", -2, watch)
        .flags(QUICK.or(Flags::NO_MULTI))
        .keys(&[KeySpec::all(RO)])
        .docs(
            "2.2.0",
            "key [key ...]",
            "Has the next transaction run only if none of the keys changes before it.",
        )
        .complexity("O(1) a key"),
];

fn multi(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.begin_transaction(x.caller.client);
    x.reply.ok();
    Ok(())
}

fn exec(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    World::execute_transaction(x)
}

fn discard(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let client = x.caller.client;
    if !x.world.sessions.get(client).is_some_and(|s| s.in_multi()) {
        return Err(Error::new("ERR DISCARD without MULTI").into());
    }
    x.world.end_transaction(client, &mut x.db.shard.interest);
    x.reply.ok();
    Ok(())
}

fn watch(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    for key in args.iter_from(1) {
        x.world.watch(x.caller.client, &mut x.db, key);
    }
    x.reply.ok();
    Ok(())
}

fn unwatch(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.unwatch(x.caller.client, &mut x.db.shard.interest);
    x.reply.ok();
    Ok(())
}

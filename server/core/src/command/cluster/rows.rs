//! The rows of the table.

use super::{asking, count_failure_reports, help, keys, keyslot, lines, readonly, readwrite, refuse, view};
use crate::command::spec::{Categories, Command, Flags, Group, Handler, command};

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE);
const ADMIN: Flags = Flags::ADMIN.or(Flags::STALE);
const CHANGE: Flags = ADMIN.or(Flags::NO_ASYNC_LOADING);
const PER_NODE: &str = "O(N) in the number of nodes";
const PER_REPLICA: &str = "O(N) in the number of replicas";
const PER_SLOT: &str = "O(1): it is refused";
const MANAGED: &str = "Is refused: ruvioctl and the operator manage nodes and shards.";

const fn row(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Cluster, name, arity, run)
}

const fn of_connection(name: &'static str, flags: Flags, run: Handler) -> Command {
    row(name, 1, run).flags(flags).acl(Categories::CONNECTION)
}

/// A command of Redis Cluster that would change the cluster.
const fn change(name: &'static str, arity: i16, since: &'static str, syntax: &'static str) -> Command {
    row(name, arity, refuse)
        .flags(CHANGE)
        .docs(since, syntax, MANAGED)
        .complexity(PER_SLOT)
}

pub const COMMANDS: &[Command] = &[
    of_connection("asking", Flags::FAST, asking).docs(
        "3.0.0",
        "",
        "Has no effect: no slot is ever between two nodes.",
    ),
    CLUSTER,
    of_connection("readonly", ANY_TIME.or(Flags::FAST), readonly).docs(
        "3.0.0",
        "",
        "Lets the connection read from shards that follow, which may be a little behind.",
    ),
    of_connection("readwrite", ANY_TIME.or(Flags::FAST), readwrite).docs(
        "3.0.0",
        "",
        "Has the connection read from leaders again.",
    ),
];

pub const CLUSTER: Command = row("cluster", -2, help)
    .docs("3.0.0", "", "Holds the commands about the cluster.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        change("addslots", -3, "3.0.0", "slot [slot ...]"),
        change(
            "addslotsrange",
            -4,
            "7.0.0",
            "start-slot end-slot [start-slot end-slot ...]",
        ),
        change("bumpepoch", 2, "3.0.0", ""),
        change("cancelslotmigrations", 2, "9.0.0", ""),
        row("count-failure-reports", 3, count_failure_reports)
            .flags(ADMIN)
            .docs(
                "3.0.0",
                "node-id",
                "Answers 0: nodes do not report each other's failures.",
            ),
        row("countkeysinslot", 3, keys::count)
            .flags(Flags::STALE)
            .docs("3.0.0", "slot", "Counts the keys of a slot on this node.")
            .complexity("O(N) in the number of keys of the slot's shard, a million at the most"),
        change("delslots", -3, "3.0.0", "slot [slot ...]"),
        change(
            "delslotsrange",
            -4,
            "7.0.0",
            "start-slot end-slot [start-slot end-slot ...]",
        ),
        change("failover", -2, "3.0.0", "[FORCE | TAKEOVER]"),
        change("flushslots", 2, "3.0.0", ""),
        change("forget", 3, "3.0.0", "node-id"),
        row("getkeysinslot", 4, keys::get)
            .flags(Flags::STALE)
            .docs("3.0.0", "slot count", "Lists keys of a slot on this node.")
            .complexity("O(N) in the number of keys of the slot's shard, a million at the most"),
        change("getslotmigrations", 2, "9.0.0", ""),
        row("help", 2, help)
            .flags(ANY_TIME)
            .docs("5.0.0", "", "Shows this text."),
        row("info", 2, lines::info)
            .flags(ANY_TIME)
            .docs("3.0.0", "", "Tells how the cluster is.")
            .complexity(PER_NODE),
        row("keyslot", 3, keyslot)
            .flags(Flags::STALE)
            .docs("3.0.0", "key", "Tells the slot of a key.")
            .complexity("O(N) in the length of the key"),
        row("links", 2, view::links)
            .flags(Flags::STALE)
            .docs("7.0.0", "", "Lists the nodes that this one is connected with.")
            .complexity(PER_NODE),
        change("meet", -4, "3.0.0", "ip port [cluster-bus-port]"),
        row("myid", 2, view::myid)
            .flags(ANY_TIME)
            .docs("3.0.0", "", "Tells the node's id."),
        row("myshardid", 2, view::myshardid).flags(ANY_TIME).docs(
            "7.2.0",
            "",
            "Tells the id of the first shard that the node leads or follows.",
        ),
        row("nodes", 2, lines::nodes)
            .flags(ANY_TIME)
            .docs("3.0.0", "", "Lists the nodes with their slots, a line each.")
            .complexity(PER_NODE),
        row("replicas", 3, lines::replicas)
            .flags(ADMIN)
            .docs("5.0.0", "node-id", "Lists the nodes that follow a node.")
            .complexity(PER_REPLICA),
        change("replicate", -3, "3.0.0", "<node-id | NO ONE>"),
        row("reset", -2, refuse)
            .flags(ADMIN.or(Flags::NOSCRIPT))
            .docs("3.0.0", "[HARD | SOFT]", MANAGED)
            .complexity(PER_SLOT),
        change("saveconfig", 2, "3.0.0", ""),
        change("set-config-epoch", 3, "3.0.0", "config-epoch"),
        change(
            "setslot",
            -4,
            "3.0.0",
            "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE> [TIMEOUT timeout]",
        ),
        row("shards", 2, view::shards)
            .flags(ANY_TIME)
            .docs("7.0.0", "", "Lists the shards with their slots and nodes.")
            .complexity(PER_NODE),
        row("slaves", 3, lines::replicas)
            .flags(ADMIN)
            .docs("3.0.0", "node-id", "Lists the nodes that follow a node.")
            .complexity(PER_REPLICA),
        row("slots", 2, view::slots)
            .flags(ANY_TIME)
            .docs("3.0.0", "", "Lists ranges of slots with their nodes.")
            .complexity(PER_NODE),
    ]);

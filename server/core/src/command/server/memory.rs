//! `MEMORY`: where memory goes.

use super::{ANY_TIME, server};
use crate::command::spec::{Command, Flags, Join, KeySpec, RO, Route};
use crate::command::{Args, help as help_text};
use crate::error::{NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::keyspace::weight;
use crate::text::fold;
use crate::text::number::parse_i64;

const SAMPLES: usize = 5;
const KEY: &[KeySpec] = &[KeySpec::at(2, 0, 1, RO)];

pub const MEMORY: Command = server("memory", -2, help)
    .docs("4.0.0", "", "Holds the commands about memory.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        server("doctor", 2, doctor).docs("4.0.0", "", "Says in words how memory is doing."),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("4.0.0", "", "Shows this text."),
        server("malloc-stats", 2, malloc_stats)
            .flags(Flags::LOADING)
            .docs("4.0.0", "", "Shows what the allocator says of itself."),
        server("purge", 2, purge)
            .flags(Flags::LOADING)
            .route(Route::Everywhere(Join::Ok))
            .docs("4.0.0", "", "Has memory that is not used given back."),
        server("stats", 2, stats)
            .route(Route::Everywhere(Join::Own))
            .docs("4.0.0", "", "Shows where memory goes."),
        server("usage", -3, usage)
            .flags(Flags::READONLY)
            .keys(KEY)
            .docs(
                "4.0.0",
                "key [SAMPLES count]",
                "Answers how many bytes a key and its value take.",
            )
            .complexity("O(N) in the number of samples"),
    ]);

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &MEMORY);
    Ok(())
}

fn usage(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let mut samples = SAMPLES;
    let mut at = 3;
    while at < args.len() {
        let (true, Some(count)) = (fold::is(args.get(at), "SAMPLES"), args.try_get(at + 1)) else {
            return Err(SYNTAX.into());
        };
        let count = parse_i64(count).ok_or(NOT_AN_INTEGER)?;
        samples = usize::try_from(count).map_err(|_| SYNTAX)?;
        at += 2;
    }
    let key = x.db.key(args.get(2));
    if !x.db.is_live(key) {
        x.reply.null();
        return Ok(());
    }
    match x.db.entry(key) {
        Some(entry) => {
            let bytes = weight::entry_bytes(&entry, &x.db.shard.heap, samples);
            x.reply.integer(bytes as i64);
        }
        None => x.reply.null(),
    }
    Ok(())
}

fn stats(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let usage = x.world.memory_usage(x.db.shard);
    let keys: usize = x.db.shard.databases.iter().map(|table| table.len()).sum();
    let counts: [(&str, u64); 11] = [
        ("peak.allocated", usage.peak),
        ("total.allocated", usage.used),
        ("startup.allocated", usage.startup),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("clients.normal", usage.clients),
        ("cluster.links", 0),
        ("aof.buffer", 0),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("overhead.total", usage.overhead),
    ];
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let net = usage.used.saturating_sub(usage.startup);
    let more: [(&str, u64); 3] = [
        ("keys.count", keys as u64),
        ("keys.bytes-per-key", net.checked_div(keys as u64).unwrap_or(0)),
        ("dataset.bytes", usage.dataset()),
    ];
    let shares: [(&str, f64); 2] = [
        ("dataset.percentage", 100.0 * ratio(usage.dataset(), net)),
        ("peak.percentage", 100.0 * ratio(usage.used, usage.peak)),
    ];
    let allocator: [(&str, u64); 3] = [
        ("allocator.allocated", usage.used),
        ("allocator.active", usage.mapped),
        ("allocator.resident", usage.resident),
    ];
    let ratios: [(&str, f64); 2] = [
        ("allocator-fragmentation.ratio", ratio(usage.mapped, usage.used)),
        ("fragmentation", ratio(usage.resident, usage.used)),
    ];
    let databases = &x.db.shard.databases;
    let used = databases
        .iter()
        .enumerate()
        .filter(|(_, table)| !table.is_empty());
    let reply = &mut *x.reply;
    reply.map(
        counts.len() + used.clone().count() + more.len() + shares.len() + allocator.len() + ratios.len() + 1,
    );
    for (name, count) in counts {
        reply.bulk_str(name);
        reply.integer(count as i64);
    }
    for (index, table) in used {
        reply.bulk_str(&format!("db.{index}"));
        reply.map(2);
        reply.bulk(b"overhead.hashtable.main");
        reply.integer(table.index_bytes() as i64);
        // Expiries stand in the entries.
        reply.bulk(b"overhead.hashtable.expires");
        reply.integer(0);
    }
    for (name, count) in more {
        reply.bulk_str(name);
        reply.integer(count as i64);
    }
    for (name, value) in shares {
        reply.bulk_str(name);
        reply.double(value);
    }
    for (name, count) in allocator {
        reply.bulk_str(name);
        reply.integer(count as i64);
    }
    for (name, value) in ratios {
        reply.bulk_str(name);
        reply.double(value);
    }
    reply.bulk(b"fragmentation.bytes");
    reply.integer(usage.resident as i64 - usage.used as i64);
    Ok(())
}

/// Memory of this size tells nothing yet.
const LITTLE_BYTES: u64 = 5 << 20;

fn doctor(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let usage = x.world.memory_usage(x.db.shard);
    let limit = x.world.options.max_memory() as u64;
    let mut text = String::new();
    if usage.used < LITTLE_BYTES {
        text.push_str("Too little memory is in use to say anything of it.\n");
    } else {
        if usage.peak > usage.used / 2 * 3 {
            text.push_str(
                "Much more memory was in use once: what was freed since is kept for reuse or given back.\n",
            );
        }
        if usage.resident > usage.used / 2 * 3 {
            text.push_str("Much more memory is resident than in use: values of other sizes than before, or a time of many deletions.\n");
        }
        if limit > 0 && usage.used > limit / 10 * 9 {
            text.push_str("Nearly all of maxmemory is in use.\n");
        }
        if usage.clients > usage.used / 4 {
            text.push_str("Clients hold more than a quarter of the memory: look at CLIENT LIST for those who do not read.\n");
        }
        if text.is_empty() {
            text.push_str("Memory is fine.\n");
        }
    }
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

fn malloc_stats(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let figures = x.world.host.memory();
    let heap = &x.db.shard.heap;
    let text = format!(
        "Taken from the allocator by this owner: {} bytes\nKeys and values: {} bytes used of {} mapped\nResident: {} bytes\n",
        figures.allocated,
        heap.slab_bytes(),
        heap.mapped_bytes(),
        figures.resident
    );
    x.reply.verbatim(b"txt", text.as_bytes());
    Ok(())
}

/// Pages of the heap that are empty go back by themselves; what was deleted and not yet freed is freed now, and
/// whether compaction is worth it is looked at again.
fn purge(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    const ELEMENTS: usize = 100_000;
    x.db.shard.free_slice(ELEMENTS);
    x.db.shard.compaction.hurry();
    x.reply.ok();
    Ok(())
}

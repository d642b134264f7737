//! `MEMORY`: where memory goes.

use super::memory_report::{Answer, MemoryReport};
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
        server("doctor", 2, doctor)
            .route(Route::Everywhere(Join::Own))
            .docs("4.0.0", "", "Says in words how memory is doing."),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("4.0.0", "", "Shows this text."),
        server("malloc-stats", 2, malloc_stats)
            .flags(Flags::LOADING)
            .route(Route::Everywhere(Join::Own))
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
    answer(x, Answer::Stats)
}

fn doctor(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    answer(x, Answer::Doctor)
}

fn malloc_stats(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    answer(x, Answer::Malloc)
}

fn answer(x: &mut Exec<'_>, answer: Answer) -> Outcome {
    let report = MemoryReport::of(x.world, x.db.shard);
    if x.world.topology.is_spread() {
        report.write_part(x.reply);
    } else {
        report.show(answer, x.reply);
    }
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

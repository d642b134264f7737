//! `CONFIG`: options seen and changed while the server runs.

use super::{ADMIN_NOSCRIPT, ANY_TIME, server};
use crate::command::spec::{Command, Join, Route};
use crate::command::{Args, help as help_text};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::keyspace::ShardStats;
use crate::options::ROWS;
use crate::text::glob;

const PER_OPTION: &str = "O(N) in the number of options";

pub const CONFIG: Command = server("config", -2, help)
    .docs("2.0.0", "", "Holds the commands about the server's options.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        server("get", -3, get)
            .flags(ADMIN_NOSCRIPT)
            .docs(
                "2.0.0",
                "parameter [parameter ...]",
                "Shows the options whose names match a pattern.",
            )
            .complexity(PER_OPTION),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("5.0.0", "", "Shows this text."),
        server("resetstat", 2, reset_stat)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::Everywhere(Join::Ok))
            .docs("2.0.0", "", "Lets the statistics of INFO start anew."),
        server("rewrite", 2, rewrite)
            .flags(ADMIN_NOSCRIPT)
            .docs(
                "2.8.0",
                "",
                "Writes the options of now into the file the server was started with.",
            )
            .complexity(PER_OPTION),
        server("set", -4, set)
            .flags(ADMIN_NOSCRIPT)
            .route(Route::Everywhere(Join::Ok))
            .docs(
                "2.0.0",
                "parameter value [parameter value ...]",
                "Changes options: all that are named, or none.",
            )
            .complexity("O(N) in the number of options that are named"),
    ]);

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &CONFIG);
    Ok(())
}

fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let patterns: Vec<&[u8]> = args.iter_from(2).collect();
    let asked = |name: &str, hidden: bool| {
        patterns.iter().any(|pattern| match hidden {
            false => glob::matches_ignoring_case(pattern, name.as_bytes()),
            true => pattern.eq_ignore_ascii_case(name.as_bytes()),
        })
    };
    let at = x.reply.begin();
    let mut pairs = 0;
    for row in ROWS {
        for name in row.names().filter(|name| asked(name, row.facts.hidden)) {
            pairs += 1;
            x.reply.bulk_str(name);
            x.reply.bulk(&x.world.options.shown(row));
        }
    }
    x.reply.end_map(at, pairs);
    Ok(())
}

fn set(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let pairs: Vec<&[u8]> = args.iter_from(2).collect();
    x.world.change_options(x.db.shard, &pairs)?;
    x.reply.ok();
    Ok(())
}

fn reset_stat(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.reset_stats();
    let before = x.db.shard.stats;
    x.db.shard.stats = ShardStats {
        changes: before.changes,
        kept: before.kept,
        ..ShardStats::default()
    };
    x.reply.ok();
    Ok(())
}

fn rewrite(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let path = x
        .world
        .options
        .file
        .clone()
        .ok_or(Error::new("ERR The server is running without a config file"))?;
    let world = &mut *x.world;
    let written = world.host.read_file(&path).and_then(|old| {
        // Users of an aclfile stay there; others have no place but this file.
        let users: Vec<Vec<u8>> = match world.acl_file {
            Some(_) => Vec::new(),
            None => world.users.iter().map(|user| user.describe()).collect(),
        };
        let text = world.options.rewrite(&old, &users);
        world.host.write_file(&path, &text)
    });
    written.map_err(|why| Error::from(format!("ERR Rewriting config file: {why}")))?;
    x.reply.ok();
    Ok(())
}

//! `SLOWLOG`: commands that took long. And `COMMANDLOG`: the same, and commands whose request or reply was large.

use super::{ADMIN, ANY_TIME, server};
use crate::command::spec::{Command, Route};
use crate::command::{Args, help as help_text};
use crate::engine::observe::{CommandLog, LogKind};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::resp::Reply;
use crate::text::escape::cut;
use crate::text::number::parse_i64;

const SHOWN: usize = 10;
const COUNT: Error = Error::new("ERR count should be greater than or equal to -1");

pub const SLOWLOG: Command = server("slowlog", -2, help)
    .docs("2.2.12", "", "Holds the commands about commands that took long.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        server("get", -2, get)
            .flags(ADMIN)
            .route(Route::First)
            .docs("2.2.12", "[count]", "Shows the last commands that took long.")
            .complexity("O(N) in the number of entries shown"),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("6.2.0", "", "Shows this text."),
        server("len", 2, len).flags(ADMIN).route(Route::First).docs(
            "2.2.12",
            "",
            "Answers how many entries there are.",
        ),
        server("reset", 2, reset)
            .flags(ADMIN)
            .route(Route::First)
            .docs("2.2.12", "", "Forgets all entries.")
            .complexity("O(N) in the number of entries"),
    ]);

fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &SLOWLOG);
    Ok(())
}

fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 3 {
        let sub = String::from_utf8_lossy(cut(args.get(1)));
        return Err(Error::from(format!(
            "ERR unknown subcommand or wrong number of arguments for '{sub}'. Try SLOWLOG HELP."
        ))
        .into());
    }
    let count = args.try_get(2).map_or(Ok(Some(SHOWN)), parse_count)?;
    write_entries(x.reply, x.world.observer.log(LogKind::Slow), count);
    Ok(())
}

/// `None` for all.
fn parse_count(word: &[u8]) -> Result<Option<usize>, Error> {
    let count = parse_i64(word).filter(|count| *count >= -1).ok_or(COUNT)?;
    Ok(usize::try_from(count).ok())
}

fn write_entries(reply: &mut Reply, log: &CommandLog, count: Option<usize>) {
    let count = count.map_or(log.len(), |count| count.min(log.len()));
    reply.array(count);
    for entry in log.iter().take(count) {
        reply.array(6);
        reply.integer(entry.id as i64);
        reply.integer(entry.at_seconds as i64);
        reply.integer(entry.value as i64);
        reply.array(entry.words.len());
        for word in &entry.words {
            reply.bulk(word);
        }
        reply.bulk(&entry.addr);
        reply.bulk(&entry.name);
    }
}

fn len(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.count(x.world.observer.log(LogKind::Slow).len());
    Ok(())
}

fn reset(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.observer.log_mut(LogKind::Slow).reset();
    x.reply.ok();
    Ok(())
}

const TYPE: Error = Error::new("ERR type should be one of the following: slow, large-request, large-reply");

pub const COMMANDLOG: Command = server("commandlog", -2, of_kind::help)
    .docs("8.1.0", "", "Holds the commands about the logs of commands.")
    .complexity("Depends on the sub-command")
    .subcommands(&[
        server("get", 4, of_kind::get)
            .flags(ADMIN)
            .route(Route::First)
            .docs(
                "8.1.0",
                "count SLOW | LARGE-REQUEST | LARGE-REPLY",
                "Shows the last commands of one of the logs.",
            )
            .complexity("O(N) in the number of entries shown"),
        server("help", 2, of_kind::help)
            .flags(ANY_TIME)
            .docs("8.1.0", "", "Shows this text."),
        server("len", 3, of_kind::len)
            .flags(ADMIN)
            .route(Route::First)
            .docs(
                "8.1.0",
                "SLOW | LARGE-REQUEST | LARGE-REPLY",
                "Answers how many entries one of the logs has.",
            ),
        server("reset", 3, of_kind::reset)
            .flags(ADMIN)
            .route(Route::First)
            .docs(
                "8.1.0",
                "SLOW | LARGE-REQUEST | LARGE-REPLY",
                "Forgets all entries of one of the logs.",
            )
            .complexity("O(N) in the number of entries"),
    ]);

/// The functions of `COMMANDLOG`, whose last word names the log.
mod of_kind {
    use super::{
        Args, COMMANDLOG, Error, Exec, LogKind, Outcome, TYPE, help_text, parse_count, write_entries,
    };
    use crate::text::fold;

    fn kind(word: &[u8]) -> Result<LogKind, Error> {
        let named = |kind: &LogKind| {
            fold::is(
                word,
                match kind {
                    LogKind::Slow => "SLOW",
                    LogKind::LargeRequest => "LARGE-REQUEST",
                    LogKind::LargeReply => "LARGE-REPLY",
                },
            )
        };
        LogKind::ALL.into_iter().find(named).ok_or(TYPE)
    }

    pub fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
        help_text::write(x.reply, &COMMANDLOG);
        Ok(())
    }

    pub fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
        let count = parse_count(args.get(2))?;
        let log = x.world.observer.log(kind(args.get(3))?);
        write_entries(x.reply, log, count);
        Ok(())
    }

    pub fn len(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
        x.reply.count(x.world.observer.log(kind(args.get(2))?).len());
        Ok(())
    }

    pub fn reset(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
        x.world.observer.log_mut(kind(args.get(2))?).reset();
        x.reply.ok();
        Ok(())
    }
}

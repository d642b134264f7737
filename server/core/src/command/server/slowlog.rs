//! `SLOWLOG`: commands that took long.

use super::{ADMIN, ANY_TIME, server};
use crate::command::spec::{Command, Join, Route};
use crate::command::{Args, help as help_text};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
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
            .route(Route::Everywhere(Join::Own))
            .docs("2.2.12", "[count]", "Shows the last commands that took long.")
            .complexity("O(N) in the number of entries shown"),
        server("help", 2, help)
            .flags(ANY_TIME)
            .docs("6.2.0", "", "Shows this text."),
        server("len", 2, len)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Sum))
            .docs("2.2.12", "", "Answers how many entries there are."),
        server("reset", 2, reset)
            .flags(ADMIN)
            .route(Route::Everywhere(Join::Ok))
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
    let log = &x.world.observer.slowlog;
    let count = match args.try_get(2) {
        None => SHOWN,
        Some(word) => match parse_i64(word).filter(|count| *count >= -1).ok_or(COUNT)? {
            -1 => log.len(),
            count => count as usize,
        },
    };
    x.reply.array(count.min(log.len()));
    for entry in log.iter().take(count) {
        x.reply.array(6);
        x.reply.integer(entry.id as i64);
        x.reply.integer(entry.at_seconds as i64);
        x.reply.integer(entry.took_us as i64);
        x.reply.array(entry.words.len());
        for word in &entry.words {
            x.reply.bulk(word);
        }
        x.reply.bulk(&entry.addr);
        x.reply.bulk(&entry.name);
    }
    Ok(())
}

fn len(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.integer(x.world.observer.slowlog.len() as i64);
    Ok(())
}

fn reset(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.observer.slowlog.reset();
    x.reply.ok();
    Ok(())
}

//! `PUBSUB`: who listens to what.

use crate::command::{Args, help as help_text};
use crate::error::Error;
use crate::exec::{Exec, Outcome};
use crate::pubsub::Kind;
use crate::text::escape::cut;
use crate::text::glob;

pub(super) fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &super::PUBSUB);
    Ok(())
}

pub(super) fn channels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    list(x, args, false)
}

pub(super) fn shardchannels(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    list(x, args, true)
}

fn list(x: &mut Exec<'_>, args: Args<'_>, sharded: bool) -> Outcome {
    if args.len() > 3 {
        let word = String::from_utf8_lossy(cut(args.get(1)));
        return Err(Error::from(format!(
            "ERR unknown subcommand or wrong number of arguments for '{word}'. Try PUBSUB HELP."
        ))
        .into());
    }
    let mut names = x.world.directory.channels(sharded);
    if let Some(pattern) = args.try_get(2) {
        names.retain(|name| glob::matches(pattern, name));
    }
    x.reply.array(names.len());
    names.into_iter().for_each(|name| x.reply.bulk(name));
    Ok(())
}

pub(super) fn numpat(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.count(x.world.directory.patterns().len());
    Ok(())
}

pub(super) fn numsub(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    count_listeners(x, args, Kind::Channel)
}

pub(super) fn shardnumsub(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    count_listeners(x, args, Kind::ShardChannel)
}

fn count_listeners(x: &mut Exec<'_>, args: Args<'_>, kind: Kind) -> Outcome {
    let names = args.iter_from(2);
    x.reply.array(names.len() * 2);
    for name in names {
        x.reply.bulk(name);
        let listeners = x.world.directory.listeners(kind, name);
        x.reply.count(listeners.map_or(0, |listeners| listeners.len()));
    }
    Ok(())
}

//! `COMMAND GETKEYS` and `GETKEYSANDFLAGS`: the keys of a command that is not run.

use super::info::key_flags;
use crate::command::keys::for_each_key;
use crate::command::spec::{Group, KeyFlags};
use crate::command::{Args, COMMANDS};
use crate::error::Error;
use crate::exec::{Exec, Outcome};

pub(super) fn keys(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let words = args.skip(2);
    let found = find(words)?;
    x.reply.array(found.len());
    found.iter().for_each(|(at, _)| x.reply.bulk(words.get(*at)));
    Ok(())
}

pub(super) fn keys_and_flags(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let words = args.skip(2);
    let found = find(words)?;
    x.reply.array(found.len());
    for (at, flags) in found {
        x.reply.array(2);
        x.reply.bulk(words.get(at));
        key_flags(x.reply, flags);
    }
    Ok(())
}

fn find(words: Args<'_>) -> Result<Vec<(usize, KeyFlags)>, Error> {
    let entry = COMMANDS
        .find_words(words)
        .ok_or(Error::new("ERR Invalid command specified"))?;
    if entry
        .spec
        .keys
        .iter()
        .all(|spec| spec.flags.has(KeyFlags::NOT_KEY))
    {
        return Err(Error::new("ERR The command has no key arguments"));
    }
    if !entry.arity_fits(words.len()) {
        return Err(Error::new(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let mut found = Vec::new();
    let told = for_each_key(entry.spec, words, |at, flags| found.push((at, flags)));
    if told.is_some() && !found.is_empty() {
        Ok(found)
    } else if entry.spec.group == Group::Scripting {
        // Scripts may have no keys at all.
        Ok(Vec::new())
    } else {
        Err(Error::new("ERR Invalid arguments specified for command"))
    }
}

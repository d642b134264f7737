//! Looking at users and categories, and asking what would be allowed.

use super::{at_most, bulk};
use crate::acl::{self, Selector};
use crate::command::spec::Categories;
use crate::command::{Args, COMMANDS, help as help_text};
use crate::engine::describe_denial;
use crate::error::{Error, NOT_AN_INTEGER};
use crate::exec::{Exec, Outcome};
use crate::text::escape::cut;
use crate::text::number::parse_i64;

const GENPASS_BITS_MAX: i64 = 4096;

pub(super) fn help(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    help_text::write(x.reply, &super::ACL);
    Ok(())
}

pub(super) fn cat(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    at_most(args, 3)?;
    let Some(name) = args.try_get(2) else {
        x.reply.array(Categories::NAMES.len());
        for (_, name) in Categories::NAMES {
            x.reply.bulk_str(name);
        }
        return Ok(());
    };
    let category = acl::category(name).ok_or_else(|| {
        Error::from(format!(
            "ERR Unknown category '{}'",
            String::from_utf8_lossy(cut(name))
        ))
    })?;
    let members = || COMMANDS.iter().filter(|entry| entry.categories.has(category));
    x.reply.array(members().count());
    for entry in members() {
        x.reply.bulk_str(&entry.full_name);
    }
    Ok(())
}

pub(super) fn genpass(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    at_most(args, 3)?;
    let bits = args
        .try_get(2)
        .map_or(Ok(256), |bits| parse_i64(bits).ok_or(NOT_AN_INTEGER))?;
    if !(1..=GENPASS_BITS_MAX).contains(&bits) {
        return Err(Error::from(format!(
            "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up \
             to {GENPASS_BITS_MAX}"
        ))
        .into());
    }
    let digits = (bits as usize).div_ceil(4);
    let secret = x
        .world
        .host
        .secret(digits.div_ceil(2))
        .map_err(|why| Error::from(format!("ERR {why}")))?;
    let mut text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    x.reply.bulk_str(&text);
    Ok(())
}

pub(super) fn whoami(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let session = x.world.sessions.get(x.caller.client);
    x.reply
        .bulk_or_null(session.map(|session| session.identity.user().name()));
    Ok(())
}

pub(super) fn users(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let users = x.world.users.iter();
    x.reply.array(users.len());
    for user in users {
        x.reply.bulk(user.name());
    }
    Ok(())
}

pub(super) fn list(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let users = x.world.users.iter();
    x.reply.array(users.len());
    for user in users {
        x.reply.bulk(&user.describe());
    }
    Ok(())
}

pub(super) fn getuser(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let Some(user) = x.world.users.get(args.get(2)).cloned() else {
        x.reply.null();
        return Ok(());
    };
    x.reply.map(7);
    x.reply.bulk(b"flags");
    x.reply.set(user.flags().count());
    for flag in user.flags() {
        x.reply.bulk_str(flag);
    }
    x.reply.bulk(b"passwords");
    x.reply.array(user.passwords().len());
    for password in user.passwords() {
        bulk(x, |text| password.push_hex(text));
    }
    selector(x, user.root());
    x.reply.bulk(b"selectors");
    x.reply.array(user.further_selectors().len());
    for further in user.further_selectors() {
        x.reply.map(4);
        selector(x, further);
    }
    Ok(())
}

/// Four fields of a map.
fn selector(x: &mut Exec<'_>, selector: &Selector) {
    x.reply.bulk(b"commands");
    bulk(x, |text| selector.describe_commands(text));
    x.reply.bulk(b"keys");
    bulk(x, |text| selector.describe_keys(text));
    x.reply.bulk(b"channels");
    bulk(x, |text| selector.describe_channels(text));
    x.reply.bulk(b"databases");
    bulk(x, |text| selector.describe_databases(text));
}

pub(super) fn dryrun(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let shown = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let user = x.world.users.get(args.get(2)).cloned();
    let user = user.ok_or_else(|| Error::from(format!("ERR User '{}' not found", shown(args.get(2)))))?;
    let words = args.skip(3);
    let entry = COMMANDS
        .find_words(words)
        .ok_or_else(|| Error::from(format!("ERR Command '{}' not found", shown(words.get(0)))))?;
    if !entry.arity_fits(words.len()) {
        return Err(Error::wrong_arity(&entry.full_name).into());
    }
    match user.check(entry, words, x.db.index) {
        Ok(()) => x.reply.ok(),
        Err(denial) => {
            let text = describe_denial(denial, &user, entry, words.get(denial.word));
            x.reply.bulk_str(&text);
        }
    }
    Ok(())
}

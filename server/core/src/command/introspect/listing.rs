//! `COMMAND COUNT` and `COMMAND LIST`.

use crate::acl;
use crate::command::{Args, COMMANDS, Entry};
use crate::error::SYNTAX;
use crate::exec::{Exec, Outcome};
use crate::text::{fold, glob};

pub(super) fn count(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.count(COMMANDS.top_level().count());
    Ok(())
}

pub(super) fn list(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let names: Vec<&Entry> = match args.len() {
        2 => COMMANDS.iter().collect(),
        5 if fold::is(args.get(2), "FILTERBY") => {
            let (by, wanted) = (args.get(3), args.get(4));
            if fold::is(by, "MODULE") {
                Vec::new()
            } else if fold::is(by, "ACLCAT") {
                let category = acl::category(wanted);
                COMMANDS
                    .iter()
                    .filter(|entry| category.is_some_and(|c| entry.categories.has(c)))
                    .collect()
            } else if fold::is(by, "PATTERN") {
                COMMANDS
                    .iter()
                    .filter(|entry| glob::matches_ignoring_case(wanted, entry.full_name.as_bytes()))
                    .collect()
            } else {
                return Err(SYNTAX.into());
            }
        }
        _ => return Err(SYNTAX.into()),
    };
    x.reply.array(names.len());
    names.iter().for_each(|entry| x.reply.bulk_str(&entry.full_name));
    Ok(())
}

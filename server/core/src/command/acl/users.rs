//! Changing users. What changes holds at once for the connections that are open.

use crate::acl::DEFAULT;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};

pub(super) fn setuser(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let user = x.world.users.change(args.get(2), args.iter_from(3))?;
    x.world.user_changed(&user);
    x.reply.ok();
    Ok(())
}

pub(super) fn deluser(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.iter_from(2).any(|name| name == DEFAULT) {
        return Err(Error::new("ERR The 'default' user cannot be removed").into());
    }
    let mut removed = 0;
    for name in args.iter_from(2) {
        if x.world.users.remove(name) {
            x.world.user_removed(name);
            removed += 1;
        }
    }
    x.reply.integer(removed);
    Ok(())
}

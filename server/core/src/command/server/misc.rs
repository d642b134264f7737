//! Short commands about the server: its time, its role, its end, and watching it.

use crate::command::Args;
use crate::engine::Obstacle;
use crate::error::{Error, SYNTAX};
use crate::exec::{Await, Exec, Outcome};
use crate::text::fold;

pub(super) fn time(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.array(2);
    x.reply.bulk_integer((x.now.us / 1_000_000) as i64);
    x.reply.bulk_integer((x.now.us % 1_000_000) as i64);
    Ok(())
}

/// No replicas follow this server by their own wish.
pub(super) fn role(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.array(3);
    x.reply.bulk(b"master");
    x.reply.integer(0);
    x.reply.array(0);
    Ok(())
}

pub(super) fn monitor(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.world.start_monitor(x.caller.client);
    x.reply.ok();
    Ok(())
}

const NOT_SAVED: Error = Error::new("ERR Errors trying to SHUTDOWN. Check logs.");

/// `SAVE` wants an image of everything, and nothing ends if there is no room for it. `NOSAVE` keeps what the log has
/// all the same.
pub(super) fn shutdown(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (mut save, mut nosave, mut abort, mut now, mut force) = (false, false, false, false, false);
    for word in args.iter_from(1) {
        let given = match word {
            word if fold::is(word, "SAVE") => &mut save,
            word if fold::is(word, "NOSAVE") => &mut nosave,
            word if fold::is(word, "ABORT") => &mut abort,
            word if fold::is(word, "NOW") => &mut now,
            word if fold::is(word, "FORCE") => &mut force,
            _ => return Err(SYNTAX.into()),
        };
        *given = true;
    }
    if (abort && (save || nosave || now || force)) || (save && nosave) {
        return Err(SYNTAX.into());
    }
    if abort {
        // From the moment that one is in progress no command runs.
        return Err(Error::new("ERR No shutdown in progress.").into());
    }
    let keeps = super::save::keeps(x);
    if save && !force && !keeps {
        // What was asked for cannot be done, and the data would be gone.
        return Err(NOT_SAVED.into());
    }
    // While it loads there is nothing that would have to be saved.
    let save = save && keeps && !x.world.obstacles.has(Obstacle::Loading);
    if save && !x.has_come() {
        return x.block_for(Await::Image, 0);
    }
    if save && x.world.saves.has_failed && !force {
        return Err(NOT_SAVED.into());
    }
    x.world.host.shut_down(save);
    x.world.close(x.caller.client);
    Ok(())
}

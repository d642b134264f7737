//! `ACL LOAD` and `ACL SAVE`. All or nothing: a file with a fault changes nothing.

use crate::acl::file;
use crate::command::Args;
use crate::error::Error;
use crate::exec::{Exec, Outcome};

const NO_FILE: Error = Error::new(
    "ERR This instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER \
     command and then issue a CONFIG REWRITE (assuming you have a configuration file set) in order to store \
     users in the configuration.",
);
const NOT_SAVED: Error = Error::new(
    "ERR There was an error trying to save the ACLs. Please check the server logs for more information",
);

pub(super) fn load(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let path = x.world.acl_file.clone().ok_or(NO_FILE)?;
    x.world
        .load_users(&path)
        .map_err(|why| Error::from(format!("ERR {why}")))?;
    x.reply.ok();
    Ok(())
}

pub(super) fn save(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let path = x.world.acl_file.as_deref().ok_or(NO_FILE)?;
    let text = file::render(&x.world.users);
    x.world.host.write_file(path, &text).map_err(|_| NOT_SAVED)?;
    x.reply.ok();
    Ok(())
}

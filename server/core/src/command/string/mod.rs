//! Strings: values that are one row, read and written whole or in part.

mod set;

use crate::command::Args;
use crate::command::spec::{Categories, Command, Flags, Group, KeyFlags, KeySpec, RO_ACCESS, command};
use crate::exec::{Exec, Outcome};

const fn string(name: &'static str, arity: i16, run: crate::command::spec::Handler) -> Command {
    command(Group::String, name, arity, run).acl(Categories::STRING)
}

const SET_KEY: KeyFlags = KeyFlags::RW
    .or(KeyFlags::ACCESS)
    .or(KeyFlags::UPDATE)
    .or(KeyFlags::VARIABLE);

pub const COMMANDS: &[Command] = &[
    string("get", 2, get)
        .flags(Flags::READONLY.or(Flags::FAST))
        .keys(&[KeySpec::one(RO_ACCESS)])
        .docs("1.0.0", "key", "Answers the string at a key."),
    string("set", -3, set::set)
        .flags(Flags::WRITE.or(Flags::DENYOOM))
        .keys(&[KeySpec::one(SET_KEY)])
        .docs(
            "1.0.0",
            "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
            "Stores a string, whatever was there before, under conditions if asked.",
        ),
];

fn get(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let key = x.db.key(args.get(1));
    match x.db.string(key)? {
        Some(value) => x.reply.bulk(value),
        None => x.reply.null(),
    }
    Ok(())
}

//! Commands about the connection itself: who it is, how it speaks, which database it uses.

pub mod client;
mod hello;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod user_tests;

use crate::command::Args;
use crate::command::spec::{Categories, Command, Flags, Group, Handler, command};
use crate::error::{Error, NOT_AN_INTEGER, SYNTAX};
use crate::exec::{Exec, Outcome};
use crate::resp::Protocol;
use crate::text::number::parse_i64;

const fn connection(name: &'static str, arity: i16, run: Handler) -> Command {
    command(Group::Connection, name, arity, run).acl(Categories::CONNECTION)
}

const ANY_TIME: Flags = Flags::LOADING.or(Flags::STALE).or(Flags::FAST);
const BEFORE_LOGIN: Flags = ANY_TIME
    .or(Flags::NOSCRIPT)
    .or(Flags::NO_AUTH)
    .or(Flags::ALLOW_BUSY);

pub const COMMANDS: &[Command] = &[
    connection("auth", -2, auth)
        .flags(BEFORE_LOGIN)
        .docs("1.0.0", "[username] password", "Logs the connection in.")
        .complexity("O(N) in the number of the user's passwords"),
    client::CLIENT,
    connection("echo", 2, echo)
        .flags(ANY_TIME)
        .docs("1.0.0", "message", "Answers what it is given."),
    connection("hello", -1, hello::hello).flags(BEFORE_LOGIN).docs(
        "6.0.0",
        "[protover [AUTH username password] [SETNAME clientname]]",
        "Chooses the protocol version, and logs in and names the connection on the way.",
    ),
    connection("ping", -1, ping).flags(Flags::FAST).docs(
        "1.0.0",
        "[message]",
        "Answers PONG or the message.",
    ),
    connection("quit", -1, quit)
        .flags(BEFORE_LOGIN)
        .docs("1.0.0", "", "Closes the connection."),
    connection("reset", 1, reset).flags(BEFORE_LOGIN).docs(
        "6.2.0",
        "",
        "Makes the connection what it was when it was opened.",
    ),
    connection("select", 2, select)
        .flags(ANY_TIME.or(Flags::ALLOW_BUSY))
        .docs(
            "1.0.0",
            "index",
            "Chooses the database for the commands that follow.",
        ),
];

fn ping(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 2 {
        return Err(Error::wrong_arity("ping").into());
    }
    let message = args.try_get(1);
    let listens = x
        .world
        .sessions
        .get(x.caller.client)
        .is_some_and(|session| session.is_subscribed());
    if listens && !x.reply.is_resp3() {
        x.reply.array(2);
        x.reply.bulk(b"pong");
        x.reply.bulk(message.unwrap_or(b""));
    } else {
        match message {
            Some(message) => x.reply.bulk(message),
            None => x.reply.pong(),
        }
    }
    Ok(())
}

fn echo(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    x.reply.bulk(args.get(1));
    Ok(())
}

fn quit(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    x.reply.ok();
    x.world.close(x.caller.client);
    Ok(())
}

fn reset(x: &mut Exec<'_>, _: Args<'_>) -> Outcome {
    let client = x.caller.client;
    x.world.end_transaction(client, &mut x.db.shard.interest);
    x.world.unsubscribe_all(client);
    let default_user = x.world.users.default_user();
    if let Some(session) = x.world.sessions.get_mut(x.caller.client) {
        session.identity.reset(default_user);
        session.db = 0;
        session.protocol = Protocol::Resp2;
        session.reply_mode = Default::default();
        session.no_touch = false;
        session.entrance.reads_followers = false;
    }
    x.world.stop_monitor(x.caller.client);
    x.reply.set_proto(Protocol::Resp2);
    x.reply.simple("RESET");
    Ok(())
}

fn select(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let number = parse_i64(args.get(1)).ok_or(NOT_AN_INTEGER)?;
    if i32::try_from(number).is_err() {
        return Err(
            Error::new("ERR value is out of range, value must between -2147483648 and 2147483647").into(),
        );
    }
    let index = usize::try_from(number)
        .ok()
        .filter(|index| *index < x.world.databases_of(x.caller.client, x.db.shard.databases.len()));
    let Some(index) = index else {
        return Err(Error::new("ERR DB index is out of range").into());
    };
    if let Some(session) = x.world.sessions.get_mut(x.caller.client) {
        session.db = index as u16;
    }
    x.reply.ok();
    Ok(())
}

fn auth(x: &mut Exec<'_>, args: Args<'_>) -> Outcome {
    let (username, password) = match args.len() {
        2 => (crate::acl::DEFAULT, args.get(1)),
        3 => (args.get(1), args.get(2)),
        _ => return Err(SYNTAX.into()),
    };
    if args.len() == 2 && x.world.users.default_user().is_nopass() {
        return Err(Error::new(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure \
             your configuration is correct?",
        )
        .into());
    }
    x.world
        .log_in(x.caller.client, username, password, args.get(0), x.now)?;
    x.reply.ok();
    Ok(())
}

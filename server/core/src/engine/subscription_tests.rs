//! Subscriptions, messages and keyspace events as clients see them. Expectations were seen on Valkey 9.1.2.

use std::rc::Rc;

use super::Engine;
use super::session::ClientId;
use super::testing::{NOW_MS, connect, engine, received, run, run_at};
use crate::exec::Now;
use crate::keyspace::Classes;
use crate::options::OutputClass;

fn two() -> (Engine, ClientId, ClientId) {
    let mut engine = engine();
    let first = connect(&mut engine);
    let second = connect(&mut engine);
    (engine, first, second)
}

/// A message or confirmation: strings, and at its end maybe a number. `~` is a null.
fn message(tag: char, parts: &[&str]) -> String {
    let mut text = format!("{tag}{}\r\n", parts.len());
    for part in parts {
        match part.parse::<i64>() {
            Ok(number) => text.push_str(&format!(":{number}\r\n")),
            Err(_) if *part == "~" => text.push_str(if tag == '>' { "_\r\n" } else { "$-1\r\n" }),
            Err(_) => text.push_str(&format!("${}\r\n{part}\r\n", part.len())),
        }
    }
    text
}

/// Several, one after the other.
fn messages(tag: char, all: &[&[&str]]) -> String {
    all.iter().map(|parts| message(tag, parts)).collect()
}

#[track_caller]
fn talk(engine: &mut Engine, client: ClientId, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        assert_eq!(run(engine, client, line), *answer, "{line}");
    }
}

#[test]
fn subscriptions_are_counted_and_confirmed_one_by_one() {
    let (mut engine, me, _) = two();
    for (line, expected) in [
        (
            "SUBSCRIBE a b a",
            &[
                &["subscribe", "a", "1"][..],
                &["subscribe", "b", "2"],
                &["subscribe", "a", "2"],
            ][..],
        ),
        ("PSUBSCRIBE a*", &[&["psubscribe", "a*", "3"]]),
        ("SSUBSCRIBE s", &[&["ssubscribe", "s", "1"]]),
        (
            "UNSUBSCRIBE",
            &[&["unsubscribe", "a", "2"], &["unsubscribe", "b", "1"]],
        ),
        ("UNSUBSCRIBE", &[&["unsubscribe", "~", "1"]]),
        ("UNSUBSCRIBE x", &[&["unsubscribe", "x", "1"]]),
        ("SUNSUBSCRIBE", &[&["sunsubscribe", "s", "0"]]),
        ("SUNSUBSCRIBE", &[&["sunsubscribe", "~", "0"]]),
        (
            "PUNSUBSCRIBE a* a*",
            &[&["punsubscribe", "a*", "0"], &["punsubscribe", "a*", "0"]],
        ),
        ("PUNSUBSCRIBE", &[&["punsubscribe", "~", "0"]]),
    ] {
        assert_eq!(run(&mut engine, me, line), messages('*', expected), "{line}");
    }
    assert!(engine.world.directory.is_empty());
    run(&mut engine, me, "HELLO 3");
    assert_eq!(
        run(&mut engine, me, "UNSUBSCRIBE"),
        message('>', &["unsubscribe", "~", "0"])
    );
    assert_eq!(
        run(&mut engine, me, "SUBSCRIBE a"),
        message('>', &["subscribe", "a", "1"])
    );
}

#[test]
fn messages_reach_all_who_listen_each_in_its_protocol() {
    let (mut engine, old, new) = two();
    let me = connect(&mut engine);
    run(&mut engine, old, "SUBSCRIBE news");
    run(&mut engine, old, "PSUBSCRIBE n*s");
    run(&mut engine, old, "PSUBSCRIBE x*");
    run(&mut engine, new, "HELLO 3");
    run(&mut engine, new, "SUBSCRIBE news");
    run(&mut engine, new, "SSUBSCRIBE news");
    assert_eq!(run(&mut engine, me, "PUBLISH news hi"), ":3\r\n");
    assert_eq!(
        received(&mut engine, old),
        messages(
            '*',
            &[&["message", "news", "hi"], &["pmessage", "n*s", "news", "hi"]]
        )
    );
    assert_eq!(
        received(&mut engine, new),
        message('>', &["message", "news", "hi"])
    );
    assert_eq!(run(&mut engine, me, "SPUBLISH news yo"), ":1\r\n");
    assert_eq!(received(&mut engine, old), "");
    assert_eq!(
        received(&mut engine, new),
        message('>', &["smessage", "news", "yo"])
    );
    // Who left, in whichever way, is not sent to.
    run(&mut engine, old, "RESET");
    engine.disconnect(new);
    assert_eq!(run(&mut engine, me, "PUBLISH news hi"), ":0\r\n");
    assert!(engine.world.outbox.is_empty() && engine.world.directory.is_empty());
}

#[test]
fn a_message_is_encoded_once_for_all() {
    let mut engine = engine();
    let me = connect(&mut engine);
    for _ in 0..100 {
        let client = connect(&mut engine);
        run(&mut engine, client, "SUBSCRIBE c");
    }
    assert_eq!(run(&mut engine, me, "PUBLISH c hello"), ":100\r\n");
    let first = &engine.world.outbox[0].bytes;
    assert_eq!(Rc::strong_count(first), 100);
    assert!(engine.world.outbox.iter().all(|p| Rc::ptr_eq(&p.bytes, first)));
}

#[test]
fn a_resp2_listener_may_do_little_and_a_resp3_listener_anything() {
    let (mut engine, me, _) = two();
    let cannot = |name: &str| {
        format!(
            "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this \
             context\r\n"
        )
    };
    assert_eq!(
        engine.world.sessions.get(me).map(|s| s.output_class()),
        Some(OutputClass::Normal)
    );
    run(&mut engine, me, "SUBSCRIBE a");
    assert_eq!(
        engine.world.sessions.get(me).map(|s| s.output_class()),
        Some(OutputClass::PubSub)
    );
    talk(
        &mut engine,
        me,
        &[
            ("GET x", &format!("-ERR {}", cannot("get"))),
            ("CLIENT LIST", &format!("-ERR {}", cannot("client|list"))),
            ("MULTI", &format!("-ERR {}", cannot("multi"))),
            ("HELLO 3", &format!("-ERR {}", cannot("hello"))),
            (
                "EXEC",
                &format!("-EXECABORT Transaction discarded because of: {}", cannot("exec")),
            ),
            ("GET", "-ERR wrong number of arguments for 'get' command\r\n"),
            ("PING", "*2\r\n$4\r\npong\r\n$0\r\n\r\n"),
            ("PING foo", "*2\r\n$4\r\npong\r\n$3\r\nfoo\r\n"),
            ("RESET", "+RESET\r\n"),
            ("GET x", "$-1\r\n"),
        ],
    );
    run(&mut engine, me, "HELLO 3");
    run(&mut engine, me, "SUBSCRIBE a");
    talk(
        &mut engine,
        me,
        &[
            ("GET x", "_\r\n"),
            ("PING", "+PONG\r\n"),
            ("PUBLISH a hi", ":1\r\n"),
        ],
    );
    assert_eq!(received(&mut engine, me), message('>', &["message", "a", "hi"]));
}

#[test]
fn own_messages_of_a_transaction_come_behind_its_array() {
    let (mut engine, me, old) = two();
    run(&mut engine, me, "HELLO 3");
    run(&mut engine, me, "SUBSCRIBE a");
    talk(
        &mut engine,
        me,
        &[
            ("MULTI", "+OK\r\n"),
            ("PUBLISH a hi", "+QUEUED\r\n"),
            ("PING", "+QUEUED\r\n"),
            ("EXEC", "*2\r\n:1\r\n+PONG\r\n"),
        ],
    );
    assert_eq!(received(&mut engine, me), message('>', &["message", "a", "hi"]));
    for line in ["MULTI", "SUBSCRIBE c d", "PUBLISH c x", "PING"] {
        run(&mut engine, old, line);
    }
    let confirmed = messages('*', &[&["subscribe", "c", "1"], &["subscribe", "d", "2"]]);
    assert_eq!(
        run(&mut engine, old, "EXEC"),
        format!("*3\r\n{confirmed}:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n")
    );
    assert_eq!(received(&mut engine, old), message('*', &["message", "c", "x"]));
}

#[test]
fn messages_come_through_when_replies_are_off() {
    let (mut engine, me, other) = two();
    run(&mut engine, me, "CLIENT REPLY OFF");
    assert_eq!(run(&mut engine, me, "SUBSCRIBE z"), "");
    assert_eq!(received(&mut engine, me), message('*', &["subscribe", "z", "1"]));
    assert_eq!(run(&mut engine, other, "PUBLISH z m"), ":1\r\n");
    assert_eq!(received(&mut engine, me), message('*', &["message", "z", "m"]));
    assert_eq!(run(&mut engine, me, "PING"), "");
    assert_eq!(run(&mut engine, me, "UNSUBSCRIBE"), "");
    assert_eq!(
        received(&mut engine, me),
        message('*', &["unsubscribe", "z", "0"])
    );
    run(&mut engine, me, "CLIENT REPLY ON");
    run(&mut engine, me, "CLIENT REPLY SKIP");
    assert_eq!(run(&mut engine, me, "SUBSCRIBE z"), "");
    assert_eq!(received(&mut engine, me), message('*', &["subscribe", "z", "1"]));
    assert_eq!(
        run(&mut engine, me, "SUBSCRIBE y"),
        message('*', &["subscribe", "y", "2"])
    );
}

#[test]
fn pubsub_tells_who_listens() {
    let (mut engine, me, other) = two();
    run(&mut engine, other, "SUBSCRIBE s1 b");
    run(&mut engine, other, "SSUBSCRIBE s1 s2");
    run(&mut engine, other, "PSUBSCRIBE s? t?");
    let odd = "-ERR unknown subcommand or wrong number of arguments for";
    talk(
        &mut engine,
        me,
        &[
            ("PUBSUB CHANNELS", "*2\r\n$1\r\nb\r\n$2\r\ns1\r\n"),
            ("PUBSUB CHANNELS s*", "*1\r\n$2\r\ns1\r\n"),
            ("PUBSUB SHARDCHANNELS *2", "*1\r\n$2\r\ns2\r\n"),
            (
                "PUBSUB NUMSUB s1 s1 q",
                "*6\r\n$2\r\ns1\r\n:1\r\n$2\r\ns1\r\n:1\r\n$1\r\nq\r\n:0\r\n",
            ),
            (
                "PUBSUB SHARDNUMSUB s1 zz",
                "*4\r\n$2\r\ns1\r\n:1\r\n$2\r\nzz\r\n:0\r\n",
            ),
            ("PUBSUB NUMSUB", "*0\r\n"),
            ("PUBSUB NUMPAT", ":2\r\n"),
            (
                "PUBSUB NUMPAT x",
                "-ERR wrong number of arguments for 'pubsub|numpat' command\r\n",
            ),
            (
                "PUBSUB",
                "-ERR wrong number of arguments for 'pubsub' command\r\n",
            ),
            (
                "PUBSUB foo",
                "-ERR unknown subcommand 'foo'. Try PUBSUB HELP.\r\n",
            ),
            (
                "PUBSUB channels a b",
                &format!("{odd} 'channels'. Try PUBSUB HELP.\r\n"),
            ),
            (
                "PUBSUB SHARDCHANNELS a b",
                &format!("{odd} 'SHARDCHANNELS'. Try PUBSUB HELP.\r\n"),
            ),
        ],
    );
    let list = run(&mut engine, me, "CLIENT LIST TYPE pubsub");
    assert!(
        list.contains(" flags=P ") && list.contains(" sub=2 psub=2 ssub=2 "),
        "{list}"
    );
}

#[test]
fn a_user_listens_where_it_may_and_is_closed_when_it_no_longer_may() {
    let (mut engine, admin, me) = two();
    run(
        &mut engine,
        admin,
        "ACL SETUSER u on nopass ~* resetchannels &c* +@all",
    );
    run(&mut engine, me, "AUTH u x");
    let denied = "-NOPERM No permissions to access a channel\r\n";
    talk(
        &mut engine,
        me,
        &[
            ("SUBSCRIBE c1 zz", denied),
            ("PUBLISH z m", denied),
            ("PSUBSCRIBE c", denied),
        ],
    );
    run(&mut engine, me, "SUBSCRIBE c1");
    run(&mut engine, me, "PSUBSCRIBE c*");
    run(&mut engine, admin, "ACL SETUSER u resetchannels &c* &d");
    assert!(engine.world.closing.is_empty());
    run(&mut engine, admin, "ACL SETUSER u resetchannels &c1");
    assert_eq!(engine.world.closing, [me]);
    assert_eq!(run(&mut engine, admin, "PUBLISH c1 m"), ":0\r\n");
}

#[test]
fn changes_are_published_in_the_order_in_which_they_happen() {
    let (mut engine, me, listener) = two();
    engine.shard.notify = Classes(
        Classes::KEYSPACE.0
            | Classes::KEYEVENT.0
            | Classes::GENERIC.0
            | Classes::STRING.0
            | Classes::EXPIRED.0
            | Classes::LIST.0,
    );
    run(&mut engine, listener, "PSUBSCRIBE __key*");
    let event = |db: u16, name: &str, key: &str| {
        let (space, event) = (
            format!("__keyspace@{db}__:{key}"),
            format!("__keyevent@{db}__:{name}"),
        );
        message('*', &["pmessage", "__key*", &space, name])
            + &message('*', &["pmessage", "__key*", &event, key])
    };
    run(&mut engine, me, "SET k v");
    assert_eq!(received(&mut engine, listener), event(0, "set", "k"));
    for line in ["MULTI", "SET k w", "PUBLISH __keyx m", "DEL k", "EXEC"] {
        run(&mut engine, me, line);
    }
    assert_eq!(
        received(&mut engine, listener),
        event(0, "set", "k") + &message('*', &["pmessage", "__key*", "__keyx", "m"]) + &event(0, "del", "k")
    );
    run(&mut engine, me, "SELECT 2");
    run(&mut engine, me, "SET k v PX 20");
    assert_eq!(
        received(&mut engine, listener),
        event(2, "set", "k") + &event(2, "expire", "k")
    );
    run_at(&mut engine, me, "GET k", NOW_MS + 21);
    assert_eq!(received(&mut engine, listener), event(2, "expired", "k"));
    run_at(&mut engine, me, "SET j v PX 20", NOW_MS + 30);
    received(&mut engine, listener);
    engine.tick(Now::from_ms(NOW_MS + 60));
    assert_eq!(received(&mut engine, listener), event(2, "expired", "j"));
    // One kind of channel at a time.
    engine.shard.notify = Classes(Classes::KEYEVENT.0 | Classes::STRING.0);
    run_at(&mut engine, me, "SET j v", NOW_MS + 70);
    assert_eq!(
        received(&mut engine, listener),
        message('*', &["pmessage", "__key*", "__keyevent@2__:set", "j"])
    );
    run_at(&mut engine, me, "DEL j", NOW_MS + 70);
    assert_eq!(received(&mut engine, listener), "");
}

#[test]
fn what_serving_the_waiting_changes_is_published_as_well() {
    let (mut engine, me, waiting) = two();
    let listener = connect(&mut engine);
    engine.shard.notify = Classes(Classes::KEYEVENT.0 | Classes::GENERIC.0 | Classes::LIST.0);
    run(&mut engine, listener, "PSUBSCRIBE __keyevent*");
    run(&mut engine, waiting, "BLPOP l 0");
    run(&mut engine, me, "RPUSH l a");
    let event = |name: &str| {
        let channel = format!("__keyevent@0__:{name}");
        message('*', &["pmessage", "__keyevent*", &channel, "l"])
    };
    assert_eq!(
        received(&mut engine, listener),
        event("rpush") + &event("lpop") + &event("del")
    );
    assert_eq!(received(&mut engine, waiting), "*2\r\n$1\r\nl\r\n$1\r\na\r\n");
    assert!(engine.shard.events.is_empty());
}

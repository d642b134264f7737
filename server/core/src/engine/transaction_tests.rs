//! Transactions as clients see them. Expectations were seen on Valkey 9.1.2.

use super::session::ClientId;
use super::testing::{NOW_MS, connect, engine, received, run, run_at};
use super::{Engine, Flow};
use crate::command::OwnedArgs;
use crate::effect::{Decoder, Effect};
use crate::exec::Now;
use crate::resp::Reply;

const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.\r\n";

fn two() -> (Engine, ClientId, ClientId) {
    let mut engine = engine();
    let first = connect(&mut engine);
    let second = connect(&mut engine);
    (engine, first, second)
}

/// Runs each command and compares with what stands beside it.
#[track_caller]
fn talk(engine: &mut Engine, client: ClientId, lines: &[(&str, &str)]) {
    for (line, answer) in lines {
        assert_eq!(run(engine, client, line), *answer, "{line}");
    }
}

#[test]
fn commands_wait_for_exec_and_answer_in_its_array() {
    let (mut engine, me, other) = two();
    talk(
        &mut engine,
        me,
        &[
            ("MULTI", "+OK\r\n"),
            ("SET k v EX 10", "+QUEUED\r\n"),
            ("PUBLISH ch m", "+QUEUED\r\n"),
            ("LPUSH k x", "+QUEUED\r\n"),
            ("GET k", "+QUEUED\r\n"),
        ],
    );
    assert_eq!(run(&mut engine, other, "GET k"), "$-1\r\n");
    let wrong = "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n";
    talk(
        &mut engine,
        me,
        &[
            ("EXEC", &format!("*4\r\n+OK\r\n:0\r\n{wrong}$1\r\nv\r\n")),
            ("EXEC", "-ERR EXEC without MULTI\r\n"),
            ("DISCARD", "-ERR DISCARD without MULTI\r\n"),
            ("MULTI", "+OK\r\n"),
            ("EXEC", "*0\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET k w", "+QUEUED\r\n"),
            ("DISCARD", "+OK\r\n"),
            ("GET k", "$1\r\nv\r\n"),
        ],
    );
}

#[test]
fn a_refused_command_spoils_the_transaction() {
    let (mut engine, me, _) = two();
    for (line, answer) in [
        (
            "FOO",
            "-ERR unknown command 'FOO', with args beginning with: \r\n",
        ),
        ("SET a", "-ERR wrong number of arguments for 'set' command\r\n"),
        (
            "CLIENT foo",
            "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n",
        ),
        (
            "MULTI",
            "-ERR Command 'multi' not allowed inside a transaction\r\n",
        ),
        (
            "WATCH x",
            "-ERR Command 'watch' not allowed inside a transaction\r\n",
        ),
        (
            "CLIENT REPLY ON",
            "-ERR Command 'client|reply' not allowed inside a transaction\r\n",
        ),
        (
            "DISCARD x",
            "-ERR wrong number of arguments for 'discard' command\r\n",
        ),
    ] {
        talk(
            &mut engine,
            me,
            &[
                ("MULTI", "+OK\r\n"),
                ("SET k v", "+QUEUED\r\n"),
                (line, answer),
                ("SET k v", "+QUEUED\r\n"),
                ("EXEC", ABORTED),
                ("GET k", "$-1\r\n"),
            ],
        );
    }
}

#[test]
fn a_refused_exec_ends_the_transaction() {
    let (mut engine, me, _) = two();
    let exec_x =
        "-EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command\r\n";
    talk(
        &mut engine,
        me,
        &[
            ("MULTI", "+OK\r\n"),
            ("SET k v", "+QUEUED\r\n"),
            ("EXEC x", exec_x),
            ("EXEC", "-ERR EXEC without MULTI\r\n"),
            ("EXEC x", exec_x),
            ("GET k", "$-1\r\n"),
            ("ACL SETUSER u on nopass ~* &* +@all -exec", "+OK\r\n"),
            ("AUTH u x", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET k v", "+QUEUED\r\n"),
            (
                "EXEC",
                "-EXECABORT Transaction discarded because of: NOPERM User u has no permissions to run the 'exec' \
                 command\r\n",
            ),
            ("DISCARD", "-ERR DISCARD without MULTI\r\n"),
            ("GET k", "$-1\r\n"),
        ],
    );
}

#[test]
fn rules_are_checked_when_queued_and_when_run() {
    let (mut engine, admin, me) = two();
    talk(
        &mut engine,
        admin,
        &[("ACL SETUSER u on nopass ~k* &c* +@all", "+OK\r\n")],
    );
    talk(
        &mut engine,
        me,
        &[
            ("AUTH u x", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET z 1", "-NOPERM No permissions to access a key\r\n"),
            ("EXEC", ABORTED),
            ("MULTI", "+OK\r\n"),
            ("GET k", "+QUEUED\r\n"),
            ("PUBLISH c1 x", "+QUEUED\r\n"),
            ("PING", "+QUEUED\r\n"),
        ],
    );
    talk(
        &mut engine,
        admin,
        &[("ACL SETUSER u -publish resetkeys", "+OK\r\n")],
    );
    let changed = "-NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC \
                   call. This command is no longer allowed for the following reason: ";
    let answer = format!(
        "*3\r\n{changed}no permission to touch the specified keys\r\n\
         {changed}no permission to execute the command or subcommand\r\n+PONG\r\n"
    );
    assert_eq!(run(&mut engine, me, "EXEC"), answer);
    let log = run(&mut engine, admin, "ACL LOG 1");
    assert!(log.contains("multi\r\n"), "{log}");
}

#[test]
fn a_change_to_a_watched_key_stops_the_transaction() {
    let (mut engine, me, other) = two();
    let transaction = |engine: &mut Engine| {
        talk(engine, me, &[("MULTI", "+OK\r\n"), ("PING", "+QUEUED\r\n")]);
        run(engine, me, "EXEC")
    };
    let ran = "*1\r\n+PONG\r\n";
    talk(
        &mut engine,
        me,
        &[("SET k 1", "+OK\r\n"), ("WATCH k j", "+OK\r\n")],
    );
    assert_eq!(transaction(&mut engine), ran);
    // Each change undoes one transaction, and no more than one.
    for change in ["SET k 2", "DEL k", "SET j 1", "EXPIRE j 10", "FLUSHALL"] {
        run(&mut engine, me, "SET k 1");
        run(&mut engine, me, "WATCH k j");
        run(&mut engine, other, change);
        assert_eq!(transaction(&mut engine), "*-1\r\n", "{change}");
        assert_eq!(transaction(&mut engine), ran, "{change}");
    }
    // What does not touch the keys does not count, nor what is forgiven.
    for harmless in [
        "GET k",
        "DEL nokey",
        "EXPIRE nokey 5",
        "SET other 1",
        "FLUSHALL",
        "SET k 1 XX",
    ] {
        run(&mut engine, me, "FLUSHALL");
        run(&mut engine, me, "WATCH k j");
        run(&mut engine, other, harmless);
        assert_eq!(transaction(&mut engine), ran, "{harmless}");
    }
    run(&mut engine, me, "WATCH k");
    run(&mut engine, other, "SET k 3");
    run(&mut engine, me, "UNWATCH");
    assert_eq!(transaction(&mut engine), ran);
    // A failed EXEC without MULTI keeps the watch.
    run(&mut engine, me, "WATCH k");
    assert_eq!(run(&mut engine, me, "EXEC"), "-ERR EXEC without MULTI\r\n");
    run(&mut engine, other, "SET k 4");
    run(&mut engine, me, "HELLO 3");
    assert_eq!(transaction(&mut engine), "_\r\n");
}

#[test]
fn a_client_is_its_own_other_until_exec() {
    let (mut engine, me, _) = two();
    talk(
        &mut engine,
        me,
        &[
            ("WATCH x", "+OK\r\n"),
            ("RPUSH x a", ":1\r\n"),
            ("MULTI", "+OK\r\n"),
            ("DISCARD", "+OK\r\n"),
            ("WATCH x", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("RPUSH x a", "+QUEUED\r\n"),
            ("RPUSH x a", "+QUEUED\r\n"),
            ("EXEC", "*2\r\n:2\r\n:3\r\n"),
            ("WATCH x", "+OK\r\n"),
            ("RPUSH x a", ":4\r\n"),
            ("MULTI", "+OK\r\n"),
            ("RPUSH x a", "+QUEUED\r\n"),
            ("EXEC", "*-1\r\n"),
        ],
    );
}

#[test]
fn a_key_that_expires_has_changed_unless_it_had_already_expired() {
    let (mut engine, me, _) = two();
    let at = |engine: &mut Engine, line: &str, ms: u64| run_at(engine, me, line, NOW_MS + ms);
    at(&mut engine, "SET k 1 PX 100", 0);
    at(&mut engine, "WATCH k", 50);
    at(&mut engine, "MULTI", 50);
    at(&mut engine, "PING", 50);
    assert_eq!(at(&mut engine, "EXEC", 101), "*-1\r\n");
    at(&mut engine, "SET k 1 PX 100", 200);
    at(&mut engine, "WATCH k", 301);
    assert_eq!(at(&mut engine, "EXISTS k", 302), ":0\r\n");
    at(&mut engine, "MULTI", 303);
    at(&mut engine, "PING", 303);
    assert_eq!(at(&mut engine, "EXEC", 304), "*1\r\n+PONG\r\n");
}

#[test]
fn watches_know_their_database() {
    let (mut engine, me, other) = two();
    talk(
        &mut engine,
        me,
        &[
            ("SELECT 5", "+OK\r\n"),
            ("WATCH x", "+OK\r\n"),
            ("SELECT 1", "+OK\r\n"),
        ],
    );
    run(&mut engine, other, "SET x 10");
    talk(
        &mut engine,
        me,
        &[
            ("MULTI", "+OK\r\n"),
            ("SELECT 3", "+QUEUED\r\n"),
            ("SET q 1", "+QUEUED\r\n"),
            ("EXEC", "*2\r\n+OK\r\n+OK\r\n"),
            ("GET q", "$1\r\n1\r\n"),
            ("SELECT 5", "+OK\r\n"),
            ("WATCH x", "+OK\r\n"),
        ],
    );
    run(&mut engine, other, "SWAPDB 0 5");
    talk(
        &mut engine,
        me,
        &[("MULTI", "+OK\r\n"), ("PING", "+QUEUED\r\n"), ("EXEC", "*-1\r\n")],
    );
}

#[test]
fn stale_keys_that_change_places_are_no_change() {
    for (stale_in, watched_in) in [(&[1][..], 1), (&[0], 1), (&[0, 1], 1)] {
        let (mut engine, me, _) = two();
        for db in stale_in {
            run(&mut engine, me, &format!("SELECT {db}"));
            run(&mut engine, me, "SET x foo PX 1");
        }
        let later = |engine: &mut Engine, line: &str| run_at(engine, me, line, NOW_MS + 2);
        later(&mut engine, &format!("SELECT {watched_in}"));
        later(&mut engine, "WATCH x");
        assert_eq!(later(&mut engine, "SWAPDB 0 1"), "+OK\r\n");
        later(&mut engine, "MULTI");
        later(&mut engine, "PING");
        assert_eq!(later(&mut engine, "EXEC"), "*1\r\n+PONG\r\n", "{stale_in:?}");
    }
}

#[test]
fn nobody_waits_in_a_transaction_and_nobody_is_served_before_its_end() {
    let (mut engine, me, waiting) = two();
    assert_eq!(run(&mut engine, waiting, "BLPOP l 0"), "");
    talk(
        &mut engine,
        me,
        &[
            ("MULTI", "+OK\r\n"),
            ("BLPOP none 0", "+QUEUED\r\n"),
            ("HELLO 3", "+QUEUED\r\n"),
            ("BLPOP none 0", "+QUEUED\r\n"),
            ("RPUSH l a", "+QUEUED\r\n"),
            ("RPUSH l b", "+QUEUED\r\n"),
            ("LPOP l", "+QUEUED\r\n"),
        ],
    );
    let answer = run(&mut engine, me, "EXEC");
    assert!(answer.starts_with("*6\r\n*-1\r\n%7\r\n"), "{answer}");
    assert!(answer.ends_with("_\r\n:1\r\n:2\r\n$1\r\na\r\n"), "{answer}");
    assert_eq!(received(&mut engine, waiting), "*2\r\n$1\r\nl\r\n$1\r\nb\r\n");
}

#[test]
fn reset_and_quit_are_not_queued_and_forget_everything() {
    let (mut engine, me, other) = two();
    talk(
        &mut engine,
        me,
        &[
            ("WATCH k", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET k v", "+QUEUED\r\n"),
            ("RESET", "+RESET\r\n"),
            ("EXEC", "-ERR EXEC without MULTI\r\n"),
            ("WATCH k", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("QUIT", "+OK\r\n"),
        ],
    );
    engine.disconnect(me);
    assert!(engine.shard.interest.is_empty());
    assert_eq!(run(&mut engine, other, "GET k"), "$-1\r\n");
}

#[test]
fn a_session_shows_its_transaction() {
    let (mut engine, me, other) = two();
    let part = |engine: &mut Engine, name: &str| {
        let info = run(engine, me, "CLIENT INFO");
        let from = info.find(name).expect(name);
        info[from..].split(' ').next().unwrap_or("").to_string()
    };
    assert_eq!(part(&mut engine, "multi="), "multi=-1");
    run(&mut engine, me, "WATCH k k j");
    assert_eq!(part(&mut engine, "watch="), "watch=2");
    run(&mut engine, other, "SET k 1");
    assert_eq!(part(&mut engine, "watch="), "watch=0");
    assert_eq!(part(&mut engine, "flags="), "flags=d");
    run(&mut engine, me, "UNWATCH");
    run(&mut engine, me, "MULTI");
    run(&mut engine, me, "PING");
    run(&mut engine, me, "CLIENT INFO");
    let info = run(&mut engine, me, "EXEC");
    for shown in [" flags=x ", " multi=2 ", " watch=0 ", " cmd=exec "] {
        assert!(info.contains(shown), "{shown}: {info}");
    }
}

#[test]
fn without_memory_only_transactions_that_need_none_run() {
    let (mut engine, me, _) = two();
    talk(
        &mut engine,
        me,
        &[
            ("SET other 1", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET k 1", "+QUEUED\r\n"),
        ],
    );
    engine.shard.eviction.limit_bytes = 1;
    let oom = "OOM command not allowed when used memory > 'maxmemory'.";
    talk(
        &mut engine,
        me,
        &[
            (
                "EXEC",
                &format!("-EXECABORT Transaction discarded because of: {oom}\r\n"),
            ),
            ("GET k", "$-1\r\n"),
            ("MULTI", "+OK\r\n"),
            ("GET k", "+QUEUED\r\n"),
            ("EXEC", "*1\r\n$-1\r\n"),
            ("MULTI", "+OK\r\n"),
            ("SET k 1", &format!("-{oom}\r\n")),
            ("EXEC", ABORTED),
            ("WATCH k", "+OK\r\n"),
            ("MULTI", "+OK\r\n"),
            ("DISCARD", "+OK\r\n"),
        ],
    );
}

#[test]
fn who_queues_or_watches_without_end_is_closed() {
    let long = "x".repeat(10_000);
    for line in [format!("SET k {long}"), format!("WATCH {long}")] {
        let (mut engine, me, other) = two();
        let limit = "CONFIG SET client-query-buffer-limit 1mb";
        assert_eq!(run(&mut engine, other, limit), "+OK\r\n");
        let mut count = 0;
        if line.starts_with("SET") {
            run(&mut engine, me, "MULTI");
        }
        while !engine.world.closing.contains(&me) {
            count += 1;
            assert!(count < 110);
            run(&mut engine, me, &format!("{line}{count}"));
        }
        assert!(count > 90);
        engine.disconnect(me);
        assert!(engine.shard.interest.is_empty());
    }
}

#[test]
fn a_pause_for_writes_holds_a_transaction_that_writes() {
    let (mut engine, me, other) = two();
    for line in ["MULTI", "SET k v"] {
        run(&mut engine, me, line);
    }
    run(&mut engine, other, "CLIENT PAUSE 100 WRITE");
    assert_eq!(run(&mut engine, other, "MULTI"), "+OK\r\n");
    assert_eq!(run(&mut engine, other, "GET k"), "+QUEUED\r\n");
    assert_eq!(run(&mut engine, other, "EXEC"), "*1\r\n$-1\r\n");
    let exec = OwnedArgs::from_words([&b"EXEC"[..]].into_iter());
    let flow = engine.execute(me, exec.view(), Now::from_ms(NOW_MS), &mut Reply::default());
    assert_eq!(flow, Flow::Blocked);
    engine.tick(Now::from_ms(NOW_MS + 100));
    assert_eq!(received(&mut engine, me), "*1\r\n+OK\r\n");
    assert_eq!(run(&mut engine, other, "GET k"), "$1\r\nv\r\n");
}

#[test]
fn effects_come_with_exec_and_all_at_once() {
    let (mut engine, me, _) = two();
    engine.shard.effects.switch(true);
    for line in [
        "MULTI", "SET a 1", "SELECT 2", "SET b 2", "GET a", "DEL a", "DEL b",
    ] {
        run(&mut engine, me, line);
    }
    assert!(engine.shard.effects.bytes().is_empty());
    run(&mut engine, me, "EXEC");
    let effects: Vec<(u16, String)> = Decoder::new(engine.shard.effects.bytes())
        .map(|effect| match effect.expect("effects decode") {
            (db, Effect::Put { key, .. }) => (db, format!("put {}", String::from_utf8_lossy(key))),
            (db, Effect::Delete { key, .. }) => (db, format!("delete {}", String::from_utf8_lossy(key))),
            (db, other) => (db, format!("{other:?}")),
        })
        .collect();
    let expected = [(0, "put a"), (2, "put b"), (2, "delete b")];
    assert_eq!(effects, expected.map(|(db, text)| (db, text.to_string())));
}

//! Connections as their clients see them. Expectations were seen on Valkey 9.1.2.

use crate::engine::session::ClientId;
use crate::engine::testing::{NOW_MS, connect, engine, received, run, run_at};
use crate::engine::{Engine, Flow};
use crate::exec::Now;

fn two() -> (Engine, ClientId, ClientId) {
    let mut engine = engine();
    let first = connect(&mut engine);
    let second = connect(&mut engine);
    (engine, first, second)
}

fn is_closing(engine: &Engine, client: ClientId) -> bool {
    engine.world.closing.contains(&client)
}

/// The ids of the lines of a `CLIENT LIST` answer.
fn ids(answer: &str) -> Vec<u64> {
    answer
        .split("id=")
        .filter_map(|part| part.split_once(" addr=").and_then(|(id, _)| id.parse().ok()))
        .collect()
}

#[test]
fn small_talk() {
    let (mut engine, me, _) = two();
    for (line, answer) in [
        ("PING", "+PONG\r\n"),
        ("PING x", "$1\r\nx\r\n"),
        (
            "PING a b",
            "-ERR wrong number of arguments for 'ping' command\r\n",
        ),
        ("ECHO hi", "$2\r\nhi\r\n"),
        ("SELECT 16", "-ERR DB index is out of range\r\n"),
        ("SELECT -1", "-ERR DB index is out of range\r\n"),
        ("SELECT x", "-ERR value is not an integer or out of range\r\n"),
        (
            "SELECT 99999999999999",
            "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n",
        ),
        ("CLIENT ID", ":1\r\n"),
        (
            "CLIENT ID x",
            "-ERR wrong number of arguments for 'client|id' command\r\n",
        ),
        (
            "CLIENT foo",
            "-ERR unknown subcommand 'foo'. Try CLIENT HELP.\r\n",
        ),
        (
            "CLIENT",
            "-ERR wrong number of arguments for 'client' command\r\n",
        ),
        ("CLIENT GETREDIR", ":-1\r\n"),
        ("CLIENT CAPA redirect foo", "+OK\r\n"),
        ("CLIENT IMPORT-SOURCE on", "-ERR Server is not in import mode\r\n"),
        ("CLIENT NO-EVICT x", "-ERR syntax error\r\n"),
        ("CLIENT NO-TOUCH on", "+OK\r\n"),
        ("CLIENT REPLY foo", "-ERR syntax error\r\n"),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
}

#[test]
fn databases_are_apart() {
    let (mut engine, me, other) = two();
    assert_eq!(run(&mut engine, me, "SELECT 3"), "+OK\r\n");
    run(&mut engine, me, "SET k here");
    assert_eq!(run(&mut engine, other, "GET k"), "$-1\r\n");
    assert_eq!(run(&mut engine, me, "GET k"), "$4\r\nhere\r\n");
}

#[test]
fn names() {
    let (mut engine, me, _) = two();
    let bad = "cannot contain spaces, newlines or special characters.\r\n";
    for (line, answer) in [
        ("CLIENT GETNAME", "$-1\r\n".to_string()),
        ("CLIENT SETNAME me", "+OK\r\n".to_string()),
        ("CLIENT SETNAME 'a b'", format!("-ERR Client names {bad}")),
        ("CLIENT SETNAME \"a\\nb\"", format!("-ERR Client names {bad}")),
        ("CLIENT GETNAME", "$2\r\nme\r\n".to_string()),
        ("CLIENT SETINFO LIB-NAME lib", "+OK\r\n".to_string()),
        ("CLIENT SETINFO lib-ver 1.0", "+OK\r\n".to_string()),
        ("CLIENT SETINFO lib-name 'x y'", format!("-ERR lib-name {bad}")),
        (
            "CLIENT SETINFO foo x",
            "-ERR Unrecognized option 'foo'\r\n".to_string(),
        ),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
    let info = run(&mut engine, me, "CLIENT INFO");
    assert!(
        info.contains(" name=me ") && info.contains(" lib-name=lib lib-ver=1.0 "),
        "{info}"
    );
    assert!(
        info.contains(" cmd=client|info user=default redir=-1 resp=2 "),
        "{info}"
    );
    assert_eq!(run(&mut engine, me, "CLIENT SETNAME ''"), "+OK\r\n");
    assert_eq!(run(&mut engine, me, "CLIENT GETNAME"), "$-1\r\n");
}

#[test]
fn filters_pick_connections() {
    let (mut engine, me, other) = two();
    run(&mut engine, me, "CLIENT SETNAME me");
    run(&mut engine, other, "SELECT 3");
    for (filter, expected) in [
        ("", &[1, 2][..]),
        ("ID 2 9", &[2]),
        ("ID 1 2 DB 3", &[2]),
        ("NOT-ID 1", &[2]),
        ("TYPE normal", &[1, 2]),
        ("TYPE pubsub", &[]),
        ("NOT-TYPE normal", &[]),
        ("USER default", &[1, 2]),
        ("SKIPME yes", &[2]),
        ("FLAGS N", &[1, 2]),
        ("FLAGS Nx", &[]),
        ("NAME me", &[1]),
        ("NOT-NAME me", &[2]),
        ("DB 3", &[2]),
        ("NOT-DB 3", &[1]),
        ("DB 3 DB 4", &[]),
        ("IP 127.0.0.1", &[1, 2]),
        ("ADDR 127.0.0.1:50000", &[1, 2]),
        ("LADDR 127.0.0.1:1", &[]),
        ("MAXAGE 1", &[]),
        ("CAPA r", &[]),
    ] {
        let answer = run(&mut engine, me, &format!("CLIENT LIST {filter}"));
        assert_eq!(ids(&answer), expected, "{filter}: {answer}");
    }
    run_at(&mut engine, me, "PING", NOW_MS + 5000);
    assert_eq!(
        ids(&run_at(&mut engine, me, "CLIENT LIST IDLE 5", NOW_MS + 5000)),
        [2]
    );
    assert_eq!(
        ids(&run_at(&mut engine, me, "CLIENT LIST MAXAGE 5", NOW_MS + 5000)),
        [1, 2]
    );
    for (filter, why) in [
        ("FOO x", "syntax error"),
        ("NAME", "syntax error"),
        ("ID x", "syntax error"),
        ("ID 1 x", "syntax error"),
        ("NOT-IDLE 5", "syntax error"),
        ("ID 5 0", "client-id should be greater than 0"),
        ("TYPE foo", "Unknown client type 'foo'"),
        ("USER nope", "No such user 'nope'"),
        ("MAXAGE 0", "maxage should be greater than 0"),
        ("IDLE x", "idle is not an integer or out of range"),
        ("DB x", "DB is not an integer or out of range"),
        ("NOT-DB 99", "NOT-DB number should be between 0 and 15"),
        ("FLAGS z", "Unknown flags found in the provided filter: z"),
        ("NOT-FLAGS z", "Unknown flags found in the NOT-FLAGS filter: z"),
        ("CAPA z", "Unknown capa found in the provided filter: z"),
    ] {
        assert_eq!(
            run(&mut engine, me, &format!("CLIENT LIST {filter}")),
            format!("-ERR {why}\r\n"),
            "{filter}"
        );
    }
}

#[test]
fn killing() {
    let (mut engine, me, other) = two();
    for (line, answer) in [
        (
            "CLIENT KILL",
            "-ERR wrong number of arguments for 'client|kill' command\r\n",
        ),
        ("CLIENT KILL 1.2.3.4:5", "-ERR No such client\r\n"),
        ("CLIENT KILL ID", "-ERR No such client\r\n"),
        ("CLIENT KILL ID 1 SKIPME", "-ERR syntax error\r\n"),
        ("CLIENT KILL ID 99", ":0\r\n"),
        ("CLIENT KILL ID 1", ":0\r\n"),
        ("CLIENT KILL ID 2", ":1\r\n"),
        ("CLIENT KILL ID 2", ":0\r\n"),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
    assert!(is_closing(&engine, other) && !is_closing(&engine, me));
    // What a killed client had already sent is not run.
    assert_eq!(run(&mut engine, other, "SET k v"), "");
    assert_eq!(run(&mut engine, me, "GET k"), "$-1\r\n");
    assert_eq!(run(&mut engine, me, "CLIENT KILL ID 1 SKIPME no"), ":1\r\n");
    assert!(is_closing(&engine, me));
}

#[test]
fn replies_can_be_turned_off() {
    let (mut engine, me, _) = two();
    for (line, answer) in [
        ("CLIENT REPLY SKIP", ""),
        ("PING", ""),
        ("PING", "+PONG\r\n"),
        ("CLIENT REPLY OFF", ""),
        ("PING", ""),
        ("CLIENT REPLY SKIP", ""),
        ("nosuch", ""),
        ("CLIENT REPLY ON", "+OK\r\n"),
        ("PING", "+PONG\r\n"),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
}

#[test]
fn reset_and_quit() {
    let (mut engine, me, _) = two();
    run(&mut engine, me, "HELLO 3 SETNAME me");
    run(&mut engine, me, "SELECT 3");
    run(&mut engine, me, "CLIENT REPLY OFF");
    assert_eq!(run(&mut engine, me, "RESET"), "+RESET\r\n");
    assert_eq!(run(&mut engine, me, "CLIENT GETNAME"), "$-1\r\n");
    assert!(run(&mut engine, me, "CLIENT INFO").contains(" db=0 "));
    assert_eq!(run(&mut engine, me, "QUIT now please"), "+OK\r\n");
    assert!(is_closing(&engine, me));
}

/// Case 84.
#[test]
fn hello_has_the_fields_that_clients_read() {
    let (mut engine, me, _) = two();
    let fields = "$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.2.4\r\n$5\r\nproto\r\n:P\r\n$2\r\nid\r\n:1\r\n\
        $4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n";
    assert_eq!(
        run(&mut engine, me, "HELLO"),
        format!("*14\r\n{}", fields.replace(":P", ":2"))
    );
    assert_eq!(
        run(&mut engine, me, "HELLO 3"),
        format!("%7\r\n{}", fields.replace(":P", ":3"))
    );
    assert_eq!(run(&mut engine, me, "GET nope"), "_\r\n");
    for (line, error) in [
        ("HELLO 4", "NOPROTO unsupported protocol version"),
        ("HELLO 1", "NOPROTO unsupported protocol version"),
        (
            "HELLO x",
            "ERR Protocol version is not an integer or out of range",
        ),
        ("HELLO 3 AUTH a", "ERR Syntax error in HELLO option 'AUTH'"),
        ("HELLO 3 FOO", "ERR Syntax error in HELLO option 'FOO'"),
        ("HELLO 2 SETNAME", "ERR Syntax error in HELLO option 'SETNAME'"),
        (
            "HELLO 3 SETNAME 'a b'",
            "ERR Client names cannot contain spaces, newlines or special characters.",
        ),
        (
            "HELLO 2 AUTH nope x",
            "WRONGPASS invalid username-password pair or user is disabled.",
        ),
    ] {
        assert_eq!(run(&mut engine, me, line), format!("-{error}\r\n"), "{line}");
    }
}

#[test]
fn a_pause_holds_commands_back_until_it_ends() {
    let (mut engine, me, other) = two();
    assert_eq!(run(&mut engine, me, "CLIENT PAUSE 1000 WRITE"), "+OK\r\n");
    assert_eq!(run(&mut engine, other, "GET k"), "$-1\r\n");
    assert_eq!(run(&mut engine, other, "SET k v"), "");
    assert!(run(&mut engine, me, "CLIENT LIST ID 2").contains(" flags=b "));
    // As Valkey counts.
    assert!(run(&mut engine, me, "INFO clients").contains("\r\nblocked_clients:1\r\n"));
    assert_eq!(engine.next_deadline_ms(), Some(NOW_MS + 1000));
    engine.tick(Now::from_ms(NOW_MS + 999));
    assert_eq!(received(&mut engine, other), "");
    engine.tick(Now::from_ms(NOW_MS + 1000));
    assert_eq!(received(&mut engine, other), "+OK\r\n");
    assert_eq!(engine.world.unblocked, [other]);
    assert!(run(&mut engine, me, "INFO clients").contains("\r\nblocked_clients:0\r\n"));
    assert_eq!(run(&mut engine, me, "GET k"), "$1\r\nv\r\n");
}

#[test]
fn unpause_ends_a_pause_before_its_time_and_order_is_kept() {
    let (mut engine, me, other) = two();
    run(&mut engine, me, "CLIENT PAUSE 100000 WRITE");
    assert_eq!(run(&mut engine, other, "SET k first"), "");
    assert_eq!(run(&mut engine, me, "CLIENT UNPAUSE"), "+OK\r\n");
    engine.tick(Now::from_ms(NOW_MS));
    assert_eq!(received(&mut engine, other), "+OK\r\n");
    assert_eq!(run(&mut engine, me, "SET k second"), "+OK\r\n");
    assert_eq!(run(&mut engine, me, "GET k"), "$6\r\nsecond\r\n");
}

#[test]
fn a_pause_for_all_is_not_lessened() {
    let (mut engine, me, other) = two();
    run(&mut engine, me, "CLIENT PAUSE 1000 ALL");
    assert_eq!(
        run(&mut engine, other, "CLIENT PAUSE 1 WRITE"),
        "",
        "it waits as well"
    );
    let mut reply = crate::resp::Reply::default();
    let words = crate::command::OwnedArgs::from_words([b"PING".as_slice()].into_iter());
    assert_eq!(
        engine.execute(me, words.view(), Now::from_ms(NOW_MS), &mut reply),
        Flow::Blocked
    );
    engine.disconnect(me);
    engine.tick(Now::from_ms(NOW_MS + 1000));
    assert_eq!(received(&mut engine, other), "+OK\r\n");
    assert_eq!(received(&mut engine, me), "");
}

#[test]
fn bad_pauses_and_unblocks() {
    let (mut engine, me, _) = two();
    for (line, why) in [
        ("CLIENT PAUSE x", "timeout is not an integer or out of range"),
        ("CLIENT PAUSE -1", "timeout is negative"),
        ("CLIENT PAUSE 1 foo", "CLIENT PAUSE mode must be WRITE or ALL"),
        ("CLIENT PAUSE 9223372036854775807", "timeout is out of range"),
        ("CLIENT UNBLOCK x", "value is not an integer or out of range"),
        (
            "CLIENT UNBLOCK 9 foo",
            "CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
        ),
    ] {
        assert_eq!(run(&mut engine, me, line), format!("-ERR {why}\r\n"), "{line}");
    }
    assert_eq!(run(&mut engine, me, "CLIENT UNBLOCK 2"), ":0\r\n");
}

#[test]
fn a_client_whose_held_back_command_closes_it_waits_no_longer() {
    let mut engine = engine();
    let me = connect(&mut engine);
    run(&mut engine, me, "CLIENT PAUSE 100 ALL");
    let kill = format!("CLIENT KILL ID {} SKIPME no", me.serial());
    run(&mut engine, me, &kill);
    assert!(engine.world.unblocked.is_empty() && !is_closing(&engine, me));
    engine.tick(Now::from_ms(NOW_MS + 200));
    assert!(engine.world.unblocked.contains(&me) && is_closing(&engine, me));
}

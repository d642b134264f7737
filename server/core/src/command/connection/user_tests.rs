//! Users at work: who may speak, what is refused and noted, and what a change does to those who are here.
//! Expectations were seen on Valkey 9.1.2.

use crate::engine::Engine;
use crate::engine::session::ClientId;
use crate::engine::testing::{NOW_MS, TestHost, connect, engine, engine_on, run, run_at};
use crate::options::Options;
use crate::options::text::parse_file;

const NOAUTH: &str = "-NOAUTH Authentication required.\r\n";
const WRONGPASS: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

fn with_password() -> (Engine, ClientId) {
    let mut engine = engine();
    engine.world.set_default_password(b"pw");
    let client = connect(&mut engine);
    (engine, client)
}

/// Case 83.
#[test]
fn strangers_must_log_in() {
    let (mut engine, me) = with_password();
    assert!(!engine.is_authenticated(me));
    for (line, answer) in [
        ("PING", NOAUTH),
        ("nosuch", NOAUTH),
        ("GET", NOAUTH),
        ("CLIENT ID", NOAUTH),
        ("AUTH no", WRONGPASS),
        ("PING", NOAUTH),
        ("AUTH a b c", "-ERR syntax error\r\n"),
        ("AUTH pw", "+OK\r\n"),
        ("PING", "+PONG\r\n"),
        ("RESET", "+RESET\r\n"),
        ("PING", NOAUTH),
        (
            "HELLO 3",
            "-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> \
             AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol \
             version at the same time\r\n",
        ),
        ("HELLO 2 AUTH default no", WRONGPASS),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
    assert!(run(&mut engine, me, "HELLO 2 AUTH default pw").starts_with("*14\r\n"));
    assert!(engine.is_authenticated(me));
    assert_eq!(run(&mut engine, me, "QUIT"), "+OK\r\n");
}

#[test]
fn a_password_set_later_does_not_shut_out_those_who_are_in() {
    let mut engine = engine();
    let me = connect(&mut engine);
    assert_eq!(
        run(&mut engine, me, "AUTH x"),
        "-ERR AUTH <password> called without any password configured for the default user. Are you sure your \
         configuration is correct?\r\n"
    );
    engine.world.set_default_password(b"pw");
    assert_eq!(run(&mut engine, me, "PING"), "+PONG\r\n");
    let late = connect(&mut engine);
    assert_eq!(run(&mut engine, late, "PING"), NOAUTH);
    engine.world.set_default_password(b"");
    assert_eq!(run(&mut engine, late, "PING"), "+PONG\r\n");
}

#[test]
fn refusals_say_what_was_refused() {
    let mut engine = engine();
    let (admin, me) = (connect(&mut engine), connect(&mut engine));
    run(
        &mut engine,
        admin,
        "ACL SETUSER al on >p +get ~a* +acl|whoami db=0",
    );
    for (line, answer) in [
        ("AUTH al no", WRONGPASS),
        ("AUTH al p", "+OK\r\n"),
        ("ACL WHOAMI", "$2\r\nal\r\n"),
        ("GET a", "$-1\r\n"),
        ("GET b", "-NOPERM No permissions to access a key\r\n"),
        (
            "SET a 1",
            "-NOPERM User al has no permissions to run the 'set' command\r\n",
        ),
        (
            "ACL LIST",
            "-NOPERM User al has no permissions to run the 'acl|list' command\r\n",
        ),
        (
            "nosuch",
            "-ERR unknown command 'nosuch', with args beginning with: \r\n",
        ),
        ("SELECT 1", "-NOPERM No permissions to access database\r\n"),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
    let log = run(&mut engine, admin, "ACL LOG");
    let parts: Vec<&str> = log.split("\r\n").collect();
    assert_eq!(
        parts[0], "*5",
        "newest first: database, two commands, a key, a password"
    );
    let value = |name: &str| {
        parts
            .iter()
            .position(|part| *part == name)
            .map(|at| parts[at + 2])
    };
    assert_eq!(value("reason"), Some("database"));
    assert_eq!(value("context"), Some("toplevel"));
    assert_eq!(value("object"), Some("1"));
    assert_eq!(value("username"), Some("al"));
    assert!(value("client-info").is_some_and(|info| info.contains("cmd=select user=al")));
    let refused = engine.world.acl_log.refused;
    assert_eq!(
        (
            refused.auth,
            refused.command,
            refused.key,
            refused.channel,
            refused.database
        ),
        (1, 2, 1, 0, 1)
    );
}

#[test]
fn like_refusals_are_counted_together_for_a_minute() {
    let mut engine = engine();
    let me = connect(&mut engine);
    for wait in [0, 60_000, 120_001] {
        run_at(&mut engine, me, "AUTH nope x", NOW_MS + wait);
    }
    let log = run_at(&mut engine, me, "ACL LOG", NOW_MS + 121_001);
    assert!(log.starts_with("*2\r\n*20\r\n$5\r\ncount\r\n:1\r\n"), "{log}");
    assert!(log.contains("$11\r\nage-seconds\r\n$1\r\n1\r\n"), "{log}");
    assert!(
        log.contains("$5\r\ncount\r\n:2\r\n") && log.contains("$8\r\nentry-id\r\n:0\r\n"),
        "{log}"
    );
    assert!(run(&mut engine, me, "ACL LOG 1").starts_with("*1\r\n"));
    assert_eq!(run(&mut engine, me, "ACL LOG -1"), "*0\r\n");
    assert_eq!(
        run(&mut engine, me, "ACL LOG x"),
        "-ERR value is not an integer or out of range\r\n"
    );
    assert_eq!(run(&mut engine, me, "ACL LOG RESET"), "+OK\r\n");
    assert_eq!(run(&mut engine, me, "ACL LOG"), "*0\r\n");
}

#[test]
fn changes_hold_from_the_next_command_on() {
    let mut engine = engine();
    let (admin, me) = (connect(&mut engine), connect(&mut engine));
    run(&mut engine, admin, "ACL SETUSER al on >p +@all ~*");
    run(&mut engine, me, "AUTH al p");
    assert_eq!(run(&mut engine, me, "GET a"), "$-1\r\n");
    run(&mut engine, admin, "ACL SETUSER al -get");
    assert_eq!(
        run(&mut engine, me, "GET a"),
        "-NOPERM User al has no permissions to run the 'get' command\r\n"
    );
    // Off is for those who are not in yet.
    run(&mut engine, admin, "ACL SETUSER al off +get");
    assert_eq!(run(&mut engine, me, "GET a"), "$-1\r\n");
    assert_eq!(run(&mut engine, admin, "ACL DELUSER al nobody"), ":1\r\n");
    assert!(engine.world.closing.contains(&me) && !engine.world.closing.contains(&admin));
}

#[test]
fn acl_answers() {
    let mut engine = engine();
    let me = connect(&mut engine);
    run(&mut engine, me, "ACL SETUSER z on '(%R~a db=1 +get)' ~b");
    for (line, answer) in [
        ("ACL USERS", "*2\r\n$7\r\ndefault\r\n$1\r\nz\r\n"),
        (
            "ACL LIST",
            "*2\r\n$34\r\nuser default on nopass ~* &* +@all\r\n$69\r\nuser z on ~b resetchannels -@all (%R~a \
             resetchannels db=1 -@all +get)\r\n",
        ),
        (
            "ACL GETUSER z",
            "*14\r\n$5\r\nflags\r\n*1\r\n$2\r\non\r\n$9\r\npasswords\r\n*0\r\n$8\r\ncommands\r\n$5\r\n-@all\r\n\
             $4\r\nkeys\r\n$2\r\n~b\r\n$8\r\nchannels\r\n$0\r\n\r\n$9\r\ndatabases\r\n$6\r\nalldbs\r\n$9\r\n\
             selectors\r\n*1\r\n*8\r\n$8\r\ncommands\r\n$10\r\n-@all +get\r\n$4\r\nkeys\r\n$4\r\n%R~a\r\n$8\r\n\
             channels\r\n$0\r\n\r\n$9\r\ndatabases\r\n$4\r\ndb=1\r\n",
        ),
        ("ACL GETUSER nope", "$-1\r\n"),
        (
            "ACL SETUSER 'a b'",
            "-ERR Usernames can't contain spaces or null characters\r\n",
        ),
        (
            "ACL DELUSER z default",
            "-ERR The 'default' user cannot be removed\r\n",
        ),
        ("ACL WHOAMI", "$7\r\ndefault\r\n"),
        ("ACL CAT nosuch", "-ERR Unknown category 'nosuch'\r\n"),
        (
            "ACL CAT string x",
            "-ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.\r\n",
        ),
        ("ACL GENPASS 5", "$2\r\n00\r\n"),
        (
            "ACL GENPASS x",
            "-ERR value is not an integer or out of range\r\n",
        ),
        (
            "ACL GENPASS 4097",
            "-ERR ACL GENPASS argument must be the number of bits for the output password, a positive number \
             up to 4096\r\n",
        ),
        ("ACL DRYRUN nope get x", "-ERR User 'nope' not found\r\n"),
        ("ACL DRYRUN z nosuch", "-ERR Command 'nosuch' not found\r\n"),
        ("ACL DRYRUN z acl nosuch", "-ERR Command 'acl' not found\r\n"),
        (
            "ACL DRYRUN z get",
            "-ERR wrong number of arguments for 'get' command\r\n",
        ),
        (
            "ACL DRYRUN z get a",
            "$50\r\nUser z has no permissions to run the 'get' command\r\n",
        ),
        ("ACL DRYRUN default get a", "+OK\r\n"),
        (
            "ACL LIST x",
            "-ERR wrong number of arguments for 'acl|list' command\r\n",
        ),
    ] {
        assert_eq!(run(&mut engine, me, line), answer, "{line}");
    }
    let no_file = "-ERR This instance is not configured to use an ACL file.";
    assert!(run(&mut engine, me, "ACL LOAD").starts_with(no_file));
    assert!(run(&mut engine, me, "ACL SAVE").starts_with(no_file));
    assert!(run(&mut engine, me, "ACL HELP").contains("+DRYRUN username command [arg [arg ...]]\r\n"));
}

#[test]
fn the_file_is_loaded_whole_or_not_at_all() {
    let host = TestHost::default();
    let mut engine = engine_on(host.clone());
    engine.world.acl_file = Some("users.acl".into());
    let put = |text: &str| drop(host.files.borrow_mut().insert("users.acl".into(), text.into()));
    let (admin, al, bo) = (connect(&mut engine), connect(&mut engine), connect(&mut engine));
    assert_eq!(
        run(&mut engine, admin, "ACL LOAD"),
        "-ERR Error loading ACLs, opening file 'users.acl': No such file or directory\r\n"
    );
    put("user al on nopass +@all ~*\nuser bo on nopass +ping\n");
    assert_eq!(run(&mut engine, admin, "ACL LOAD"), "+OK\r\n");
    run(&mut engine, al, "AUTH al x");
    run(&mut engine, bo, "AUTH bo x");
    put("user al on nopass +nosuch\n");
    assert_eq!(
        run(&mut engine, admin, "ACL LOAD"),
        "-ERR users.acl:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. \
         WARNING: ACL errors detected, no change to the previously active ACL rules was performed\r\n"
    );
    assert_eq!(run(&mut engine, al, "GET a"), "$-1\r\n");
    put("user al on nopass +@all -get ~*\n");
    assert_eq!(run(&mut engine, admin, "ACL LOAD"), "+OK\r\n");
    assert!(engine.world.closing.contains(&bo) && !engine.world.closing.contains(&al));
    assert!(run(&mut engine, al, "GET a").starts_with("-NOPERM"));
    assert_eq!(run(&mut engine, admin, "ACL SAVE"), "+OK\r\n");
    assert_eq!(
        host.files.borrow()["users.acl"],
        b"user al on nopass ~* resetchannels +@all -get\nuser default on nopass ~* &* +@all\n"
    );
}

/// As Valkey 9.1.2 starts with the same line: what it does not give, the default user does not have.
#[test]
fn a_configured_default_user_starts_without_rights() {
    let mut options = Options::default();
    let line = parse_file(b"user default on nopass ~* +@all\n", "file").unwrap();
    options.load(&line).unwrap();
    let mut engine = engine_on(TestHost::default());
    engine.configure(options).unwrap();
    let client = connect(&mut engine);
    assert_eq!(run(&mut engine, client, "SET k v"), "+OK\r\n");
    assert_eq!(
        run(&mut engine, client, "PUBLISH c m"),
        "-NOPERM No permissions to access a channel\r\n"
    );
}

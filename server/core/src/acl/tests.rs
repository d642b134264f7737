//! Rules and checks. Expectations were seen on Valkey 9.1.2.

use super::{Denial, Reason, User, Users, file, hash};
use crate::command::{COMMANDS, OwnedArgs};
use proptest::prelude::*;

/// The user's line, or the error, after these rules.
fn set(rules: &[&str]) -> String {
    let mut users = Users::default();
    match users.change(b"z", rules.iter().map(|rule| rule.as_bytes())) {
        Ok(user) => String::from_utf8(user.describe()).expect("text"),
        Err(error) => error.text().to_string(),
    }
}

fn user(rules: &[&str]) -> User {
    let mut user = User::new(b"t", false);
    for rule in rules {
        user.apply(rule.as_bytes(), false)
            .unwrap_or_else(|why| panic!("{rule}: {why}"));
    }
    user
}

/// `None`: allowed.
fn denied(user: &User, line: &str, database: u16) -> Option<(Reason, usize)> {
    let words = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
    let entry = COMMANDS.find_words(words.view()).expect("a command");
    user.check(entry, words.view(), database)
        .err()
        .map(|Denial { reason, word }| (reason, word))
}

#[test]
fn rules_are_printed_as_valkey_prints_them() {
    let x = "#2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let y = "#a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa";
    for (rules, line) in [
        (&["+select|0"][..], "off resetchannels -@all +select|0"),
        (
            &["+select|0", "+select|1"],
            "off resetchannels -@all +select|0 +select|1",
        ),
        (&["+select|0", "-select"], "off resetchannels -@all -select"),
        (&["+select|0", "+select"], "off resetchannels -@all +select"),
        (&["+@all", "+select|0"], "off resetchannels +@all +select|0"),
        (&["+acl|setuser"], "off resetchannels -@all +acl|setuser"),
        (&["-acl|setuser"], "off resetchannels -@all -acl|setuser"),
        (&["+acl|setuser", "-acl"], "off resetchannels -@all -acl"),
        (
            &["+@all", "-acl", "+acl|setuser"],
            "off resetchannels +@all -acl +acl|setuser",
        ),
        (
            &["+@read", "-get", "+@read"],
            "off resetchannels -@all -get +@read",
        ),
        (&["+get", "+GET"], "off resetchannels -@all +get"),
        (&["-@all", "+get", "-get"], "off resetchannels -@all -get"),
        (&["+@ALL", "+CLIENT|ID"], "off resetchannels +@all +client|id"),
        (
            &["+@dangerous", "-@dangerous"],
            "off resetchannels -@all -@dangerous",
        ),
        (&["+@all", "-@all", "+get"], "off resetchannels -@all +get"),
        (&["allcommands", "-get"], "off resetchannels +@all -get"),
        (&["%RW~x"], "off ~x resetchannels -@all"),
        (&["%WR~x"], "off ~x resetchannels -@all"),
        (&["%R~x", "%W~x"], "off ~x resetchannels -@all"),
        (
            &["%R~a", "%W~b", "db=2,1"],
            "off %R~a %W~b resetchannels db=1,2 -@all",
        ),
        (&["%R~"], "off %R~ resetchannels -@all"),
        (&["~"], "off ~ resetchannels -@all"),
        (&["&"], "off resetchannels & -@all"),
        (&["&a", "&a"], "off resetchannels &a -@all"),
        (&["~a", "~*"], "off ~* resetchannels -@all"),
        (&["%RW~*"], "off ~* resetchannels -@all"),
        (&["%R~*"], "off %R~* resetchannels -@all"),
        (&["allkeys", "resetkeys", "~b"], "off ~b resetchannels -@all"),
        (&[""], "off resetchannels -@all"),
        (&["nopass", ">x"], &format!("off {x} resetchannels -@all")),
        (&[">x", "nopass"], "off nopass resetchannels -@all"),
        (&[">x", ">x", ">y", "<x"], &format!("off {y} resetchannels -@all")),
        (&["()"], "off resetchannels -@all (resetchannels -@all)"),
        (
            &["(+get", "~x)"],
            "off resetchannels -@all (~x resetchannels -@all +get)",
        ),
        (
            &["( +get \"~a\" )"],
            "off resetchannels -@all (~a resetchannels -@all +get)",
        ),
        (
            &["(~a", "&b)", "(%R~c", ")"],
            "off resetchannels -@all (~a resetchannels &b -@all) (%R~c resetchannels -@all)",
        ),
        (&["(+get)", "clearselectors"], "off resetchannels -@all"),
        (&["db=16"], "off resetchannels db=16 -@all"),
        (&["db=1,0,1"], "off resetchannels db=0,1 -@all"),
        (&["DB=3"], "off resetchannels db=3 -@all"),
        (&["db= 02"], "off resetchannels db=2 -@all"),
        (&["db=1", "db=2"], "off resetchannels db=2 -@all"),
        (&["resetdbs"], "off resetchannels resetdbs -@all"),
        (&["db=1", "allDBS"], "off resetchannels -@all"),
        (
            &["db=1", "~a", "&b", "+get"],
            "off ~a resetchannels &b db=1 -@all +get",
        ),
        (
            &["on", "nopass", "~*", "&*", "+@all", "(db=1)", "reset"],
            "off resetchannels -@all",
        ),
    ] {
        assert_eq!(set(rules), format!("user z {line}"), "{rules:?}");
    }
}

#[test]
fn bad_rules_are_refused_in_valkeys_words() {
    for (rules, rule, why) in [
        (
            &["-select|0"][..],
            "-select|0",
            "Unknown command or category name in ACL",
        ),
        (
            &["+acl|foo"],
            "+acl|foo",
            "Unknown command or category name in ACL",
        ),
        (
            &["+acl|setuser|x"],
            "+acl|setuser|x",
            "Allowing first-arg of a subcommand is not supported",
        ),
        (&["+select|"], "+select|", "Syntax error"),
        (&["+select|0 +@all"], "+select|0 +@all", "Syntax error"),
        (&["+nosuch"], "+nosuch", "Unknown command or category name in ACL"),
        (
            &["+@nosuch"],
            "+@nosuch",
            "Unknown command or category name in ACL",
        ),
        (&["-@"], "-@", "Unknown command or category name in ACL"),
        (&["+"], "+", "Unknown command or category name in ACL"),
        (&["+get)"], "+get)", "Unknown command or category name in ACL"),
        (&["%~x"], "%~x", "Syntax error"),
        (&["%RR~x"], "%RR~x", "Syntax error"),
        (&["%Rx"], "%Rx", "Syntax error"),
        (&["~a b"], "~a b", "Syntax error"),
        (&["@all"], "@all", "Syntax error"),
        (&["foo"], "foo", "Syntax error"),
        (&["((+get))"], "((+get))", "Syntax error"),
        (&["(foo)"], "(foo)", "Syntax error"),
        (&["db="], "db=", "Syntax error"),
        (&["db=a"], "db=a", "Syntax error"),
        (&["db=0,1,"], "db=0,1,", "Syntax error"),
        (&["db=0-3"], "db=0-3", "Syntax error"),
        (&["db=-1"], "db=-1", "The provided database ID is out of range"),
        (
            &["db=2147483648"],
            "db=2147483648",
            "The provided database ID is out of range",
        ),
        (
            &["<x"],
            "<x",
            "The password you are trying to remove from the user does not exist",
        ),
        (
            &["#abc"],
            "#abc",
            "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
        ),
        (
            &["~*", "~a"],
            "~a",
            "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
             effect. Try 'resetkeys' to start with an empty list of patterns",
        ),
        (
            &["&*", "&a"],
            "&a",
            "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have \
             any effect. Try 'resetchannels' to start with an empty list of channels",
        ),
    ] {
        assert_eq!(
            set(rules),
            format!("ERR Error in ACL SETUSER modifier '{rule}': {why}"),
            "{rules:?}"
        );
    }
    assert_eq!(
        set(&["(+get"]),
        "ERR Unmatched parenthesis in acl selector starting at '(+get'."
    );
}

#[test]
fn a_refused_rule_leaves_the_user_as_it_was() {
    let mut users = Users::default();
    users
        .change(b"z", [b"on".as_slice(), b"+get"].into_iter())
        .expect("good rules");
    let before = users.get(b"z").map(|user| user.describe());
    assert!(
        users
            .change(b"z", [b"+set".as_slice(), b"+nosuch"].into_iter())
            .is_err()
    );
    assert_eq!(users.get(b"z").map(|user| user.describe()), before);
}

#[test]
fn one_selector_must_allow_all_and_the_farthest_refusal_is_told() {
    let q = user(&[
        "db=1",
        "+get",
        "~a*",
        "(db=0 ~b* +set)",
        "(%R~c* db=0 +@all allchannels)",
    ]);
    for (line, expected) in [
        ("get a1", Some((Reason::Key, 1))),
        ("set b1 1", None),
        ("set a 1", Some((Reason::Key, 1))),
        ("get c1", None),
        ("set c1 1", Some((Reason::Key, 1))),
        ("ping", None),
        ("auth x", None),
        ("select 1", Some((Reason::Command, 0))),
    ] {
        assert_eq!(denied(&q, line, 0), expected, "{line}");
    }
    assert_eq!(denied(&q, "get a1", 1), None);
}

#[test]
fn databases_are_checked_before_commands() {
    let nowhere = user(&["resetdbs"]);
    assert_eq!(denied(&nowhere, "get x", 0), Some((Reason::Database, 0)));
    assert_eq!(denied(&nowhere, "ping", 0), Some((Reason::Command, 0)));
    let one = user(&["on", "nopass", "+@all", "~*", "db=1"]);
    assert!(!one.is_unrestricted());
    for (line, expected) in [
        ("get x", Some((Reason::Database, 0))),
        ("select 1", None),
        ("select 0", Some((Reason::Database, 1))),
        ("select 99", Some((Reason::Database, 1))),
        ("select abc", None),
        ("client list", None),
        ("hello", None),
    ] {
        assert_eq!(denied(&one, line, 0), expected, "{line}");
    }
    assert_eq!(denied(&one, "get x", 1), None);
}

#[test]
fn set_reads_only_with_get() {
    let writer = user(&["+@all", "%W~*"]);
    assert_eq!(denied(&writer, "set k v", 0), None);
    assert_eq!(denied(&writer, "set k v GET", 0), Some((Reason::Key, 1)));
    assert_eq!(denied(&writer, "get k", 0), Some((Reason::Key, 1)));
}

#[test]
fn first_arguments_and_subcommands() {
    let zero = user(&["+select|0", "+client|id"]);
    assert_eq!(denied(&zero, "select 0", 0), None);
    assert_eq!(denied(&zero, "select 1", 0), Some((Reason::Command, 0)));
    assert_eq!(denied(&zero, "client id", 0), None);
    assert_eq!(denied(&zero, "client getname", 0), Some((Reason::Command, 0)));
    let category = user(&["+@all", "-@connection", "+echo"]);
    assert_eq!(denied(&category, "client id", 0), Some((Reason::Command, 0)));
    assert_eq!(denied(&category, "echo x", 0), None);
    assert_eq!(denied(&category, "acl whoami", 0), None);
}

#[test]
fn passwords() {
    let mut alice = user(&["on", ">one", ">two"]);
    assert!(alice.accepts(b"one") && alice.accepts(b"two") && !alice.accepts(b"three"));
    alice.apply(b"<one", false).expect("known");
    assert!(!alice.accepts(b"one"));
    alice.apply(b"off", false).expect("good");
    assert!(!alice.accepts(b"two"));
    assert!(user(&["on", "nopass"]).accepts(b"anything"));
    assert!(!user(&["on"]).accepts(b""));
    // The test vector of FIPS 180.
    let mut hex = Vec::new();
    hash(b"abc").push_hex(&mut hex);
    assert_eq!(
        hex,
        b"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn every_printed_user_is_read_back() {
    let mut users = Users::default();
    let rules: [&[&str]; 4] = [
        &[
            "on",
            ">x",
            "~a*",
            "%R~b",
            "&c",
            "db=3",
            "+@read",
            "-get",
            "+select|0",
        ],
        &["nopass", "%RW~*", "~x", "+@all", "-@write"],
        &["(~a &b +get)", "(resetdbs)", "+client|id"],
        &["on", "~*", "&*", "+@all"],
    ];
    for (at, rules) in rules.iter().enumerate() {
        users
            .change(format!("u{at}").as_bytes(), rules.iter().map(|r| r.as_bytes()))
            .expect("good rules");
    }
    let text = file::render(&users);
    let again = file::parse(&text, "users.acl", false).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(file::render(&again), text);
    assert!(again.get(b"u3").is_some_and(|user| user.is_unrestricted()));
}

#[test]
fn a_file_with_faults_tells_them_all_and_gives_nothing() {
    let text =
        b"user alice on +@all ~*\n\nuser alice on\nuser bob +nosuch -foo\nuser carl bar baz\nfoo bar\n\
        user dan (+get\n";
    let errors = file::parse(text, "/f", false).err().unwrap_or_default();
    assert_eq!(
        errors,
        "WARNING: Duplicate user 'alice' found on line 3. /f:4: Error in applying operation '+nosuch': Unknown \
         command or category name in ACL. /f:4: Error in applying operation '-foo': Unknown command or \
         category name in ACL. /f:5: Syntax error. /f:6 should start with user keyword followed by the \
         username. /f:7: Unmatched parenthesis in selector definition.WARNING: ACL errors detected, no change \
         to the previously active ACL rules was performed"
    );
}

#[test]
fn a_file_without_a_default_user_has_the_first_one() {
    let users = file::parse(b"user alice on nopass +get\n", "f", false).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(
        users.default_user().describe(),
        b"user default on nopass ~* &* +@all"
    );
    let users = file::parse(b"user default on >x\n", "f", false).unwrap_or_else(|why| panic!("{why}"));
    assert!(!users.default_user().needs_no_login());
}

proptest! {
    /// Whatever an administrator types at the root of a user, the file gives it back.
    #[test]
    fn accepted_rules_survive_the_file(
        rules in proptest::collection::vec("[-+~%&@#>db=(RW]?(get|@read|all|select\\|)?[a0-9*~%)| \"]{0,4}", 0..8)
    ) {
        let mut user = User::new(b"z", false);
        for rule in rules.iter().filter(|rule| !rule.starts_with('(')) {
            // Refused rules change nothing.
            let _ = user.apply(rule.as_bytes(), false);
        }
        let mut users = Users::default();
        users.put(user);
        let text = file::render(&users);
        let again = file::parse(&text, "f", false);
        prop_assert_eq!(again.map(|users| file::render(&users)), Ok(text));
    }

    #[test]
    fn any_bytes_are_bearable(words: Vec<Vec<u8>>, text: Vec<u8>) {
        let mut users = Users::default();
        let _ = users.change(b"z", words.iter().map(Vec::as_slice));
        let _ = file::parse(&text, "f", false);
    }
}

/// Seen on Valkey 9.1.2, as `ACL LIST` shows it.
#[test]
fn what_is_made_anew_has_the_channels_that_are_the_default() {
    let mut users = Users::default();
    users.open_channels = true;
    let mut line = |rules: &str| {
        let rules = rules
            .split(' ')
            .map(str::as_bytes)
            .filter(|rule| !rule.is_empty());
        let user = users
            .change(b"x", rules)
            .unwrap_or_else(|why| panic!("{}", why.text()));
        String::from_utf8(user.describe()).expect("ASCII")
    };
    assert_eq!(line("reset"), "user x off &* -@all");
    assert_eq!(line("(+get)"), "user x off &* -@all (&* -@all +get)");
    assert_eq!(
        line("resetchannels"),
        "user x off resetchannels -@all (&* -@all +get)"
    );
    assert_eq!(line("reset"), "user x off &* -@all");
    assert_eq!(line("reset resetchannels"), "user x off resetchannels -@all");
    let loaded = file::parse(b"user y +get\n", "f", true).unwrap_or_else(|why| panic!("{why}"));
    let y = loaded.get(b"y").expect("loaded").describe();
    assert_eq!(String::from_utf8_lossy(&y), "user y off &* -@all +get");
}

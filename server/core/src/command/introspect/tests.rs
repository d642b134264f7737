//! `COMMAND` in all its forms. Expectations were seen on Valkey 9.1.2, whose argument names differ from ours
//! only where it gives a name to a choice or a block.

use super::arguments::{Argument, Kind, arguments};
use crate::command::COMMANDS;
use crate::engine::testing::{connect, engine, run};

fn ask(line: &str) -> String {
    let mut engine = engine();
    let client = connect(&mut engine);
    run(&mut engine, client, line)
}

#[test]
fn info_of_get() {
    assert_eq!(
        ask("COMMAND INFO get"),
        "*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n*3\r\n+@read\r\n+@string\r\n\
         +@fast\r\n*0\r\n*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n+RO\r\n+access\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n\
         $5\r\nindex\r\n$4\r\nspec\r\n*2\r\n$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n\
         $4\r\nspec\r\n*6\r\n$7\r\nlastkey\r\n:0\r\n$7\r\nkeystep\r\n:1\r\n$5\r\nlimit\r\n:0\r\n*0\r\n"
    );
    assert_eq!(ask("COMMAND INFO nosuch"), "*1\r\n$-1\r\n");
    assert!(ask("COMMAND INFO client|id").starts_with("*1\r\n*10\r\n$9\r\nclient|id\r\n:2\r\n"));
}

#[test]
fn count_is_of_what_is_described() {
    let top = COMMANDS.top_level().count();
    assert_eq!(ask("COMMAND COUNT"), format!(":{top}\r\n"));
    assert!(ask("COMMAND").starts_with(&format!("*{top}\r\n*10\r\n")));
    assert!(ask("COMMAND DOCS").starts_with(&format!("*{}\r\n$", top * 2)));
}

#[test]
fn lists_can_be_filtered() {
    assert!(ask("COMMAND LIST").starts_with(&format!("*{}\r\n", COMMANDS.len())));
    assert_eq!(
        ask("COMMAND LIST FILTERBY PATTERN CLIENT|i*"),
        "*3\r\n$9\r\nclient|id\r\n$20\r\nclient|import-source\r\n$11\r\nclient|info\r\n"
    );
    assert_eq!(ask("COMMAND LIST FILTERBY ACLCAT nosuch"), "*0\r\n");
    assert_eq!(ask("COMMAND LIST FILTERBY MODULE x"), "*0\r\n");
    for line in [
        "COMMAND LIST FOO",
        "COMMAND LIST FILTERBY X y",
        "COMMAND LIST FILTERBY MODULE",
    ] {
        assert_eq!(ask(line), "-ERR syntax error\r\n", "{line}");
    }
}

#[test]
fn keys_and_what_is_done_to_them() {
    for (line, answer) in [
        ("GETKEYS GET a", "*1\r\n$1\r\na\r\n"),
        (
            "GETKEYSANDFLAGS GET a",
            "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+RO\r\n+access\r\n",
        ),
        (
            "GETKEYSANDFLAGS SET a b",
            "*1\r\n*2\r\n$1\r\na\r\n*2\r\n+OW\r\n+update\r\n",
        ),
        (
            "GETKEYSANDFLAGS SET a b GET",
            "*1\r\n*2\r\n$1\r\na\r\n*3\r\n+RW\r\n+access\r\n+update\r\n",
        ),
        ("GETKEYS PING", "-ERR The command has no key arguments\r\n"),
        ("GETKEYS nosuch", "-ERR Invalid command specified\r\n"),
        (
            "GETKEYS GET",
            "-ERR Invalid number of arguments specified for command\r\n",
        ),
    ] {
        assert_eq!(ask(&format!("COMMAND {line}")), answer, "{line}");
    }
}

fn show(arguments: &[Argument]) -> String {
    let one = |a: &Argument| {
        let mut text = format!("{}:{}", a.name, a.kind.name());
        if let Some(spec) = a.key_spec {
            text.push_str(&format!("#{spec}"));
        }
        if let Some(token) = &a.token {
            text.push_str(&format!("={token}"));
        }
        for (holds, mark) in [(a.optional, '?'), (a.multiple, '+'), (a.token_repeats, '*')] {
            if holds {
                text.push(mark);
            }
        }
        if matches!(a.kind, Kind::OneOf | Kind::Block) {
            text.push_str(&format!("({})", show(&a.arguments)));
        }
        text
    };
    arguments.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_notation_becomes_arguments() {
    for (syntax, specs, tree) in [
        ("", 0, ""),
        ("[message]", 0, "message:string?"),
        ("key [key ...]", 1, "key:key#0+"),
        (
            "key field value [field value ...]",
            1,
            "key:key#0 field-value:block+(field:string value:string)",
        ),
        ("[bits]", 0, "bits:integer?"),
        ("username [rule [rule ...]]", 0, "username:string rule:string?+"),
        (
            "<ON | OFF>",
            0,
            "on-or-off:oneof(on:pure-token=ON off:pure-token=OFF)",
        ),
        (
            "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | KEEPTTL]",
            1,
            "key:key#0 value:string \
             nx-or-xx-or-comparison-value:oneof?(nx:pure-token=NX xx:pure-token=XX comparison-value:string=IFEQ) \
             get:pure-token=GET? seconds-or-keepttl:oneof?(seconds:integer=EX keepttl:pure-token=KEEPTTL)",
        ),
        (
            "key [LIMIT offset count] [GET pattern [GET pattern ...]]",
            1,
            "key:key#0 limit:block=LIMIT?(offset:integer count:integer) pattern:pattern=GET?+*",
        ),
        (
            "key seconds FIELDS numfields field [field ...]",
            1,
            "key:key#0 seconds:integer fields:block=FIELDS(numfields:integer field:string+)",
        ),
        (
            "[COUNT count [ANY]]",
            0,
            "count-any:block?(count:integer=COUNT any:pure-token=ANY?)",
        ),
        ("source destination", 2, "source:key#0 destination:key#1"),
        (
            "[protover [AUTH username password] [SETNAME clientname]]",
            0,
            "protover-auth-clientname:block?(protover:integer auth:block=AUTH?(username:string password:string) \
             clientname:string=SETNAME?)",
        ),
    ] {
        assert_eq!(show(&arguments(syntax, specs)), tree, "{syntax}");
    }
}

/// A slip in a row's notation would otherwise show only to the one who asks for that command.
#[test]
fn every_row_is_in_the_notation() {
    for entry in COMMANDS.iter() {
        let syntax = entry.spec.syntax;
        for (open, close) in [("[", "]"), ("<", ">")] {
            assert_eq!(
                syntax.matches(open).count(),
                syntax.matches(close).count(),
                "{}",
                entry.full_name
            );
        }
        let keys = entry.spec.keys.len();
        let needs_arguments = entry.spec.arity.unsigned_abs() as usize > entry.full_name.split('|').count()
            && !entry.is_container();
        assert_eq!(
            arguments(syntax, keys).is_empty(),
            syntax.is_empty(),
            "{}",
            entry.full_name
        );
        assert!(
            !needs_arguments || !syntax.is_empty(),
            "{}: arity {}",
            entry.full_name,
            entry.spec.arity
        );
    }
}

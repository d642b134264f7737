//! The table as a whole, and directives from files, flags and the environment.

use super::text::{Origin, TextError, parse_environment, parse_file, parse_flags};
use super::*;

fn flags(words: &[&str]) -> Vec<text::Directive> {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    parse_flags(&words).expect("flags")
}

#[test]
fn rows_stand_at_the_place_of_their_id_and_names_are_unique() {
    let mut names = std::collections::HashSet::new();
    for (place, row) in ROWS.iter().enumerate() {
        assert_eq!(row.id as usize, place, "{}", row.name);
        for name in row.names() {
            assert!(names.insert(name), "{name} twice");
            assert_eq!(name, name.to_lowercase());
        }
        assert!(row.summary.ends_with('.'), "{}", row.name);
    }
}

#[test]
fn what_is_shown_can_be_set_again() {
    let options = Options::default();
    for row in ROWS {
        let shown = options.shown(row);
        let again = row.kind.parse(&[&shown], Some(options.value(row.id)));
        assert_eq!(again.as_ref(), Ok(options.value(row.id)), "{}", row.name);
    }
}

#[test]
fn later_directives_win_and_limits_of_output_add_up() {
    let mut options = Options::default();
    let text = b"# a comment\n\nport 1\n  bind 10.0.0.1   ::1\nclient-output-buffer-limit pubsub 1mb 0 0\n\
                 requirepass \"a \\\"b\\x41\"\nsave \"\"\n";
    options
        .load(&parse_file(text, "node.conf").expect("text"))
        .expect("known options");
    options
        .load(&flags(&[
            "--port",
            "7",
            "--client-output-buffer-limit",
            "normal",
            "5",
            "0",
            "0",
        ]))
        .expect("known options");
    assert_eq!(options.port(), 7);
    assert_eq!(options.words(Id::Bind), [b"10.0.0.1".to_vec(), b"::1".to_vec()]);
    assert_eq!(options.text(Id::RequirePass), b"a \"bA");
    assert_eq!(options.output_limit(OutputClass::PubSub).hard_bytes, 1 << 20);
    assert_eq!(options.output_limit(OutputClass::Normal).hard_bytes, 5);
}

#[test]
fn save_points_add_up_and_an_empty_one_takes_them_back() {
    let shown = |text: &str| {
        let mut options = Options::default();
        let directives = parse_file(text.as_bytes(), "node.conf").expect("words");
        options.load(&directives).expect("known options");
        options.shown_by(Id::Save)
    };
    assert_eq!(
        shown("save 3600 1 300 100\nsave 60 10000\n"),
        "3600 1 300 100 60 10000"
    );
    assert_eq!(shown("save \"3600 1 300 100\"\nsave \"\"\nsave 60 0\n"), "60 0");
    assert_eq!(shown("save 900 1\nsave \"\"\n"), "");
    let mut options = Options::default();
    for (value, shown) in [("900 1 60 5", "900 1 60 5"), ("60 1", "60 1"), ("", "")] {
        options.change(&[b"save", value.as_bytes()]).expect("save points");
        assert_eq!(options.shown_by(Id::Save), shown);
    }
    for wrong in ["900", "0 1", "1 -1", "x 1"] {
        let refused = options.change(&[b"save", wrong.as_bytes()]);
        assert!(refused.is_err_and(|error| error.text().ends_with("Invalid save parameters")));
    }
}

#[test]
fn faults_are_told_with_their_place() {
    let fault = |text: &[u8]| {
        let directives = parse_file(text, "node.conf").expect("words");
        Options::default()
            .load(&directives)
            .expect_err("a fault")
            .to_string()
    };
    assert_eq!(
        fault(b"port 1\nprot 2\n"),
        "node.conf, line 2: there is no option 'prot' (--help lists them)"
    );
    assert_eq!(
        fault(b"save 900\n"),
        "node.conf, line 1: option 'save': Invalid save parameters"
    );
    // As a file for another server may have them.
    assert_eq!(
        fault(b"replicaof 10.0.0.1 6379\n"),
        "node.conf, line 1: option 'replicaof': replicas are placed by the cluster, not by this option"
    );
    assert_eq!(
        fault(b"port 99999\n"),
        "node.conf, line 1: option 'port': argument must be between 0 and 65535 inclusive"
    );
    assert!(
        fault(b"\n\ndurability never")
            .starts_with("node.conf, line 3: option 'durability': argument(s) must be")
    );
    assert_eq!(
        parse_file(b"port 1\nrequirepass \"a\n", "node.conf"),
        Err(TextError::Unbalanced {
            path: "node.conf".into(),
            line: 2
        })
    );
}

#[test]
fn flags_may_be_written_in_two_ways_and_need_a_value() {
    assert_eq!(flags(&["--port=5"])[0].words, flags(&["--port", "5"])[0].words);
    let fail = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        parse_flags(&words).expect_err("a fault")
    };
    assert_eq!(fail(&["--port"]), TextError::NoValue("port".into()));
    assert_eq!(fail(&["--port", "--hz", "1"]), TextError::NoValue("port".into()));
    assert_eq!(fail(&["5"]), TextError::Stray("5".into()));
}

#[test]
fn the_environment_is_read_by_name_and_kubernetes_variables_are_left_alone() {
    let variables = [
        ("RUVIO_MAXMEMORY_POLICY", "allkeys-lru"),
        ("RUVIO_PORT", "tcp://10.0.0.1:6379"),
        ("RUVIO_SERVICE_HOST", "10.0.0.1"),
        ("PATH", "/bin"),
    ];
    let directives = parse_environment(variables.into_iter());
    assert_eq!(directives.len(), 1);
    assert_eq!(directives[0].name, "maxmemory-policy");
    assert_eq!(
        directives[0].origin,
        Origin::Environment("RUVIO_MAXMEMORY_POLICY".into())
    );
}

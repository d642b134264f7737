//! Commands that watch other commands and memory, and the short ones.

use crate::engine::observe::LogKind;
use crate::engine::testing::{NOW_MS, connect, engine, received, run};
use crate::options::{Options, text};

#[test]
fn slow_commands_are_logged_without_secrets_and_shortened() {
    let mut engine = engine();
    let client = connect(&mut engine);
    run(
        &mut engine,
        client,
        "CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 5",
    );
    run(&mut engine, client, "SLOWLOG RESET");
    run(&mut engine, client, "CONFIG SET hz 10 requirepass \"\"");
    run(&mut engine, client, "AUTH someone secret");
    run(&mut engine, client, &format!("ECHO {}", "x".repeat(130)));
    run(&mut engine, client, &format!("SADD s {}", "m ".repeat(40)));
    let words: Vec<Vec<String>> = engine
        .world
        .observer
        .log(LogKind::Slow)
        .iter()
        .map(|entry| {
            let text = |word: &Vec<u8>| String::from_utf8_lossy(word).into_owned();
            entry.words.iter().map(text).collect()
        })
        .collect();
    assert_eq!(words.len(), 5);
    assert_eq!(words[0].len(), 32);
    assert_eq!(words[0][31], "... (11 more arguments)");
    assert_eq!(words[1][1], format!("{}... (2 more bytes)", "x".repeat(128)));
    assert_eq!(words[2], ["AUTH", "(redacted)", "(redacted)"]);
    assert_eq!(
        words[3],
        ["CONFIG", "SET", "hz", "10", "requirepass", "(redacted)"]
    );
    assert_eq!(run(&mut engine, client, "SLOWLOG LEN"), ":5\r\n");
    run(&mut engine, client, "CONFIG SET slowlog-log-slower-than -1");
    for (line, answer) in [
        (
            "SLOWLOG GET -2",
            "-ERR count should be greater than or equal to -1\r\n",
        ),
        (
            "SLOWLOG GET x",
            "-ERR count should be greater than or equal to -1\r\n",
        ),
        (
            "SLOWLOG GET 1 2",
            "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.\r\n",
        ),
        ("SLOWLOG RESET", "+OK\r\n"),
        ("SLOWLOG GET", "*0\r\n"),
    ] {
        assert_eq!(run(&mut engine, client, line), answer, "{line}");
    }
}

#[test]
fn latency_events_and_histograms() {
    let mut engine = engine();
    let client = connect(&mut engine);
    run(
        &mut engine,
        client,
        "CONFIG SET latency-monitor-threshold 100 latency-tracking yes",
    );
    let latency = &mut engine.world.observer.latency;
    for (at, took) in [(10, 99), (10, 100), (10, 300), (11, 200)] {
        latency.note("command", at, took);
    }
    for (line, answer) in [
        (
            "LATENCY LATEST",
            "*1\r\n*6\r\n$7\r\ncommand\r\n:11\r\n:200\r\n:300\r\n:600\r\n:3\r\n",
        ),
        (
            "LATENCY HISTORY command",
            "*2\r\n*2\r\n:10\r\n:300\r\n*2\r\n:11\r\n:200\r\n",
        ),
        ("LATENCY HISTORY nosuch", "*0\r\n"),
        (
            "LATENCY GRAPH nosuch",
            "-ERR No samples available for event 'nosuch'\r\n",
        ),
        ("LATENCY RESET nosuch", ":0\r\n"),
    ] {
        assert_eq!(run(&mut engine, client, line), answer, "{line}");
    }
    let graph = run(&mut engine, client, "LATENCY GRAPH command");
    assert!(
        graph.contains("command - high 300 ms, low 200 ms (all time high 300 ms)"),
        "{graph}"
    );
    assert_eq!(run(&mut engine, client, "LATENCY RESET"), ":1\r\n");
    run(&mut engine, client, "CONFIG RESETSTAT");
    run(&mut engine, client, "SET a b");
    run(&mut engine, client, "SET a b");
    let histogram = run(&mut engine, client, "LATENCY HISTOGRAM set nosuch config");
    assert_eq!(
        histogram,
        "*4\r\n$3\r\nset\r\n*4\r\n$5\r\ncalls\r\n:2\r\n$14\r\nhistogram_usec\r\n*2\r\n:1\r\n:2\r\n\
         $16\r\nconfig|resetstat\r\n*4\r\n$5\r\ncalls\r\n:1\r\n$14\r\nhistogram_usec\r\n*2\r\n:1\r\n:1\r\n"
    );
    let info = run(&mut engine, client, "INFO latencystats");
    assert!(
        info.contains("latency_percentiles_usec_set:p50=0.001,p99=0.001,p99.9=0.001\r\n"),
        "{info}"
    );
}

/// Lines as Valkey's: time, database and address, words in quotes; commands of administrators are not shown.
#[test]
fn monitor_shows_what_others_do() {
    let mut engine = engine();
    let (watcher, client) = (connect(&mut engine), connect(&mut engine));
    assert_eq!(run(&mut engine, watcher, "MONITOR"), "+OK\r\n");
    run(&mut engine, client, "SET k \"a\\nb\"");
    run(&mut engine, client, "CONFIG GET hz");
    run(&mut engine, client, "AUTH default secret");
    assert_eq!(
        received(&mut engine, watcher),
        "+1700000000.000000 [0 127.0.0.1:50000] \"SET\" \"k\" \"a\\nb\"\r\n\
         +1700000000.000000 [0 127.0.0.1:50000] \"AUTH\" \"(redacted)\" \"(redacted)\"\r\n"
    );
    let waiting = connect(&mut engine);
    run(&mut engine, waiting, "BLPOP list 0");
    run(&mut engine, client, "RPUSH list a");
    let shown = received(&mut engine, watcher);
    assert_eq!(shown.matches("BLPOP").count(), 1, "{shown}");
    assert!(shown.find("BLPOP") < shown.find("RPUSH"), "{shown}");
    run(&mut engine, watcher, "RESET");
    received(&mut engine, watcher);
    run(&mut engine, client, "GET k");
    assert_eq!(received(&mut engine, watcher), "");
}

/// Valkey 9.1.2's answers.
#[test]
fn short_commands_and_their_errors() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let lines = [
        ("TIME", "*2\r\n$10\r\n1700000000\r\n$1\r\n0\r\n"),
        ("ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"),
        ("WAIT x 1", "-ERR value is not an integer or out of range\r\n"),
        ("WAIT 1 -1", "-ERR timeout is negative\r\n"),
        ("WAIT 1 x", "-ERR timeout is not an integer or out of range\r\n"),
        ("WAIT 0 0", ":0\r\n"),
        ("WAIT -1 0", ":0\r\n"),
        ("SHUTDOWN foo", "-ERR syntax error\r\n"),
        ("SHUTDOWN abort", "-ERR No shutdown in progress.\r\n"),
        ("SHUTDOWN save nosave", "-ERR syntax error\r\n"),
        ("SHUTDOWN abort now", "-ERR syntax error\r\n"),
        ("MEMORY USAGE nokey", "$-1\r\n"),
        ("MEMORY USAGE k SAMPLES -1", "-ERR syntax error\r\n"),
        (
            "MEMORY USAGE k SAMPLES x",
            "-ERR value is not an integer or out of range\r\n",
        ),
        ("MEMORY USAGE k foo", "-ERR syntax error\r\n"),
        ("MEMORY PURGE", "+OK\r\n"),
        (
            "DEBUG SLEEP 0",
            "-ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it \
             from a local connection, otherwise you need to set this option in the configuration file, and then \
             restart the server.\r\n",
        ),
    ];
    for (line, answer) in lines {
        assert_eq!(run(&mut engine, client, line), answer, "{line}");
    }
}

#[test]
fn a_wait_for_replicas_ends_with_its_time() {
    let mut engine = engine();
    let client = connect(&mut engine);
    assert_eq!(run(&mut engine, client, "WAIT 1 50"), "");
    engine.tick(crate::exec::Now::from_ms(NOW_MS + 51));
    assert_eq!(received(&mut engine, client), ":0\r\n");
}

#[test]
fn debug_is_for_whom_the_option_lets_in() {
    let mut engine = engine();
    let mut options = Options::default();
    let flags = ["--enable-debug-command", "local"].map(String::from);
    options
        .load(&text::parse_flags(&flags).expect("flags"))
        .expect("an option");
    engine.configure(options).expect("configured");
    let client = connect(&mut engine);
    let lines = [
        ("DEBUG POPULATE 3 p 5", "+OK\r\n"),
        ("GET p:1", "$5\r\nvalue\r\n"),
        (
            "DEBUG POPULATE x",
            "-ERR value is out of range, must be positive\r\n",
        ),
        ("DEBUG OBJECT nokey", "-ERR no such key\r\n"),
        ("DEBUG SET-ACTIVE-EXPIRE 0", "+OK\r\n"),
        ("DEBUG STRINGMATCH-LEN 20000 a*a*b", ":0\r\n"),
        (
            "DEBUG QUICKLIST-PACKED-THRESHOLD 5x",
            "-ERR argument must be a memory value bigger than 1 and smaller than 4gb\r\n",
        ),
        (
            "DEBUG foo",
            "-ERR unknown subcommand or wrong number of arguments for 'foo'. Try DEBUG HELP.\r\n",
        ),
    ];
    for (line, answer) in lines {
        assert_eq!(run(&mut engine, client, line), answer, "{line}");
    }
    assert!(!engine.shard.expiry_cycle.enabled);
    let shown = run(&mut engine, client, "DEBUG OBJECT p:1");
    assert!(shown.contains(" refcount:1 encoding:embstr "), "{shown}");
}

/// What `MEMORY USAGE` says is near to what the heap gains.
#[test]
fn usage_is_near_what_the_heap_gains() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let before = engine.shard.heap.live_bytes();
    for at in 0..2000 {
        run(&mut engine, client, &format!("SADD s member:{at:06}"));
    }
    let gained = engine.shard.heap.live_bytes() - before;
    for samples in ["", " SAMPLES 0", " SAMPLES 100"] {
        let told = run(&mut engine, client, &format!("MEMORY USAGE s{samples}"));
        let told: usize = told.trim().trim_start_matches(':').parse().expect("a number");
        assert!(
            told.abs_diff(gained) < gained / 4,
            "{samples}: told {told}, gained {gained}"
        );
    }
}

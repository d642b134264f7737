//! Server commands against an engine without a server.

use crate::engine::testing::{TestHost, connect, engine, engine_on, received, run};

/// Valkey 9.1.2's answers to the same commands in the same order.
#[test]
fn config_set_refuses_in_valkeys_words() {
    let mut engine = engine();
    let client = connect(&mut engine);
    let refused = [
        (
            "hash-max-listpack-entries abc",
            "hash-max-listpack-entries",
            "argument couldn't be parsed into an integer",
        ),
        (
            "timeout -1",
            "timeout",
            "argument must be between 0 and 2147483647 inclusive",
        ),
        ("databases 3", "databases", "can't set immutable config"),
        ("hz 10 hz 12", "hz", "duplicate parameter"),
        ("maxmemory 10xb", "maxmemory", "argument must be a memory value"),
        ("maxmemory -1", "maxmemory", "argument must be a memory value"),
        ("maxmemory 1.5gb", "maxmemory", "argument must be a memory value"),
        (
            "client-query-buffer-limit 1",
            "client-query-buffer-limit",
            "argument must be between 1048576 and 9223372036854775807 inclusive",
        ),
        (
            "maxmemory-policy x",
            "maxmemory-policy",
            "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, \
             allkeys-lru, allkeys-lfu, allkeys-random, noeviction",
        ),
        (
            "client-output-buffer-limit \"normal 1 2\"",
            "client-output-buffer-limit",
            "Wrong number of arguments in buffer limit configuration.",
        ),
        (
            "client-output-buffer-limit \"foo 1 2 3\"",
            "client-output-buffer-limit",
            "Invalid client class specified in buffer limit configuration.",
        ),
        (
            "client-output-buffer-limit \"normal 1mb -2 3\"",
            "client-output-buffer-limit",
            "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
        ),
        (
            "notify-keyspace-events Q",
            "notify-keyspace-events",
            "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
        ),
        (
            "latency-tracking-info-percentiles 101",
            "latency-tracking-info-percentiles",
            "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
        ),
        (
            "activerehashing maybe",
            "activerehashing",
            "argument must be 'yes' or 'no'",
        ),
        (
            "maxclients 0",
            "maxclients",
            "argument must be between 1 and 4294967295 inclusive",
        ),
        (
            "maxclients 1000001",
            "maxclients",
            "The operating system is not able to handle the specified number of clients, try with 1000000",
        ),
    ];
    for (pair, name, why) in refused {
        assert_eq!(
            run(&mut engine, client, &format!("CONFIG SET {pair}")),
            format!("-ERR CONFIG SET failed (possibly related to argument '{name}') - {why}\r\n"),
        );
    }
    for line in ["CONFIG SET nosuch 1", "CONFIG SET hz 10 nosuch 1"] {
        assert_eq!(
            run(&mut engine, client, line),
            "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n"
        );
    }
    assert_eq!(
        run(&mut engine, client, "CONFIG SET hz"),
        "-ERR wrong number of arguments for 'config|set' command\r\n"
    );
    assert_eq!(
        run(&mut engine, client, "CONFIG SET hz 10 timeout"),
        "-ERR syntax error\r\n"
    );
    assert_eq!(
        run(&mut engine, client, "CONFIG REWRITE"),
        "-ERR The server is running without a config file\r\n"
    );
}

#[test]
fn config_set_is_all_or_nothing_and_reaches_its_users() {
    let mut engine = engine();
    let client = connect(&mut engine);
    assert_eq!(
        run(
            &mut engine,
            client,
            "CONFIG SET hash-max-ziplist-entries 7 timeout -1"
        ),
        "-ERR CONFIG SET failed (possibly related to argument 'timeout') - argument must be between 0 and \
         2147483647 inclusive\r\n"
    );
    assert_eq!(engine.shard.limits.hash_max_listpack_entries, 512);
    assert_eq!(
        run(
            &mut engine,
            client,
            "CONFIG SET Hash-Max-Ziplist-Entries 7 maxmemory 1kb maxmemory-policy allkeys-lfu notify-keyspace-events KEA"
        ),
        "+OK\r\n"
    );
    assert_eq!(engine.shard.limits.hash_max_listpack_entries, 7);
    assert_eq!(engine.shard.eviction.limit_bytes, 1024);
    assert!(engine.shard.access.lfu);
    assert!(engine.shard.notify.any(crate::keyspace::Classes::STRING));
    assert_eq!(
        run(
            &mut engine,
            client,
            "CONFIG GET hash-max-z*-entries MAXMEMORY notify-*"
        ),
        "*6\r\n$24\r\nhash-max-ziplist-entries\r\n$1\r\n7\r\n$9\r\nmaxmemory\r\n$4\r\n1024\r\n\
         $22\r\nnotify-keyspace-events\r\n$3\r\nAKE\r\n"
    );
}

#[test]
fn what_config_get_shows_can_be_set_again_where_valkey_allows_it() {
    let mut engine = engine();
    let client = connect(&mut engine);
    for line in [
        "CONFIG SET port 6379",
        "CONFIG SET durability everysec",
        "CONFIG SET dir ./data",
    ] {
        assert_eq!(run(&mut engine, client, line), "+OK\r\n", "{line}");
    }
    assert!(run(&mut engine, client, "CONFIG SET port 6380").ends_with("can't set immutable config\r\n"));
    assert!(run(&mut engine, client, "CONFIG SET databases 16").ends_with("can't set immutable config\r\n"));
    assert!(!run(&mut engine, client, "CONFIG GET *").contains("key-load-delay"));
    assert!(run(&mut engine, client, "CONFIG GET key-load-delay").contains("key-load-delay"));
}

#[test]
fn requirepass_is_the_default_users_password() {
    let mut engine = engine();
    let client = connect(&mut engine);
    assert_eq!(
        run(&mut engine, client, "CONFIG SET requirepass secret"),
        "+OK\r\n"
    );
    let stranger = connect(&mut engine);
    assert_eq!(
        run(&mut engine, stranger, "INFO"),
        "-NOAUTH Authentication required.\r\n"
    );
    assert_eq!(run(&mut engine, stranger, "AUTH secret"), "+OK\r\n");
    assert_eq!(
        run(&mut engine, stranger, "CONFIG GET requirepass"),
        "*2\r\n$11\r\nrequirepass\r\n$6\r\nsecret\r\n"
    );
}

#[test]
fn rewrite_keeps_comments_and_writes_the_values_of_now() {
    let host = TestHost::default();
    host.files.borrow_mut().insert(
        "node.conf".into(),
        b"# mine\nhz 10\nrename it not\n\nmaxmemory 1mb\n".to_vec(),
    );
    let mut engine = engine_on(host.clone());
    let client = connect(&mut engine);
    engine.world.options.file = Some("node.conf".into());
    run(&mut engine, client, "CONFIG SET maxmemory 2mb timeout 9");
    assert_eq!(run(&mut engine, client, "CONFIG REWRITE"), "+OK\r\n");
    let written = host.files.borrow()["node.conf"].clone();
    let text = String::from_utf8(written).expect("text");
    let expected =
        "# mine\nhz 10\nrename it not\n\nmaxmemory 2097152\n# Written by CONFIG REWRITE\ntimeout 9\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("\nuser default on nopass"), "{text}");
}

/// The sections that are asked for, each once, whatever else is named (a case from public bug reports).
#[test]
fn info_shows_the_sections_that_are_named() {
    let mut engine = engine();
    let client = connect(&mut engine);
    run(&mut engine, client, "SET k v");
    run(&mut engine, client, "NOSUCH");
    let titles = |text: &str| -> Vec<String> {
        text.lines()
            .filter_map(|line| line.strip_prefix("# ").map(str::to_string))
            .collect()
    };
    let both = run(&mut engine, client, "INFO memory SERVER foo memory");
    assert_eq!(titles(&both), ["Server", "Memory"]);
    assert_eq!(run(&mut engine, client, "INFO foo"), "$0\r\n\r\n");
    let default = run(&mut engine, client, "INFO");
    assert_eq!(
        titles(&default),
        titles(&run(&mut engine, client, "INFO default"))
    );
    assert!(!titles(&default).contains(&"Commandstats".to_string()));
    for all in ["all", "everything"] {
        let all = run(&mut engine, client, &format!("INFO {all}"));
        assert!(all.contains("cmdstat_set:calls=1,"), "{all}");
        assert!(all.contains("errorstat_ERR:count=1\r\n"), "{all}");
        assert!(all.contains("db0:keys=1,expires=0,"), "{all}");
    }
    assert_eq!(run(&mut engine, client, "CONFIG RESETSTAT"), "+OK\r\n");
    let after = run(&mut engine, client, "INFO errorstats commandstats");
    assert!(
        !after.contains("errorstat_") && !after.contains("cmdstat_set"),
        "{after}"
    );
}

/// Counts seen on Valkey 9.1.2 after the same commands.
#[test]
fn what_never_ran_counts_as_rejected_and_every_error_reply_as_an_error() {
    let mut engine = engine();
    let [client, waiting] = [connect(&mut engine), connect(&mut engine)];
    run(&mut engine, client, "SET k");
    run(&mut engine, client, "CLIENT");
    run(&mut engine, client, "CLIENT NOSUCH");
    let id = run(&mut engine, waiting, "CLIENT ID");
    run(&mut engine, waiting, "BLPOP l 0");
    let unblock = format!("CLIENT UNBLOCK {} ERROR", id.trim_start_matches(':').trim_end());
    assert_eq!(run(&mut engine, client, &unblock), ":1\r\n");
    assert_eq!(
        received(&mut engine, waiting),
        "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
    );
    let info = run(&mut engine, client, "INFO commandstats errorstats stats");
    for line in [
        "cmdstat_set:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0\r\n",
        "cmdstat_client:calls=0,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0\r\n",
        "cmdstat_blpop:calls=1,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=0\r\n",
        "errorstat_ERR:count=3\r\n",
        "errorstat_UNBLOCKED:count=1\r\n",
        "total_error_replies:4\r\n",
        "client_query_buffer_limit_disconnections:0\r\n",
        "client_output_buffer_limit_disconnections:0\r\n",
    ] {
        assert!(info.contains(line), "{line} is not in {info}");
    }
}

/// Seen on Valkey 9.1.2: what a log of no length leaves out has no number.
#[test]
fn a_slow_log_without_room_numbers_nothing() {
    let mut engine = engine();
    let client = connect(&mut engine);
    run(&mut engine, client, "CONFIG SET slowlog-max-len 0");
    run(&mut engine, client, "CONFIG SET slowlog-log-slower-than 0");
    run(&mut engine, client, "PING");
    run(&mut engine, client, "CONFIG SET slowlog-max-len 1");
    let log = run(&mut engine, client, "SLOWLOG GET");
    assert!(log.starts_with("*1\r\n*6\r\n:0\r\n"), "{log}");
}

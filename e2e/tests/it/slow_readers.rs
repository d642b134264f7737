//! Clients that send and never read. What the server holds for them is bounded by real bytes, and
//! at the bound they are dropped.

use std::time::{Duration, Instant};

use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::server::{Kind, Server};

fn used(server: &Server) -> u64 {
    server
        .info("memory", "used_memory")
        .expect("INFO")
        .parse()
        .expect("a number")
}

/// Reads what is left until the server's end of the connection; false if it stays open.
fn is_closed(client: &mut Client) -> bool {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        match client.receive(Duration::from_secs(1)) {
            Ok(Received::Reply(_) | Received::Nothing) => {}
            // Cut in the middle of a reply is closed as well.
            Ok(Received::Closed) | Err(_) => return true,
        }
    }
    false
}

/// Ninety megabytes for a subscriber that reads nothing, whose own counters do not see shared
/// payloads: the default limit of 32 MiB holds for what really is held. (Valkey 9.1.2 fails this.)
#[test]
fn a_subscriber_that_never_reads_is_dropped_at_its_limit() {
    const MESSAGES: usize = 9_000;
    const HELD_MAX_BYTES: u64 = 48 << 20;
    let server = Server::start(Kind::Ruvio, &[]).expect("starts");
    let mut subscriber = server.client().expect("connects");
    subscriber.say("SUBSCRIBE ch").expect("subscribes");
    let before = used(&server);
    let mut publisher = server.client().expect("connects");
    let payload = vec![b'x'; 10_000];
    for number in 0..MESSAGES {
        publisher
            .call(&[&b"PUBLISH"[..], b"ch", &payload])
            .expect("publishes");
        if number % 500 == 0 {
            let held = used(&server).saturating_sub(before);
            assert!(
                held <= HELD_MAX_BYTES,
                "{held} bytes are held after {number} messages"
            );
        }
    }
    let listeners = publisher.say("PUBSUB NUMSUB ch").expect("answers");
    assert_eq!(
        listeners.to_string(),
        "[\"ch\", :0]",
        "the subscriber is still there"
    );
    assert!(is_closed(&mut subscriber));
}

#[test]
fn a_pipeliner_that_never_reads_is_dropped_at_its_limit() {
    const REQUESTS: usize = 20_000;
    const HELD_MAX_BYTES: u64 = 24 << 20;
    let kind = Kind::under_test("RUVIO_SLOW_READERS_AGAINST");
    let server = Server::start(kind, &["--client-output-buffer-limit", "normal 4mb 0 0"]).expect("starts");
    let mut other = server.client().expect("connects");
    other
        .call(&[&b"SET"[..], b"k", &vec![b'x'; 10_000]])
        .expect("sets");
    let before = used(&server);
    let mut client = server.client().expect("connects");
    let mut request = Vec::new();
    for _ in 0..100 {
        encode(&["GET", "k"], &mut request);
    }
    for number in 0..REQUESTS / 100 {
        // Being dropped while it still sends is what should happen to it.
        if client.send_raw(&request).is_err() {
            break;
        }
        let held = used(&server).saturating_sub(before);
        assert!(
            held <= HELD_MAX_BYTES,
            "{held} bytes are held after {number} hundred requests"
        );
    }
    assert!(
        is_closed(&mut client),
        "two hundred megabytes of replies, and it is still connected"
    );
    assert_eq!(other.say("PING").expect("answers").to_string(), "+PONG");
}

#[test]
fn a_stranger_that_never_reads_is_dropped_early() {
    const PINGS: usize = 400_000;
    const HELD_MAX_BYTES: u64 = 4 << 20;
    let kind = Kind::under_test("RUVIO_SLOW_READERS_AGAINST");
    let server = Server::start(kind, &["--requirepass", "pw"]).expect("starts");
    let mut known = server.client().expect("connects");
    known.say("AUTH pw").expect("logs in");
    let mut used = || -> u64 {
        let text = known.say("INFO memory").expect("answers").to_string();
        let start = text.find("used_memory:").expect("INFO tells it") + "used_memory:".len();
        text[start..]
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .expect("one part")
            .parse()
            .expect("a number")
    };
    let before = used();
    let mut stranger = server.client().expect("connects");
    let pings = "PING\r\n".repeat(4_000);
    for number in 0..PINGS / 4_000 {
        if stranger.send_raw(pings.as_bytes()).is_err() {
            break;
        }
        let held = used().saturating_sub(before);
        assert!(
            held <= HELD_MAX_BYTES,
            "{held} bytes are held after {number} times 4000 pings"
        );
    }
    assert!(
        is_closed(&mut stranger),
        "four hundred thousand unread answers, and it is still connected"
    );
}

/// Each class has its own soft limit, and its own time above it.
#[test]
fn a_soft_limit_holds_for_its_class_once_its_time_is_over() {
    let kind = Kind::under_test("RUVIO_SLOW_READERS_AGAINST");
    let limits = "normal 0 1mb 3600 pubsub 0 1mb 2";
    let server = Server::start(kind, &["--client-output-buffer-limit", limits]).expect("starts");
    let mut other = server.client().expect("connects");
    let payload = vec![b'x'; 16 << 20];
    other.call(&[&b"SET"[..], b"k", &payload]).expect("sets");
    let mut subscriber = server.client().expect("connects");
    subscriber.say("SUBSCRIBE ch").expect("subscribes");
    let mut reader = server.client().expect("connects");
    reader.send(&["GET", "k"]).expect("asks");
    other
        .call(&[&b"PUBLISH"[..], b"ch", &payload])
        .expect("publishes");
    let began = Instant::now();
    let listeners = |other: &mut Client| other.say("PUBSUB NUMSUB ch").expect("answers").to_string();
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(listeners(&mut other), "[\"ch\", :1]", "its time is not over");
    while listeners(&mut other) != "[\"ch\", :0]" {
        assert!(
            began.elapsed() < Duration::from_secs(10),
            "the subscriber is still there"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_closed(&mut subscriber));
    let reply = reader.reply().expect("a normal client has more time");
    assert_eq!(reply, ruvio_e2e::resp::Value::Bulk(payload));
}

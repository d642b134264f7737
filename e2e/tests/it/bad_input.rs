//! Whatever bytes arrive, the server answers in RESP or hangs up, goes on serving, and holds no
//! more memory than before. `RUVIO_BAD_INPUT_AGAINST=valkey` runs the part that Valkey passes too.

use std::time::{Duration, Instant};

use fastrand::Rng;
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::differential::steps;
use ruvio_e2e::mutate::mutate;
use ruvio_e2e::resp::{Value, show};
use ruvio_e2e::server::{Kind, Server};

const SEED: u64 = 31;
const REQUESTS: usize = 10_000;
/// Played before the memory is first read, so that buffers and tables have their usual size.
const WARM_UP: usize = 2_000;
const USED_SLACK_BYTES: u64 = 2 << 20;
const RSS_SLACK_BYTES: u64 = 16 << 20;

/// Commands that change what a connection is, and forms that the random commands do not have.
const OTHER: [&str; 14] = [
    "PING\r\n",
    "SET \"a b\" 'c\\'d'\r\n",
    "HELLO 3\r\n",
    "HELLO 2 SETNAME x\r\n",
    "AUTH default pw\r\n",
    "SUBSCRIBE a b\r\n",
    "PSUBSCRIBE a*\r\nPUNSUBSCRIBE\r\n",
    "MULTI\r\nSET a 1\r\nEXEC\r\n",
    "CLIENT SETNAME x\r\nCLIENT LIST\r\n",
    "ACL WHOAMI\r\nACL CAT\r\n",
    "COMMAND INFO get\r\n",
    "CONFIG GET maxmemory*\r\n",
    "CLIENT REPLY SKIP\r\nPING\r\n",
    "OBJECT ENCODING a\r\nMEMORY USAGE a\r\n",
];

#[test]
fn mutated_requests_leave_the_server_as_it_was() {
    // One command may not make a value of half a gigabyte, which would be no fault of the server's.
    let kind = Kind::under_test("RUVIO_BAD_INPUT_AGAINST");
    let mut server = Server::start(kind, &["--proto-max-bulk-len", "1mb"]).expect("starts");
    let mut rng = Rng::with_seed(SEED);
    send_mutated(&server, WARM_UP, &mut rng);
    let before = settled_memory(&server, (u64::MAX, u64::MAX));
    send_mutated(&server, REQUESTS, &mut rng);
    let wanted = (before.0 + USED_SLACK_BYTES, before.1 + RSS_SLACK_BYTES);
    let after = settled_memory(&server, wanted);
    assert!(server.is_running(), "the server has ended");
    println!(
        "used_memory {} -> {}, RSS {} -> {}",
        before.0, after.0, before.1, after.1
    );
    assert!(
        after.0 <= wanted.0,
        "used_memory grew from {} to {}",
        before.0,
        after.0
    );
    assert!(after.1 <= wanted.1, "RSS grew from {} to {}", before.1, after.1);
}

fn send_mutated(server: &Server, requests: usize, rng: &mut Rng) {
    for number in 0..requests {
        let mut request = Vec::new();
        if rng.u32(..5) == 0 {
            request.extend_from_slice(OTHER[rng.usize(..OTHER.len())].as_bytes());
        } else {
            for command in steps(rng.usize(1..4), rng).iter().flat_map(|s| &s.0) {
                encode(&command.args, &mut request);
            }
        }
        mutate(&mut request, rng);
        let mut client = server
            .client()
            .unwrap_or_else(|e| panic!("request {number}: {e:#}"));
        // The server may hang up while we still write; the reading below finds that out.
        let _ = client.send_raw(&request);
        client.finish();
        read_to_the_end(&mut client).unwrap_or_else(|e| panic!("request {number} {}: {e:#}", show(&request)));
    }
}

/// Every reply is whole and well-formed, and the end of the stream ends the connection.
fn read_to_the_end(client: &mut Client) -> anyhow::Result<()> {
    loop {
        match client.receive(Duration::from_secs(10))? {
            Received::Reply(_) => {}
            Received::Closed => return Ok(()),
            Received::Nothing => anyhow::bail!("the connection stays open after the client has finished"),
        }
    }
}

/// `used_memory` and RSS of the emptied server, once they are within `wanted` or have had time.
fn settled_memory(server: &Server, wanted: (u64, u64)) -> (u64, u64) {
    let mut client = server.client().expect("still serving");
    assert_eq!(
        client.say("FLUSHALL").expect("still answering"),
        Value::Simple(b"OK".to_vec())
    );
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        // The first look lets the closed connections go.
        std::thread::sleep(Duration::from_millis(200));
        let used = server
            .info("memory", "used_memory")
            .expect("INFO")
            .parse()
            .expect("a number");
        let rss = server.rss_bytes().expect("the process is there");
        if (used <= wanted.0 && rss <= wanted.1) || Instant::now() > deadline {
            return (used, rss);
        }
    }
}

/// A length is a promise of the client's, not a reason to take memory. (Valkey takes it at once.)
#[test]
fn announced_lengths_take_no_memory() {
    const CONNECTIONS: usize = 200;
    const PER_CONNECTION_MAX_BYTES: u64 = 64 << 10;
    let server = Server::start(Kind::Ruvio, &[]).expect("starts");
    let used = || -> u64 {
        server
            .info("memory", "used_memory")
            .expect("INFO")
            .parse()
            .expect("a number")
    };
    let before = used();
    let mut clients = Vec::new();
    for number in 0..CONNECTIONS {
        let mut client = server.client().expect("connects");
        let claim = if number % 2 == 0 {
            "*2\r\n$3\r\nGET\r\n$500000000\r\nabc"
        } else {
            "*1000000\r\n$3\r\nGET\r\n"
        };
        client.send_raw(claim.as_bytes()).expect("sends");
        clients.push(client);
    }
    // A round trip on a later connection: what came before it has been read.
    std::thread::sleep(Duration::from_millis(200));
    let grown = used().saturating_sub(before);
    let allowed = CONNECTIONS as u64 * PER_CONNECTION_MAX_BYTES;
    assert!(
        grown <= allowed,
        "{CONNECTIONS} announcements took {grown} bytes, more than {allowed}"
    );
    for client in &mut clients {
        assert_eq!(
            client.receive(Duration::from_millis(1)).expect("well-formed"),
            Received::Nothing
        );
    }
}

//! Clients that wait, and what ends a wait: their own end, another client, a pause that is over. On one owner
//! thread and on two, where a client waits on another owner than its own about as often as not.

use std::time::{Duration, Instant};

use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::server::{Kind, Server};

const ONE: &[&str] = &["--enable-debug-command", "yes"];
const TWO: &[&str] = &[
    "--enable-debug-command",
    "yes",
    "--shards",
    "6",
    "--owner-threads",
    "2",
];
/// Connections and keys of a test: so many that both owners have some of either.
const CLIENTS: usize = 12;

fn servers() -> [Server; 2] {
    [ONE, TWO].map(|flags| Server::start(Kind::Ruvio, flags).expect("starts"))
}

fn clients(server: &Server) -> Vec<Client> {
    (0..CLIENTS).map(|_| server.client().expect("connects")).collect()
}

fn pipeline(commands: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for command in commands {
        encode(&command.split_whitespace().collect::<Vec<_>>(), &mut bytes);
    }
    bytes
}

fn is_closed(client: &mut Client) -> bool {
    matches!(
        client.receive(Duration::from_secs(5)),
        Ok(Received::Closed) | Err(_)
    )
}

/// Waits until as many clients wait for keys as they should.
fn await_waiting(client: &mut Client, keys: usize) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let list = client.say("CLIENT LIST").expect("answers").to_string();
        let waiting = list.matches("cmd=blpop").count();
        if waiting == keys {
            return;
        }
        assert!(Instant::now() < deadline, "{waiting} of {keys} wait: {list}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Command and end of stream are read in one go: no event tells of the end again.
#[test]
fn a_client_that_is_gone_takes_nothing() {
    for server in servers() {
        for (number, mut client) in clients(&server).into_iter().enumerate() {
            client
                .send_raw(&pipeline(&[format!("BLPOP key{number} 0")]))
                .expect("sends");
            client.finish();
            assert!(is_closed(&mut client), "client {number} is still waited for");
        }
        let mut client = server.client().expect("connects");
        for number in 0..CLIENTS {
            client.say(&format!("RPUSH key{number} value")).expect("answers");
            let left = client.say(&format!("LLEN key{number}")).expect("answers");
            assert_eq!(left.to_string(), ":1", "somebody who is gone took key{number}");
        }
    }
}

#[test]
fn a_client_that_waits_can_be_killed() {
    for server in servers() {
        let mut waiting = clients(&server);
        let mut killer = server.client().expect("connects");
        let mut ids = Vec::new();
        for (number, client) in waiting.iter_mut().enumerate() {
            ids.push(
                client
                    .say("CLIENT ID")
                    .expect("answers")
                    .as_integer()
                    .expect("an id"),
            );
            client
                .send_raw(&pipeline(&[format!("BLPOP key{number} 0")]))
                .expect("sends");
        }
        await_waiting(&mut killer, CLIENTS);
        for (client, id) in waiting.iter_mut().zip(ids) {
            let killed = killer.say(&format!("CLIENT KILL ID {id}")).expect("answers");
            assert_eq!(killed.to_string(), ":1");
            assert!(is_closed(client), "client {id} outlives CLIENT KILL");
        }
    }
}

/// A client whose own owner does not hold it back goes on sending to one that does.
#[test]
fn a_pause_keeps_every_command_and_their_order() {
    const COMMANDS: usize = 40;
    for server in servers() {
        let mut clients = clients(&server);
        let mut pauser = server.client().expect("connects");
        pauser.say("CLIENT PAUSE 300 ALL").expect("answers");
        for (number, client) in clients.iter_mut().enumerate() {
            let mut commands: Vec<String> = (0..COMMANDS)
                .map(|at| format!("APPEND key{number} {}", at % 10))
                .collect();
            commands.push("MULTI".to_string());
            commands.push(format!("APPEND key{number} .."));
            commands.push("EXEC".to_string());
            client.send_raw(&pipeline(&commands)).expect("sends");
        }
        let expected: String = (0..COMMANDS).map(|at| (at % 10).to_string()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            for at in 1..=COMMANDS {
                assert_eq!(client.reply().expect("answers").to_string(), format!(":{at}"));
            }
            let ends: Vec<String> = (0..3)
                .map(|_| client.reply().expect("answers").to_string())
                .collect();
            assert_eq!(ends[2], format!("[:{}]", COMMANDS + 2), "{ends:?}");
            let value = client.say(&format!("GET key{number}")).expect("answers");
            assert_eq!(value.to_string(), format!("\"{expected}..\""));
        }
    }
}

#[test]
fn messages_reach_a_client_that_waits() {
    for server in servers() {
        let mut waiting = clients(&server);
        let mut publisher = server.client().expect("connects");
        for (number, client) in waiting.iter_mut().enumerate() {
            client.say("HELLO 3").expect("answers");
            client.say("SUBSCRIBE news").expect("answers");
            client
                .send_raw(&pipeline(&[format!("BLPOP key{number} 0")]))
                .expect("sends");
        }
        await_waiting(&mut publisher, CLIENTS);
        publisher.say("PUBLISH news hello").expect("answers");
        for (number, client) in waiting.iter_mut().enumerate() {
            let message = client.reply().expect("the message comes while the client waits");
            assert!(message.to_string().contains("\"hello\""), "{message}");
            publisher
                .say(&format!("RPUSH key{number} value"))
                .expect("answers");
            let answer = client.reply().expect("answers");
            assert!(answer.to_string().contains("\"value\""), "{answer}");
        }
    }
}

/// Answers of a busy owner stand between the fault and its report; what comes in meanwhile must not run.
#[test]
fn nothing_runs_behind_bytes_that_are_no_request() {
    let server = Server::start(Kind::Ruvio, TWO).expect("starts");
    let mut faulty = clients(&server);
    let mut busy = server.client().expect("connects");
    busy.send(&["DEBUG", "SLEEP", "0.5"]).expect("sends");
    std::thread::sleep(Duration::from_millis(50));
    for client in &mut faulty {
        let mut bytes = pipeline(&(0..6).map(|at| format!("GET key{at}")).collect::<Vec<_>>());
        bytes.extend_from_slice(b"*1\r\nno length\r\n");
        client.send_raw(&bytes).expect("sends");
    }
    std::thread::sleep(Duration::from_millis(100));
    for client in &mut faulty {
        // One whose owner is idle may be closed by now.
        let _ = client.send_raw(b"SET smuggled 1\r\n");
    }
    for client in &mut faulty {
        while !matches!(
            client.receive(Duration::from_secs(5)),
            Ok(Received::Closed) | Err(_)
        ) {}
    }
    busy.reply().expect("wakes up");
    assert_eq!(busy.say("EXISTS smuggled").expect("answers").to_string(), ":0");
}

/// As in Valkey, each byte counts as a sign of life.
#[test]
fn a_request_that_comes_slowly_is_not_idle() {
    let server = Server::start(Kind::Ruvio, ONE).expect("starts");
    let mut slow = server.client().expect("connects");
    let mut idle = server.client().expect("connects");
    let mut admin = server.client().expect("connects");
    admin.say("CONFIG SET timeout 1").expect("answers");
    for byte in pipeline(&["PING".to_string()]) {
        slow.send_raw(&[byte]).expect("sends");
        std::thread::sleep(Duration::from_millis(250));
    }
    let answer = slow.reply().expect("is still connected");
    assert_eq!(answer.to_string(), "+PONG");
    assert!(is_closed(&mut idle));
}

/// Whichever owner holds what is too much, the connection is closed and nobody waits for an answer.
#[test]
fn who_watches_too_much_is_closed() {
    for server in servers() {
        let mut admin = server.client().expect("connects");
        let limit = admin.say("CONFIG SET client-query-buffer-limit 1048576");
        limit.expect("answers");
        for (number, client) in clients(&server).iter_mut().enumerate() {
            let long = "x".repeat(100_000);
            let watches: Vec<String> = (0..12)
                .map(|at| format!("WATCH {{key{number}}}{at}{long}"))
                .collect();
            for watch in &watches {
                // It may be closed before the last.
                let _ = client.send_raw(&pipeline(std::slice::from_ref(watch)));
            }
            let mut answers = 0;
            let end = loop {
                match client.receive(Duration::from_secs(5)) {
                    Ok(Received::Reply(_)) => answers += 1,
                    other => break other,
                }
            };
            let closed = matches!(end, Ok(Received::Closed) | Err(_));
            assert!(closed, "client {number} waits after {answers} answers");
        }
    }
}

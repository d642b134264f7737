//! The load against a server of a few lines that writes down what it was asked.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::template::{Arg, Request, Source, value, words};
use super::{Load, Outcome, Plan, Stop};

type Heard = Arc<Mutex<Vec<u8>>>;

/// Answers each request by its first word; gives the address and all bytes that came, PINGs aside.
fn server(answer: fn(&str) -> &'static str) -> (SocketAddr, Heard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heard = Heard::default();
    let all = Arc::clone(&heard);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let all = Arc::clone(&all);
            thread::spawn(move || serve(stream, answer, &all));
        }
    });
    (address, heard)
}

/// The requests of these tests end where the next `*` begins, so a word is known once its line is whole.
fn serve(mut stream: TcpStream, answer: fn(&str) -> &'static str, all: &Heard) {
    let (mut pending, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..bytes]);
        let mut out = Vec::new();
        while let Some((length, word)) = first_request(&pending) {
            match word.as_str() {
                "PING" => out.extend_from_slice(b"+PONG\r\n"),
                word => {
                    out.extend_from_slice(answer(word).as_bytes());
                    all.lock().unwrap().extend_from_slice(&pending[..length]);
                }
            }
            pending.drain(..length);
        }
        if stream.write_all(&out).is_err() {
            return;
        }
    }
}

/// Length and first word of the first request, if all of it is there.
fn first_request(bytes: &[u8]) -> Option<(usize, String)> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split_inclusive("\r\n");
    let head = lines.next().filter(|line| line.ends_with("\r\n"))?;
    let arguments: usize = head.trim_end()[1..].parse().ok()?;
    let body: Vec<&str> = lines.take(arguments * 2).collect();
    if body.len() < arguments * 2 || !body.last()?.ends_with("\r\n") {
        return None;
    }
    Some((
        head.len() + body.iter().map(|line| line.len()).sum::<usize>(),
        body[1].trim_end().to_owned(),
    ))
}

fn plan<'a>(requests: &'a [Request], follow_up: Option<&'a Request>) -> Plan<'a> {
    Plan {
        requests,
        follow_up,
        connections: 3,
        depth: 4,
        first_serial: 0,
        seed: 1,
        probe: None,
    }
}

fn run(address: SocketAddr, plan: &Plan<'_>, count: u64) -> anyhow::Result<Outcome> {
    Load::connect(address, plan)?.run(Stop::Requests {
        count,
        within: Duration::from_secs(30),
    })
}

/// The arguments after the first word of every request heard, sorted.
fn arguments(heard: &Heard, word: &str) -> Vec<Vec<String>> {
    let bytes = heard.lock().unwrap().clone();
    let (mut rest, mut found) = (bytes.as_slice(), Vec::new());
    while let Some((length, first)) = first_request(rest) {
        let text = std::str::from_utf8(&rest[..length]).unwrap();
        if first == word {
            found.push(
                text.split("\r\n")
                    .skip(4)
                    .step_by(2)
                    .filter(|t| !t.is_empty())
                    .map(str::to_owned)
                    .collect(),
            );
        }
        rest = &rest[length..];
    }
    found.sort();
    found
}

fn with_key(word: &str, more: impl IntoIterator<Item = Arg>) -> Request {
    let mut request = words(word);
    request.push(Arg::Number("k", Source::Serial));
    request.extend(more);
    request
}

#[test]
fn sends_exactly_what_was_asked_whatever_the_batch() {
    let (address, heard) = server(|_| "$-1\r\n");
    let requests = [with_key("GET", [])];
    let outcome = run(address, &plan(&requests, None), 101).unwrap();
    assert_eq!(
        (outcome.replies, outcome.tally.nulls, outcome.tally.errors),
        (101, 101, 0)
    );
    let expected: Vec<Vec<String>> = (0..101).map(|n| vec![format!("k{n:08}")]).collect();
    assert_eq!(arguments(&heard, "GET"), expected);
}

#[test]
fn the_second_leg_carries_the_key_and_the_answer_of_the_first() {
    let (address, heard) = server(|word| {
        if word == "BEGIN" {
            "*2\r\n$3\r\nNEW\r\n:42\r\n"
        } else {
            "+OK\r\n"
        }
    });
    let requests = [with_key("BEGIN", [])];
    let complete = with_key("COMPLETE", [Arg::Captured]);
    let outcome = run(address, &plan(&requests, Some(&complete)), 40).unwrap();
    assert_eq!(outcome.replies, 40);
    let expected: Vec<Vec<String>> = (0..20)
        .map(|n| vec![format!("k{n:08}"), "42".to_owned()])
        .collect();
    assert_eq!(arguments(&heard, "COMPLETE"), expected);
}

#[test]
fn values_larger_than_a_socket_buffer_arrive_whole() {
    let (address, heard) = server(|_| "+OK\r\n");
    let requests = [with_key("SET", [value(3 << 20)])];
    let mut plan = plan(&requests, None);
    plan.connections = 1;
    assert_eq!(run(address, &plan, 8).unwrap().replies, 8);
    let lengths: Vec<usize> = arguments(&heard, "SET")
        .iter()
        .map(|request| request[1].len())
        .collect();
    assert_eq!(lengths, [3 << 20; 8]);
}

#[test]
fn errors_and_surplus_replies_are_seen() {
    let requests = [with_key("GET", [])];
    let (address, _) = server(|_| "-ERR no\r\n");
    let tally = run(address, &plan(&requests, None), 10).unwrap().tally;
    assert_eq!((tally.errors, tally.first_error.as_deref()), (10, Some("ERR no")));
    let (address, _) = server(|_| "+OK\r\n+OK\r\n");
    assert!(run(address, &plan(&requests, None), 10).is_err());
}

#[test]
fn a_probe_is_timed_beside_the_load() {
    let (address, heard) = server(|_| "+OK\r\n");
    let (requests, probe) = ([with_key("SET", [value(1)])], words("PROBE"));
    let mut plan = plan(&requests, None);
    plan.probe = Some(&probe);
    // On a busy machine a short run may end before the probe's first answer.
    let outcome = (0..50)
        .map(|_| run(address, &plan, 400).unwrap())
        .inspect(|outcome| assert_eq!(outcome.replies, 400, "the probe is no part of the load"))
        .find(|outcome| outcome.probe.worst_ms() > 0.0)
        .expect("no probe was answered in 50 runs");
    assert!(!arguments(&heard, "PROBE").is_empty());
    assert!(outcome.probe.worst_ms() >= outcome.probe.quantile_ms(0.5));
    assert_eq!(outcome.probe.over_ms(outcome.probe.worst_ms()), 0);
}

//! Commands that concern the whole node: one answer, whoever is asked.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::Result;
use ruvio_e2e::client::{Client, PATIENCE, Received};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::{Kind, Server};

use super::{CLIENTS, FLAGS, bulk, clients, error, ok, server};

const KEYS: i64 = 100;

fn fill(client: &mut Client) -> Result<()> {
    for key in 0..KEYS {
        assert_eq!(client.say(&format!("SET key:{key} {key}"))?, ok());
    }
    Ok(())
}

fn names(value: &Value) -> Vec<Vec<u8>> {
    let Value::Array(elements) = value else {
        panic!("not an array: {value}")
    };
    elements
        .iter()
        .map(|element| element.text().expect("a name").to_vec())
        .collect()
}

#[test]
fn every_key_is_counted_listed_and_walked_once() -> Result<()> {
    let server = server()?;
    fill(&mut server.client()?)?;
    let counted = server.info("keyspace", "db0")?;
    assert!(
        counted.starts_with(&format!("keys={KEYS},expires=0")),
        "{counted}"
    );
    for mut client in clients(&server)? {
        assert_eq!(client.say("DBSIZE")?, Value::Integer(KEYS));
        let listed: BTreeSet<_> = names(&client.say("KEYS *")?).into_iter().collect();
        assert_eq!(listed.len() as i64, KEYS);
        let (mut cursor, mut walked) = ("0".to_string(), Vec::new());
        loop {
            let Value::Array(answer) = client.say(&format!("SCAN {cursor} COUNT 7"))? else {
                panic!("SCAN answers an array")
            };
            cursor = String::from_utf8(answer[0].text().expect("a cursor").to_vec())?;
            walked.extend(names(&answer[1]));
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(walked.len() as i64, KEYS);
        assert_eq!(walked.into_iter().collect::<BTreeSet<_>>(), listed);
        let some = client.say("RANDOMKEY")?;
        assert!(listed.contains(some.text().expect("a key")));
        assert_eq!(error(&client.say("SCAN x")?), "ERR invalid cursor");
        assert_eq!(error(&client.say("SCAN 0 COUNT 0")?), "ERR syntax error");
    }
    Ok(())
}

#[test]
fn databases_are_emptied_and_exchanged_as_a_whole() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    for number in (0..people.len()).step_by(2) {
        let client = &mut people[number];
        fill(client)?;
        assert_eq!(client.say("SWAPDB 0 1")?, ok());
        assert_eq!(client.say("DBSIZE")?, Value::Integer(0));
        let other = &mut people[(number + 1) % CLIENTS];
        assert_eq!(other.say("SELECT 1")?, ok());
        assert_eq!(other.say("DBSIZE")?, Value::Integer(KEYS));
        assert_eq!(other.say("GET key:7")?, bulk("7"));
        assert_eq!(other.say("FLUSHDB")?, ok());
        assert_eq!(other.say("DBSIZE")?, Value::Integer(0));
        assert_eq!(other.say("RANDOMKEY")?, Value::NullBulk);
        assert_eq!(other.say("SELECT 0")?, ok());
        fill(other)?;
        assert_eq!(other.say("FLUSHALL")?, ok());
        assert_eq!(people[number].say("DBSIZE")?, Value::Integer(0));
    }
    Ok(())
}

#[test]
fn options_and_users_are_the_same_for_all() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    let mut ids = BTreeSet::new();
    for number in 0..people.len() {
        let set = format!("CONFIG SET maxmemory-samples {}", number + 3);
        assert_eq!(people[number].say(&set)?, ok());
        assert_eq!(
            people[number].say(&format!("ACL SETUSER u{number} on >p{number} ~* +get"))?,
            ok()
        );
        for client in &mut people {
            let pair = vec![bulk("maxmemory-samples"), bulk((number + 3).to_string())];
            assert_eq!(client.say("CONFIG GET maxmemory-samples")?, Value::Array(pair));
        }
        let client = &mut people[(number + 5) % CLIENTS];
        assert_eq!(client.say(&format!("AUTH u{number} p{number}"))?, ok());
        for key in 0..12 {
            assert_eq!(client.say(&format!("GET {key}"))?, Value::NullBulk);
            assert!(error(&client.say(&format!("SET {key} 1"))?).starts_with("NOPERM "));
            assert!(error(&client.say(&format!("MSET {key} 1 x 2"))?).starts_with("NOPERM "));
        }
        assert!(error(&client.say("DBSIZE")?).starts_with("NOPERM "));
        *client = server.client()?;
        ids.insert(client.say("CLIENT ID")?.as_integer());
    }
    assert_eq!(ids.len(), CLIENTS);
    // Those that were replaced, and the one that asked, go when the server notices.
    let counted = || -> Result<(usize, usize)> {
        let Value::Bulk(list) = server.client()?.say("CLIENT LIST")? else {
            panic!("CLIENT LIST is a text")
        };
        let lines = list
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .count();
        Ok((lines, server.info("clients", "connected_clients")?.parse()?))
    };
    let deadline = Instant::now() + PATIENCE;
    while counted()? != (CLIENTS + 1, CLIENTS + 1) {
        assert!(Instant::now() < deadline, "{:?} clients are counted", counted()?);
    }
    Ok(())
}

#[test]
fn maxclients_counts_those_of_all_owners() -> Result<()> {
    let server = Server::start(Kind::Ruvio, &[FLAGS, &["--maxclients", "10"]].concat())?;
    let mut people = Vec::new();
    for _ in 0..10 {
        let mut client = server.client()?;
        assert_eq!(client.say("PING")?, Value::Simple(b"PONG".to_vec()));
        people.push(client);
    }
    assert_eq!(
        error(&server.client()?.reply()?),
        "ERR max number of clients reached"
    );
    Ok(())
}

#[test]
fn messages_and_events_reach_all_who_listen() -> Result<()> {
    let server = server()?;
    let mut listeners = clients(&server)?;
    let mut people = clients(&server)?;
    for listener in &mut listeners {
        listener.say("SUBSCRIBE news __keyevent@0__:set")?;
        listener.reply()?;
    }
    assert_eq!(people[0].say("CONFIG SET notify-keyspace-events E$")?, ok());
    for (number, client) in people.iter_mut().enumerate() {
        let told = client.say(&format!("PUBLISH news {number}"))?;
        assert_eq!(told, Value::Integer(CLIENTS as i64));
        assert_eq!(client.say(&format!("SET k{number} v"))?, ok());
        for listener in &mut listeners {
            let message =
                |channel: &str, text: String| Value::Array(vec![bulk("message"), bulk(channel), bulk(text)]);
            assert_eq!(listener.reply()?, message("news", number.to_string()));
            assert_eq!(
                listener.reply()?,
                message("__keyevent@0__:set", format!("k{number}"))
            );
        }
    }
    for listener in &mut listeners {
        assert_eq!(
            listener.receive(std::time::Duration::from_millis(1))?,
            Received::Nothing
        );
    }
    Ok(())
}

/// Commands for every owner that a pause holds back, and messages that arrive meanwhile: each stays what it is.
#[test]
fn a_message_does_not_take_the_place_of_an_answer_that_a_pause_holds_back() -> Result<()> {
    let server = server()?;
    let mut listeners = clients(&server)?;
    let mut publishers = clients(&server)?;
    let mut other = server.client()?;
    other.say("SET k v")?;
    for client in &mut listeners {
        client.say("HELLO 3")?;
        client.say("SUBSCRIBE ch")?;
    }
    other.say("CLIENT PAUSE 400 ALL")?;
    for client in &mut listeners {
        client.send(&["DBSIZE"])?;
    }
    for client in &mut publishers {
        client.send(&["PUBLISH", "ch", "m"])?;
    }
    let message = Value::Push(vec![bulk("message"), bulk("ch"), bulk("m")]);
    for client in &mut listeners {
        let mut told: Vec<Value> = Vec::new();
        for _ in 0..=publishers.len() {
            told.push(client.reply()?);
        }
        let answers = told.iter().filter(|value| **value == Value::Integer(1)).count();
        let messages = told.iter().filter(|value| **value == message).count();
        assert_eq!((answers, messages), (1, publishers.len()), "{told:?}");
    }
    for client in &mut publishers {
        assert_eq!(client.reply()?, Value::Integer(listeners.len() as i64));
    }
    Ok(())
}

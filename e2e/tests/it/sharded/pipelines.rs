//! Pipelines of random commands: each client's replies come in order, and are those of a plain map.

use std::collections::BTreeMap;

use anyhow::Result;
use ruvio_e2e::client::{Client, encode};
use ruvio_e2e::resp::Value;

use super::{bulk, clients, ok, server};

const ROUNDS: usize = 12;
const COMMANDS: usize = 150;
const KEYS: usize = 40;

/// One client's keys, which no other uses.
struct Model {
    name: usize,
    keys: BTreeMap<String, String>,
}

impl Model {
    fn key(&self, random: &mut fastrand::Rng) -> String {
        format!("{}:{}", self.name, random.usize(..KEYS))
    }

    fn keys(&self, random: &mut fastrand::Rng) -> Vec<String> {
        (0..random.usize(1..6)).map(|_| self.key(random)).collect()
    }

    fn get(&self, key: &str) -> Value {
        self.keys.get(key).map_or(Value::NullBulk, bulk)
    }

    /// A random command and its reply.
    fn step(&mut self, random: &mut fastrand::Rng) -> (Vec<String>, Value) {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
        let key = self.key(random);
        let several = self.keys(random);
        let with_keys = |name: &str| [vec![name.to_string()], several.clone()].concat();
        match random.usize(..10) {
            0 => (words(&["PING"]), Value::Simple(b"PONG".to_vec())),
            1 => (words(&["ECHO", &key]), bulk(&key)),
            2 | 3 => (words(&["GET", &key]), self.get(&key)),
            4 => {
                let value = "x".repeat(random.usize(..2000));
                self.keys.insert(key.clone(), value.clone());
                (words(&["SET", &key, &value]), ok())
            }
            5 => {
                let value = self.keys.entry(key.clone()).or_default();
                value.push('y');
                (words(&["APPEND", &key, "y"]), Value::Integer(value.len() as i64))
            }
            6 => {
                let replies = several.iter().map(|key| self.get(key)).collect();
                (with_keys("MGET"), Value::Array(replies))
            }
            7 => {
                let mut command = vec!["MSET".to_string()];
                for (number, key) in several.iter().enumerate() {
                    self.keys.insert(key.clone(), number.to_string());
                    command.extend([key.clone(), number.to_string()]);
                }
                (command, ok())
            }
            8 => {
                let there = several.iter().filter(|key| self.keys.contains_key(*key)).count();
                (with_keys("EXISTS"), Value::Integer(there as i64))
            }
            _ => {
                let gone = several
                    .iter()
                    .filter(|key| self.keys.remove(*key).is_some())
                    .count();
                (with_keys("DEL"), Value::Integer(gone as i64))
            }
        }
    }
}

#[test]
fn replies_come_in_order_and_are_those_of_a_map() -> Result<()> {
    let server = server()?;
    let mut people: Vec<(Client, Model)> = clients(&server)?
        .into_iter()
        .enumerate()
        .map(|(name, client)| {
            let keys = BTreeMap::new();
            (client, Model { name, keys })
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(6);
    for _ in 0..ROUNDS {
        let mut expected = Vec::new();
        for (client, model) in &mut people {
            let mut request = Vec::new();
            let mut replies = Vec::new();
            for _ in 0..COMMANDS {
                let (words, reply) = model.step(&mut random);
                encode(&words, &mut request);
                replies.push((words, reply));
            }
            client.send_raw(&request)?;
            expected.push(replies);
        }
        for ((client, _), replies) in people.iter_mut().zip(expected) {
            for (words, reply) in replies {
                assert_eq!(client.reply()?, reply, "{words:?}");
            }
        }
    }
    let kept: usize = people.iter().map(|(_, model)| model.keys.len()).sum();
    assert_eq!(server.client()?.say("DBSIZE")?, Value::Integer(kept as i64));
    Ok(())
}

#[test]
fn a_client_that_sends_no_more_gets_what_it_asked_for() -> Result<()> {
    let server = server()?;
    for mut client in clients(&server)? {
        let mut request = Vec::new();
        for key in 0..KEYS {
            encode(&["SET".to_string(), format!("k{key}"), "v".into()], &mut request);
        }
        encode(&["QUIT"], &mut request);
        encode(&["SET", "after", "the end"], &mut request);
        client.send_raw(&request)?;
        client.finish();
        for _ in 0..=KEYS {
            assert_eq!(client.reply()?, ok());
        }
        assert!(client.reply().is_err());
    }
    assert_eq!(server.client()?.say("EXISTS after")?, Value::Integer(0));
    Ok(())
}

#[test]
fn replies_that_nobody_wants_leave_no_gap() -> Result<()> {
    let server = server()?;
    for mut client in clients(&server)? {
        for key in 0..KEYS {
            client.send(&["CLIENT", "REPLY", "SKIP"])?;
            client.send(&["SET".to_string(), format!("k{key}"), "unheard".into()])?;
            client.send(&["GET".to_string(), format!("k{key}")])?;
        }
        for _ in 0..KEYS {
            assert_eq!(client.reply()?, bulk("unheard"));
        }
    }
    Ok(())
}

#[test]
fn keys_of_sub_commands_are_found_where_they_are() -> Result<()> {
    let server = server()?;
    for mut client in clients(&server)? {
        for key in 0..KEYS {
            assert_eq!(client.say(&format!("SET k{key} text"))?, ok());
            assert_eq!(client.say(&format!("OBJECT ENCODING k{key}"))?, bulk("embstr"));
        }
    }
    Ok(())
}

#[test]
fn keys_of_several_shards_are_refused_where_a_command_cannot_be_split() -> Result<()> {
    let server = server()?;
    let mut client = server.client()?;
    let refused = Value::Error(b"CROSSSLOT Keys in request don't hash to the same slot".to_vec());
    // Slots 15495 and 3300: the sixth and the second shard.
    for command in [
        "RENAME a b",
        "SINTER a b",
        "LMOVE a b LEFT RIGHT",
        "MSETNX a 1 b 2",
        "BLPOP a b 0",
    ] {
        assert_eq!(client.say(command)?, refused, "{command}");
    }
    assert_eq!(client.say("SET {a}x 1")?, ok());
    assert_eq!(client.say("RENAME {a}x {a}y")?, ok());
    assert_eq!(client.say("COPY {a}y a")?, Value::Integer(1));
    // What is wrong for any server is told in its words.
    let wrong = "ERR wrong number of arguments for 'mset' command";
    assert_eq!(super::error(&client.say("MSET a 1 b")?), wrong);
    Ok(())
}

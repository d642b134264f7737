//! What tells of the server itself tells of the whole of it, whoever is asked.

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::resp::Value;

use super::{clients, ok, server};

fn fields(client: &mut Client, command: &str) -> Result<Vec<Value>> {
    match client.say(command)? {
        Value::Array(elements) => Ok(elements),
        other => panic!("{command} answers {other}"),
    }
}

/// The value behind a name in a flat list of both.
fn field(fields: &[Value], name: &str) -> Value {
    let at = fields
        .iter()
        .position(|field| field.text() == Some(name.as_bytes()));
    let value = at.and_then(|at| fields.get(at + 1));
    value.unwrap_or_else(|| panic!("no {name}")).clone()
}

#[test]
fn memory_is_that_of_all_shards() -> Result<()> {
    const KEYS: i64 = 300;
    const VALUE: usize = 10_000;
    let server = server()?;
    let mut people = clients(&server)?;
    for key in 0..KEYS {
        assert_eq!(
            people[0].call(&["SET", &key.to_string(), &"v".repeat(VALUE)])?,
            ok()
        );
    }
    let bytes = KEYS * VALUE as i64;
    for client in &mut people {
        let stats = fields(client, "MEMORY STATS")?;
        assert_eq!(field(&stats, "keys.count"), Value::Integer(KEYS));
        let dataset = field(&stats, "dataset.bytes").as_integer();
        assert!(
            dataset.is_some_and(|set| set >= bytes && set < 2 * bytes),
            "{dataset:?}"
        );
        let Value::Array(database) = field(&stats, "db.0") else {
            panic!("a database has several figures")
        };
        let index = field(&database, "overhead.hashtable.main").as_integer();
        assert!(index.is_some_and(|index| index > 4 * KEYS), "{index:?}");
        assert_eq!(client.say("MEMORY PURGE")?, ok());
        let told = client.say("MEMORY DOCTOR")?.to_string();
        assert!(told.contains("Too little memory"), "{told}");
        let told = client.say("MEMORY MALLOC-STATS")?.to_string();
        assert_eq!(told.matches("Resident: ").count(), 1, "{told}");
    }
    people[1].say("HELLO 3")?;
    assert!(matches!(people[1].say("MEMORY STATS")?, Value::Map(fields) if fields.len() > 40));
    Ok(())
}

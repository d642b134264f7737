//! Clients that wait for keys of another owner: served, timed out, woken by others, gone.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, PATIENCE, Received, encode};
use ruvio_e2e::resp::Value;
use ruvio_e2e::server::Server;

use super::{bulk, clients, error, ok, server};

fn serial(client: &mut Client) -> Result<i64> {
    Ok(client.say("CLIENT ID")?.as_integer().expect("a number"))
}

/// Until so many clients wait.
fn until_blocked(server: &Server, count: usize) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while server.info("clients", "blocked_clients")? != count.to_string() {
        assert!(Instant::now() < deadline, "not all wait");
    }
    Ok(())
}

/// Until the server has noticed that the client is gone.
fn until_gone(other: &mut Client, id: i64) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let query = format!("CLIENT LIST ID {id}");
    while other.say(&query)? != bulk("") {
        assert!(Instant::now() < deadline, "the client stays");
    }
    Ok(())
}

#[test]
fn those_who_wait_are_served_in_the_order_in_which_they_came() -> Result<()> {
    let server = server()?;
    let mut waiting = clients(&server)?;
    let mut other = server.client()?;
    for queue in 0..3 {
        for (before, client) in waiting.iter_mut().enumerate() {
            client.send(&["BLPOP".to_string(), format!("q{queue}"), "0".into()])?;
            client.send(&["ECHO", "after"])?;
            // Each waits before the next begins to.
            until_blocked(&server, before + 1)?;
            assert_eq!(client.receive(Duration::from_millis(1))?, Received::Nothing);
        }
        for number in 0..waiting.len() {
            other.say(&format!("RPUSH q{queue} {number}"))?;
        }
        for (number, client) in waiting.iter_mut().enumerate() {
            let pair = vec![bulk(format!("q{queue}")), bulk(number.to_string())];
            assert_eq!(client.reply()?, Value::Array(pair));
            assert_eq!(client.reply()?, bulk("after"));
        }
    }
    Ok(())
}

#[test]
fn a_wait_ends_by_time_or_by_another_client() -> Result<()> {
    let server = server()?;
    let mut waiting = clients(&server)?;
    let mut other = server.client()?;
    for client in &mut waiting {
        client.send(&["BLPOP", "nothing", "0.2"])?;
    }
    for client in &mut waiting {
        assert_eq!(client.reply()?, Value::NullArray);
    }
    for client in &mut waiting {
        let id = serial(client)?;
        client.send(&["BLPOP", "nothing", "0"])?;
        assert_eq!(client.receive(Duration::from_millis(100))?, Received::Nothing);
        let how = [
            "CLIENT".to_string(),
            "UNBLOCK".into(),
            id.to_string(),
            "ERROR".into(),
        ];
        assert_eq!(other.call(&how)?, Value::Integer(1));
        assert_eq!(
            error(&client.reply()?),
            "UNBLOCKED client unblocked via CLIENT UNBLOCK"
        );
        assert_eq!(other.call(&how)?, Value::Integer(0));
    }
    Ok(())
}

#[test]
fn who_is_killed_or_gone_takes_nothing() -> Result<()> {
    let server = server()?;
    let mut other = server.client()?;
    for (number, mut client) in clients(&server)?.into_iter().enumerate() {
        let id = serial(&mut client)?;
        client.send(&["BLPOP".to_string(), format!("k{number}"), "0".into()])?;
        assert_eq!(client.receive(Duration::from_millis(100))?, Received::Nothing);
        if number % 2 == 0 {
            let kill = ["CLIENT".to_string(), "KILL".into(), "ID".into(), id.to_string()];
            assert_eq!(other.call(&kill)?, Value::Integer(1));
            assert!(client.reply().is_err());
        }
        drop(client);
        until_gone(&mut other, id)?;
        assert_eq!(other.say(&format!("RPUSH k{number} kept"))?, Value::Integer(1));
        assert_eq!(other.say(&format!("LLEN k{number}"))?, Value::Integer(1));
    }
    Ok(())
}

#[test]
fn what_a_pause_holds_back_runs_in_its_order_afterwards() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    let mut other = server.client()?;
    assert_eq!(other.say("CLIENT PAUSE 400 WRITE")?, ok());
    let began = Instant::now();
    for (name, client) in people.iter_mut().enumerate() {
        let mut request = Vec::new();
        for number in 0..30 {
            encode(
                &[
                    "SET".to_string(),
                    format!("{name}:{}", number % 7),
                    number.to_string(),
                ],
                &mut request,
            );
            encode(
                &["GET".to_string(), format!("{name}:{}", number % 7)],
                &mut request,
            );
        }
        encode(
            &[
                "MSET".to_string(),
                format!("{name}:1"),
                "x".into(),
                format!("{name}:2"),
                "y".into(),
            ],
            &mut request,
        );
        encode(
            &["MGET".to_string(), format!("{name}:1"), format!("{name}:2")],
            &mut request,
        );
        client.send_raw(&request)?;
    }
    // Who leaves meanwhile takes nothing along.
    let gone = people.pop();
    drop(gone);
    for client in &mut people {
        for number in 0..30 {
            assert_eq!(client.reply()?, ok());
            assert_eq!(client.reply()?, bulk(number.to_string()));
        }
        assert_eq!(client.reply()?, ok());
        assert_eq!(client.reply()?, Value::Array(vec![bulk("x"), bulk("y")]));
    }
    assert!(began.elapsed() >= Duration::from_millis(380));
    Ok(())
}

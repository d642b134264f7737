//! One owner that is slow: what is sent to it waits, in order and within bounds, and nothing hangs.

use std::time::Duration;

use anyhow::Result;
use ruvio_e2e::client::encode;
use ruvio_e2e::resp::Value;

use super::{bulk, clients, ok, server};

const COMMANDS: usize = 6000;

#[test]
fn a_slow_owner_delays_and_loses_nothing() -> Result<()> {
    let server = server()?;
    let mut people = clients(&server)?;
    let mut sleeper = server.client()?;
    let before = server.rss_bytes()?;
    sleeper.send(&["DEBUG", "SLEEP", "1"])?;
    // More than fits into any window, from every client at once; written by threads, since a server
    // that holds back leaves it in the sockets.
    let threads: Vec<_> = people
        .drain(..)
        .enumerate()
        .map(|(name, mut client)| {
            std::thread::spawn(move || -> Result<()> {
                for half in 0..2 {
                    let mut request = Vec::new();
                    for number in 0..COMMANDS / 2 {
                        let value = half * COMMANDS + number;
                        encode(
                            &["SET", &format!("{name}:{}", number % 50), &value.to_string()],
                            &mut request,
                        );
                        encode(&["GET", &format!("{name}:{}", number % 50)], &mut request);
                    }
                    client.send_raw(&request)?;
                    for number in 0..COMMANDS / 2 {
                        assert_eq!(client.reply()?, ok());
                        assert_eq!(client.reply()?, bulk((half * COMMANDS + number).to_string()));
                    }
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("no client failed")?;
    }
    assert_eq!(sleeper.reply()?, ok());
    let grown = server.rss_bytes()?.saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes were taken");
    Ok(())
}

#[test]
fn who_waits_for_a_slow_owner_may_be_killed() -> Result<()> {
    let server = server()?;
    let mut sleeper = server.client()?;
    let mut people = clients(&server)?;
    sleeper.send(&["DEBUG", "SLEEP", "0.5"])?;
    std::thread::sleep(Duration::from_millis(50));
    for client in &mut people {
        for key in 0..20 {
            client.send(&["INCR".to_string(), format!("n{key}")])?;
        }
        client.finish();
    }
    drop(people);
    assert_eq!(sleeper.reply()?, ok());
    // All are served before the next command of somebody who comes later, or not at all.
    let mut last = server.client()?;
    assert_eq!(last.say("PING")?, Value::Simple(b"PONG".to_vec()));
    let Value::Bulk(list) = last.say("CLIENT LIST")? else {
        panic!("CLIENT LIST is a text")
    };
    assert!(!list.is_empty());
    Ok(())
}

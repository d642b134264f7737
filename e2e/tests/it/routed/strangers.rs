//! Who is no node of the cluster gets nothing by saying that it is one.

use std::time::Duration;

use anyhow::Result;
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::resp::Value;

use super::{bulk, cluster, door, ok, text};

const WORD: &str = "ruvio.link";
const CLUSTER: u16 = 6379;

#[test]
fn a_link_without_the_token_gets_nothing() -> Result<()> {
    let cluster = cluster();
    let mut client = Client::connect(door(&cluster, 0))?;
    for number in 0..12 {
        client.call(&["SET", &format!("k:{number}"), "secret"])?;
    }
    client.say("CONFIG SET requirepass pw")?;
    let by_slots = (cluster.nodes[0].address, CLUSTER).into();
    let stand: &[&str] = &[WORD, "STAND", "0", "2", "0", "0", "1"];
    let proof = "x".repeat(32);
    let sayings: [&[&[&str]]; 7] = [
        &[stand],
        &[&[WORD, "HELLO"], stand],
        &[&[WORD, "HELLO"], &[WORD, "PROVE", &proof], stand],
        &[&[WORD, "PROVE", &proof]],
        &[&[WORD, "PROVE", ""]],
        &[&[WORD]],
        &[&[WORD, "HELLO", "more"]],
    ];
    for said in sayings {
        let mut stranger = Client::connect(by_slots)?;
        let mut request = Vec::new();
        for words in said {
            encode(words, &mut request);
        }
        for number in 0..12 {
            encode(&["GET", &format!("k:{number}")], &mut request);
        }
        stranger.send_raw(&request)?;
        // At the first word that is wrong it is over.
        let mut replies = Vec::new();
        while let Received::Reply(reply) = stranger.receive(Duration::from_secs(5))? {
            replies.push(reply);
        }
        assert!(
            replies.last().is_some_and(Value::is_error),
            "{said:?}: {replies:?}"
        );
        assert!(replies.len() <= said.len(), "{said:?}: {replies:?}");
        assert!(stranger.is_over());
    }
    // Plain clients' port knows no such word.
    let mut stranger = Client::connect(door(&cluster, 0))?;
    assert_eq!(stranger.say("AUTH pw")?, ok());
    assert!(text(&stranger.call(&[WORD, "HELLO"])?).starts_with("ERR unknown command"));
    assert_eq!(stranger.call(&["GET", "k:1"])?, bulk("secret"));
    Ok(())
}

#[test]
fn asking_for_nonces_for_ever_costs_nothing() -> Result<()> {
    let cluster = cluster();
    let mut client = Client::connect(door(&cluster, 0))?;
    let by_slots = (cluster.nodes[0].address, CLUSTER).into();
    let mut nonces = std::collections::HashSet::new();
    for _ in 0..20 {
        let mut stranger = Client::connect(by_slots)?;
        for _ in 0..100 {
            let Value::Bulk(nonce) = stranger.call(&[WORD, "HELLO"])? else {
                panic!("a nonce is a text");
            };
            assert!(nonces.insert(nonce), "none comes twice");
        }
    }
    assert_eq!(client.say("SET k v")?, ok());
    Ok(())
}

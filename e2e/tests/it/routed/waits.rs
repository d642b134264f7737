//! Who waits for keys by the routed port goes on waiting whatever happens to leaders, has its time, and can be told to
//! wait no longer.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::Client;
use ruvio_e2e::resp::Value;

use super::{NODES, SHARDS, bulk, clients, cluster, door, hand_over, spread, text};

/// With as many, some belong to each node.
const QUEUES: usize = 12;

#[test]
fn who_waits_notices_nothing_of_leaders_that_change() -> Result<()> {
    let cluster = cluster();
    let mut waiting = Vec::new();
    spread(&cluster)?;
    for number in 0..QUEUES {
        let mut client = Client::connect(door(&cluster, number % NODES))?;
        client.send(&["BLPOP", &format!("queue:{number}"), "0"])?;
        waiting.push(client);
    }
    std::thread::sleep(Duration::from_millis(200));
    // Each shard goes to every node, so each wait begins here, goes elsewhere, and comes back.
    for round in 1..=NODES {
        for shard in 0..SHARDS {
            hand_over(&cluster, shard, (shard + round) % NODES)?;
        }
    }
    let mut clients = clients(&cluster);
    for (number, waiting) in waiting.iter_mut().enumerate() {
        let queue = format!("queue:{number}");
        clients[number % NODES].call(&["RPUSH", &queue, "first", "second"])?;
        assert_eq!(waiting.reply()?, Value::Array(vec![bulk(&queue), bulk("first")]));
        // Of what waited in several places one took something.
        assert_eq!(clients[0].call(&["LLEN", &queue])?, Value::Integer(1));
        assert_eq!(waiting.call(&["LPOP", &queue])?, bulk("second"));
    }
    Ok(())
}

#[test]
fn a_wait_is_over_in_time_though_nobody_can_serve_it() -> Result<()> {
    let mut cluster = cluster();
    let mut client = Client::connect(door(&cluster, 0))?;
    client.say("CONFIG SET routed-timeout 1000")?;
    cluster.nodes[1].kill()?;
    cluster.nodes[2].kill()?;
    let began = Instant::now();
    let mut waiting = Vec::new();
    for number in 0..QUEUES {
        let mut client = Client::connect(door(&cluster, 0))?;
        client.send(&["BLPOP", &format!("queue:{number}"), "0.5"])?;
        waiting.push(client);
    }
    for waiting in &mut waiting {
        let answer = waiting.reply()?;
        let is_down = text(&answer).starts_with("CLUSTERDOWN ");
        assert!(is_down || answer == Value::NullArray, "{answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    Ok(())
}

#[test]
fn who_waits_at_another_node_can_be_told_to_wait_no_longer() -> Result<()> {
    let cluster = cluster();
    spread(&cluster)?;
    let mut other = Client::connect(door(&cluster, 0))?;
    for number in 0..QUEUES {
        for (reason, begins) in [("TIMEOUT", ""), ("ERROR", "UNBLOCKED client unblocked")] {
            let mut waiting = Client::connect(door(&cluster, 0))?;
            let Value::Integer(id) = waiting.say("CLIENT ID")? else {
                panic!("CLIENT ID is a number");
            };
            let queue = format!("queue:{number}");
            waiting.send(&["BLPOP", &queue, "0"])?;
            let unblock = ["CLIENT", "UNBLOCK", &id.to_string(), reason];
            let deadline = Instant::now() + Duration::from_secs(5);
            while other.call(&unblock)? == Value::Integer(0) {
                assert!(Instant::now() < deadline, "it does not wait");
                std::thread::sleep(Duration::from_millis(5));
            }
            let answer = waiting.reply()?;
            match reason {
                "ERROR" => assert!(text(&answer).starts_with(begins), "{answer}"),
                _ => assert_eq!(answer, Value::NullArray),
            }
            // It takes nothing any more, and goes on.
            assert_eq!(other.call(&["RPUSH", &queue, "job"])?, Value::Integer(1));
            assert_eq!(
                waiting.call(&["BLPOP", &queue, "0"])?,
                Value::Array(vec![bulk(&queue), bulk("job")])
            );
            assert_eq!(other.call(&unblock)?, Value::Integer(0));
        }
    }
    Ok(())
}

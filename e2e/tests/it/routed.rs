//! Plain clients of a cluster's routed port: whichever node they are with, they see one server with all keys, also
//! while leaders change. Three nodes, each a process.

mod bounds;
mod differential;
mod sessions;
mod strangers;
mod waits;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::cluster::{Cluster, Kind, Plan};
use ruvio_e2e::resp::Value;

const NODES: usize = 3;
const SHARDS: usize = 6;
const ROUTED: u16 = 6380;

fn cluster() -> Cluster {
    cluster_of(SHARDS)
}

fn cluster_of(shards: usize) -> Cluster {
    let plan = Plan {
        kind: Kind::Replicated,
        nodes: NODES,
        shards,
        durability: "everysec",
        disk_bytes: None,
    };
    let cluster = Cluster::start(&plan).expect("three nodes become a cluster");
    // Elections take long on a busy machine, and what waits for one is not what is tested but where that is said.
    for client in &mut clients(&cluster) {
        let set = client.say("CONFIG SET routed-timeout 20000");
        assert_eq!(set.expect("the node answers"), ok());
    }
    cluster
}

fn door(cluster: &Cluster, node: usize) -> SocketAddr {
    (cluster.nodes[node].address, ROUTED).into()
}

fn clients(cluster: &Cluster) -> Vec<Client> {
    let connect = |node| Client::connect(door(cluster, node)).expect("the routed port listens");
    (0..NODES).map(connect).collect()
}

/// Shard 0 is led by the first node, 1 by the second, and so on.
fn spread(cluster: &Cluster) -> Result<()> {
    for shard in 0..SHARDS {
        hand_over(cluster, shard, shard % NODES)?;
    }
    Ok(())
}

/// On a busy machine it may take more than one try.
fn hand_over(cluster: &Cluster, shard: usize, node: usize) -> Result<()> {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        let (shard, to) = (shard.to_string(), (node + 1).to_string());
        match cluster.administer(&["transfer-leader", &shard, "--to", &to]) {
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
            Ok(_) => return Ok(()),
        }
    }
}

fn text(value: &Value) -> String {
    String::from_utf8_lossy(value.text().unwrap_or_default()).into_owned()
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.as_bytes().to_vec())
}

fn ok() -> Value {
    Value::Simple(b"OK".to_vec())
}

#[test]
fn a_plain_client_sees_one_server_at_any_node() -> Result<()> {
    let cluster = cluster();
    let mut clients = clients(&cluster);
    every_key_is_everywhere(&mut clients)?;
    pipelines_keep_their_order(&mut clients)?;
    keys_of_several_shards_are_one_command(&mut clients)?;
    what_is_about_all_keys_is_about_those_of_all_nodes(&mut clients)?;
    sessions_keep_their_database_and_protocol(&mut clients)?;
    transactions_run_where_their_slot_is_led(&mut clients)?;
    who_waits_is_served_from_any_node(&cluster, &mut clients)?;
    who_listens_at_any_node_hears_it(&cluster, &mut clients)
}

/// Then no node but one leads anything, and a transaction may have keys of all slots.
#[test]
fn a_cluster_of_one_shard_is_one_server_as_well() -> Result<()> {
    let cluster = cluster_of(1);
    let mut clients = clients(&cluster);
    every_key_is_everywhere(&mut clients)?;
    keys_of_several_slots_in_one_transaction(&mut clients)?;
    transactions_run_where_their_slot_is_led(&mut clients)?;
    who_waits_is_served_from_any_node(&cluster, &mut clients)
}

/// A transaction that watched does not run when its shard's leader is gone; the next one, which watches nothing, does.
#[test]
fn a_lost_watch_ends_one_transaction_and_no_other() -> Result<()> {
    let mut cluster = cluster_of(1);
    let leader = cluster.shards()?[0].leader.expect("somebody leads");
    let leader = cluster.nodes.iter().position(|node| node.id == leader);
    let leader = leader.expect("one of them");
    let mut clients = clients(&cluster);
    clients.remove(leader);
    for client in &mut clients {
        assert_eq!(client.say("WATCH watched")?, ok());
        assert_eq!(client.say("GET watched")?, Value::NullBulk);
    }
    cluster.nodes[leader].pause()?;
    for client in &mut clients {
        client.say("MULTI")?;
        client.say("GET watched")?;
        client.send(&["EXEC"])?;
    }
    std::thread::sleep(Duration::from_millis(200));
    cluster.nodes[leader].kill()?;
    for (round, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.reply()?, Value::NullArray);
        for count in [1, 2] {
            let count = 2 * round as i64 + count;
            client.say("MULTI")?;
            client.say("INCR watched")?;
            assert_eq!(client.say("EXEC")?, Value::Array(vec![Value::Integer(count)]));
        }
    }
    Ok(())
}

fn keys_of_several_slots_in_one_transaction(clients: &mut [Client]) -> Result<()> {
    for client in clients.iter_mut() {
        client.say("MULTI")?;
        for line in ["SET a 1", "SET b 2", "MGET a b", "DBSIZE"] {
            assert_eq!(client.say(line)?, Value::Simple(b"QUEUED".to_vec()), "{line}");
        }
        let both = Value::Array(vec![bulk("1"), bulk("2")]);
        let replies = Value::Array(vec![ok(), ok(), both, Value::Integer(62)]);
        assert_eq!(client.say("EXEC")?, replies);
    }
    Ok(())
}

fn every_key_is_everywhere(clients: &mut [Client]) -> Result<()> {
    for number in 0..60 {
        let key = format!("key:{number}");
        let at = number % NODES;
        assert_eq!(clients[at].call(&["SET", &key, &number.to_string()])?, ok());
        for client in clients.iter_mut() {
            assert_eq!(client.call(&["GET", &key])?, bulk(&number.to_string()));
        }
    }
    Ok(())
}

/// Each element is pushed by a command of its own, without waiting: lists tell in what order they ran.
fn pipelines_keep_their_order(clients: &mut [Client]) -> Result<()> {
    let mut request = Vec::new();
    for number in 0..700 {
        encode(
            &["RPUSH", &format!("list:{}", number % 14), &number.to_string()],
            &mut request,
        );
    }
    clients[0].send_raw(&request)?;
    for number in 0..700 {
        assert_eq!(clients[0].reply()?, Value::Integer(number / 14 + 1), "{number}");
    }
    for list in 0..14 {
        let expected = (0..50).map(|round| bulk(&(round * 14 + list).to_string()));
        let got = clients[1].call(&["LRANGE", &format!("list:{list}"), "0", "-1"])?;
        assert_eq!(got, Value::Array(expected.collect()));
        clients[2].call(&["DEL", &format!("list:{list}")])?;
    }
    Ok(())
}

fn keys_of_several_shards_are_one_command(clients: &mut [Client]) -> Result<()> {
    let keys: Vec<String> = (0..60).map(|number| format!("key:{number}")).collect();
    let with_keys = |word: &str| [vec![word.to_owned()], keys.clone()].concat();
    let values = (0..60).map(|number| bulk(&number.to_string())).collect();
    assert_eq!(clients[1].call(&with_keys("MGET"))?, Value::Array(values));
    assert_eq!(clients[2].call(&with_keys("EXISTS"))?, Value::Integer(60));
    let pairs: Vec<String> = keys
        .iter()
        .flat_map(|key| [key.clone(), "new".to_owned()])
        .collect();
    assert_eq!(clients[0].call(&[vec!["MSET".to_owned()], pairs].concat())?, ok());
    assert_eq!(clients[1].call(&["GET", "key:59"])?, bulk("new"));
    assert_eq!(
        text(&clients[0].call(&["SINTERSTORE", "key:1", "key:2", "key:3"])?),
        "CROSSSLOT Keys in request don't hash to the same slot"
    );
    Ok(())
}

fn what_is_about_all_keys_is_about_those_of_all_nodes(clients: &mut [Client]) -> Result<()> {
    let expected: BTreeSet<String> = (0..60).map(|number| format!("key:{number}")).collect();
    for client in clients.iter_mut() {
        assert_eq!(client.say("DBSIZE")?, Value::Integer(60));
        let Value::Array(keys) = client.say("KEYS key:*")? else {
            panic!("KEYS answers an array");
        };
        assert_eq!(keys.len(), 60);
        let (mut found, mut cursor) = (BTreeSet::new(), "0".to_owned());
        loop {
            let Value::Array(page) = client.say(&format!("SCAN {cursor} COUNT 7"))? else {
                panic!("SCAN answers an array");
            };
            let Value::Array(keys) = &page[1] else {
                panic!("with keys");
            };
            found.extend(keys.iter().map(text));
            cursor = text(&page[0]);
            if cursor == "0" {
                break;
            }
        }
        assert_eq!(found, expected);
        assert!(expected.contains(&text(&client.say("RANDOMKEY")?)));
    }
    assert_eq!(clients[0].say("FLUSHALL")?, ok());
    for client in clients.iter_mut() {
        assert_eq!(client.say("DBSIZE")?, Value::Integer(0));
    }
    Ok(())
}

/// One link serves clients of all databases and protocols in turn.
fn sessions_keep_their_database_and_protocol(clients: &mut [Client]) -> Result<()> {
    let (first, rest) = clients.split_at_mut(1);
    let (third, third_of_two) = (&mut first[0], &mut rest[0]);
    assert_eq!(third.say("SELECT 3")?, ok());
    third_of_two.say("HELLO 3")?;
    for number in 0..24 {
        let key = format!("hash:{number}");
        assert_eq!(third.call(&["HSET", &key, "f", "v"])?, Value::Integer(1));
        assert_eq!(third_of_two.call(&["HGETALL", &key])?, Value::Map(Vec::new()));
        assert_eq!(
            third.call(&["HGETALL", &key])?,
            Value::Array(vec![bulk("f"), bulk("v")])
        );
    }
    assert_eq!(third_of_two.say("DBSIZE")?, Value::Integer(0));
    third_of_two.say("SELECT 3")?;
    assert_eq!(third_of_two.say("DBSIZE")?, Value::Integer(24));
    third_of_two.say("FLUSHDB")?;
    third_of_two.say("HELLO 2")?;
    for client in clients.iter_mut() {
        assert_eq!(client.say("SELECT 0")?, ok());
    }
    Ok(())
}

fn transactions_run_where_their_slot_is_led(clients: &mut [Client]) -> Result<()> {
    for number in 0..12 {
        let (one, other) = (format!("{{t{number}}}one"), format!("{{t{number}}}other"));
        for at in 0..NODES {
            let words = [
                vec!["MULTI"],
                vec!["SET", &one, "1"],
                vec!["INCR", &other],
                vec!["SELECT", "1"],
                vec!["INCR", &other],
                vec!["EXEC"],
            ];
            for words in &words {
                clients[at].send(words)?;
            }
            let replies: Vec<Value> = words.iter().map(|_| clients[at].reply()).collect::<Result<_>>()?;
            let count = Value::Integer(at as i64 + 1);
            let expected = vec![ok(), count.clone(), ok(), count.clone()];
            assert_eq!(replies.last(), Some(&Value::Array(expected)));
            assert_eq!(clients[at].call(&["GET", &other])?, bulk(&(at + 1).to_string()));
            clients[at].say("SELECT 0")?;

            // Watched and changed by another: it does not run.
            assert_eq!(clients[at].call(&["WATCH", &one])?, ok());
            assert_eq!(clients[(at + 1) % NODES].call(&["SET", &one, "2"])?, ok());
            clients[at].say("MULTI")?;
            clients[at].call(&["SET", &one, "3"])?;
            assert_eq!(clients[at].say("EXEC")?, Value::NullArray);
            // Watched and left alone: it does.
            assert_eq!(clients[at].call(&["WATCH", &one])?, ok());
            clients[at].say("MULTI")?;
            clients[at].call(&["APPEND", &one, "!"])?;
            assert_eq!(clients[at].say("EXEC")?, Value::Array(vec![Value::Integer(2)]));
            // Forgotten again.
            assert_eq!(clients[at].call(&["WATCH", &one])?, ok());
            assert_eq!(clients[at].say("UNWATCH")?, ok());
            assert_eq!(clients[(at + 1) % NODES].call(&["SET", &one, "2"])?, ok());
            clients[at].say("MULTI")?;
            clients[at].call(&["GET", &one])?;
            assert_eq!(clients[at].say("EXEC")?, Value::Array(vec![bulk("2")]));
        }
    }
    Ok(())
}

fn who_waits_is_served_from_any_node(cluster: &Cluster, clients: &mut [Client]) -> Result<()> {
    for number in 0..12 {
        let mut waiting = Client::connect(door(cluster, number % NODES))?;
        let key = format!("queue:{number}");
        waiting.send(&["BLPOP", &key, "0"])?;
        std::thread::sleep(Duration::from_millis(20));
        let at = (number / NODES) % NODES;
        assert_eq!(clients[at].call(&["RPUSH", &key, "job"])?, Value::Integer(1));
        assert_eq!(waiting.reply()?, Value::Array(vec![bulk(&key), bulk("job")]));
        assert_eq!(waiting.call(&["EXISTS", &key])?, Value::Integer(0));

        // One that went away takes nothing.
        waiting.send(&["BLPOP", &key, "0"])?;
        std::thread::sleep(Duration::from_millis(20));
        drop(waiting);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(clients[at].call(&["RPUSH", &key, "job"])?, Value::Integer(1));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(clients[at].call(&["LLEN", &key])?, Value::Integer(1), "{key}");
    }
    assert_eq!(clients[0].say("BLPOP nothing 0.1")?, Value::NullArray);
    Ok(())
}

/// At both ports: a message reaches each listener once, and those of one client come in their order.
fn who_listens_at_any_node_hears_it(cluster: &Cluster, clients: &mut [Client]) -> Result<()> {
    let mut listeners = Vec::new();
    for node in 0..NODES {
        for port in [ROUTED, 6379] {
            let mut listener = Client::connect((cluster.nodes[node].address, port).into())?;
            listener.say("SUBSCRIBE news")?;
            listeners.push(listener);
        }
    }
    for (at, client) in clients.iter_mut().enumerate() {
        for number in 0..5 {
            client.call(&["PUBLISH", "news", &format!("{at}:{number}")])?;
            client.say("MULTI")?;
            client.call(&["SET", &format!("{{m{number}}}"), "v"])?;
            client.call(&["PUBLISH", "news", &format!("{at}:multi:{number}")])?;
            assert!(matches!(client.say("EXEC")?, Value::Array(_)));
        }
    }
    for listener in &mut listeners {
        let mut heard = Vec::new();
        for _ in 0..10 * NODES {
            let Value::Array(message) = listener.reply()? else {
                panic!("a message is an array");
            };
            heard.push(text(&message[2]));
        }
        let distinct: BTreeSet<&String> = heard.iter().collect();
        assert_eq!(distinct.len(), 10 * NODES, "{heard:?}");
        for at in 0..NODES {
            let plain = |number: usize| format!("{at}:{number}");
            let of_client = heard.iter().filter(|heard| (0..5).any(|n| **heard == plain(n)));
            assert!(
                of_client.eq((0..5).map(plain).collect::<Vec<_>>().iter()),
                "{heard:?}"
            );
        }
        assert_eq!(listener.receive(Duration::from_millis(20))?, Received::Nothing);
    }
    Ok(())
}

/// What one client counted up, by itself, over one key.
struct Counted {
    key: String,
    acknowledged: i64,
    uncertain: Vec<String>,
    errors: Vec<String>,
    slowest: Duration,
}

fn count_up(door: SocketAddr, key: String, ends: Arc<AtomicBool>) -> JoinHandle<Result<Counted>> {
    std::thread::spawn(move || {
        let mut client = Client::connect(door)?;
        let mut counted = Counted {
            key,
            acknowledged: 0,
            uncertain: Vec::new(),
            errors: Vec::new(),
            slowest: Duration::ZERO,
        };
        while !ends.load(Ordering::Relaxed) {
            let began = Instant::now();
            let written = client.call(&["INCR", &counted.key])?;
            match &written {
                Value::Integer(now) => {
                    counted.acknowledged += 1;
                    let most = counted.acknowledged + counted.uncertain.len() as i64;
                    assert!((counted.acknowledged..=most).contains(now), "{now} of {most}");
                }
                other if text(other).starts_with("UNCERTAIN ") => counted.uncertain.push(text(other)),
                other => counted.errors.push(text(other)),
            }
            let read = client.call(&["GET", &counted.key])?;
            if read.is_error() {
                counted.errors.push(text(&read));
            }
            counted.slowest = counted.slowest.max(began.elapsed());
        }
        Ok(counted)
    })
}

fn while_counting(
    cluster: &mut Cluster,
    act: impl FnOnce(&mut Cluster) -> Result<()>,
) -> Result<Vec<String>> {
    let ends = Arc::new(AtomicBool::new(false));
    let name = fastrand::u64(..);
    let start = |number: usize| {
        let key = format!("count:{name}:{number}");
        count_up(door(cluster, 0), key, Arc::clone(&ends))
    };
    let counting: Vec<_> = (0..2 * SHARDS).map(start).collect();
    std::thread::sleep(Duration::from_millis(300));
    act(cluster)?;
    ends.store(true, Ordering::Relaxed);
    let mut client = Client::connect(door(cluster, 0))?;
    let mut uncertain = Vec::new();
    for counting in counting {
        let counted = counting.join().expect("the client's thread ends")?;
        let Counted { key, errors, .. } = &counted;
        let value: i64 = text(&client.call(&["GET", key])?).parse()?;
        let most = counted.acknowledged + counted.uncertain.len() as i64;
        assert!(
            (counted.acknowledged..=most).contains(&value),
            "{key}: {value} of {most}"
        );
        assert!(errors.is_empty(), "{key}: {errors:?}");
        assert!(counted.slowest < Duration::from_secs(30), "{:?}", counted.slowest);
        uncertain.extend(counted.uncertain);
    }
    Ok(uncertain)
}

#[test]
fn leaders_change_and_a_plain_client_sees_no_error() -> Result<()> {
    let mut cluster = cluster();
    let mut moved = 0;
    let uncertain = while_counting(&mut cluster, |cluster| {
        for shard in 0..SHARDS {
            for node in 1..=NODES {
                let (shard, node) = (shard.to_string(), node.to_string());
                // One that does not come about costs nothing either.
                let words = ["transfer-leader", &shard, "--to", &node];
                moved += usize::from(cluster.administer(&words).is_ok());
            }
        }
        Ok(())
    })?;
    assert!(moved >= SHARDS, "{moved}");
    // A busy machine may bring about an election that nobody asked for; links are given up for no such thing.
    let of_links = |told: &&String| !told.contains("leader changed");
    assert_eq!(uncertain.iter().find(of_links), None);

    // Of each client at most one write was under way.
    let uncertain = while_counting(&mut cluster, |cluster| {
        cluster.nodes[1].kill()?;
        std::thread::sleep(Duration::from_secs(3));
        Ok(())
    })?;
    assert!(uncertain.len() <= 2 * SHARDS, "{uncertain:?}");
    cluster.nodes[1].start()?;

    // With nobody to lead some shards, what was not done says so, in time.
    cluster.nodes[1].kill()?;
    cluster.nodes[2].kill()?;
    let mut client = Client::connect(door(&cluster, 0))?;
    client.say("CONFIG SET routed-timeout 500")?;
    std::thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    let answer = client.say("SET k v")?;
    assert!(text(&answer).starts_with("CLUSTERDOWN "), "{answer}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(text(&client.say("PING")?), "PONG");
    Ok(())
}

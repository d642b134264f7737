//! Large values, long pipelines, clients that do not read and nodes that do not answer: what passes through a node is
//! right, and what waits in it is bounded.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, encode};
use ruvio_e2e::cluster::Cluster;
use ruvio_e2e::resp::Value;

use super::{bulk, clients, cluster, door, ok, spread, text};

const MIB: usize = 1024 * 1024;
const LARGE: usize = 10 * MIB;
const COMMANDS: usize = 30_000;
/// What a node may take more while somebody is flooding it.
const ROOM: usize = 96 * MIB;

#[test]
fn large_values_and_long_pipelines_pass_through() -> Result<()> {
    let cluster = cluster();
    spread(&cluster)?;
    let mut clients = clients(&cluster);
    let value: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(LARGE).collect();
    for number in 0..6 {
        let key = format!("large:{number}");
        write(&mut clients[0], &[b"SET", key.as_bytes(), &value])?;
        assert_eq!(clients[1].call(&["GET", &key])?, Value::Bulk(value.clone()));
        assert_eq!(clients[2].call(&["DEL", &key])?, Value::Integer(1));
    }
    let door = door(&cluster, 0);
    let writing = std::thread::spawn(move || {
        pipeline(door, |number| ["INCR".to_owned(), format!("n:{}", number % 50)])
    });
    let others = pipeline(self::door(&cluster, 1), |number| {
        ["INCR".to_owned(), format!("m:{}", number % 50)]
    })?;
    for (name, counted) in [("n", writing.join().expect("it ends")?), ("m", others)] {
        for (number, counted) in counted.iter().enumerate() {
            let expected = (number / 50 + 1) as i64;
            assert_eq!(*counted, Value::Integer(expected), "{name}, {number}");
        }
        let last = (COMMANDS / 50).to_string();
        assert_eq!(clients[2].call(&["GET", &format!("{name}:7")])?, bulk(&last));
    }
    Ok(())
}

/// Once more where a busy machine had another leader elected.
fn write(client: &mut Client, words: &[&[u8]]) -> Result<()> {
    loop {
        match client.call(words)? {
            done if done == ok() => return Ok(()),
            other => assert!(
                text(&other).starts_with("UNCERTAIN The shard's leader changed"),
                "{other}"
            ),
        }
    }
}

/// Sends all of them while another thread reads what is answered.
fn pipeline(door: std::net::SocketAddr, words: impl Fn(usize) -> [String; 2]) -> Result<Vec<Value>> {
    let mut client = Client::connect(door)?;
    let mut sender = client.sender()?;
    let mut request = Vec::new();
    for number in 0..COMMANDS {
        encode(&words(number), &mut request);
    }
    let sending = std::thread::spawn(move || std::io::Write::write_all(&mut sender, &request));
    let replies = (0..COMMANDS).map(|_| client.reply()).collect();
    sending.join().expect("it ends")?;
    replies
}

/// Bytes that the node has from the system.
fn resident(client: &mut Client) -> Result<usize> {
    let told = text(&client.say("INFO memory")?);
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("used_memory_rss:"));
    Ok(line.unwrap_or("0").trim().parse()?)
}

fn keys_led_by_second(cluster: &Cluster) -> Result<Vec<String>> {
    let mut second = Client::connect((cluster.nodes[1].address, 6379).into())?;
    let mut keys = Vec::new();
    for number in 0..100 {
        let key = format!("of-second:{number}");
        if !second.call(&["GET", &key])?.is_error() {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// It is dropped as by one server, and those whose answers come by the same links notice nothing.
#[test]
fn a_client_that_does_not_read_is_dropped_at_its_limit() -> Result<()> {
    let cluster = cluster();
    spread(&cluster)?;
    let mut clients = clients(&cluster);
    for client in &mut clients {
        let limit = ["CONFIG", "SET", "client-output-buffer-limit", "normal 16mb 0 0"];
        assert_eq!(client.call(&limit)?, ok());
    }
    let keys = keys_led_by_second(&cluster)?;
    write(&mut clients[0], &[b"SET", keys[0].as_bytes(), &[b'v'; 64 * 1024]])?;
    let before = resident(&mut clients[0])?;
    let mut silent = Client::connect(door(&cluster, 0))?;
    let mut request = Vec::new();
    // Two gigabytes of answers.
    for _ in 0..32 * 1024 {
        encode(&["GET", &keys[0]], &mut request);
    }
    // It may be dropped before it has said all.
    let _ = silent.send_raw(&request);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut most = 0;
    while !text(&clients[0].say("INFO stats")?).contains("client_output_buffer_limit_disconnections:1") {
        assert!(Instant::now() < deadline, "it is not dropped");
        most = most.max(resident(&mut clients[0])?.saturating_sub(before));
        let length = clients[0].call(&["STRLEN", &keys[0]])?;
        assert_eq!(length, Value::Integer(64 * 1024));
    }
    assert!(most < 2 * ROOM, "{} MiB", most / MIB);
    let info = text(&clients[1].say("INFO stats")?);
    assert!(
        info.contains("client_output_buffer_limit_disconnections:0"),
        "no link was dropped"
    );
    Ok(())
}

//! What a session is does not depend on where its keys are led.

use std::time::{Duration, Instant};

use anyhow::Result;
use ruvio_e2e::client::{Client, Received, encode};
use ruvio_e2e::resp::Value;

use super::{NODES, bulk, clients, cluster, door, ok, spread, text};

#[test]
fn sessions_are_those_of_one_server() -> Result<()> {
    let cluster = cluster();
    spread(&cluster)?;
    let mut clients = clients(&cluster);
    a_select_that_fails_changes_no_database(&mut clients)?;
    own_writes_break_what_is_watched(&mut clients)?;
    databases_are_exchanged_and_emptied_everywhere(&mut clients)?;
    answers_that_nobody_wants_are_not_given(&mut clients)?;
    who_monitors_sees_what_leaves(&mut clients)?;
    a_pause_is_for_the_clients_of_its_node(&mut clients)?;
    messages_come_between_answers(&mut clients)?;
    rights_are_those_of_the_client(&mut clients)?;
    let door = door(&cluster, 0);
    passwords_do_not_stop_links(&mut clients, || Client::connect(door))
}

/// One that a node could not have would end it with the session's next command.
fn a_select_that_fails_changes_no_database(clients: &mut [Client]) -> Result<()> {
    for number in 0..12 {
        let key = format!("select:{number}");
        let client = &mut clients[number % NODES];
        client.say("MULTI")?;
        for words in [["SELECT", "3"], ["SELECT", "99"], ["INCR", &key], ["SELECT", "x"]] {
            client.call(&words)?;
        }
        let Value::Array(replies) = client.say("EXEC")? else {
            panic!("EXEC answers an array");
        };
        assert_eq!((&replies[0], &replies[2]), (&ok(), &Value::Integer(1)));
        assert!(replies[1].is_error() && replies[3].is_error(), "{replies:?}");
        assert_eq!(client.call(&["GET", &key])?, bulk("1"));
        client.say("SELECT 0")?;
        assert_eq!(client.call(&["GET", &key])?, Value::NullBulk);
    }
    Ok(())
}

/// In one piece, so that the write and the transaction are under way at the same time.
fn own_writes_break_what_is_watched(clients: &mut [Client]) -> Result<()> {
    for number in 0..60 {
        let key = format!("watch:{number}");
        let client = &mut clients[number % NODES];
        let mut request = Vec::new();
        for line in ["SET k 0", "WATCH k", "SET k 1", "MULTI", "GET k", "EXEC", "GET k"] {
            let words = line.split(' ').map(|word| if word == "k" { &key } else { word });
            encode(&words.collect::<Vec<_>>(), &mut request);
        }
        client.send_raw(&request)?;
        let replies: Vec<Value> = (0..7).map(|_| client.reply()).collect::<Result<_>>()?;
        assert_eq!(replies[5..], [Value::NullArray, bulk("1")], "{key}");
    }
    Ok(())
}

fn databases_are_exchanged_and_emptied_everywhere(clients: &mut [Client]) -> Result<()> {
    clients[0].say("FLUSHALL")?;
    for db in 0..16 {
        let client = &mut clients[db % NODES];
        client.say(&format!("SELECT {db}"))?;
        for number in 0..12 {
            client.call(&["SET", &format!("k:{number}"), &db.to_string()])?;
        }
    }
    assert!(clients[1].say("SELECT 16")?.is_error());
    assert_eq!(clients[1].say("SWAPDB 3 12")?, ok());
    clients[2].say("SELECT 12")?;
    clients[0].say("SELECT 3")?;
    for number in 0..12 {
        assert_eq!(clients[2].call(&["GET", &format!("k:{number}")])?, bulk("3"));
        assert_eq!(clients[0].call(&["GET", &format!("k:{number}")])?, bulk("12"));
    }
    assert_eq!(clients[0].say("FLUSHDB")?, ok());
    clients[1].say("SELECT 3")?;
    assert_eq!(clients[1].say("DBSIZE")?, Value::Integer(0));
    assert_eq!(clients[2].say("DBSIZE")?, Value::Integer(12));
    assert_eq!(clients[1].call(&["MOVE", "nothing", "4"])?, Value::Integer(0));
    clients[0].say("FLUSHALL")?;
    for client in clients.iter_mut() {
        client.say("SELECT 0")?;
    }
    Ok(())
}

fn answers_that_nobody_wants_are_not_given(clients: &mut [Client]) -> Result<()> {
    let client = &mut clients[0];
    client.send(&["CLIENT", "REPLY", "OFF"])?;
    for number in 0..12 {
        client.send(&["SET", &format!("off:{number}"), "v"])?;
    }
    for line in ["MGET off:1 off:2 off:3", "DBSIZE", "CLIENT REPLY ON"] {
        client.send(&line.split(' ').collect::<Vec<_>>())?;
    }
    assert_eq!(client.reply()?, ok());
    for number in 0..12 {
        let key = format!("off:{number}");
        client.send(&["CLIENT", "REPLY", "SKIP"])?;
        client.send(&["GET", &key])?;
        assert_eq!(client.call(&["APPEND", &key, "w"])?, Value::Integer(2));
    }
    Ok(())
}

fn who_monitors_sees_what_leaves(clients: &mut [Client]) -> Result<()> {
    let mut monitor = second_client(&clients[0])?;
    assert_eq!(monitor.say("MONITOR")?, ok());
    for number in 0..12 {
        clients[0].call(&["SET", &format!("seen:{number}"), "v"])?;
    }
    // Once each, wherever they run.
    for number in 0..12 {
        let line = text(&monitor.reply()?);
        assert!(
            line.ends_with(&format!("\"SET\" \"seen:{number}\" \"v\"")),
            "{line}"
        );
    }
    assert_eq!(monitor.receive(Duration::from_millis(20))?, Received::Nothing);
    Ok(())
}

/// Another connection to the same door.
fn second_client(client: &Client) -> Result<Client> {
    Client::connect(client.peer()?)
}

fn a_pause_is_for_the_clients_of_its_node(clients: &mut [Client]) -> Result<()> {
    const PAUSE: Duration = Duration::from_millis(600);
    let began = Instant::now();
    clients[0].say(&format!("CLIENT PAUSE {} WRITE", PAUSE.as_millis()))?;
    let mut paused = Vec::new();
    for number in 0..12 {
        let mut client = second_client(&clients[0])?;
        client.send(&["SET", &format!("paused:{number}"), "v"])?;
        paused.push(client);
    }
    for number in 0..12 {
        let key = format!("paused:{number}");
        assert_eq!(clients[0].call(&["GET", &key])?, Value::NullBulk);
        assert_eq!(clients[1].call(&["SET", &format!("other:{number}"), "v"])?, ok());
    }
    assert!(began.elapsed() < PAUSE, "reads, and writes by other nodes, go on");
    for client in &mut paused {
        assert_eq!(client.reply()?, ok());
    }
    assert!(began.elapsed() >= PAUSE);
    Ok(())
}

fn messages_come_between_answers(clients: &mut [Client]) -> Result<()> {
    let mut listener = second_client(&clients[1])?;
    listener.say("HELLO 3")?;
    listener.say("SUBSCRIBE news")?;
    listener.say("PSUBSCRIBE n*")?;
    for number in 0..12 {
        let (key, message) = (format!("between:{number}"), number.to_string());
        assert_eq!(listener.call(&["SET", &key, &message])?, ok());
        clients[number % NODES].call(&["PUBLISH", "news", &message])?;
        let pushed = |kind: &str, pattern: &[&str]| {
            let words = [&[kind], pattern, &["news", &message]].concat();
            Value::Push(words.into_iter().map(bulk).collect())
        };
        assert_eq!(listener.reply()?, pushed("message", &[]));
        assert_eq!(listener.reply()?, pushed("pmessage", &["n*"]));
        assert_eq!(listener.call(&["GET", &key])?, bulk(&message));
    }
    Ok(())
}

fn rights_are_those_of_the_client(clients: &mut [Client]) -> Result<()> {
    clients[0].say("ACL SETUSER some on >pw ~may:* resetchannels &news +@all -@dangerous -append")?;
    let mut some = second_client(&clients[0])?;
    assert_eq!(some.say("AUTH some pw")?, ok());
    for number in 0..12 {
        let (may, not) = (format!("may:{number}"), format!("not:{number}"));
        assert_eq!(some.call(&["SET", &may, "v"])?, ok());
        for words in [
            &["SET", &not, "v"][..],
            &["GET", &not],
            &["MGET", &may, &not],
            &["BLPOP", &not, "0"],
            &["APPEND", &may, "w"],
            &["WATCH", &not],
            &["KEYS", "*"],
            &["FLUSHALL"],
            &["PUBLISH", "other", "m"],
        ] {
            let refused = some.call(words)?;
            assert!(text(&refused).starts_with("NOPERM "), "{words:?}: {refused}");
        }
        some.say("MULTI")?;
        assert!(text(&some.call(&["GET", &not])?).starts_with("NOPERM "));
        assert!(text(&some.say("EXEC")?).starts_with("EXECABORT "));
        assert_eq!(clients[1].call(&["EXISTS", &not])?, Value::Integer(0));
    }
    Ok(())
}

/// Each node has its own; a link goes by the cluster's token.
fn passwords_do_not_stop_links(clients: &mut [Client], connect: impl Fn() -> Result<Client>) -> Result<()> {
    for (at, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.say(&format!("CONFIG SET requirepass secret-{at}"))?, ok());
        // Links that are there are not asked anew: they begin again.
        client.say("CLIENT KILL TYPE normal SKIPME yes")?;
    }
    let mut client = connect()?;
    assert!(text(&client.say("GET k")?).starts_with("NOAUTH "));
    assert_eq!(client.say("AUTH secret-0")?, ok());
    for number in 0..12 {
        let key = format!("secret:{number}");
        let mut set = client.call(&["SET", &key, "v"])?;
        if text(&set).starts_with("UNCERTAIN ") {
            // It was under way by a link that was ended just now.
            set = client.call(&["SET", &key, "v"])?;
        }
        assert_eq!(set, ok());
        assert_eq!(client.call(&["GET", &key])?, bulk("v"));
    }
    Ok(())
}

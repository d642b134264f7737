//! The cluster port, in the words of Valkey 9.1.2 with `cluster-enabled yes`, and the routed port beside it.
//!
//! Two nodes, two shards. This node (1) leads slots 0 to 8191, `bar` (5061) among them; the other (2) leads the
//! rest: `foo` (12182), `a` (15495).

use std::sync::Arc;

use super::course::{Course, Then};
use super::session::ClientId;
use super::testing::{NOW_MS, TestHost, connect, received};
use super::{Door, Engine, Topology, link};
use crate::cluster::{Node, NodeId, Row, Table};
use crate::command::OwnedArgs;
use crate::effect::Effect;
use crate::exec::Now;
use crate::keyspace::{Role, Shard, kind};
use crate::resp::Reply;

fn topology(shards: u16) -> Topology {
    Topology {
        shards,
        owners: 1,
        me: 0,
    }
}

fn table(leaders: &[Option<u64>]) -> Table {
    let mut table = Table::new(NodeId(1), leaders.len() as u16);
    for id in [1, 2] {
        table.merge_node(Node {
            id: NodeId(id),
            host: "127.0.0.1".into(),
            port: 7400 + id as u16,
            tls_port: 7500 + id as u16,
            peer_port: 17400 + id as u16,
            is_alive: true,
            ..Node::default()
        });
    }
    for (shard, leader) in (0..).zip(leaders) {
        let row = Row {
            term: 1 + u64::from(shard),
            leader: leader.map(NodeId),
            voters: vec![NodeId(1), NodeId(2)],
            ..Row::default()
        };
        table.merge_row(shard, row);
    }
    table
}

pub(super) fn node(leaders: &[Option<u64>]) -> Engine {
    let topology = topology(leaders.len() as u16);
    let shards = topology.shards_of(0).map(|shard| Shard::new(u64::from(shard), 7));
    let mut engine = Engine::spread(shards.collect(), topology, Box::new(TestHost::default()));
    for (place, leader) in leaders.iter().enumerate() {
        let leads = *leader == Some(1);
        engine.set_role(place, if leads { Role::Leads } else { Role::Follows });
    }
    engine.set_cluster(Some(Arc::new(table(leaders))));
    engine
}

pub(super) fn enter(engine: &mut Engine, door: Door) -> ClientId {
    let client = connect(engine);
    engine.set_door(client, door, false);
    client
}

/// As the server does with a command that comes from a socket. A course that leads away is shown.
pub(super) fn run(engine: &mut Engine, client: ClientId, line: &str) -> String {
    let words = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
    let (args, now) = (words.view(), Now::from_ms(NOW_MS));
    let mut reply = Reply::default();
    if !engine.world.topology.is_spread() {
        engine.execute(client, args, now, &mut reply);
    } else {
        let ahead = engine.look_ahead_spread(0, args);
        match engine.course(client, args, &ahead) {
            Course::Here => drop(engine.run_here_ahead(client, args, ahead, now, &mut reply)),
            Course::Refuse(error) => {
                engine.refuse_course(client, args, &ahead, error, now, &mut reply);
            }
            Course::Everywhere { .. } => drop(engine.run_here(client, args, now, &mut reply)),
            away => return format!("{away:?}"),
        }
    }
    String::from_utf8(reply.take()).unwrap()
}

pub(super) fn play(engine: &mut Engine, client: ClientId, steps: &[(&str, &str)]) {
    for (line, expected) in steps {
        assert_eq!(run(engine, client, line), format!("{expected}\r\n"), "{line}");
    }
}

const CROSS_SLOT: &str = "-CROSSSLOT Keys in request don't hash to the same slot";
const FOO_MOVED: &str = "-MOVED 12182 127.0.0.1:7402";
const A_MOVED: &str = "-MOVED 15495 127.0.0.1:7402";
const BAD_DB: &str = "-ERR DB index is out of range";
const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.";

/// What a node of Valkey's answers that has slots 0 to 8191.
const AS_VALKEY: &[(&str, &str)] = &[
    ("SELECT 1", BAD_DB),
    ("SELECT 0", "+OK"),
    ("SELECT x", "-ERR value is not an integer or out of range"),
    ("MGET a b", CROSS_SLOT),
    ("MGET a", A_MOVED),
    ("GET foo", FOO_MOVED),
    ("GET bar", "$-1"),
    ("SET foo 1", FOO_MOVED),
    ("SET bar 1", "+OK"),
    ("MGET {bar}1 bar", "*2\r\n$-1\r\n$1\r\n1"),
    ("DEL bar {bar}1 foo", CROSS_SLOT),
    // One shard, two slots.
    ("MGET bar {a1}1", CROSS_SLOT),
    ("MULTI", "+OK"),
    ("GET a", A_MOVED),
    ("GET bar", "+QUEUED"),
    ("EXEC", ABORTED),
    ("MULTI", "+OK"),
    ("INCR bar", "+QUEUED"),
    ("EXEC", "*1\r\n:2"),
    ("WATCH foo", FOO_MOVED),
    ("WATCH a b", CROSS_SLOT),
    ("MOVE bar 1", BAD_DB),
    ("MOVE bar 0", "-ERR source and destination objects are the same"),
    ("SWAPDB 0 0", "-ERR SWAPDB is not allowed in cluster mode"),
    ("COPY {bar}1 {bar}2 DB 1", BAD_DB),
    ("COPY bar bar2 DB 1", CROSS_SLOT),
    ("SSUBSCRIBE foo", FOO_MOVED),
    ("SSUBSCRIBE bar foo", CROSS_SLOT),
    ("SPUBLISH foo x", FOO_MOVED),
    ("SPUBLISH bar foo", ":0"),
    ("SUNSUBSCRIBE foo", FOO_MOVED),
    ("CLUSTER KEYSLOT foo", ":12182"),
    ("CLUSTER COUNTKEYSINSLOT 5061", ":1"),
    ("CLUSTER COUNTKEYSINSLOT 12182", ":0"),
    ("CLUSTER COUNTKEYSINSLOT 99999", "-ERR Invalid slot"),
    (
        "CLUSTER COUNTKEYSINSLOT x",
        "-ERR value is not an integer or out of range",
    ),
    ("CLUSTER GETKEYSINSLOT 5061 9", "*1\r\n$3\r\nbar"),
    ("CLUSTER GETKEYSINSLOT 5061 0", "*0"),
    (
        "CLUSTER GETKEYSINSLOT 1 -1",
        "-ERR Invalid slot or number of keys",
    ),
    ("CLUSTER REPLICAS abc", "-ERR Unknown node abc"),
    ("CLUSTER COUNT-FAILURE-REPORTS abc", "-ERR Unknown node abc"),
    (
        "CLUSTER NOPE",
        "-ERR unknown subcommand 'NOPE'. Try CLUSTER HELP.",
    ),
    ("INFO cluster", "$30\r\n# Cluster\r\ncluster_enabled:1\r\n"),
    ("READONLY", "+OK"),
    ("READWRITE", "+OK"),
    ("ASKING", "+OK"),
    ("DBSIZE", ":1"),
    ("FLUSHALL", "+OK"),
    ("DBSIZE", ":0"),
];

#[test]
fn the_cluster_port_answers_as_a_node_of_valkeys_cluster() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Cluster);
    play(&mut engine, client, AS_VALKEY);
}

#[test]
fn clients_of_tls_are_sent_to_ports_of_tls() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = connect(&mut engine);
    engine.set_door(client, Door::Cluster, true);
    assert_eq!(
        run(&mut engine, client, "GET foo"),
        "-MOVED 12182 127.0.0.1:7502\r\n"
    );
}

#[test]
fn without_a_leader_it_is_said_that_nothing_was_done() {
    let mut engine = node(&[Some(1), None]);
    let client = enter(&mut engine, Door::Cluster);
    for line in ["GET foo", "SET foo 1", "SSUBSCRIBE foo"] {
        assert!(
            run(&mut engine, client, line).starts_with("-CLUSTERDOWN "),
            "{line}"
        );
    }
    // The table is ahead of the shard: it has been elected and does not serve yet.
    engine.set_cluster(Some(Arc::new(table(&[Some(1), Some(1)]))));
    assert!(run(&mut engine, client, "GET foo").starts_with("-CLUSTERDOWN "));
}

#[test]
fn a_cluster_of_one_shard_has_slots_as_well() {
    let mut engine = node(&[Some(1)]);
    let client = enter(&mut engine, Door::Cluster);
    play(
        &mut engine,
        client,
        &[
            ("SET foo 1", "+OK"),
            ("MGET foo bar", CROSS_SLOT),
            ("MULTI", "+OK"),
            ("GET foo", "+QUEUED"),
            ("GET bar", CROSS_SLOT),
            ("EXEC", ABORTED),
            ("SELECT 1", BAD_DB),
        ],
    );
    engine.set_cluster(Some(Arc::new(table(&[Some(2)]))));
    engine.set_role(0, Role::Follows);
    play(
        &mut engine,
        client,
        &[
            ("GET foo", FOO_MOVED),
            ("SET foo 1", FOO_MOVED),
            ("PING", "+PONG"),
        ],
    );
    let routed = enter(&mut engine, Door::Routed);
    engine.set_role(0, Role::Leads);
    play(&mut engine, routed, &[("MGET foo bar", "*2\r\n$1\r\n1\r\n$-1")]);
}

#[test]
fn who_asks_for_it_reads_from_a_shard_that_follows_closely() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Cluster);
    let stale: &[_] = &[("READONLY", "+OK"), ("GET foo", FOO_MOVED)];
    play(&mut engine, client, stale);
    engine.set_fresh(1, true);
    play(
        &mut engine,
        client,
        &[
            ("GET foo", "$-1"),
            ("MGET foo {foo}1", "*2\r\n$-1\r\n$-1"),
            ("SET foo 1", FOO_MOVED),
            ("WATCH foo", "+OK"),
            ("MULTI", "+OK"),
            ("GET foo", "+QUEUED"),
            ("EXEC", "*1\r\n$-1"),
            ("MULTI", "+OK"),
            ("SET foo 1", FOO_MOVED),
            ("EXEC", ABORTED),
            ("READWRITE", "+OK"),
            ("GET foo", FOO_MOVED),
        ],
    );
}

/// What the leader did reaches those who watch the shard where it follows.
#[test]
fn what_a_follower_applies_is_a_change_to_those_who_watch() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Cluster);
    engine.set_fresh(1, true);
    play(
        &mut engine,
        client,
        &[
            ("READONLY", "+OK"),
            ("WATCH foo", "+OK"),
            ("MULTI", "+OK"),
            ("GET foo", "+QUEUED"),
        ],
    );
    engine.select_place(1);
    let put = Effect::Put {
        key: b"foo",
        kind: kind::STRING,
        value: b"led",
        expire_at: None,
        created: true,
    };
    engine.apply_effect(0, &put).expect("a follower applies it");
    engine.note_applied(1, Now::from_ms(NOW_MS));
    assert!(!engine.has_effects(), "its leader has logged it");
    play(&mut engine, client, &[("EXEC", "*-1"), ("GET foo", "$3\r\nled")]);
}

#[test]
fn who_waits_watches_or_listens_hears_that_the_leader_is_another() {
    let mut engine = node(&[Some(1), Some(2)]);
    let mut new = || enter(&mut engine, Door::Cluster);
    let (waiting, watching, queued, listening) = (new(), new(), new(), new());
    run(&mut engine, waiting, "BLPOP bar 0");
    play(
        &mut engine,
        watching,
        &[("WATCH bar", "+OK"), ("MULTI", "+OK"), ("GET bar", "+QUEUED")],
    );
    play(&mut engine, queued, &[("MULTI", "+OK"), ("GET bar", "+QUEUED")]);
    run(&mut engine, listening, "SSUBSCRIBE bar");

    engine.set_cluster(Some(Arc::new(table(&[Some(2), Some(2)]))));
    engine.set_role(0, Role::Follows);
    engine.leave_shard(0, Now::from_ms(NOW_MS));
    let moved = "-MOVED 5061 127.0.0.1:7402";
    assert_eq!(received(&mut engine, waiting), format!("{moved}\r\n"));
    assert_eq!(
        received(&mut engine, listening),
        "*3\r\n$12\r\nsunsubscribe\r\n$3\r\nbar\r\n:0\r\n"
    );
    play(&mut engine, watching, &[("EXEC", "*-1"), ("GET bar", moved)]);
    play(
        &mut engine,
        queued,
        &[("EXEC", moved), ("EXEC", "-ERR EXEC without MULTI")],
    );
}

#[test]
fn who_waits_while_nobody_leads_yet_is_unblocked_as_by_valkey() {
    let mut engine = node(&[Some(1), Some(2)]);
    let waiting = enter(&mut engine, Door::Cluster);
    run(&mut engine, waiting, "BLPOP bar 0");
    engine.set_role(0, Role::Absent);
    engine.leave_shard(0, Now::from_ms(NOW_MS));
    assert_eq!(
        received(&mut engine, waiting),
        "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)\r\n"
    );
    assert_eq!(engine.world.blocked_count, 0);
}

/// The owner that has a shard knows where it is led, so what is not led here is its to pass on.
#[test]
fn the_routed_port_has_owners_pass_on_what_is_led_elsewhere() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Routed);
    play(
        &mut engine,
        client,
        &[("SET bar 1", "+OK"), ("SELECT 1", "+OK"), ("SELECT 0", "+OK")],
    );
    let away = |then| format!("{:?}", Course::Away { shard: 1, then });
    assert_eq!(run(&mut engine, client, "GET foo"), away(Then::GoOn));
    assert_eq!(run(&mut engine, client, "BLPOP foo 0"), away(Then::Wait));
    assert_eq!(run(&mut engine, client, "SCAN 281474976710656"), away(Then::GoOn));
    assert_eq!(run(&mut engine, client, "DBSIZE"), "Shards");
    assert!(run(&mut engine, client, "MGET bar foo").starts_with("Split"));
    run(&mut engine, client, "MULTI");
    assert_eq!(run(&mut engine, client, "GET foo"), "+QUEUED\r\n");
    assert_eq!(run(&mut engine, client, "EXEC"), "Transaction { owner: 0 }");

    // What comes behind commands that are under way waits for them, though the shard is led here again.
    engine.set_role(1, Role::Leads);
    engine.set_detained(1, true);
    let other = enter(&mut engine, Door::Routed);
    assert_eq!(run(&mut engine, other, "GET foo"), away(Then::GoOn));
    engine.set_detained(1, false);
    assert_eq!(run(&mut engine, other, "GET foo"), "$-1\r\n");
    for line in ["CLUSTER INFO", "ASKING"] {
        assert_eq!(
            run(&mut engine, other, line),
            "-ERR This instance has cluster support disabled\r\n"
        );
    }
    assert!(run(&mut engine, other, "INFO").contains("cluster_enabled:0"));
}

/// Who passes commands on for others proves that it knows the token, has all databases, and after a refusal nothing
/// until it has taken notice.
#[test]
fn a_link_is_let_in_by_the_token_and_stops_at_the_first_refusal() {
    let mut engine = node(&[Some(1), Some(2)]);
    let stranger = enter(&mut engine, Door::Cluster);
    let say = |engine: &mut Engine, client, words: &[&[u8]]| {
        let words = OwnedArgs::from_words(words.iter().copied());
        let mut reply = Reply::default();
        engine.hear_link(client, words.view(), [7; 16], &mut reply);
        String::from_utf8_lossy(&reply.take()).into_owned()
    };
    let unknown = run(&mut engine, stranger, "ruvio.link HELLO");
    assert!(unknown.starts_with("-ERR unknown command"), "{unknown}");
    engine.world.link_token = Some(Arc::from(&b"secret"[..]));
    assert_eq!(run(&mut engine, stranger, "ruvio.link HELLO"), "Link");
    let routed = enter(&mut engine, Door::Routed);
    assert!(run(&mut engine, routed, "ruvio.link HELLO").starts_with("-ERR unknown command"));

    let mut refused = |words: &[&[u8]]| {
        let client = enter(&mut engine, Door::Cluster);
        say(&mut engine, client, &[b"ruvio.link", b"HELLO"]);
        let answer = say(&mut engine, client, words);
        let door = engine
            .world
            .sessions
            .get(client)
            .map(|s| (s.entrance.door, s.closing));
        assert_eq!(door, Some((Door::Cluster, true)), "{words:?}");
        assert!(answer.starts_with('-'), "{answer}");
    };
    for (token, node) in [(&b"other"[..], NodeId(1)), (b"secret", NodeId(2))] {
        refused(&[b"ruvio.link", b"PROVE", &link::prove(token, &[7; 16], node)]);
    }
    refused(&[b"ruvio.link", b"PROVE", b""]);
    refused(&[b"ruvio.link", b"STAND", b"0", b"2", b"0", b"0", b"1"]);

    let link = enter(&mut engine, Door::Cluster);
    let proof = link::prove(b"secret", &[7; 16], NodeId(1));
    assert!(say(&mut engine, link, &[b"ruvio.link", b"PROVE", &proof]).starts_with("-NOAUTH"));
    let link = enter(&mut engine, Door::Cluster);
    assert_eq!(
        say(&mut engine, link, &[b"ruvio.link", b"HELLO"]),
        format!("$16\r\n{}\r\n", "\x07".repeat(16))
    );
    assert_eq!(
        say(&mut engine, link, &[b"ruvio.link", b"PROVE", &proof]),
        "+OK\r\n"
    );
    let get = OwnedArgs::from_words([b"GET", b"bar"].iter().map(|word| &word[..]));
    let is_refusing = |engine: &Engine| engine.is_refusing(link, get.view());
    let stand = |engine: &mut Engine, lap: &[u8]| {
        say(
            engine,
            link,
            &[b"ruvio.link", b"STAND", b"3", b"2", b"0", b"65535", lap],
        )
    };
    assert_eq!(stand(&mut engine, b"1"), "+OK\r\n");
    assert_eq!(run(&mut engine, link, "SET bar 1"), "+OK\r\n");
    assert_eq!(engine.database_of(link), 3);
    assert!(run(&mut engine, link, "GET foo").starts_with("-CLUSTERDOWN"));
    assert!(is_refusing(&engine));
    assert_eq!(stand(&mut engine, b"1"), "+OK\r\n");
    assert!(is_refusing(&engine), "it has not taken notice");
    assert_eq!(stand(&mut engine, b"2"), "+OK\r\n");
    assert!(!is_refusing(&engine));
    assert_eq!(run(&mut engine, link, "GET bar"), "$1\r\n1\r\n");
}

#[test]
fn a_node_tells_of_its_cluster_as_valkey_does() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Cluster);
    let (me, other) = (NodeId(1).to_string(), NodeId(2).to_string());
    assert_eq!(
        run(&mut engine, client, "CLUSTER SLOTS"),
        format!(
            "*2\r\n*4\r\n:0\r\n:8191\r\n*4\r\n$9\r\n127.0.0.1\r\n:7401\r\n$40\r\n{me}\r\n*0\r\n\
             *4\r\n$9\r\n127.0.0.1\r\n:7402\r\n$40\r\n{other}\r\n*0\r\n\
             *4\r\n:8192\r\n:16383\r\n*4\r\n$9\r\n127.0.0.1\r\n:7402\r\n$40\r\n{other}\r\n*0\r\n\
             *4\r\n$9\r\n127.0.0.1\r\n:7401\r\n$40\r\n{me}\r\n*0\r\n"
        )
    );
    let nodes = run(&mut engine, client, "CLUSTER NODES");
    let lines = format!(
        "{me} 127.0.0.1:7401@17401 myself,master - 0 0 1 connected 0-8191\n\
         {other} 127.0.0.1:7402@17402 master - 0 0 2 connected 8192-16383\n"
    );
    assert_eq!(nodes, format!("${}\r\n{lines}\r\n", lines.len()));
    let shards = run(&mut engine, client, "CLUSTER SHARDS");
    assert!(
        shards.starts_with(&format!(
            "*2\r\n*6\r\n$5\r\nslots\r\n*2\r\n:0\r\n:8191\r\n$5\r\nnodes\r\n*2\r\n*16\r\n$2\r\nid\r\n$40\r\n{me}\r\n\
             $4\r\nport\r\n:7401\r\n$8\r\ntls-port\r\n:7501\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$8\r\nendpoint\r\n\
             $9\r\n127.0.0.1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$18\r\nreplication-offset\r\n:0\r\n$6\r\nhealth\r\n\
             $6\r\nonline\r\n"
        )),
        "{shards}"
    );
    let info = run(&mut engine, client, "CLUSTER INFO");
    for line in [
        "cluster_state:ok",
        "cluster_slots_assigned:16384",
        "cluster_slots_ok:16384",
        "cluster_known_nodes:2",
        "cluster_size:2",
        "cluster_current_epoch:2",
        "cluster_my_epoch:1",
    ] {
        assert!(info.contains(&format!("{line}\r\n")), "{line} in {info}");
    }
    play(&mut engine, client, &[("CLUSTER MYID", &format!("$40\r\n{me}"))]);
    let refused = run(&mut engine, client, "CLUSTER FAILOVER");
    assert!(refused.contains("ruvioctl"), "{refused}");

    // A node that leads nothing is a replica.
    engine.set_cluster(Some(Arc::new(table(&[Some(2), Some(2)]))));
    let nodes = run(&mut engine, client, "CLUSTER NODES");
    assert!(
        nodes.contains(&format!("myself,slave {other} 0 0 2 connected\n")),
        "{nodes}"
    );
    assert!(nodes.contains("master - 0 0 2 connected 0-16383\n"), "{nodes}");
    let replicas = run(&mut engine, client, &format!("CLUSTER REPLICAS {other}"));
    assert!(replicas.starts_with("*1\r\n"), "{replicas}");
    play(
        &mut engine,
        client,
        &[(
            &format!("CLUSTER REPLICAS {me}"),
            "-ERR The specified node is not a master",
        )],
    );
}

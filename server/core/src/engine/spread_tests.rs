//! Shards and owners: who has what, and what becomes of commands.

use super::course::{CROSS_SLOT, Course, Then};
use super::testing::{NOW_MS, TestHost, connect};
use super::{Engine, Topology};
use crate::command::{Args, OwnedArgs};
use crate::exec::Now;
use crate::keyspace::Shard;
use crate::resp::Reply;
use crate::text::crc16::SLOTS;

const SPREAD: Topology = Topology {
    shards: 6,
    owners: 2,
    me: 0,
};

fn engine(topology: Topology) -> Engine {
    let shards = topology
        .shards_of(topology.me)
        .map(|shard| Shard::new(u64::from(shard), 7));
    Engine::spread(shards.collect(), topology, Box::new(TestHost::default()))
}

fn words(line: &str) -> OwnedArgs {
    OwnedArgs::from_words(line.split(' ').map(str::as_bytes))
}

fn course(engine: &mut Engine, client: super::session::ClientId, line: &str) -> Course {
    let words = words(line);
    let args: Args<'_> = words.view();
    let ahead = engine.look_ahead_spread(0, args);
    engine.course(client, args, &ahead)
}

fn run(engine: &mut Engine, client: super::session::ClientId, line: &str) -> String {
    let mut reply = Reply::default();
    engine.run_here(client, words(line).view(), Now::from_ms(NOW_MS), &mut reply);
    String::from_utf8(reply.take()).unwrap()
}

#[test]
fn every_slot_has_one_shard_and_every_shard_one_owner() {
    for (shards, owners) in [(1, 1), (6, 2), (6, 4), (7, 7), (1024, 3)] {
        let topology = Topology {
            shards,
            owners,
            me: 0,
        };
        let of_slots: Vec<u16> = (0..SLOTS).map(|slot| topology.shard_of(slot)).collect();
        assert!(of_slots.is_sorted());
        let mut owned: Vec<u16> = (0..owners).flat_map(|owner| topology.shards_of(owner)).collect();
        assert!((0..owners).all(|owner| {
            topology
                .shards_of(owner)
                .all(|shard| topology.owner_of(shard) == owner)
        }));
        owned.sort_unstable();
        let mut used = of_slots;
        used.dedup();
        assert_eq!(used, owned);
        assert_eq!(owned, (0..shards).collect::<Vec<_>>());
    }
}

#[test]
fn commands_go_where_their_keys_are() {
    let mut engine = engine(SPREAD);
    let client = connect(&mut engine);
    // Slots 0, 3300 and 15495: the first, the second and the last shard.
    let elsewhere = |then| Course::There { owner: 1, then };
    assert_eq!(course(&mut engine, client, "GET b"), elsewhere(Then::GoOn));
    assert_eq!(
        course(&mut engine, client, "MGET {b}1 {b}2"),
        elsewhere(Then::GoOn)
    );
    assert_eq!(course(&mut engine, client, "BLPOP b 0"), elsewhere(Then::Wait));
    assert_eq!(
        course(&mut engine, client, "RENAME b a"),
        Course::Refuse(CROSS_SLOT)
    );
    assert_eq!(course(&mut engine, client, "PING"), Course::Here);
    assert_eq!(course(&mut engine, client, "GET"), Course::Here);
    assert_eq!(course(&mut engine, client, "NOSUCH b"), Course::Here);
    assert_eq!(course(&mut engine, client, "MSET a 1 b"), Course::Here);
    assert_eq!(
        course(&mut engine, client, "DBSIZE"),
        Course::Everywhere { ordered: false }
    );
    assert_eq!(
        course(&mut engine, client, "FLUSHALL"),
        Course::Everywhere { ordered: true }
    );
    let Course::Split { parts } = course(&mut engine, client, "MSET a 1 b 2 {a}x 3") else {
        panic!("two shards have parts");
    };
    let keys: Vec<_> = parts.iter().map(|part| (part.shard, part.keys.clone())).collect();
    assert_eq!(keys, [(5, vec![1, 5]), (1, vec![3])]);
}

#[test]
fn a_transaction_keeps_to_one_slot() {
    let mut engine = engine(SPREAD);
    let client = connect(&mut engine);
    assert_eq!(
        course(&mut engine, client, "WATCH b"),
        Course::There {
            owner: 1,
            then: Then::Wait
        }
    );
    run(&mut engine, client, "MULTI");
    assert_eq!(course(&mut engine, client, "GET a"), Course::Refuse(CROSS_SLOT));
    assert_eq!(course(&mut engine, client, "GET {b}x"), Course::Here);
    assert!(matches!(course(&mut engine, client, "DBSIZE"), Course::Refuse(_)));
    assert_eq!(
        course(&mut engine, client, "EXEC"),
        Course::Transaction { owner: 1 }
    );
    assert_eq!(
        course(&mut engine, client, "DISCARD"),
        Course::Unwatch { owner: 1 }
    );
}

#[test]
fn one_owner_of_all_shards_answers_for_all() {
    let alone = Topology {
        shards: 5,
        owners: 1,
        me: 0,
    };
    let mut engine = engine(alone);
    let client = connect(&mut engine);
    for key in 0..100 {
        assert_eq!(run(&mut engine, client, &format!("SET k{key} v")), "+OK\r\n");
    }
    for key in 0..100 {
        assert_eq!(run(&mut engine, client, &format!("GET k{key}")), "$1\r\nv\r\n");
    }
    assert_eq!(run(&mut engine, client, "DBSIZE"), ":100\r\n");
    assert!(run(&mut engine, client, "KEYS *").starts_with("*100\r\n"));
    for key in 0..100 {
        // The key of a sub-command counts as well.
        assert_eq!(
            run(&mut engine, client, &format!("OBJECT REFCOUNT k{key}")),
            ":1\r\n"
        );
    }
    let info = run(&mut engine, client, "INFO keyspace");
    assert!(info.contains("db0:keys=100,expires=0"), "{info}");
    assert_eq!(run(&mut engine, client, "FLUSHALL"), "+OK\r\n");
    assert_eq!(run(&mut engine, client, "DBSIZE"), ":0\r\n");
    assert_eq!(run(&mut engine, client, "RANDOMKEY"), "$-1\r\n");
}

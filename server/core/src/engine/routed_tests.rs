//! Clients of the routed port, whose commands wait, are paused or are answered elsewhere.
//!
//! As in `door_tests`: two nodes, two shards; this one leads `bar`, the other `foo`.

use super::door_tests::{enter, node, play, run};
use super::testing::{NOW_MS, received};
use super::{Door, UnblockAs};
use crate::command::OwnedArgs;
use crate::exec::Now;
use crate::keyspace::Role;
use crate::options::OutputClass;

const NOW: Now = Now::from_ms(NOW_MS);

#[test]
fn a_wait_whose_shard_moves_is_given_back_and_not_told() {
    let mut engine = node(&[Some(1), Some(2)]);
    let (routed, by_slots, other) = (
        enter(&mut engine, Door::Routed),
        enter(&mut engine, Door::Cluster),
        enter(&mut engine, Door::Routed),
    );
    run(&mut engine, routed, "SELECT 3");
    assert_eq!(run(&mut engine, routed, "BLPOP bar 0"), "");
    assert_eq!(run(&mut engine, by_slots, "BLPOP bar 0"), "");
    engine.set_role(0, Role::Absent);
    let displaced = engine.leave_shard(0, NOW);
    assert_eq!(displaced.len(), 1);
    assert_eq!((displaced[0].session, displaced[0].passport.db), (routed, 3));
    assert!(displaced[0].args.view().iter().eq([&b"BLPOP"[..], b"bar", b"0"]));
    assert_eq!(received(&mut engine, routed), "");
    assert!(received(&mut engine, by_slots).starts_with("-UNBLOCKED"));
    assert_eq!(engine.world.blocked_count, 0);
    // It waits here no longer: what comes is for others.
    engine.set_role(0, Role::Leads);
    play(&mut engine, other, &[("RPUSH bar x", ":1"), ("LLEN bar", ":1")]);
}

#[test]
fn a_pause_keeps_what_is_about_to_leave_and_lets_links_through() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Routed);
    let stays = |engine: &mut super::Engine, client, line: &str| {
        let words = OwnedArgs::from_words(line.split(' ').map(str::as_bytes));
        engine.must_stay(client, words.view(), NOW)
    };
    assert!(!stays(&mut engine, client, "SET foo 1"));
    let (writing, reading) = (enter(&mut engine, Door::Routed), enter(&mut engine, Door::Routed));
    play(
        &mut engine,
        writing,
        &[("MULTI", "+OK"), ("SET foo 1", "+QUEUED")],
    );
    play(&mut engine, reading, &[("MULTI", "+OK"), ("GET foo", "+QUEUED")]);
    let until = NOW_MS + 100;
    engine.world.pause.begin(until, super::Scope::Writes, NOW);
    for (line, expected) in [
        ("SET foo 1", true),
        ("MSET foo 1 bar 1", true),
        ("FLUSHALL", true),
        ("GET foo", false),
        ("CLIENT ID", false),
        ("nosuch", false),
    ] {
        assert_eq!(stays(&mut engine, client, line), expected, "{line}");
    }
    assert!(stays(&mut engine, writing, "EXEC"));
    assert!(!stays(&mut engine, reading, "EXEC"));
    let (link, by_slots) = (enter(&mut engine, Door::Peer), enter(&mut engine, Door::Cluster));
    assert_eq!(run(&mut engine, link, "SET bar 1"), "+OK\r\n");
    assert_eq!(run(&mut engine, by_slots, "SET bar 2"), "");
    engine.world.pause.begin(until, super::Scope::All, NOW);
    assert!(stays(&mut engine, reading, "EXEC"));
    assert_eq!(run(&mut engine, link, "GET bar"), "$1\r\n1\r\n");
    engine.tick(Now::from_ms(until + 1));
    assert!(!stays(&mut engine, writing, "EXEC"));
    assert_eq!(run(&mut engine, link, "GET bar"), "$1\r\n2\r\n");
}

#[test]
fn who_waits_at_another_node_is_found_by_its_number_once() {
    let mut engine = node(&[Some(1), Some(2)]);
    let client = enter(&mut engine, Door::Routed);
    engine.world.awaited_away.insert(77);
    assert!(!engine.world.request_unblock(client.serial(), UnblockAs::Error));
    assert!(engine.world.request_unblock(77, UnblockAs::Error));
    assert!(!engine.world.request_unblock(77, UnblockAs::Timeout));
    assert_eq!(engine.world.unblock_away, [(77, UnblockAs::Error)]);
}

#[test]
fn a_link_has_the_default_limit_whatever_clients_have() {
    let mut engine = node(&[Some(1), Some(2)]);
    let (link, client) = (enter(&mut engine, Door::Peer), enter(&mut engine, Door::Routed));
    let default = engine.output_limit(client);
    let words = [
        &b"CONFIG"[..],
        b"SET",
        b"client-output-buffer-limit",
        b"normal 5 0 0",
    ];
    let words = OwnedArgs::from_words(words.into_iter());
    engine.execute(client, words.view(), NOW, &mut crate::resp::Reply::default());
    assert_eq!(engine.output_limit(client).hard_bytes, 5);
    assert_eq!(engine.output_limit(link), default);
    assert_eq!(engine.output_class(link), OutputClass::Normal);
}

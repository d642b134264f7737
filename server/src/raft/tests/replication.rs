//! Proposals of several shards, and restarts.

use std::time::Duration;

use super::*;

#[test]
fn what_is_acknowledged_is_on_all_nodes_in_the_same_order() {
    let cluster = Cluster::start(3, 3, 2);
    for shard in [ShardId(0), ShardId(1)] {
        let proposed = payloads(&format!("shard {}", shard.0), 500);
        cluster.commit(shard, &proposed);
        assert_eq!(
            cluster.settled(shard, &[1, 2, 3], proposed.last()),
            proposed,
            "each once, in the order of the owner"
        );
    }
    assert_ne!(
        cluster.leader(ShardId(0)),
        cluster.leader(ShardId(1)),
        "the placement's leaders lead"
    );
    let leader = cluster.leader(ShardId(0));
    for status in cluster.of(leader).node().status() {
        assert_eq!(status.voters, [[1, 2, 3].map(NodeId)]);
        if status.shard == ShardId(0) {
            assert_eq!(status.leader, Some(leader));
            assert_eq!(status.last_log, status.committed);
            wait("followers have the leader's log", || {
                let status = cluster.of(leader).node().status().remove(0);
                status.replication.len() == 3 && status.replication.values().all(|at| *at == status.last_log)
            });
        }
    }
    // An owner that is idle, and leases that are held up by heartbeats alone.
    let terms = || {
        let status = cluster
            .machines
            .iter()
            .flat_map(|machine| machine.node().status());
        status.map(|status| status.term).collect::<Vec<_>>()
    };
    let before = terms();
    let until = Instant::now() + Duration::from_secs(2);
    let port = &cluster.of(leader).owner(ShardId(0)).port;
    while Instant::now() < until {
        assert!(port.leads().is_some());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(terms(), before, "nobody was elected");
    let (_, stint) = port.leads().expect("it leads");
    assert!(port.has_lease(stint, crate::replica::Instant::now()));
    cluster.stop();
}

#[test]
fn a_cluster_that_was_stopped_comes_back_with_all_of_it() {
    let mut cluster = Cluster::start(3, 3, 1);
    let shard = ShardId(0);
    let mut all = Vec::new();
    for round in 0..2 {
        let proposed = payloads(&format!("round {round}"), 200);
        cluster.commit(shard, &proposed);
        all.extend(proposed);
        cluster.machines.iter_mut().for_each(Machine::stop);
        cluster.machines.iter_mut().for_each(Machine::start);
        cluster.leader(shard);
        assert_eq!(cluster.settled(shard, &[1, 2, 3], all.last()), all);
    }
    let again = cluster.machines[0].node();
    let made = again.initialize(shard, BTreeMap::from([(NodeId(1), "127.0.0.1:1".to_owned())]));
    let refused = again.handle().block_on(made).expect_err("it has members");
    assert_eq!(refused.to_string(), "the shard has a membership already");
    cluster.stop();
}

#[test]
fn a_follower_that_was_away_catches_up() {
    let mut cluster = Cluster::start(3, 3, 1);
    let shard = ShardId(0);
    let leader = cluster.leader(shard);
    let away = NodeId(leader.0 % 3 + 1);
    cluster.of_mut(away).stop();
    // More than memory keeps, so the disk is read.
    let proposed = payloads("while it was away", 600);
    cluster.commit(shard, &proposed);
    assert_eq!(cluster.leader(shard), leader);
    cluster.of_mut(away).start();
    wait("it has all", || {
        cluster.of(away).owner(shard).keyspace().len() == proposed.len()
    });
    assert_eq!(cluster.settled(shard, &[1, 2, 3], proposed.last()), proposed);
    assert_eq!(cluster.leader(shard), leader, "who comes back takes nothing away");
    cluster.stop();
}

#[test]
fn heartbeats_of_many_shards_travel_together() {
    let cluster = Cluster::start(3, 3, 12);
    // All are led by one node, so that it has twelve for each of the others.
    for shard in (0..12).map(ShardId) {
        let leader = cluster.of(cluster.leader(shard)).node();
        let moved = leader.transfer_leader(shard, NodeId(1));
        assert_eq!(leader.handle().block_on(moved), Ok(()));
        wait("it leads", || cluster.of(NodeId(1)).leads(shard));
    }
    let sent = || {
        let sent = cluster.of(NodeId(1)).node().heartbeats_sent();
        let sum = |of: fn(&(NodeId, u64, u64)) -> u64| sent.iter().map(of).sum::<u64>();
        (sum(|sent| sent.1), sum(|sent| sent.2))
    };
    let before = sent();
    std::thread::sleep(Duration::from_secs(2));
    let after = sent();
    let (messages, heartbeats) = (after.0 - before.0, after.1 - before.1);
    println!("{heartbeats} heartbeats in {messages} messages");
    assert!(heartbeats >= 12 * 2 * 5, "each shard has its own: {heartbeats}");
    assert!(
        messages * 2 <= heartbeats,
        "{heartbeats} heartbeats in {messages} messages"
    );
    cluster.stop();
}

#[test]
fn a_log_that_ends_ends_the_node_and_the_owner_is_told() {
    let mut cluster = Cluster::start(1, 1, 1);
    let shard = ShardId(0);
    cluster.commit(shard, &payloads("before", 10));
    let running = cluster.machines[0].running.take().expect("it runs");
    running.wal.stop().expect("it ends well");
    let owner = &running.owners[0];
    owner.propose("nobody keeps it");
    wait("the stint ends", || owner.port.leads().is_none());
    let fatal = Arc::clone(&cluster.machines[0].fatal);
    wait("it is reported", || !fatal.lock().expect("locked").is_empty());
    assert_eq!(owner.acknowledged(), payloads("before", 10));
    let reported = fatal.lock().expect("locked").clone();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(
        reported[0].starts_with("the group of shard 0 has ended: "),
        "{reported:?}"
    );
    running.node.stop();
    // Its keyspace cannot be made anew from a log that has ended.
    drop(running.owners);
}

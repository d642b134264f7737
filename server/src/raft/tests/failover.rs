//! The leader goes: another leads soon, and nothing that was acknowledged is missing.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn another_leads_soon_and_nothing_acknowledged_is_lost() {
    let mut cluster = Cluster::start(3, 3, 1);
    let shard = ShardId(0);
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        let leader = cluster.leader(shard);
        let proposed = payloads(&format!("round {round}"), 3000);
        let owner = cluster.of(leader).owner(shard);
        proposed.iter().for_each(|payload| owner.propose(payload.clone()));
        wait("some are acknowledged", || owner.acknowledged().len() > 20);
        // It ends in the midst of it.
        let desk = Arc::clone(&owner.desk);
        let start = Instant::now();
        cluster.of_mut(leader).stop();
        let told = desk.acknowledged.lock().expect("locked").clone();
        acknowledged.extend(told.into_iter().filter(|payload| proposed.contains(payload)));
        let next = cluster.leader(shard);
        let new = payloads(&format!("after {round}"), 10);
        cluster.commit(shard, &new[..1]);
        let took = start.elapsed();
        println!("round {round}: from the end of the leader to the next acknowledgement: {took:?}");
        assert!(took < Duration::from_secs(5), "{took:?}");
        assert_ne!(next, leader);
        cluster.commit(shard, &new[1..]);
        acknowledged.extend(new);
        cluster.of_mut(leader).start();
        let held = cluster.settled(shard, &[1, 2, 3], acknowledged.last());
        // In order, each once; in between there may be what nobody was told of.
        let mut rest = held.iter();
        for payload in &acknowledged {
            assert!(rest.any(|held| held == payload), "{payload:?} was acknowledged");
        }
        let mut sorted = held.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), held.len(), "nothing is there twice");
    }
    cluster.stop();
}

#[test]
fn a_leader_without_a_majority_stops_to_answer_and_its_proposals_come_back() {
    let mut cluster = Cluster::start(3, 3, 1);
    let shard = ShardId(0);
    let leader = cluster.leader(shard);
    cluster.commit(shard, &payloads("before", 10));
    let others: Vec<NodeId> = (1..=3).map(NodeId).filter(|node| *node != leader).collect();
    others.iter().for_each(|node| cluster.of_mut(*node).stop());
    let port = Arc::clone(&cluster.of(leader).owner(shard).port);
    wait("its lease is over", || {
        port.lease_end() < crate::replica::Instant::now()
    });
    let owner = cluster.of(leader).owner(shard);
    payloads("nobody hears it", 10)
        .into_iter()
        .for_each(|payload| owner.propose(payload));
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(owner.acknowledged().len(), 10, "nothing runs without a lease");
    others.iter().for_each(|node| cluster.of_mut(*node).start());
    cluster.leader(shard);
    let after = payloads("after", 10);
    cluster.commit(shard, &after);
    let held = cluster.settled(shard, &[1, 2, 3], after.last());
    assert!(held.starts_with(&payloads("before", 10)));
    assert!(after.iter().all(|payload| held.contains(payload)));
    cluster.stop();
}

//! Who holds a shard and who leads it, changed while it is written to.

use super::*;
use crate::raft::members::{ChangeError, TransferError};

const SHARD: ShardId = ShardId(0);

fn change(
    cluster: &Cluster,
    on: NodeId,
    add: &[u64],
    remove: &[u64],
    if_membership: Option<LogId>,
) -> Result<LogId, ChangeError> {
    let add: Vec<_> = add
        .iter()
        .map(|node| (NodeId(*node), cluster.address(NodeId(*node))))
        .collect();
    let remove: Vec<_> = remove.iter().copied().map(NodeId).collect();
    let node = cluster.of(on).node();
    let change = node.change_replicas(SHARD, &add, &remove, if_membership);
    node.handle().block_on(change)
}

#[test]
fn a_new_node_takes_the_place_of_another() {
    let cluster = Cluster::start(4, 3, 1);
    let before = payloads("before", 600);
    cluster.commit(SHARD, &before);
    let leader = cluster.leader(SHARD);
    let gone = leader.0 % 3 + 1;
    let seen = cluster.of(leader).node().status()[0].membership;
    let stale = LogId::new(seen.term.0, seen.node.0, seen.index.0 + 1);
    assert_eq!(
        change(&cluster, leader, &[4], &[gone], Some(stale)),
        Err(ChangeError::Stale { is: seen })
    );
    assert_eq!(
        change(&cluster, leader, &[4], &[leader.0], Some(seen)),
        Err(ChangeError::LeaderLeaves(leader))
    );
    assert_eq!(
        change(&cluster, leader, &[], &[1, 2, 3], None),
        Err(ChangeError::NoVoters)
    );
    let other = NodeId(gone);
    assert_eq!(
        change(&cluster, other, &[4], &[], None),
        Err(ChangeError::NotLeader { leader: Some(leader) })
    );
    assert_eq!(
        cluster.of(leader).node().status()[0].membership,
        seen,
        "what is refused changes nothing"
    );

    let made = change(&cluster, leader, &[4], &[gone], Some(seen)).expect("it is changed");
    let after = payloads("after", 50);
    cluster.commit(SHARD, &after);
    let members: Vec<u64> = (1..=4).filter(|node| *node != gone).collect();
    assert_eq!(
        cluster.settled(SHARD, &members, after.last()),
        [before, after.clone()].concat()
    );
    for node in &members {
        wait("all know the new membership", || {
            let status = cluster.of(NodeId(*node)).node().status().remove(0);
            let voters = members.iter().copied().map(NodeId).collect::<Vec<_>>();
            status.membership == made && status.voters == [voters] && status.learners.is_empty()
        });
    }
    cluster.stop();
}

#[test]
fn a_membership_is_known_after_a_start() {
    let mut cluster = Cluster::start(3, 2, 1);
    let leader = cluster.leader(SHARD);
    let made = change(&cluster, leader, &[3], &[], None).expect("it is changed");
    let all = payloads("all", 20);
    cluster.commit(SHARD, &all);
    cluster.settled(SHARD, &[1, 2, 3], all.last());
    cluster.machines.iter_mut().for_each(Machine::stop);
    cluster.machines.iter_mut().for_each(Machine::start);
    for machine in &cluster.machines {
        wait("it knows its membership", || {
            let status = machine.node().status().remove(0);
            status.membership == made && status.voters == [[1, 2, 3].map(NodeId)]
        });
    }
    cluster.stop();
}

#[test]
fn a_leadership_is_handed_over_and_nothing_is_uncertain() {
    let cluster = Cluster::start(3, 3, 1);
    let mut from = cluster.leader(SHARD);
    let node = cluster.of(from).node();
    let refused = node.handle().block_on(node.transfer_leader(SHARD, NodeId(9)));
    assert_eq!(refused, Err(TransferError::NoVoter(NodeId(9))));
    for round in 0..4 {
        let to = NodeId(from.0 % 3 + 1);
        let owner = cluster.of(from).owner(SHARD);
        let all = payloads(&format!("round {round}"), 2000);
        all.iter().for_each(|payload| owner.propose(payload.clone()));
        let node = cluster.of(from).node();
        let start = Instant::now();
        let moved = node.handle().block_on(node.transfer_leader(SHARD, to));
        assert_eq!(moved, Ok(()), "round {round}");
        wait("it leads", || cluster.of(to).leads(SHARD));
        println!("round {round}: handed over in {:?}", start.elapsed());
        assert_eq!(
            owner.rebuilds(),
            0,
            "round {round}: what was executed was committed before"
        );
        assert!(owner.desk.uncertain.lock().expect("locked").is_empty());
        // What it did not come to is not executed anywhere.
        owner.desk.to_propose.lock().expect("locked").clear();
        from = to;
    }
    let refused = cluster.of(NodeId(from.0 % 3 + 1)).node();
    let refused = refused
        .handle()
        .block_on(refused.transfer_leader(SHARD, NodeId(1)));
    assert_eq!(refused, Err(TransferError::NotLeader { leader: Some(from) }));
    let last = payloads("last", 1);
    cluster.commit(SHARD, &last);
    cluster.settled(SHARD, &[1, 2, 3], last.last());
    cluster.stop();
}

#[test]
fn a_leadership_that_was_given_away_and_not_taken_goes_to_whoever_is_elected() {
    let mut cluster = Cluster::start(3, 3, 1);
    let from = cluster.leader(SHARD);
    let before = payloads("before", 20);
    cluster.commit(SHARD, &before);
    cluster.settled(SHARD, &[1, 2, 3], before.last());
    let to = NodeId(from.0 % 3 + 1);
    cluster.of_mut(to).stop();
    let owner = cluster.of(from).owner(SHARD);
    let (epoch, _) = owner.port.leads().expect("it leads");
    let node = cluster.of(from).node();
    let moved = node.handle().block_on(node.transfer_leader(SHARD, to));
    assert_eq!(moved, Err(TransferError::NotTaken(to)));
    assert!(owner.port.is_closed(epoch), "it does not go on in that epoch");
    let after = payloads("after", 20);
    let leader = cluster.leader(SHARD);
    cluster.commit(SHARD, &after);
    assert_ne!(
        cluster.of(leader).owner(SHARD).port.leads().map(|(now, _)| now),
        Some(epoch)
    );
    let owner = cluster.of(from).owner(SHARD);
    assert!(owner.desk.uncertain.lock().expect("locked").is_empty());
    assert_eq!(owner.rebuilds(), 0, "what was executed was committed before");
    cluster.of_mut(to).start();
    cluster.settled(SHARD, &[1, 2, 3], after.last());
    cluster.stop();
}

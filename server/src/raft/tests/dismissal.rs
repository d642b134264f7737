//! Nodes that hold a shard no longer are told so, and drop what they have of it.

use ruvio_proto::common::v1 as common;
use ruvio_proto::peer::v1 as peer;
use tonic::{Code, Status};

use super::shelf::put;
use super::*;

const SHARD: ShardId = ShardId(0);

/// What `from`, which leads, would say to the others of its shard as it stands.
fn notice(cluster: &Cluster, from: NodeId) -> peer::RemoveReplicaRequest {
    let status = cluster.of(from).node().status().remove(0);
    let set = |nodes: &Vec<NodeId>| common::VoterSet {
        nodes: nodes.iter().map(|node| node.0).collect(),
    };
    let member = |(node, address): (&NodeId, &String)| common::Member {
        node: node.0,
        address: address.clone(),
    };
    let made = status.membership;
    peer::RemoveReplicaRequest {
        shard: 0,
        membership: Some(common::StoredMembership {
            log_id: Some(common::LogId {
                term: made.term.0,
                node: made.node.0,
                index: made.index.0,
            }),
            membership: Some(common::Membership {
                voters: status.voters.iter().map(set).collect(),
                members: status.addresses.iter().map(member).collect(),
            }),
        }),
        vote: Some(common::Vote {
            term: status.vote.term.0,
            node: status.vote.node.0,
            committed: status.vote.committed,
        }),
    }
}

fn tell(
    cluster: &Cluster,
    from: NodeId,
    to: NodeId,
    notice: &peer::RemoveReplicaRequest,
) -> Result<bool, Status> {
    let node = cluster.of(from).node();
    let address = cluster.address(to);
    let told = node.peers().remove_replica(to, &address, notice.clone());
    node.handle().block_on(told).map(|answer| answer.removed)
}

/// Says so until it is done: right after the change the other one has just heard of its leader.
fn tell_until_done(cluster: &Cluster, from: NodeId, to: NodeId, notice: &peer::RemoveReplicaRequest) -> bool {
    let mut answer = None;
    wait("it drops its replica", || match tell(cluster, from, to, notice) {
        Ok(removed) => {
            answer = Some(removed);
            true
        }
        Err(status) => {
            assert_eq!(status.code(), Code::Unavailable, "{status}");
            false
        }
    });
    answer == Some(true)
}

fn change(cluster: &Cluster, on: NodeId, add: &[NodeId], remove: &[NodeId]) {
    let add: Vec<_> = add.iter().map(|node| (*node, cluster.address(*node))).collect();
    let node = cluster.of(on).node();
    let changed = node.change_replicas(SHARD, &add, remove, None);
    node.handle().block_on(changed).expect("it is changed");
}

#[test]
fn who_is_a_member_no_longer_drops_all_and_begins_empty_when_it_is_one_again() {
    let mut cluster = Cluster::start_with(4, 3, 1, true);
    let mut all: Vec<Bytes> = (0..300).map(|nth| put(nth, 100)).collect();
    cluster.commit(SHARD, &all);
    let leader = cluster.leader(SHARD);
    let gone = NodeId(leader.0 % 3 + 1);
    cluster.settled(SHARD, &[1, 2, 3], all.last());
    // It has an image too.
    let running = cluster.of(gone).running.as_ref().expect("it runs");
    let shelf = Arc::clone(running.shelf.as_ref().expect("it has images"));
    shelf.paint(SHARD, &running.stores[0], wal::LogIndex(200));
    let before = notice(&cluster, leader);
    change(&cluster, leader, &[NodeId(4)], &[gone]);
    let after = notice(&cluster, leader);

    let refused = tell(&cluster, leader, gone, &before).expect_err("it is a member by that one");
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    let vote = cluster.of(gone).node().status()[0].vote;
    assert!(
        tell_until_done(&cluster, leader, gone, &after),
        "there was something"
    );
    assert_eq!(
        tell(&cluster, leader, gone, &after).ok(),
        Some(false),
        "and is no longer"
    );

    let is_empty = |cluster: &Cluster| {
        let machine = cluster.of(gone);
        let status = machine.node().status().remove(0);
        status.last_log == LogId::default()
            && status.given == LogId::default()
            && status.voters.concat().is_empty()
            && status.vote == vote
            && machine.owner(SHARD).keyspace().is_empty()
    };
    wait("nothing of it is left but the vote", || is_empty(&cluster));
    assert_eq!(shelf.index(), wal::LogIndex(0), "nor an image");
    drop(shelf);
    // Nor does it come back with a start.
    cluster.of_mut(gone).stop();
    cluster.of_mut(gone).start();
    wait("it knows its vote", || is_empty(&cluster));

    let more: Vec<Bytes> = (300..400).map(|nth| put(nth, 100)).collect();
    cluster.commit(SHARD, &more);
    all.extend(more);
    change(&cluster, cluster.leader(SHARD), &[gone], &[]);
    let last: Vec<Bytes> = (400..410).map(|nth| put(nth, 100)).collect();
    cluster.commit(SHARD, &last);
    all.extend(last);
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3, 4], all.last()), all);
    // What is late says nothing any more.
    let refused = tell(&cluster, cluster.leader(SHARD), gone, &after).expect_err("it is a member");
    assert_eq!(refused.code(), Code::FailedPrecondition, "{refused}");
    cluster.stop();
}

#[test]
fn only_a_leader_with_a_committed_membership_is_believed() {
    let cluster = Cluster::start(4, 3, 1);
    let all = payloads("all", 50);
    cluster.commit(SHARD, &all);
    cluster.settled(SHARD, &[1, 2, 3], all.last());
    let leader = cluster.leader(SHARD);
    let other = NodeId(leader.0 % 3 + 1);
    let honest = notice(&cluster, leader);
    let without = |mutate: &dyn Fn(&mut peer::RemoveReplicaRequest)| {
        let mut forged = honest.clone();
        let membership = forged
            .membership
            .as_mut()
            .and_then(|stored| stored.membership.as_mut());
        let membership = membership.expect("it has one");
        membership.members.retain(|member| member.node != other.0);
        membership.voters[0].nodes.retain(|node| *node != other.0);
        mutate(&mut forged);
        forged
    };
    let refused = |forged: &peer::RemoveReplicaRequest| {
        tell(&cluster, leader, other, forged)
            .expect_err("it is not believed")
            .code()
    };
    let joint = without(&|forged| {
        let membership = forged
            .membership
            .as_mut()
            .and_then(|stored| stored.membership.as_mut());
        let voters = &mut membership.expect("it has one").voters;
        voters.push(voters[0].clone());
    });
    assert_eq!(refused(&joint), Code::InvalidArgument, "a change is under way");
    let unnamed = without(&|forged| forged.membership.as_mut().expect("it has one").log_id = None);
    assert_eq!(refused(&unnamed), Code::InvalidArgument, "nobody made it");
    let not_elected = without(&|forged| forged.vote.as_mut().expect("it has one").committed = false);
    assert_eq!(refused(&not_elected), Code::InvalidArgument, "a candidate");
    let deposed = without(&|forged| forged.vote.as_mut().expect("it has one").term = 0);
    assert_eq!(
        refused(&deposed),
        Code::FailedPrecondition,
        "a leader of a term that is over"
    );
    let foreign = without(&|forged| forged.vote.as_mut().expect("it has one").node = 9);
    assert_eq!(refused(&foreign), Code::PermissionDenied, "in another's name");
    // The best that can be forged meets a node that has just heard of its leader.
    assert_eq!(refused(&without(&|_| ())), Code::Unavailable);
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    cluster.stop();
}

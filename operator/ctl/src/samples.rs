//! Nodes and clusters for tests.

use ruvio_proto::admin::v1::{MemberProgress, NodePhase, ReplicaStatus, Role, StatusResponse};
use ruvio_proto::common::v1::{LogId, Member, Membership, StoredMembership, Vote, VoterSet};

use super::address::Address;
use super::cluster::{Asked, Cluster};

pub fn at(address: &str) -> Address {
    address.parse().expect("an address")
}

pub fn new(shards: u32, peer_port: u32) -> StatusResponse {
    StatusResponse {
        phase: NodePhase::New.into(),
        shards_total: shards,
        peer_port,
        release: "0.1.0".to_owned(),
        ..StatusResponse::default()
    }
}

/// A leader where `leader` says so; `settle` tells them whose they are.
pub fn replica(shard: u32, term: u64, leader: u64, voters: &[u64]) -> ReplicaStatus {
    let member = |node: &u64| Member {
        node: *node,
        address: format!("node-{node}:7379"),
    };
    let log_id = LogId {
        term: 1,
        node: 1,
        index: 1,
    };
    ReplicaStatus {
        shard,
        role: Role::Follower.into(),
        vote: Some(Vote {
            term,
            node: leader,
            committed: true,
        }),
        leader,
        membership: Some(StoredMembership {
            log_id: Some(log_id),
            membership: Some(Membership {
                voters: vec![VoterSet {
                    nodes: voters.to_vec(),
                }],
                members: voters.iter().map(member).collect(),
            }),
        }),
        ..ReplicaStatus::default()
    }
}

pub fn member(node: u64, shards: u32, mut replicas: Vec<ReplicaStatus>) -> StatusResponse {
    for replica in replicas.iter_mut().filter(|replica| replica.leader == node) {
        replica.role = Role::Leader.into();
    }
    StatusResponse {
        cluster_id: vec![10; 16].into(),
        node,
        phase: NodePhase::Serving.into(),
        replicas,
        ..new(shards, 0)
    }
}

pub fn cluster(asked: Vec<(&str, Result<StatusResponse, String>)>) -> Cluster {
    let asked = asked.into_iter().map(|(address, answer)| Asked {
        address: at(address),
        answer,
    });
    Cluster::of(asked.collect()).expect("one cluster")
}

/// One with a node that does not answer, a learner, and a shard without a leader.
pub fn golden() -> Cluster {
    let index = |index| {
        Some(LogId {
            term: 1,
            node: 1,
            index,
        })
    };
    let progress = |node, lag| MemberProgress {
        node,
        lag,
        ..MemberProgress::default()
    };
    let mut first = replica(0, 4, 1, &[1, 2, 3]);
    (first.committed, first.keys, first.memory_bytes) = (index(1042), Some(12), Some((21 << 20) + 5));
    first.members = vec![progress(2, 0), progress(3, 15)];
    let mut second = replica(1, 2, 2, &[1, 2]);
    (second.committed, second.keys, second.memory_bytes) = (index(7), Some(5), Some(900));
    second.members = vec![progress(1, 0), progress(3, 0)];
    let membership = second
        .membership
        .as_mut()
        .and_then(|stored| stored.membership.as_mut());
    membership.expect("it has one").members.push(Member {
        node: 3,
        address: "node-3:7379".to_owned(),
    });
    let mut third = replica(2, 9, 0, &[1, 3]);
    third.trouble = "its keyspace is made anew".to_owned();
    let old = replica(0, 3, 2, &[1, 2]);
    let mut one = member(1, 3, vec![first, replica(1, 2, 2, &[1, 2]), third]);
    one.uptime_ms = 59_999;
    let mut two = member(2, 3, vec![old, second]);
    two.uptime_ms = 3 * 3_600_000;
    // A term ago it led, and has not heard of the new one.
    two.replicas[0].role = Role::Leader.into();
    cluster(vec![
        ("127.0.0.1:7481", Ok(one)),
        ("127.0.0.1:7482", Ok(two)),
        (
            "127.0.0.1:7483",
            Err("cannot reach 127.0.0.1:7483: Connection refused".to_owned()),
        ),
    ])
}

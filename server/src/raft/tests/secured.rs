//! Peers by TLS: they replicate as without it, and who has no good certificate is neither heard nor spoken to.

use super::*;
use crate::tls::tests::{Authority, Folder, shared};

/// Three nodes that hold a shard; the second one's certificate is of this authority.
fn cluster(authority: &Authority, of_second: &Authority) -> (Cluster, Vec<Folder>) {
    let (mut machines, mut folders) = (Vec::new(), Vec::new());
    for id in 1..=3 {
        let mut machine = Machine::new(me(id, 1), 1);
        let by = if id == 2 { of_second } else { authority };
        let (tls, folder) = shared(by, &["127.0.0.1"]);
        machine.tls = Some(tls);
        machine.start();
        machines.push(machine);
        folders.push(folder);
    }
    let cluster = Cluster { machines };
    let members = (1..=3)
        .map(|id| (NodeId(id), cluster.address(NodeId(id))))
        .collect();
    let first = cluster.of(NodeId(1)).node();
    let made = first.initialize(ShardId(0), members);
    first.handle().block_on(made).expect("it is new");
    (cluster, folders)
}

#[test]
fn nodes_agree_by_tls_and_another_leads_when_one_is_gone() {
    let authority = Authority::new();
    let (mut cluster, _folders) = cluster(&authority, &authority);
    let shard = ShardId(0);
    let (before, after) = (payloads("before", 500), payloads("after", 500));
    cluster.commit(shard, &before);
    let leader = cluster.leader(shard);
    cluster.of_mut(leader).stop();
    cluster.commit(shard, &after);
    cluster.of_mut(leader).start();
    let held = cluster.settled(shard, &[1, 2, 3], after.last());
    let all: Vec<Bytes> = before.into_iter().chain(after).collect();
    assert_eq!(held, all);
    cluster.stop();
}

#[test]
fn a_node_whose_certificate_others_signed_is_left_out() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let (cluster, _folders) = cluster(&authority, &stranger);
    let shard = ShardId(0);
    let leader = cluster.leader(shard);
    assert_ne!(leader, NodeId(2), "nobody hears it");
    let proposed = payloads("of two", 300);
    cluster.commit(shard, &proposed);
    cluster.settled(shard, &[1, 3], proposed.last());
    let heard = cluster.of(NodeId(2)).owner(shard).keyspace();
    assert_eq!(heard, [] as [Bytes; 0], "nobody tells it anything");
    cluster.stop();
}

//! Shards whose majority is lost: one survivor goes on alone, with all that it has.

use std::collections::BTreeSet;

use super::*;
use crate::raft::recovery::RecoverError;

const SHARD: ShardId = ShardId(0);

fn survey(
    cluster: &Cluster,
    on: NodeId,
    lost: &[NodeId],
) -> Result<Vec<crate::raft::ShardStatus>, RecoverError> {
    let node = cluster.of(on).node();
    let lost: BTreeSet<NodeId> = lost.iter().copied().collect();
    node.handle().block_on(node.survey(&[], &lost))
}

fn recover(cluster: &Cluster, on: NodeId, seen: crate::raft::ShardStatus) -> Result<(), RecoverError> {
    let node = cluster.of(on).node();
    node.handle().block_on(node.recover(seen))
}

#[test]
fn the_survivor_keeps_all_that_it_has_and_goes_on_alone() {
    let mut cluster = Cluster::start(5, 3, 1);
    let before = payloads("before", 200);
    cluster.commit(SHARD, &before);
    cluster.settled(SHARD, &[1, 2, 3], before.last());
    let survivor = cluster.leader(SHARD);
    let lost: Vec<NodeId> = (1..=3).map(NodeId).filter(|node| *node != survivor).collect();
    assert_eq!(
        survey(&cluster, survivor, &lost),
        Err(RecoverError::Answers(lost[0]))
    );
    for node in &lost {
        cluster.of_mut(*node).stop();
    }
    // Nobody has committed it, and nobody knows that nobody has.
    let tail = payloads("tail", 2);
    let owner = cluster.of(survivor).owner(SHARD);
    tail.iter().for_each(|payload| owner.propose(payload.clone()));
    // As an owner does whose lease has been over for a while.
    let (_, stint) = owner.port.leads().expect("it knows of no other leader");
    wait("its lease is over", || {
        !owner.port.has_lease(stint, crate::replica::Instant::now())
    });
    owner.port.end(stint);

    assert_eq!(
        survey(&cluster, survivor, &[survivor]),
        Err(RecoverError::SelfLost)
    );
    assert_eq!(
        survey(&cluster, survivor, &lost[..1]),
        Ok(vec![]),
        "one of three is no majority"
    );
    let mut stale = survey(&cluster, survivor, &lost)
        .expect("it can be recovered")
        .remove(0);
    stale.last_log.index.0 -= 1;
    assert!(matches!(
        recover(&cluster, survivor, stale),
        Err(RecoverError::Failed { .. })
    ));
    // Its group may just have tried to lead again, or begin anew after what was refused.
    let mut has_tail = false;
    wait("it is recovered", || {
        let seen = survey(&cluster, survivor, &lost).unwrap_or_default().pop();
        has_tail |= seen
            .as_ref()
            .is_some_and(|seen| seen.last_log.index > seen.committed.index);
        seen.is_some_and(|seen| recover(&cluster, survivor, seen).is_ok())
    });
    let mut all = before;
    if has_tail {
        all.extend(cluster.of(survivor).owner(SHARD).keyspace().split_off(all.len()));
        assert!(
            !all.is_empty() && tail.starts_with(&all[200..]),
            "the tail in its order"
        );
    }
    let after = payloads("after", 30);
    cluster.commit(SHARD, &after);
    all.extend(after);
    assert_eq!(cluster.settled(SHARD, &[survivor.0], all.last()), all);
    // Others take the places of the lost ones, and it survives a start.
    let node = cluster.of(survivor).node();
    let added = [4, 5].map(|id| (NodeId(id), cluster.address(NodeId(id))));
    let changed = node.change_replicas(SHARD, &added, &[], None);
    node.handle().block_on(changed).expect("it is changed");
    let last = payloads("last", 5);
    cluster.commit(SHARD, &last);
    all.extend(last);
    assert_eq!(cluster.settled(SHARD, &[survivor.0, 4, 5], all.last()), all);
    cluster.of_mut(survivor).stop();
    cluster.of_mut(survivor).start();
    assert_eq!(cluster.settled(SHARD, &[survivor.0, 4, 5], all.last()), all);
    cluster.stop();
}

#[test]
fn it_is_refused_while_somebody_may_have_more() {
    let mut cluster = Cluster::start(5, 5, 1);
    let all = payloads("all", 20);
    cluster.commit(SHARD, &all);
    cluster.settled(SHARD, &[1, 2, 3, 4, 5], all.last());
    let leader = cluster.leader(SHARD);
    let others: Vec<NodeId> = (1..=5).map(NodeId).filter(|node| *node != leader).collect();
    let (behind, ahead) = (others[0], others[1]);
    // One survivor misses the last entries.
    cluster.of_mut(behind).stop();
    let more = payloads("more", 10);
    cluster.commit(SHARD, &more);
    for node in [leader, others[2], others[3]] {
        cluster.of_mut(node).stop();
    }
    cluster.of_mut(behind).start();
    let lost = [leader, others[2], others[3]];
    wait("it asks all others", || {
        survey(&cluster, behind, &lost) == Err(RecoverError::HasMore(ahead, SHARD))
    });
    assert_eq!(
        survey(&cluster, ahead, &[leader, others[2], behind]),
        Err(RecoverError::Answers(behind))
    );
    assert_eq!(survey(&cluster, ahead, &[leader, others[2]]), Ok(vec![]));
    cluster.of_mut(behind).stop();
    assert_eq!(
        survey(&cluster, ahead, &lost),
        Err(RecoverError::Silent(behind, SHARD))
    );
    cluster.of_mut(behind).start();
    let mut seen = Vec::new();
    wait("the other one can be recovered", || {
        seen = survey(&cluster, ahead, &lost).unwrap_or_default();
        !seen.is_empty()
    });
    recover(&cluster, ahead, seen.remove(0)).expect("it is recovered");
    let last = payloads("last", 3);
    cluster.commit(SHARD, &last);
    let all = [all, more, last.clone()].concat();
    assert_eq!(cluster.settled(SHARD, &[ahead.0], last.last()), all);
    cluster.stop();
}

//! Followers that come back when the log has forgotten what they need.

use std::sync::atomic::Ordering;

use super::shelf::put;
use super::*;

const SHARD: ShardId = ShardId(0);
const VALUE_BYTES: usize = 4000;

/// A cluster whose nodes have images; who leads it, and another one.
fn cluster() -> (Cluster, NodeId, NodeId) {
    let cluster = Cluster::start_with(3, 3, 1, true);
    let leader = cluster.leader(SHARD);
    (cluster, leader, NodeId(leader.0 % 3 + 1))
}

impl Cluster {
    /// The node's image takes in all that its owner has, and the log may forget it.
    fn paint(&self, node: NodeId, may_wait: bool) {
        let running = self.of(node).running.as_ref().expect("it runs");
        let shelf = running.shelf.as_ref().expect("it has images");
        shelf.paint(SHARD, &running.stores[0], running.owners[0].port.given().index);
        running.node.note_image(SHARD, may_wait);
    }

    fn log_bytes(&self, node: NodeId) -> u64 {
        let running = self.of(node).running.as_ref().expect("it runs");
        running.wal.watch().size_bytes()
    }

    fn installed(&self, node: NodeId) -> usize {
        let shelf = self
            .of(node)
            .running
            .as_ref()
            .and_then(|running| running.shelf.clone());
        shelf.expect("it has images").installed.load(Ordering::Acquire)
    }

    fn limit(&self, node: NodeId, bytes_per_second: u64) {
        let shelf = self
            .of(node)
            .running
            .as_ref()
            .and_then(|running| running.shelf.clone());
        let shelf = shelf.expect("it has images");
        shelf
            .bytes_per_second_max
            .store(bytes_per_second, Ordering::Release);
    }

    fn purged(&self, node: NodeId) -> u64 {
        self.of(node).node().status()[0].purged.index.0
    }
}

fn puts(from: usize, to: usize) -> Vec<Bytes> {
    (from..to).map(|nth| put(nth, VALUE_BYTES)).collect()
}

#[test]
fn who_is_too_far_behind_gets_the_image_once_and_the_log_is_bounded_meanwhile() {
    let (mut cluster, leader, away) = cluster();
    let mut all = puts(0, 100);
    cluster.commit(SHARD, &all);
    cluster.of_mut(away).stop();
    // 12 MB, of which no log keeps more than two runs and its last segment.
    for run in 0..10 {
        let some = puts(100 + run * 300, 400 + run * 300);
        cluster.commit(SHARD, &some);
        all.extend(some);
        for node in 1..=3 {
            if NodeId(node) != away {
                cluster.paint(NodeId(node), true);
            }
        }
        assert!(
            cluster.log_bytes(leader) < 8 << 20,
            "{}",
            cluster.log_bytes(leader)
        );
    }
    wait("the log forgets whoever is away", || {
        cluster.purged(leader) > 2000
    });
    cluster.of_mut(away).start();
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    assert_eq!(cluster.installed(away), 1);
    assert!(cluster.purged(away) > 2000);
    assert_eq!(cluster.leader(SHARD), leader, "who comes back takes nothing away");
    // It goes on by the log, also after a start.
    for round in 0..2 {
        let some = puts(10_000 + round * 50, 10_050 + round * 50);
        cluster.commit(SHARD, &some);
        all.extend(some);
        assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
        cluster.of_mut(away).stop();
        cluster.of_mut(away).start();
    }
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    assert_eq!(cluster.installed(away), 0, "nothing since its start");
    cluster.stop();
}

/// A follower is away until its leader's log begins behind it.
fn left_behind(cluster: &mut Cluster, leader: NodeId, away: NodeId) -> Vec<Bytes> {
    cluster.of_mut(away).stop();
    let all = puts(0, 1000);
    cluster.commit(SHARD, &all);
    cluster.paint(leader, false);
    wait("the log forgets", || cluster.purged(leader) > 900);
    all
}

#[test]
fn a_snapshot_that_takes_long_under_load_is_sent_once() {
    let (mut cluster, leader, away) = cluster();
    let mut all = left_behind(&mut cluster, leader, away);
    // 4 MB, so two seconds.
    cluster.limit(leader, 2 << 20);
    cluster.of_mut(away).start();
    let mut next = 1000;
    while cluster.installed(away) == 0 {
        let some = puts(next, next + 20);
        next += 20;
        cluster.commit(SHARD, &some);
        all.extend(some);
        cluster.paint(leader, true);
        assert!(next < 100_000, "it does not arrive");
    }
    assert!(next >= 1200, "clients were served meanwhile: {next}");
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    assert_eq!(cluster.installed(away), 1);
    // What was kept for it is forgotten then.
    let given = cluster.of(leader).owner(SHARD).port.given().index.0;
    wait("the log forgets", || cluster.purged(leader) + 200 > given);
    cluster.stop();
}

#[test]
fn a_receiver_that_ends_in_the_middle_goes_on_where_it_was() {
    let (mut cluster, leader, away) = cluster();
    let all = left_behind(&mut cluster, leader, away);
    cluster.limit(leader, 2 << 20);
    cluster.of_mut(away).start();
    let image = cluster.of(away).image_folder();
    wait("half of it is there", || Shelf::arriving(&image) > 2 << 20);
    cluster.of_mut(away).stop();
    let arrived = Shelf::arriving(&image);
    cluster.of_mut(away).start();
    let keyspace = cluster.of(away).owner(SHARD).keyspace();
    assert!(keyspace.is_empty(), "nothing is installed");
    // Had it begun anew, there would be less for a while.
    wait("it is installed", || {
        let is_done = cluster.installed(away) == 1;
        assert!(Shelf::arriving(&image) >= arrived || cluster.installed(away) == 1);
        is_done
    });
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    cluster.stop();
}

#[test]
fn a_sender_that_ends_in_the_middle_leaves_nothing_and_another_one_sends_its_own() {
    let (mut cluster, leader, away) = cluster();
    let mut all = left_behind(&mut cluster, leader, away);
    let other = NodeId(6 - leader.0 - away.0);
    cluster.paint(other, false);
    cluster.limit(leader, 1 << 20);
    cluster.of_mut(away).start();
    let image = cluster.of(away).image_folder();
    wait("some of it is there", || Shelf::arriving(&image) > 1 << 20);
    cluster.of_mut(leader).stop();
    assert_eq!(cluster.installed(away), 0);
    assert_eq!(cluster.leader(SHARD), other, "only it has all");
    wait("it is installed", || cluster.installed(away) == 1);
    let some = puts(5000, 5050);
    cluster.commit(SHARD, &some);
    all.extend(some);
    assert_eq!(cluster.settled(SHARD, &[other.0, away.0], all.last()), all);
    cluster.of_mut(leader).start();
    assert_eq!(cluster.settled(SHARD, &[1, 2, 3], all.last()), all);
    cluster.stop();
}

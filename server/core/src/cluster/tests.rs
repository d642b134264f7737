//! Tables that are told each other's rows in any order end up the same.

use proptest::prelude::*;

use super::{Node, NodeId, Row, Table};
use crate::engine::Topology;
use crate::text::crc16::SLOTS;

fn row() -> impl Strategy<Value = Row> {
    // Small numbers, so that terms and indexes often meet.
    let nodes = || prop::collection::vec((0..4u64).prop_map(NodeId), 0..3);
    (0..3u64, 0..3u64, prop::option::of(0..4u64), nodes(), nodes()).prop_map(
        |(term, membership, leader, voters, learners)| Row {
            term,
            membership,
            leader: leader.map(NodeId),
            voters,
            learners,
        },
    )
}

fn table(me: u64) -> impl Strategy<Value = Table> {
    let node = (0..4u64, 0..3u64, 0..3u16, any::<bool>()).prop_map(|(id, version, port, is_alive)| Node {
        id: NodeId(id),
        version,
        port,
        is_alive,
        ..Node::default()
    });
    let removed = prop::collection::vec(0..4u64, 0..2);
    let parts = (
        prop::collection::vec(row(), 3),
        prop::collection::vec(node, 0..5),
        removed,
    );
    parts.prop_map(move |(rows, nodes, removed)| {
        let mut table = Table::new(NodeId(me), 3);
        table.rows = rows;
        for node in nodes {
            table.merge_node(node);
        }
        removed.into_iter().for_each(|id| {
            table.remove_node(NodeId(id));
        });
        table
    })
}

fn merged(tables: &[&Table]) -> Table {
    let mut all = tables[0].clone();
    tables[1..].iter().for_each(|table| {
        all.merge(table);
    });
    all
}

proptest! {
    #[test]
    fn the_order_in_which_tables_meet_makes_no_difference(a in table(1), b in table(2), c in table(3)) {
        let left = merged(&[&merged(&[&a, &b]), &c]);
        let right = merged(&[&a, &merged(&[&b, &c])]);
        prop_assert_eq!(left.digest(), right.digest());
        prop_assert_eq!(&left.rows, &right.rows);
        prop_assert_eq!(&left.removed, &right.removed);
        prop_assert!(left.removed.iter().all(|node| !left.nodes.contains_key(node)), "nothing is heard of them");
        prop_assert_eq!(merged(&[&a, &b]).digest(), merged(&[&b, &a]).digest());
        let mut twice = left.clone();
        prop_assert!(!twice.merge(&left) && !twice.merge(&a), "what is known is no news");
        prop_assert_eq!(twice, left);
    }

    #[test]
    fn the_later_row_holds(a in row(), b in row()) {
        let mut held = a.clone();
        held.merge(b.clone());
        let age = |row: &Row| (row.term, row.membership);
        prop_assert_eq!(age(&held), age(&a).max(age(&b)));
    }

    #[test]
    fn tables_that_differ_have_different_digests(a in table(1), b in table(1)) {
        let told = |table: &Table| {
            let mut table = table.clone();
            table.nodes.values_mut().for_each(|node| node.is_alive = false);
            table
        };
        prop_assert_eq!(a.digest() == b.digest(), told(&a) == told(&b));
    }

    #[test]
    fn ids_have_forty_digits_and_are_found_again(id in any::<u64>()) {
        let shown = NodeId(id).to_string();
        prop_assert_eq!(shown.len(), 40);
        prop_assert!(shown.bytes().all(|digit| digit.is_ascii_hexdigit() && !digit.is_ascii_uppercase()));
        prop_assert_eq!(NodeId::parse(shown.as_bytes()), Some(NodeId(id)));
        prop_assert_eq!(NodeId::parse(&shown.as_bytes()[..39]), None);
    }
}

/// It was told to drain before it ended, by a clock that was ahead.
#[test]
fn what_a_node_says_of_itself_holds_though_others_know_something_later() {
    let me = NodeId(1);
    let described = |version, is_draining| Node {
        id: me,
        version,
        is_draining,
        ..Node::default()
    };
    let (mut own, mut other) = (Table::new(me, 3), Table::new(NodeId(2), 3));
    own.merge_node(described(100, false));
    other.merge_node(described(900, true));
    assert!(own.learn(&other));
    assert_eq!(own.nodes[&me], described(901, false));
    assert!(other.learn(&own));
    assert_eq!(other.nodes[&me], described(901, false));
    assert!(!own.learn(&other), "they agree");
}

/// Clients keep them: they are the same in every version.
#[test]
fn ids_are_what_they_were() {
    assert_eq!(NodeId(1).to_string(), "396419e139bbe31bef265f780000000000000001");
    assert_eq!(
        super::table::ShardName(0).to_string(),
        "b6ae330d9e0901fa72db6adb0000000000000000"
    );
}

#[test]
fn slots_of_shards_are_those_that_keys_are_routed_by() {
    for shards in [1, 3, 6, 7, 1000, SLOTS] {
        let topology = Topology {
            shards,
            owners: 1,
            me: 0,
        };
        let table = Table::new(NodeId(1), shards);
        let mut next = 0;
        for shard in 0..shards {
            let (start, end) = table.slots_of(shard);
            assert_eq!(start, next);
            assert!(topology.shard_of(start) == shard && topology.shard_of(end) == shard);
            next = end + 1;
        }
        assert_eq!(next, SLOTS);
    }
}

//! Appends that come twice, in another order, or from a leader of long ago: what they say is known, or does not fit.

use futures_util::stream;
use openraft::RaftLogReader;
use openraft::alias::{EntryOf, LogIdOf};
use openraft::raft::AppendEntriesRequest;
use ruvio_proto::metadata;
use ruvio_proto::peer::v1 as peer;
use ruvio_proto::peer::v1::append_response::Outcome;
use tonic::{Code, Status};

use super::refusals::{client, stamped};
use super::*;
use crate::raft::types::C;
use crate::raft::wire::{self, Wire};

const SHARD: ShardId = ShardId(0);
const FOLLOWER: NodeId = NodeId(1);

/// A cluster in which node 1 follows; its leader, and all that the leader's log holds.
fn cluster() -> (Cluster, NodeId, Vec<EntryOf<C>>) {
    let cluster = Cluster::start(3, 3, 1);
    let all = payloads("all", 30);
    cluster.commit(SHARD, &all);
    let mut leader = cluster.leader(SHARD);
    if leader == FOLLOWER {
        let node = cluster.of(leader).node();
        leader = NodeId(2);
        let moved = node.handle().block_on(node.transfer_leader(SHARD, leader));
        moved.expect("it is handed over");
        wait("it leads", || cluster.of(leader).leads(SHARD));
    }
    let more = payloads("more", 10);
    cluster.commit(SHARD, &more);
    cluster.settled(SHARD, &[1, 2, 3], more.last());
    let running = cluster.of(leader).running.as_ref().expect("it runs");
    let mut store = running.stores[0].clone();
    let entries = running.node.handle().block_on(store.try_get_log_entries(0..));
    (cluster, leader, entries.expect("the log is readable"))
}

fn append(vote: wal::Vote, previous: Option<LogIdOf<C>>, entries: &[EntryOf<C>]) -> peer::AppendRequest {
    let request = AppendEntriesRequest::<C> {
        vote: wire::library_vote(vote),
        prev_log_id: previous,
        entries: entries.to_vec(),
        leader_commit: None,
    };
    request.to_wire()
}

/// What node 1 answers to these messages of the leader, up to the end of its stream.
fn answers(
    cluster: &Cluster,
    as_whom: &Me,
    messages: Vec<peer::AppendRequest>,
) -> Result<Vec<Outcome>, Status> {
    let machine = cluster.of(FOLLOWER);
    machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        let mut request = stamped(as_whom, stream::iter(messages));
        let shard = "0".parse().expect("a number");
        request.metadata_mut().insert(metadata::SHARD, shard);
        let mut answers = client.append(request).await?.into_inner();
        let mut said = Vec::new();
        while let Some(answer) = answers.message().await? {
            said.extend(answer.outcome);
        }
        Ok(said)
    })
}

fn is_matched(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Matched(_))
}

#[test]
fn a_stream_that_is_replayed_or_reordered_changes_nothing() {
    let (cluster, leader, entries) = cluster();
    let as_leader = me(leader.0, 1);
    let vote = cluster.of(leader).node().status()[0].vote;
    let before = (
        cluster.of(FOLLOWER).node().status()[0].last_log,
        cluster.of(FOLLOWER).owner(SHARD).keyspace(),
    );
    let said = |messages| answers(&cluster, &as_leader, messages).expect("it is heard");
    let id = |nth: usize| Some(entries[nth].log_id);
    let last = entries.len() - 1;

    let whole = append(vote, None, &entries);
    let part = append(vote, id(9), &entries[10..20]);
    let twice = said(vec![whole.clone(), part.clone(), whole, part.clone()]);
    assert!(twice.len() == 4 && twice.iter().all(is_matched), "{twice:?}");

    // What is behind a gap waits for nothing: the stream ends there.
    let mut beyond = entries[last].clone();
    beyond.log_id.index += 7;
    let mut before_it = entries[last].log_id;
    before_it.index += 6;
    let gap = append(vote, Some(before_it), &[beyond]);
    let said_of_gap = said(vec![part.clone(), gap, part.clone()]);
    assert!(is_matched(&said_of_gap[0]), "{said_of_gap:?}");
    assert!(
        matches!(said_of_gap[1..], [Outcome::Conflict(_)]),
        "{said_of_gap:?}"
    );

    let mut swapped = entries[10..20].to_vec();
    swapped.swap(2, 7);
    let reordered = said(vec![append(vote, id(9), &swapped), part.clone()]);
    assert_eq!(reordered.len(), 0, "a message that is none ends the stream");

    let old = wal::Vote {
        term: wal::Term(vote.term.0 - 1),
        ..vote
    };
    let late = said(vec![append(old, id(9), &entries[10..20]), part]);
    assert!(matches!(late[..], [Outcome::HigherVote(_)]), "{late:?}");

    let after = (
        cluster.of(FOLLOWER).node().status()[0].last_log,
        cluster.of(FOLLOWER).owner(SHARD).keyspace(),
    );
    assert_eq!(before, after);
    let last = payloads("last", 5);
    cluster.commit(SHARD, &last);
    cluster.settled(SHARD, &[1, 2, 3], last.last());
    cluster.stop();
}

#[test]
fn a_stream_of_another_cluster_or_without_the_token_is_not_read() {
    let (cluster, leader, entries) = cluster();
    let status = cluster.of(leader).node().status().remove(0);
    let before = cluster.of(FOLLOWER).node().status()[0].last_log;
    // One entry more than there is, in the leader's name and term.
    let mut next = entries.last().expect("there are some").clone();
    next.log_id.index += 1;
    let forged = append(status.vote, entries.last().map(|entry| entry.log_id), &[next]);
    let honest = me(leader.0, 1);
    let strangers = [
        (
            Me {
                cluster: ClusterId([3; 16]),
                ..honest.clone()
            },
            Code::PermissionDenied,
        ),
        (
            Me {
                token: None,
                ..honest.clone()
            },
            Code::Unauthenticated,
        ),
        (
            Me {
                incarnation: 5,
                ..honest
            },
            Code::PermissionDenied,
        ),
        // Another member, which does not lead.
        (me(if leader == NodeId(2) { 3 } else { 2 }, 1), Code::Ok),
    ];
    for (stranger, code) in strangers {
        match answers(&cluster, &stranger, vec![forged.clone(), forged.clone()]) {
            Err(status) => assert_eq!(status.code(), code, "{status}"),
            Ok(said) => assert!(code == Code::Ok && said.is_empty(), "{said:?}"),
        }
    }
    assert_eq!(cluster.of(FOLLOWER).node().status()[0].last_log, before);
    let last = payloads("last", 5);
    cluster.commit(SHARD, &last);
    cluster.settled(SHARD, &[1, 2, 3], last.last());
    cluster.stop();
}

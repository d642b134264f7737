//! What goes through the wire comes back as it was, and nothing that comes from it causes a panic.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use openraft::alias::{EntryOf, LogIdOf, SnapshotMetaOf, StoredMembershipOf, VoteOf};
use openraft::impls::BasicNode;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, StreamAppendError, TransferLeaderError,
    TransferLeaderRequest, TransferLeaderResponse, VoteRequest, VoteResponse,
};
use openraft::{EntryPayload, SnapshotMeta};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use prost::Message;
use ruvio_proto::common::v1 as common;
use ruvio_proto::peer::v1 as peer;

use super::*;
use crate::raft::types::{Batch, Membership};

const SHARD: ShardId = ShardId(7);

fn id(term: u64, node: u64, index: u64) -> LogIdOf<C> {
    LogIdOf::<C>::new(leader_id(term, node), index)
}

fn any_id() -> impl Strategy<Value = LogIdOf<C>> {
    (any::<u64>(), any::<u64>(), 0..u64::MAX).prop_map(|(term, node, index)| id(term, node, index))
}

fn any_vote(committed: impl Strategy<Value = bool>) -> impl Strategy<Value = VoteOf<C>> {
    (any::<u64>(), any::<u64>(), committed).prop_map(|(term, node, committed)| VoteOf::<C> {
        leader_id: leader_id(term, node),
        committed,
    })
}

fn any_membership() -> impl Strategy<Value = Membership> {
    let nodes = btree_map(any::<u64>(), "[a-z0-9.-]{0,40}:[0-9]{1,5}", 1..6);
    (nodes, vec(vec(any::<prop::sample::Index>(), 1..5), 1..3)).prop_map(|(nodes, sets)| {
        let ids: Vec<u64> = nodes.keys().copied().collect();
        let voters = |set: Vec<prop::sample::Index>| set.iter().map(|at| ids[at.index(ids.len())]).collect();
        let sets: Vec<BTreeSet<u64>> = sets.into_iter().map(voters).collect();
        let nodes: BTreeMap<u64, BasicNode> = nodes
            .into_iter()
            .map(|(node, addr)| (node, BasicNode { addr }))
            .collect();
        Membership::new(sets, nodes).expect("voters are members")
    })
}

fn any_payload() -> impl Strategy<Value = EntryPayload<Batch, u64, BasicNode>> {
    prop_oneof![
        Just(EntryPayload::Blank),
        vec(any::<u8>(), 0..50).prop_map(|bytes| EntryPayload::Normal(Batch(bytes.into()))),
        any_membership().prop_map(EntryPayload::Membership),
    ]
}

/// Entries in order behind `previous`.
fn any_append() -> impl Strategy<Value = AppendEntriesRequest<C>> {
    (
        any_vote(Just(true)),
        option::of((0u64..1000, 0u64..9, 0u64..1 << 60)),
        vec((0u64..3, any_payload()), 0..6),
        option::of(any_id()),
    )
        .prop_map(|(vote, previous, payloads, leader_commit)| {
            let prev_log_id = previous.map(|(term, node, index)| id(term, node, index));
            let (mut term, node) = previous.map_or((0, 0), |(term, node, _)| (term, node));
            let mut at = prev_log_id.map_or(0, |id| id.index + 1);
            let entries = payloads.into_iter().map(|(step, payload)| {
                term += step;
                at += 1;
                EntryOf::<C> {
                    log_id: id(term, node, at - 1),
                    payload,
                }
            });
            AppendEntriesRequest {
                vote,
                prev_log_id,
                entries: entries.collect(),
                leader_commit,
            }
        })
}

/// Through the bytes and back.
fn sent<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).expect("what was encoded is decoded")
}

fn through<T: Wire>(value: T) -> T
where
    T::Sent: Message + Default,
{
    T::from_wire(sent(&value.to_wire())).expect("what was sent is received")
}

fn assert_same(a: &AppendEntriesRequest<C>, b: &AppendEntriesRequest<C>) {
    assert_eq!(
        (&a.vote, &a.prev_log_id, &a.entries, &a.leader_commit),
        (&b.vote, &b.prev_log_id, &b.entries, &b.leader_commit)
    );
}

proptest! {
    #[test]
    fn appends_and_their_answers_come_through(append in any_append(), at in option::of(any_id()), vote in any_vote(any::<bool>())) {
        assert_same(&through(append.clone()), &append);
        let mut outcomes: Vec<Appended> = vec![Ok(at), Err(StreamAppendError::HigherVote(vote))];
        outcomes.extend(at.map(|at| Err(StreamAppendError::Conflict(at))));
        for outcome in outcomes {
            prop_assert_eq!(through(outcome.clone()), outcome);
        }
    }

    #[test]
    fn heartbeats_and_their_answers_come_through(mut append in any_append(), vote in any_vote(any::<bool>())) {
        append.entries.clear();
        let (shard, received) = heartbeat_from_wire(sent(&heartbeat_to_wire(SHARD, append.clone()))).expect("received");
        prop_assert_eq!(shard, SHARD);
        assert_same(&received, &append);
        let answers = [
            Ok(AppendEntriesResponse::Success),
            Ok(AppendEntriesResponse::HigherVote(vote)),
            Ok(AppendEntriesResponse::Conflict),
            Err("loading".to_owned()),
        ];
        for answer in answers {
            let received = heartbeat_answer_from_wire(
                sent(&heartbeat_answer_to_wire(SHARD, answer.clone())), Some(id(1, 1, 0)));
            prop_assert_eq!(received, Ok((SHARD, answer)));
        }
    }

    #[test]
    fn elections_come_through(
        vote in any_vote(Just(false)), leader in any_vote(Just(true)), last in option::of(any_id()),
        other in option::of(any_id()), flag in any::<bool>(), to in any::<u64>(),
    ) {
        let mut request = VoteRequest::new(vote, last);
        request.leadership_transfer = flag;
        prop_assert_eq!(vote_from_wire(sent(&vote_to_wire(SHARD, request.clone()))), Ok((SHARD, request)));
        let response = VoteResponse { vote, vote_granted: flag, last_log_id: last };
        prop_assert_eq!(through(response.clone()), response);
        let transfer = TransferLeaderRequest::new(leader, to, last);
        prop_assert_eq!(transfer_from_wire(sent(&transfer_to_wire(SHARD, &transfer))), Ok((SHARD, transfer)));
        let responses: [TransferLeaderResponse<C>; 3] = [
            Ok(()),
            Err(TransferLeaderError::VoteChanged { expected: leader, actual: vote }),
            Err(TransferLeaderError::LogNotFlushed { expected: last, actual: other }),
        ];
        for response in responses {
            prop_assert_eq!(through(response.clone()), response);
        }
    }

    #[test]
    fn memberships_come_through_peers_and_the_log(membership in any_membership(), at in any_id()) {
        let stored = StoredMembershipOf::<C>::new(Some(at), membership.clone());
        prop_assert_eq!(&through(stored.clone()), &stored);
        let meta: SnapshotMetaOf<C> = SnapshotMeta { last_log_id: Some(at), last_membership: stored };
        prop_assert_eq!(&through(meta.clone()), &meta);
        let payload = membership_payload(membership.clone());
        prop_assert!(payload.len() <= wal::MEMBERSHIP_MAX);
        prop_assert_eq!(membership_of_payload(&payload), Ok(membership));
    }

    /// Every message type, from bytes that nobody made: an error or a value, and a value can be sent again.
    #[test]
    fn any_bytes_are_a_message_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        receive_all(&bytes);
        let _ = membership_of_payload(&bytes);
        for kind in [wal::Kind::Entry, wal::Kind::RaftEntry] {
            let _ = entry_of_log(kind, wal::LogId::new(1, 1, 1), Bytes::copy_from_slice(&bytes));
        }
    }

    /// The same of bytes that were a message until one of them was changed.
    #[test]
    fn a_changed_message_is_a_message_or_an_error(append in any_append(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = append.to_wire().encode_to_vec();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        receive_all(&bytes);
    }
}

fn receive_all(bytes: &[u8]) {
    fn receive<T: Wire>(bytes: &[u8])
    where
        T::Sent: Message + Default,
    {
        if let Ok(message) = T::Sent::decode(bytes)
            && let Ok(value) = T::from_wire(message)
        {
            value.to_wire();
        }
    }
    receive::<AppendEntriesRequest<C>>(bytes);
    receive::<Appended>(bytes);
    receive::<EntryOf<C>>(bytes);
    receive::<StoredMembershipOf<C>>(bytes);
    receive::<SnapshotMetaOf<C>>(bytes);
    receive::<VoteResponse<C>>(bytes);
    receive::<TransferLeaderResponse<C>>(bytes);
    let _ = peer::ShardHeartbeat::decode(bytes).map(heartbeat_from_wire);
    let _ = peer::ShardHeartbeatAnswer::decode(bytes).map(|sent| heartbeat_answer_from_wire(sent, None));
    let _ = peer::VoteRequest::decode(bytes).map(vote_from_wire);
    let _ = peer::TransferLeaderRequest::decode(bytes).map(transfer_from_wire);
}

fn append_of(previous: Option<LogIdOf<C>>, ids: &[LogIdOf<C>]) -> peer::AppendRequest {
    AppendEntriesRequest::<C> {
        vote: VoteOf::<C>::new_committed(3, 1),
        prev_log_id: previous,
        entries: ids
            .iter()
            .map(|id| EntryOf::<C> {
                log_id: *id,
                payload: EntryPayload::Blank,
            })
            .collect(),
        leader_commit: None,
    }
    .to_wire()
}

fn refused(sent: peer::AppendRequest) -> Option<Malformed> {
    AppendEntriesRequest::<C>::from_wire(sent).err()
}

#[test]
fn entries_that_do_not_follow_on_each_other_are_refused() {
    assert_eq!(refused(append_of(None, &[id(0, 1, 0), id(2, 1, 1)])), None);
    assert_eq!(refused(append_of(None, &[id(1, 1, 1)])), Some(Malformed::Gap));
    assert_eq!(
        refused(append_of(Some(id(1, 1, 4)), &[id(1, 1, 6)])),
        Some(Malformed::Gap)
    );
    assert_eq!(
        refused(append_of(Some(id(1, 1, 4)), &[id(1, 1, 4)])),
        Some(Malformed::Gap)
    );
    assert_eq!(
        refused(append_of(Some(id(2, 1, 4)), &[id(1, 1, 5)])),
        Some(Malformed::Gap),
        "a term never falls"
    );
    assert_eq!(
        refused(append_of(Some(id(2, 1, u64::MAX)), &[id(2, 1, 0)])),
        Some(Malformed::Gap)
    );
}

#[test]
fn only_who_was_elected_appends_and_only_who_was_not_asks_for_votes() {
    let mut append = append_of(None, &[]);
    append.vote = Some(VoteOf::<C>::new(3, 1).to_wire());
    assert_eq!(refused(append.clone()), Some(Malformed::NotElected));
    append.vote = None;
    assert_eq!(refused(append), Some(Malformed::Missing("vote")));
    let request = VoteRequest::new(VoteOf::<C>::new_committed(3, 1), None);
    assert_eq!(
        vote_from_wire(vote_to_wire(SHARD, request)),
        Err(Malformed::Answer)
    );
}

#[test]
fn counts_and_numbers_are_bounded() {
    let mut append = append_of(None, &[]);
    append.entries = vec![peer::Entry::default(); ENTRIES_MAX + 1];
    assert_eq!(refused(append), Some(Malformed::TooLarge("entries")));
    let member = |node, address: String| common::Member { node, address };
    let crowd = common::Membership {
        voters: Vec::new(),
        members: (0..=MEMBERS_MAX as u64)
            .map(|n| member(n, "a:1".into()))
            .collect(),
    };
    assert_eq!(
        Membership::from_wire(crowd),
        Err(Malformed::TooLarge("membership"))
    );
    let long = common::Membership {
        voters: Vec::new(),
        members: vec![member(1, "a".repeat(ADDRESS_BYTES_MAX + 1))],
    };
    assert_eq!(Membership::from_wire(long), Err(Malformed::TooLarge("address")));
    assert_eq!(shard(SHARDS_MAX as u32), Err(Malformed::Shard(SHARDS_MAX as u32)));
    assert_eq!(shard(u32::MAX), Err(Malformed::Shard(u32::MAX)));
}

#[test]
fn the_largest_membership_fits_what_each_segment_restates() {
    let members: BTreeMap<u64, BasicNode> = (0..MEMBERS_MAX as u64)
        .map(|n| {
            (
                u64::MAX - n,
                BasicNode {
                    addr: "a".repeat(ADDRESS_BYTES_MAX),
                },
            )
        })
        .collect();
    let all: BTreeSet<u64> = members.keys().copied().collect();
    let largest = Membership::new(vec![all.clone(), all], members).expect("voters are members");
    assert!(membership_payload(largest).len() <= wal::MEMBERSHIP_MAX);
}

#[test]
fn a_membership_without_a_majority_is_no_entry() {
    for voters in [
        vec![],
        vec![common::VoterSet { nodes: vec![] }],
        vec![common::VoterSet { nodes: vec![9] }],
    ] {
        let entry = peer::Entry {
            id: Some(id(1, 1, 1).to_wire()),
            payload: Some(peer::entry::Payload::Membership(common::Membership {
                voters,
                members: Vec::new(),
            })),
        };
        assert_eq!(EntryOf::<C>::from_wire(entry), Err(Malformed::Membership));
    }
}

#[test]
fn the_librarys_first_entry_is_our_entry_1() {
    assert_eq!(wal_id(&id(0, 3, 0)), wal::LogId::new(0, 3, 1));
    assert_eq!(library_id(wal::LogId::new(0, 3, 1)), Some(id(0, 3, 0)));
    assert_eq!(library_id(wal::LogId::default()), None);
    assert_eq!(
        LogIdOf::<C>::from_wire(common::LogId {
            term: 1,
            node: 1,
            index: 0
        }),
        Err(Malformed::Index)
    );
}

#[test]
fn nothing_can_conflict_with_nothing() {
    let conflict = heartbeat_answer_to_wire(SHARD, Ok(AppendEntriesResponse::Conflict));
    assert_eq!(heartbeat_answer_from_wire(conflict, None), Err(Malformed::Answer));
}

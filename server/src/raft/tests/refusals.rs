//! Peers that do not belong here, and messages that nobody would send.

use std::time::Duration;

use futures_util::stream;
use ruvio_proto::common::v1 as common;
use ruvio_proto::metadata;
use ruvio_proto::peer::v1 as peer;
use ruvio_proto::peer::v1::peer_client::PeerClient;
use tonic::service::Interceptor;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

use super::*;
use crate::raft::identity::Stamp;

/// A call to node 1 as somebody.
pub fn stamped<T>(as_whom: &Me, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let stamp = Stamp::new(as_whom, NodeId(1)).call(Request::new(()));
    *request.metadata_mut() = stamp.expect("it is stamped").metadata().clone();
    request
}

pub async fn client(machine: &Machine) -> PeerClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{}", machine.address)).expect("an address");
    PeerClient::new(endpoint.connect().await.expect("it listens"))
}

fn vote(shard: u32, term: u64, node: u64) -> peer::VoteRequest {
    peer::VoteRequest {
        shard,
        vote: Some(common::Vote {
            term,
            node,
            committed: false,
        }),
        last_log_id: None,
        leadership_transfer: false,
    }
}

fn said(status: &Status) -> (Code, &str) {
    (status.code(), status.message())
}

#[test]
fn a_stranger_is_refused_with_a_sentence_and_changes_nothing() {
    let cluster = Cluster::start(3, 3, 1);
    let first = payloads("first", 1);
    cluster.commit(ShardId(0), &first);
    cluster.settled(ShardId(0), &[1, 2, 3], first.last());
    let machine = cluster.of(NodeId(1));
    let term = machine.node().status()[0].term;
    let strangers = [
        (
            Me {
                cluster: ClusterId([1; 16]),
                ..me(2, 1)
            },
            Code::PermissionDenied,
            "this node is of cluster 09090909090909090909090909090909, and the caller of \
             01010101010101010101010101010101",
        ),
        (
            Me {
                token: Token::new("another"),
                ..me(2, 1)
            },
            Code::Unauthenticated,
            "the token is not that of this cluster",
        ),
        (
            Me {
                token: None,
                ..me(2, 1)
            },
            Code::Unauthenticated,
            "the token is not that of this cluster",
        ),
        (
            Me {
                incarnation: 7,
                ..me(2, 1)
            },
            Code::PermissionDenied,
            "node 2 is known as incarnation 00000000000003ea and not 0000000000000007: a node that lost its volume \
             joins as a new one, with a new id",
        ),
    ];
    machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        for (stranger, code, sentence) in &strangers {
            let refused = client.vote(stamped(stranger, vote(0, term + 50, 2))).await;
            assert_eq!(said(&refused.expect_err("refused")), (*code, *sentence));
        }
    });
    assert_eq!(machine.node().status()[0].term, term);
    cluster.commit(ShardId(0), &payloads("as before", 10));
    cluster.stop();
}

#[test]
fn hello_wants_the_same_shards_and_a_version_nearby() {
    let cluster = Cluster::start(1, 1, 1);
    let machine = cluster.of(NodeId(1));
    let hello = |shards, format_version, node| peer::HelloRequest {
        cluster_id: Bytes::copy_from_slice(&CLUSTER.0),
        node,
        incarnation: 1002,
        to_node: 1,
        format_version,
        shards,
        cluster_token: Bytes::new(),
        release: String::new(),
    };
    machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        let answer = client.hello(stamped(&me(2, 1), hello(1, 1, 2))).await;
        let answer = answer.expect("it fits").into_inner();
        assert_eq!(
            (answer.node, answer.incarnation, answer.format_version),
            (1, 1001, 1)
        );
        let refused = client.hello(stamped(&me(2, 1), hello(6, 1, 2))).await;
        let sentence = "this node's cluster has 1 shards, and the caller's 6";
        assert_eq!(
            said(&refused.expect_err("refused")),
            (Code::PermissionDenied, sentence)
        );
        let refused = client.hello(stamped(&me(2, 1), hello(1, 9, 2))).await;
        let sentence = "this node speaks version 1, and the caller 9: update one version at a time";
        assert_eq!(
            said(&refused.expect_err("refused")),
            (Code::PermissionDenied, sentence)
        );
        let refused = client.hello(stamped(&me(2, 1), hello(1, 1, 3))).await;
        let sentence = "what it says of itself is not what its metadata says";
        assert_eq!(
            said(&refused.expect_err("refused")),
            (Code::PermissionDenied, sentence)
        );
    });
    cluster.stop();
}

#[test]
fn a_peer_speaks_for_itself_and_about_shards_that_are_here() {
    let cluster = Cluster::start(1, 1, 1);
    let machine = cluster.of(NodeId(1));
    let peer = me(2, 1);
    machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        let refused = client.vote(stamped(&peer, vote(0, 90, 3))).await;
        assert_eq!(
            said(&refused.expect_err("refused")),
            (Code::PermissionDenied, "node 2 speaks in the name of node 3")
        );
        let refused = client.pre_vote(stamped(&peer, vote(5, 90, 2))).await;
        assert_eq!(
            said(&refused.expect_err("refused")),
            (Code::NotFound, "node 1 has no replica of shard 5")
        );
        let refused = client.vote(stamped(&peer, vote(70000, 90, 2))).await;
        assert_eq!(refused.expect_err("refused").code(), Code::InvalidArgument);
        // A stream whose message is no append ends, and nothing of it is done.
        let mut append = stamped(&peer, stream::iter([peer::AppendRequest::default()]));
        append
            .metadata_mut()
            .insert(metadata::SHARD, "0".parse().expect("a number"));
        let answers = client.append(append).await.expect("the shard is here");
        let end = answers.into_inner().message().await.expect("no error");
        assert_eq!(end, None);
        let topology = client
            .topology(stamped(&peer, peer::TopologyRequest::default()))
            .await;
        assert_eq!(topology.expect_err("refused").code(), Code::Unavailable);
    });
    cluster.commit(ShardId(0), &payloads("as before", 10));
    cluster.stop();
}

#[test]
fn a_message_that_is_too_large_is_not_read() {
    let cluster = Cluster::start(1, 1, 1);
    let machine = cluster.of(NodeId(1));
    let last = machine.node().status()[0].last_log;
    let id = |term, index| common::LogId { term, node: 2, index };
    let append = |bytes: usize| peer::AppendRequest {
        vote: Some(common::Vote {
            term: 90,
            node: 2,
            committed: true,
        }),
        previous: None,
        entries: vec![peer::Entry {
            id: Some(id(90, 1)),
            payload: Some(peer::entry::Payload::Effects(vec![0; bytes].into())),
        }],
        committed: Some(id(90, 1)),
    };
    machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        let mut request = stamped(&me(2, 1), stream::iter([append(65 << 20)]));
        let shard = "0".parse().expect("a number");
        request.metadata_mut().insert(metadata::SHARD, shard);
        let answer = match client.append(request).await {
            Ok(answers) => answers.into_inner().message().await,
            Err(refused) => Err(refused),
        };
        assert!(!matches!(answer, Ok(Some(_))), "{answer:?}");
        // A call with one answer says why.
        let host = peer::TopologyNode {
            client_host: "h".repeat(65 << 20),
            ..peer::TopologyNode::default()
        };
        let table = peer::TopologyRequest {
            nodes: vec![host],
            ..peer::TopologyRequest::default()
        };
        let refused = client.topology(stamped(&me(2, 1), table)).await;
        assert_eq!(refused.expect_err("it is too large").code(), Code::OutOfRange);
    });
    assert_eq!(machine.node().status()[0].last_log, last);
    cluster.commit(ShardId(0), &payloads("as before", 10));
    cluster.stop();
}

#[test]
fn nobody_is_voted_for_while_a_forgotten_lease_may_hold() {
    let mut cluster = Cluster::start(1, 1, 1);
    let shard = ShardId(0);
    cluster.commit(shard, &payloads("before", 3));
    cluster.machines[0].stop();
    let start = Instant::now();
    cluster.machines[0].start();
    let machine = cluster.of(NodeId(1));
    let peer = me(2, 1);
    let refused = machine.node().handle().block_on(async {
        let mut client = client(machine).await;
        client.vote(stamped(&peer, vote(0, 90, 2))).await
    });
    // On a machine that is too slow to ask in time nothing is shown.
    if start.elapsed() < Timing::default().election_max {
        let status = refused.expect_err("it has just started");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
    }
    cluster.leader(shard);
    assert!(
        start.elapsed() >= Timing::default().election_max,
        "nor does it stand for election itself"
    );
    std::thread::sleep(Duration::from_millis(10));
    cluster.commit(shard, &payloads("after", 3));
    cluster.stop();
}

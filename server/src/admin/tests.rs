//! The service over a real connection, with a node that only remembers what it was asked.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ruvio_proto::admin::v1::admin_client::AdminClient;
use ruvio_proto::admin::v1::*;
use ruvio_proto::common::v1::{Member, StoredMembership};
use ruvio_proto::metadata;
use tokio::io::AsyncReadExt;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request};

use super::*;
use crate::tls::Acceptor;

#[derive(Default)]
struct Node {
    asked: Mutex<Vec<String>>,
}

impl Node {
    fn note(&self, what: String) {
        self.asked.lock().expect("no test panics in here").push(what);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test panics in here").clone()
    }
}

impl Control for Node {
    fn shards(&self) -> u16 {
        6
    }

    async fn bootstrap(&self, founding: Founding) -> Result<bool, Refused> {
        let nodes: Vec<u64> = founding.nodes.iter().map(|founder| founder.node.0).collect();
        self.note(format!("bootstrap {} of {nodes:?}", founding.callee.0));
        Ok(false)
    }

    async fn status(&self, shards: &[u16]) -> StatusResponse {
        self.note(format!("status {shards:?}"));
        StatusResponse::default()
    }

    async fn change_replicas(&self, change: ReplicaChange) -> Result<StoredMembership, Refused> {
        self.note(format!("change {}", change.shard));
        Err(Refused::NotLeader {
            shard: change.shard,
            leader: None,
        })
    }

    async fn transfer_leader(
        &self,
        shard: u16,
        to: Option<u64>,
        within: Duration,
    ) -> Result<(u64, u64), Refused> {
        self.note(format!("transfer {shard} {to:?} {within:?}"));
        Err(Refused::NotLeader {
            shard,
            leader: Some(2),
        })
    }

    async fn drain(&self, _: bool, _: Duration) -> Result<Vec<u16>, Refused> {
        Ok(vec![4])
    }

    async fn apply_config(&self, _: ApplyConfigRequest) -> Result<ApplyConfigResponse, Refused> {
        Err(Refused::Unsupported("CONFIG SET does"))
    }

    async fn reload(&self, _: bool, _: bool) -> Result<ReloadResponse, Refused> {
        Ok(ReloadResponse::default())
    }

    async fn recover_quorum(&self, request: RecoverQuorum) -> Result<RecoverQuorumResponse, Refused> {
        self.note(format!("recover {:?}", request.confirmation));
        Ok(RecoverQuorumResponse::default())
    }

    async fn digest(&self, _: u16, _: Option<u64>, _: Duration) -> Result<DigestResponse, Refused> {
        Err(Refused::OutOfRange("entry 3 was applied long ago".to_owned()))
    }
}

/// A call's outcome: its code, its sentence and the leader that it names.
type Said = (Code, String, Option<String>);

struct Bench {
    node: Arc<Node>,
    address: SocketAddr,
    token: &'static str,
}

impl Bench {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let node = Arc::new(Node::default());
        let guard = Guard::new(crate::raft::Token::new("secret"), false);
        tokio::spawn(serve(
            vec![listener],
            Acceptor::default(),
            guard,
            Arc::clone(&node),
        ));
        Self {
            node,
            address,
            token: "secret",
        }
    }

    async fn client(&self) -> AdminClient<Channel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).expect("an address");
        AdminClient::new(endpoint.connect().await.expect("it listens"))
    }

    fn request<M>(&self, message: M) -> Request<M> {
        let mut request = Request::new(message);
        let token = self.token.parse().expect("ASCII");
        request.metadata_mut().insert(metadata::TOKEN, token);
        request
    }
}

fn said(status: tonic::Status) -> Said {
    let leader = status.metadata().get(metadata::LEADER);
    let leader = leader.and_then(|leader| leader.to_str().ok().map(str::to_owned));
    (status.code(), status.message().to_owned(), leader)
}

fn founders(ids: &[u64]) -> BootstrapRequest {
    let node = |id: &u64| BootstrapNode {
        node: *id,
        peer_address: format!("node-{id}:7379"),
        admin_address: format!("node-{id}:7380"),
    };
    BootstrapRequest {
        cluster_id: vec![1; 16].into(),
        shards: 6,
        replication_factor: 3,
        nodes: ids.iter().map(node).collect(),
        callee: 1,
        join_only: false,
    }
}

#[tokio::test]
async fn nothing_is_done_for_who_has_no_token() {
    let mut bench = Bench::new().await;
    bench.token = "guess";
    let mut client = bench.client().await;
    let status = client.status(bench.request(StatusRequest::default())).await;
    let founding = client.bootstrap(bench.request(founders(&[1, 2, 3]))).await;
    let transfer = client
        .transfer_leader(Request::new(TransferLeaderRequest::default()))
        .await;
    let change = client
        .change_replicas(bench.request(ChangeReplicasRequest::default()))
        .await;
    let drain = client.drain(bench.request(DrainRequest::default())).await;
    let apply = client
        .apply_config(bench.request(ApplyConfigRequest::default()))
        .await;
    let reload = client.reload(bench.request(ReloadRequest::default())).await;
    let recover = client
        .recover_quorum(Request::new(RecoverQuorumRequest::default()))
        .await;
    let digest = client.digest(Request::new(DigestRequest::default())).await;
    for refused in [
        change.map(drop).map_err(said),
        drain.map(drop).map_err(said),
        apply.map(drop).map_err(said),
        reload.map(drop).map_err(said),
        recover.map(drop).map_err(said),
        digest.map(drop).map_err(said),
        status.map(drop).map_err(said),
        founding.map(drop).map_err(said),
        transfer.map(drop).map_err(said),
    ] {
        let (code, sentence, _) = refused.expect_err("no token");
        assert_eq!(code, Code::Unauthenticated);
        assert!(sentence.contains("cluster-token-file"), "{sentence}");
    }
    assert_eq!(bench.node.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn who_does_not_lead_says_who_does() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let request = TransferLeaderRequest {
        shard: 3,
        to_node: 0,
        timeout_ms: 0,
    };
    let refused = client.transfer_leader(bench.request(request)).await.map_err(said);
    let sentence = "node 2 leads shard 3: ask it".to_owned();
    assert_eq!(
        refused.expect_err("it does not lead"),
        (Code::FailedPrecondition, sentence, Some("2".to_owned()))
    );
    let request = ChangeReplicasRequest {
        shard: 3,
        remove: vec![1],
        ..ChangeReplicasRequest::default()
    };
    let refused = client.change_replicas(bench.request(request)).await.map_err(said);
    let sentence = "nobody leads shard 3 at the moment: try again in a second".to_owned();
    assert_eq!(
        refused.expect_err("nobody leads"),
        (Code::Unavailable, sentence, None)
    );
    assert_eq!(bench.node.asked(), ["transfer 3 None 10s", "change 3"]);
}

#[tokio::test]
async fn what_makes_no_sense_never_gets_to_the_node() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let status = StatusRequest { shards: vec![0, 6] };
    let mut refused = vec![client.status(bench.request(status)).await.map(drop).map_err(said)];
    let member = |node, address: &str| Member {
        node,
        address: address.to_owned(),
    };
    for (add, remove, learners_only) in [
        (vec![], vec![], false),
        (vec![member(0, "a:1")], vec![], false),
        (vec![member(2, "a:1")], vec![2], false),
        (vec![member(2, "a:1")], vec![3], true),
        (vec![member(2, "nowhere")], vec![], false),
        (vec![member(2, "http://a:1")], vec![], false),
    ] {
        let change = ChangeReplicasRequest {
            add,
            remove,
            learners_only,
            ..ChangeReplicasRequest::default()
        };
        let change = client.change_replicas(bench.request(change)).await;
        refused.push(change.map(drop).map_err(said));
    }
    let recover = client
        .recover_quorum(bench.request(RecoverQuorumRequest::default()))
        .await;
    refused.push(recover.map(drop).map_err(said));
    for refused in refused {
        let (code, sentence, _) = refused.expect_err("it makes no sense");
        assert_eq!(code, Code::InvalidArgument, "{sentence}");
    }
    assert_eq!(bench.node.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn what_has_its_token_and_sense_is_done() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let drained = client.drain(bench.request(DrainRequest::default())).await;
    assert_eq!(drained.expect("it is done").into_inner().left, [4]);
    let founded = client.bootstrap(bench.request(founders(&[3, 1, 2]))).await;
    assert!(!founded.expect("it is done").into_inner().existed);
    let dry = RecoverQuorumRequest {
        dry_run: true,
        ..RecoverQuorumRequest::default()
    };
    client
        .recover_quorum(bench.request(dry))
        .await
        .expect("it is done");
    let asked = ["bootstrap 1 of [1, 2, 3]", "recover None"];
    assert_eq!(bench.node.asked(), asked);
    let unknown = client
        .apply_config(bench.request(ApplyConfigRequest::default()))
        .await;
    assert_eq!(
        unknown.map_err(said).expect_err("it cannot").0,
        Code::Unimplemented
    );
}

#[tokio::test]
async fn an_oversized_request_and_one_connection_too_many_are_turned_away() {
    let bench = Bench::new().await;
    let mut client = bench.client().await;
    let mut large = founders(&[1, 2, 3]);
    large.nodes[0].admin_address = "a".repeat(2 << 20);
    let refused = client.bootstrap(bench.request(large)).await.map_err(said);
    assert_eq!(refused.expect_err("it is too large").0, Code::OutOfRange);
    // Nobody who says nothing keeps others out for more than its own place.
    let mut idle = Vec::new();
    for _ in 0..255 {
        idle.push(
            tokio::net::TcpStream::connect(bench.address)
                .await
                .expect("there is room"),
        );
    }
    let mut last = tokio::net::TcpStream::connect(bench.address)
        .await
        .expect("the system accepts");
    let end = tokio::time::timeout(Duration::from_secs(10), last.read(&mut [0; 64])).await;
    assert!(matches!(end, Ok(Ok(0) | Err(_))), "{end:?}");
    drop(idle);
    client
        .status(bench.request(StatusRequest::default()))
        .await
        .expect("it still serves");
}

#[test]
fn a_founding_is_checked_before_anything_is_done() {
    let refusal = |change: fn(&mut BootstrapRequest)| {
        let mut request = founders(&[1, 2, 3]);
        change(&mut request);
        Founding::read(request, 6).expect_err("it is refused").to_string()
    };
    assert!(Founding::read(founders(&[1, 2, 3]), 6).is_ok());
    for (refused, says) in [
        (refusal(|r| r.cluster_id = vec![1; 15].into()), "16 bytes"),
        (refusal(|r| r.cluster_id = vec![0; 16].into()), "16 bytes"),
        (
            refusal(|r| r.shards = 12),
            "set up for 6 shards, not for 12: start it with --shards 12",
        ),
        (refusal(|r| r.nodes.clear()), "1 to 1024 nodes"),
        (refusal(|r| r.nodes[2].node = 1), "the same id"),
        (refusal(|r| r.nodes[2].node = 0), "begin with 1"),
        (
            refusal(|r| r.nodes[2].peer_address = "node-1:7379".into()),
            "the same peer address",
        ),
        (
            refusal(|r| r.nodes[2].peer_address = "::1:7379".into()),
            "host:port",
        ),
        (refusal(|r| r.nodes[2].admin_address = "a:0".into()), "host:port"),
        (refusal(|r| r.callee = 4), "node 4, is not among"),
        (refusal(|r| r.replication_factor = 2), "1, 3 or 5"),
        (
            refusal(|r| r.replication_factor = 5),
            "5 replicas of a shard need as many nodes",
        ),
    ] {
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn who_joins_alone_needs_no_others() {
    let mut request = founders(&[1]);
    request.join_only = true;
    assert!(Founding::read(request, 6).is_ok());
}

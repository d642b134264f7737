//! What nodes ask of each other beside the groups.

use futures_util::future::BoxFuture;
use ruvio_proto::peer::v1 as peer;

use super::*;
use crate::raft::service::{Neighbours, Refusal};

/// Answers with what it was asked.
struct Echo;

impl Neighbours for Echo {
    fn topology(
        &self,
        from: NodeId,
        request: peer::TopologyRequest,
    ) -> BoxFuture<'_, Result<peer::TopologyResponse, Refusal>> {
        let response = peer::TopologyResponse {
            digest: request.digest + from.0,
            ..Default::default()
        };
        Box::pin(async { Ok(response) })
    }
}

#[test]
fn topology_reaches_the_other_node_and_no_other() {
    let mut machines: Vec<_> = (1..=2).map(|id| Machine::new(me(id, 1), 1)).collect();
    machines[1].neighbours = Some(Arc::new(Echo));
    machines.iter_mut().for_each(Machine::start);
    let (node, to) = (machines[0].node(), machines[1].address.to_string());
    let (peers, second) = (node.peers(), NodeId(2));
    node.handle().block_on(async {
        let request = peer::TopologyRequest {
            digest: 40,
            ..Default::default()
        };
        let response = peers.topology(second, &to, request).await.expect("it answers");
        assert_eq!(response.digest, 41, "asked by node 1");
        let wrong = peers
            .topology(NodeId(3), &to, peer::TopologyRequest::default())
            .await;
        assert_eq!(
            wrong.err().as_ref().map(tonic::Status::message),
            Some("this is node 2, and the caller means 3")
        );
    });
    machines.iter_mut().for_each(Machine::stop);
}

//! What nodes ask of each other beside the groups.

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
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

    fn forward(
        &self,
        _: NodeId,
        requests: BoxStream<'static, peer::ForwardRequest>,
    ) -> Result<BoxStream<'static, peer::ForwardResponse>, Refusal> {
        let answer = |request: peer::ForwardRequest| match request.body {
            Some(peer::forward_request::Body::Cancel(ticket)) => peer::ForwardResponse {
                ticket,
                ..Default::default()
            },
            _ => peer::ForwardResponse::default(),
        };
        Ok(Box::pin(requests.map(answer)))
    }

    fn publish(
        &self,
        from: NodeId,
        _: BoxStream<'static, peer::PublishRequest>,
    ) -> Result<BoxStream<'static, peer::PublishResponse>, Refusal> {
        Err(format!("nothing is published for node {}", from.0))
    }
}

#[test]
fn topology_and_the_streams_of_clients_reach_the_other_node() {
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

        let cancel = |ticket| peer::ForwardRequest {
            body: Some(peer::forward_request::Body::Cancel(ticket)),
        };
        let requests = Box::pin(stream::iter((1..=100).map(cancel)));
        let answers = peers.forward(second, &to, requests).await.expect("it answers");
        let tickets: Vec<_> = answers
            .map(|answer| answer.expect("an answer").ticket)
            .collect()
            .await;
        assert_eq!(tickets, (1..=100).collect::<Vec<_>>());

        let published = peers.publish(second, &to, Box::pin(stream::empty())).await;
        assert_eq!(
            published.err().as_deref(),
            Some("nothing is published for node 1")
        );
        let wrong = peers
            .topology(NodeId(3), &to, peer::TopologyRequest::default())
            .await;
        assert_eq!(
            wrong.err().as_deref(),
            Some("this is node 2, and the caller means 3")
        );
    });
    machines.iter_mut().for_each(Machine::stop);
}

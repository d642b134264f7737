//! What this node asks of others that is no concern of the groups.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use ruvio_proto::peer::v1 as peer;
use tonic::{Request, Status, Streaming};

use super::Peers;
use super::append::ANSWER_MAX;
use crate::raft::service::Refusal;
use crate::wal::NodeId;

/// A stream of answers; it ends behind an error.
pub type Answered<T> = BoxStream<'static, Result<T, Refusal>>;

fn refusal(status: &Status) -> Refusal {
    status.message().to_owned()
}

fn answers<T: Send + 'static>(answers: Streaming<T>) -> Answered<T> {
    Box::pin(answers.map(|answer| answer.map_err(|status| refusal(&status))))
}

async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, Refusal> {
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(refusal(&status)),
        Err(_) => Err("the peer did not answer in time".to_owned()),
    }
}

impl Peers {
    pub async fn topology(
        &self,
        to: NodeId,
        address: &str,
        request: peer::TopologyRequest,
    ) -> Result<peer::TopologyResponse, Refusal> {
        let remote = self.remote(to, address).map_err(|status| refusal(&status))?;
        let call = async {
            remote
                .others
                .client()
                .await?
                .topology(Request::new(request))
                .await
        };
        within(ANSWER_MAX, call).await
    }

    /// Ends with either stream.
    pub async fn forward(
        &self,
        to: NodeId,
        address: &str,
        requests: BoxStream<'static, peer::ForwardRequest>,
    ) -> Result<Answered<peer::ForwardResponse>, Refusal> {
        let remote = self.remote(to, address).map_err(|status| refusal(&status))?;
        let call = async {
            remote
                .others
                .client()
                .await?
                .forward(Request::new(requests))
                .await
        };
        within(ANSWER_MAX, call).await.map(answers)
    }

    /// Likewise.
    pub async fn publish(
        &self,
        to: NodeId,
        address: &str,
        requests: BoxStream<'static, peer::PublishRequest>,
    ) -> Result<Answered<peer::PublishResponse>, Refusal> {
        let remote = self.remote(to, address).map_err(|status| refusal(&status))?;
        let call = async {
            remote
                .others
                .client()
                .await?
                .publish(Request::new(requests))
                .await
        };
        within(ANSWER_MAX, call).await.map(answers)
    }
}

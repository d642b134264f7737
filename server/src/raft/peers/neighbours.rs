//! What this node asks of others that is no concern of the groups.

use std::time::Duration;

use ruvio_proto::peer::v1 as peer;
use tonic::{Request, Status};

use super::Peers;
use super::append::ANSWER_MAX;
use crate::raft::service::Refusal;
use crate::wal::NodeId;

fn refusal(status: &Status) -> Refusal {
    status.message().to_owned()
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
}

//! The calls: what they say is checked, and the node's `Control` does them.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use ruvio_proto::admin::v1::admin_server::{Admin, AdminServer};
use ruvio_proto::admin::v1::{
    ApplyConfigRequest, ApplyConfigResponse, BootstrapRequest, BootstrapResponse, ChangeReplicasRequest,
    ChangeReplicasResponse, DigestRequest, DigestResponse, DrainRequest, DrainResponse, RecoverQuorumRequest,
    RecoverQuorumResponse, ReloadRequest, ReloadResponse, StatusRequest, StatusResponse,
    TransferLeaderRequest, TransferLeaderResponse,
};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use super::control::{Control, RecoverQuorum, ReplicaChange};
use super::founding::{Founding, check_address, count};
use super::guard::Guard;
use super::incoming::places;
use super::refused::Refused;
use crate::tls::{Acceptor, incoming};

/// Of a request: the largest is a bootstrap of many nodes.
const REQUEST_BYTES_MAX: usize = 1 << 20;
/// Calls of one connection that are under way.
const CALLS_MAX: usize = 16;
/// A caller that is gone is noticed after both.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// A caller's own limit is within it.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3600);
/// Where the caller names none.
const WAIT_USUAL: Duration = Duration::from_secs(10);

struct Calls<C> {
    control: Arc<C>,
}

/// Serves on all of these until it is dropped.
pub async fn serve<C: Control>(
    listeners: Vec<TcpListener>,
    acceptor: Acceptor,
    guard: Guard,
    control: Arc<C>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let places = places();
    let mut served = Vec::new();
    for listener in listeners {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let incoming = incoming(listener, acceptor.clone(), Arc::clone(&places), "admin-port");
        let calls = AdminServer::new(Calls {
            control: Arc::clone(&control),
        })
        .max_decoding_message_size(REQUEST_BYTES_MAX);
        let guard = guard.clone();
        let calls = InterceptedService::new(calls, move |request| guard.check(request));
        let server = Server::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .concurrency_limit_per_connection(CALLS_MAX)
            .add_service(calls);
        served.push(server.serve_with_incoming(incoming));
    }
    try_join_all(served).await?;
    Ok(())
}

impl<C: Control> Calls<C> {
    fn shard(&self, number: u32) -> Result<u16, Refused> {
        let shards = self.control.shards();
        u16::try_from(number)
            .ok()
            .filter(|shard| *shard < shards)
            .ok_or_else(|| {
                Refused::Invalid(format!(
                    "there is no shard {number}: the cluster has {}, counted from 0",
                    count(u32::from(shards), "shard")
                ))
            })
    }

    fn shards(&self, numbers: &[u32]) -> Result<Vec<u16>, Refused> {
        numbers.iter().map(|number| self.shard(*number)).collect()
    }
}

/// Of a caller that waits for something.
fn wait(ms: u64) -> Duration {
    match ms {
        0 => WAIT_USUAL,
        ms => Duration::from_millis(ms).min(WAIT_MAX),
    }
}

#[tonic::async_trait]
impl<C: Control> Admin for Calls<C> {
    async fn bootstrap(
        &self,
        request: Request<BootstrapRequest>,
    ) -> Result<Response<BootstrapResponse>, Status> {
        let founding = Founding::read(request.into_inner(), self.control.shards())?;
        let existed = self.control.bootstrap(founding).await?;
        Ok(Response::new(BootstrapResponse { existed }))
    }

    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        let shards = self.shards(&request.into_inner().shards)?;
        Ok(Response::new(self.control.status(&shards).await))
    }

    async fn change_replicas(
        &self,
        request: Request<ChangeReplicasRequest>,
    ) -> Result<Response<ChangeReplicasResponse>, Status> {
        let request = request.into_inner();
        let change = ReplicaChange {
            shard: self.shard(request.shard)?,
            add: request.add,
            remove: request.remove,
            if_membership: request.if_membership,
            learners_only: request.learners_only,
            catch_up: wait(request.catch_up_ms),
        };
        check_change(&change)?;
        let membership = self.control.change_replicas(change).await?;
        Ok(Response::new(ChangeReplicasResponse {
            membership: Some(membership),
        }))
    }

    async fn transfer_leader(
        &self,
        request: Request<TransferLeaderRequest>,
    ) -> Result<Response<TransferLeaderResponse>, Status> {
        let request = request.into_inner();
        let shard = self.shard(request.shard)?;
        let to = (request.to_node != 0).then_some(request.to_node);
        let within = wait(request.timeout_ms);
        let (leader, term) = self.control.transfer_leader(shard, to, within).await?;
        Ok(Response::new(TransferLeaderResponse { leader, term }))
    }

    async fn drain(&self, request: Request<DrainRequest>) -> Result<Response<DrainResponse>, Status> {
        let request = request.into_inner();
        let left = self
            .control
            .drain(request.drain, wait(request.timeout_ms))
            .await?;
        let left = left.into_iter().map(u32::from).collect();
        Ok(Response::new(DrainResponse { left }))
    }

    async fn apply_config(
        &self,
        request: Request<ApplyConfigRequest>,
    ) -> Result<Response<ApplyConfigResponse>, Status> {
        let applied = self.control.apply_config(request.into_inner()).await?;
        Ok(Response::new(applied))
    }

    async fn reload(&self, request: Request<ReloadRequest>) -> Result<Response<ReloadResponse>, Status> {
        let ReloadRequest { acl, tls } = request.into_inner();
        Ok(Response::new(self.control.reload(acl, tls).await?))
    }

    async fn recover_quorum(
        &self,
        request: Request<RecoverQuorumRequest>,
    ) -> Result<Response<RecoverQuorumResponse>, Status> {
        let request = request.into_inner();
        if !request.dry_run && request.confirmation.is_empty() {
            let why =
                "ask for a dry run first: it says what is here, and gives the confirmation that this needs";
            return Err(Refused::Invalid(why.to_owned()).into());
        }
        let request = RecoverQuorum {
            shards: self.shards(&request.shards)?,
            lost: request.lost,
            confirmation: (!request.dry_run).then(|| request.confirmation.to_vec()),
        };
        Ok(Response::new(self.control.recover_quorum(request).await?))
    }

    async fn digest(&self, request: Request<DigestRequest>) -> Result<Response<DigestResponse>, Status> {
        let request = request.into_inner();
        let shard = self.shard(request.shard)?;
        let index = (request.index != 0).then_some(request.index);
        let digest = self
            .control
            .digest(shard, index, wait(request.timeout_ms))
            .await?;
        Ok(Response::new(digest))
    }
}

fn check_change(change: &ReplicaChange) -> Result<(), Refused> {
    let invalid = |why: &str| Err(Refused::Invalid(why.to_owned()));
    let added: Vec<u64> = change.add.iter().map(|member| member.node).collect();
    if added.is_empty() && change.remove.is_empty() {
        return invalid("the change names no node: it adds some, or removes some, or both");
    }
    if added.contains(&0) || change.remove.contains(&0) {
        return invalid("0 is no node's id: they begin with 1");
    }
    if let Some(both) = added.iter().find(|node| change.remove.contains(node)) {
        return Err(Refused::Invalid(format!("node {both} is both added and removed")));
    }
    if change.learners_only && !change.remove.is_empty() {
        return invalid("learners_only removes nobody: leave it out, or leave out whom to remove");
    }
    for member in &change.add {
        check_address(&member.address)?;
    }
    Ok(())
}

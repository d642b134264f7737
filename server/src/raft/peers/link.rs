//! A connection to one peer, made when it is needed and again when it is lost.
//!
//! Invariant: the first call over a connection is `Hello`: nothing is said to a node that is not the one that is
//! meant.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use ruvio_proto::peer::v1 as peer;
use ruvio_proto::peer::v1::peer_client::PeerClient;
use tokio::sync::Mutex;
use tonic::codegen::http::Uri;
use tonic::codegen::{InterceptedService, Service};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::raft::identity::{Me, Roster, Stamp};
use crate::tls;
use crate::wal::NodeId;

/// Of a message, both ways and on both sides.
pub(in crate::raft) const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Of the peer protocol, and of what entries and images hold.
pub(in crate::raft) const FORMAT_VERSION: u32 = 1;

const CONNECT_MAX: Duration = Duration::from_millis(500);
const KEEP_ALIVE: Duration = Duration::from_secs(1);
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

pub(super) type Client = PeerClient<InterceptedService<Channel, Stamp>>;

pub(super) struct Link {
    client: Client,
    me: Arc<Me>,
    roster: Arc<Roster>,
    to: NodeId,
    /// Connections that were made; the last one over which both sides learned whom they talk to.
    made: Arc<AtomicU64>,
    greeted: AtomicU64,
    greeting: Mutex<()>,
}

impl Link {
    /// Errs on an address that is none. Connects when it is first used.
    pub fn new(
        me: &Arc<Me>,
        roster: &Arc<Roster>,
        to: NodeId,
        address: &str,
        by: &tls::Connector,
    ) -> Result<Self, tonic::transport::Error> {
        let made = Arc::new(AtomicU64::new(0));
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?
            .connect_timeout(CONNECT_MAX)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let connector = Connector {
            address: address.to_owned(),
            by: by.clone(),
            made: Arc::clone(&made),
        };
        let channel = endpoint.connect_with_connector_lazy(connector);
        let client = PeerClient::with_interceptor(channel, Stamp::new(me, to))
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        Ok(Self {
            client,
            me: Arc::clone(me),
            roster: Arc::clone(roster),
            to,
            made,
            greeted: AtomicU64::new(0),
            greeting: Mutex::new(()),
        })
    }

    pub fn to(&self) -> NodeId {
        self.to
    }

    /// A client over a connection whose other side is the node that is meant.
    pub async fn client(&self) -> Result<Client, Status> {
        if self.is_greeted() {
            return Ok(self.client.clone());
        }
        let _one_at_a_time = self.greeting.lock().await;
        if !self.is_greeted() {
            self.greet().await?;
        }
        Ok(self.client.clone())
    }

    fn is_greeted(&self) -> bool {
        let greeted = self.greeted.load(Ordering::Acquire);
        greeted != 0 && greeted == self.made.load(Ordering::Acquire)
    }

    /// Learns whom it talks to.
    pub async fn greet(&self) -> Result<(), Status> {
        let hello = peer::HelloRequest {
            cluster_id: Bytes::copy_from_slice(&self.me.cluster.0),
            node: self.me.node.0,
            incarnation: self.me.incarnation,
            to_node: self.to.0,
            format_version: FORMAT_VERSION,
            shards: u32::from(self.me.shards),
            cluster_token: self
                .me
                .token
                .as_ref()
                .map_or_else(Bytes::new, |token| Bytes::copy_from_slice(token.as_bytes())),
            release: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let answer = self.client.clone().hello(Request::new(hello)).await?.into_inner();
        if answer.node != self.to.0 {
            let why = format!(
                "node {} answers where node {} is meant to be",
                answer.node, self.to.0
            );
            return Err(Status::permission_denied(why));
        }
        self.roster
            .admit(self.to, answer.incarnation)
            .map_err(Status::permission_denied)?;
        // It went over the last connection, unless that was lost this very moment: each call says whom it means too.
        let made = self.made.load(Ordering::Acquire);
        self.greeted.store(made, Ordering::Release);
        Ok(())
    }
}

/// Makes connections, and counts them.
#[derive(Clone)]
struct Connector {
    address: String,
    by: tls::Connector,
    made: Arc<AtomicU64>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<tls::Stream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { address, by, made } = self.clone();
        Box::pin(async move {
            let stream = by.connect(&address).await?;
            made.fetch_add(1, Ordering::AcqRel);
            Ok(TokioIo::new(stream))
        })
    }
}

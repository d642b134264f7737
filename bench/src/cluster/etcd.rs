//! Three members of etcd (Debian's `etcd-server`), and puts over gRPC, as its own clients send them.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use super::{Folder, NODES, Node, free_ports, local, wait_for};
use crate::cores::Cores;
use crate::load::lanes::Outcome;
use crate::load::template::Random;

const BINARY: &str = "/usr/bin/etcd";

#[derive(Clone, PartialEq, prost::Message)]
struct Put {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// Of answers of which nothing is read, and of requests that say nothing.
#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
struct Header {
    #[prost(uint64, tag = "2")]
    member: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(message, optional, tag = "1")]
    header: Option<Header>,
    #[prost(uint64, tag = "4")]
    leader: u64,
}

pub struct Etcd {
    pub nodes: Vec<Node>,
    leader: SocketAddr,
    pub leader_index: usize,
    _folder: Folder,
}

impl Etcd {
    pub fn is_installed() -> bool {
        Path::new(BINARY).is_file()
    }

    pub fn start(cores: Cores) -> Result<Self> {
        let folder = Folder::new("etcd")?;
        let ports = free_ports(2 * NODES)?;
        let (clients, peers) = ports.split_at(NODES);
        let url = |port: u16| format!("http://{}", local(port));
        let members: Vec<String> = (0..NODES).map(|n| format!("n{n}={}", url(peers[n]))).collect();
        let mut nodes = Vec::new();
        for n in 0..NODES {
            let (client, peer) = (url(clients[n]), url(peers[n]));
            let text = format!(
                "--name n{n} --data-dir {} --listen-client-urls {client} --advertise-client-urls {client} \
                 --listen-peer-urls {peer} --initial-advertise-peer-urls {peer} --initial-cluster {} \
                 --initial-cluster-state new --log-level error",
                folder.text(&format!("node-{n}")),
                members.join(","),
            );
            let arguments = text.split_whitespace().map(str::to_owned).collect();
            let log = folder.file(&format!("log-{n}"));
            nodes.push(Node::start(Path::new(BINARY), arguments, log, cores)?);
        }
        let leader_index = wait_for("etcd's leader", || leader_among(clients))?;
        Ok(Self {
            nodes,
            leader: local(clients[leader_index]),
            leader_index,
            _folder: folder,
        })
    }

    /// Puts to the leader, one after the other on each of the connections.
    pub fn load(&self, connections: usize, keys: u64, time: Duration) -> Result<Outcome> {
        let runtime = runtime()?;
        runtime.block_on(async {
            let mut channels = Vec::new();
            for _ in 0..connections {
                channels.push(endpoint(self.leader)?.connect().await?);
            }
            let began = Instant::now();
            let tasks: Vec<_> = (0u64..)
                .zip(channels)
                .map(|(seed, channel)| tokio::spawn(puts(channel, seed, keys, began + time)))
                .collect();
            let mut latencies = Vec::new();
            for task in tasks {
                latencies.extend(task.await??);
            }
            Ok(Outcome::new(latencies, began.elapsed()))
        })
    }
}

async fn puts(channel: Channel, seed: u64, keys: u64, until: Instant) -> Result<Vec<u64>> {
    let mut random = Random::new(seed);
    let mut latencies = Vec::new();
    while Instant::now() < until {
        let put = Put {
            key: format!("key:{:012}", random.below(keys)).into_bytes(),
            value: vec![b'v'; 16],
        };
        let sent = Instant::now();
        let Nothing {} = call(&channel, "/etcdserverpb.KV/Put", put).await?;
        latencies.push(sent.elapsed().as_nanos() as u64);
    }
    Ok(latencies)
}

async fn call<Q, A>(channel: &Channel, path: &'static str, question: Q) -> Result<A>
where
    Q: prost::Message + Default + 'static,
    A: prost::Message + Default + 'static,
{
    let mut client = Grpc::new(channel.clone());
    client.ready().await.context("connection to etcd")?;
    let codec = ProstCodec::<Q, A>::default();
    let answer = client
        .unary(
            tonic::Request::new(question),
            PathAndQuery::from_static(path),
            codec,
        )
        .await?;
    Ok(answer.into_inner())
}

fn endpoint(address: SocketAddr) -> Result<Endpoint> {
    Ok(Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true))
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

fn leader_among(ports: &[u16]) -> Result<Option<usize>> {
    runtime()?.block_on(async {
        for (index, &port) in ports.iter().enumerate() {
            let channel = endpoint(local(port))?.connect().await?;
            let status: Status = call(&channel, "/etcdserverpb.Maintenance/Status", Nothing {}).await?;
            let own = status.header.map(|header| header.member);
            if status.leader != 0 && own == Some(status.leader) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    })
}

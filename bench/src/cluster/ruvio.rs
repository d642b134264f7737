//! Three Ruvio nodes with one replica of each shard each, as `make cluster` starts them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Folder, NODES, Node, free_ports, local, wait_for};
use crate::client::Client;
use crate::cores::Cores;

/// A follower that lacks no more than this many entries under load has caught up.
const LAG_MAX: u64 = 1000;

pub struct Ruvio {
    pub nodes: Vec<Node>,
    ports: Ports,
    control: PathBuf,
    folder: Folder,
}

struct Ports {
    cluster: Vec<u16>,
    routed: Vec<u16>,
    admin: Vec<u16>,
}

/// One shard, as clients see it.
#[derive(Clone, Debug)]
pub struct Shard {
    /// Five bytes, `{abc}`: keys that begin so are the shard's.
    pub tag: String,
    pub leader: SocketAddr,
}

impl Ruvio {
    /// `binary` is the server's; `ruvioctl` lies beside it.
    pub fn start(binary: &Path, shards: usize, cores: Cores) -> Result<Self> {
        let control = binary.with_file_name("ruvioctl");
        ensure!(
            control.is_file(),
            "{} is no file: cargo build --release -p ruvioctl",
            control.display()
        );
        let folder = Folder::new("ruvio")?;
        std::fs::write(folder.file("token"), "known-to-all-nodes-of-the-bench\n")?;
        let all = free_ports(4 * NODES)?;
        let of = |kind: usize| all[kind * NODES..][..NODES].to_vec();
        let (ports, peer) = (
            Ports {
                cluster: of(0),
                routed: of(1),
                admin: of(2),
            },
            of(3),
        );
        let mut nodes = Vec::new();
        for (index, peer) in peer.iter().enumerate() {
            let text = format!(
                "--cluster-enabled yes --shards {shards} --bind 127.0.0.1 --durability always --dir {} --port {} \
                 --routed-port {} --admin-port {} --peer-port {peer} --cluster-token-file {}",
                folder.text(&format!("node-{index}")),
                ports.cluster[index],
                ports.routed[index],
                ports.admin[index],
                folder.text("token"),
            );
            let arguments = text.split_whitespace().map(str::to_owned).collect();
            let log = folder.file(&format!("log-{index}"));
            nodes.push(Node::start(binary, arguments, log, cores)?);
        }
        let ruvio = Self {
            nodes,
            ports,
            control,
            folder,
        };
        let count = shards.to_string();
        wait_for("bootstrap", || {
            ruvio
                .control(&["bootstrap", "--shards", &count, "--replication-factor", "3"])
                .map(Some)
        })
        .with_context(|| last_words(&ruvio.folder.file("log-0")))?;
        wait_for("leaders of all shards, spread over the nodes", || {
            ruvio.are_spread(shards)
        })?;
        Ok(ruvio)
    }

    fn are_spread(&self, shards: usize) -> Result<Option<()>> {
        let status = self.status()?;
        let of = list(&status, "shards");
        let led = |node: u64| of.iter().filter(|shard| shard["leader"] == node).count();
        let led: Vec<usize> = (1..=NODES as u64).map(led).collect();
        let even = led.iter().max() <= led.iter().min().map(|least| least + 1).as_ref();
        Ok((even && led.iter().sum::<usize>() == shards).then_some(()))
    }

    pub fn cluster_address(&self, index: usize) -> SocketAddr {
        local(self.ports.cluster[index])
    }

    pub fn routed_address(&self, index: usize) -> SocketAddr {
        local(self.ports.routed[index])
    }

    /// The node that listens there.
    pub fn index_of(&self, address: SocketAddr) -> Option<usize> {
        let is = |&port: &u16| port == address.port();
        self.ports.cluster.iter().position(is)
    }

    pub fn control(&self, arguments: &[&str]) -> Result<String> {
        let admin: Vec<String> = self
            .ports
            .admin
            .iter()
            .map(|&port| local(port).to_string())
            .collect();
        let output = Command::new(&self.control)
            .args(arguments)
            .env("RUVIO_NODES", admin.join(","))
            .env("RUVIO_TOKEN_FILE", self.folder.file("token"))
            .output()
            .context("ruvioctl")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn status(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.control(&["status", "-o", "json"])?)?)
    }

    /// The terms of all shards added up: it grows with each election and each hand-over.
    pub fn terms(&self) -> Result<u64> {
        let status = self.status()?;
        Ok(list(&status, "shards")
            .iter()
            .filter_map(|shard| shard["term"].as_u64())
            .sum())
    }

    /// All nodes answer, each shard has a leader, and no follower lacks more than a moment's writes.
    pub fn has_caught_up(&self) -> Result<bool> {
        let status = self.status()?;
        let answered = list(&status, "nodes")
            .iter()
            .all(|node| node["trouble"].is_null());
        Ok(answered && list(&status, "shards").iter().all(shard_is_whole))
    }

    /// Shards in the order of their slots, with the tag of each.
    pub fn shards(&self, from: usize) -> Result<Vec<Shard>> {
        let mut client = Client::connect(self.cluster_address(from))?;
        let slots = client.call(&["CLUSTER", "SLOTS"])?;
        let mut shards = Vec::new();
        for range in slots.elements() {
            let [first, last, leader, ..] = range.elements() else {
                bail!("a range of slots without a leader: {range:?}");
            };
            let (first, last) = (first.integer().context("slot")?, last.integer().context("slot")?);
            let port = leader
                .elements()
                .get(1)
                .and_then(|port| port.integer())
                .context("port")?;
            shards.push(Shard {
                tag: tag_of(&mut client, first..=last)?,
                leader: local(port as u16),
            });
        }
        Ok(shards)
    }
}

/// The end of a node's log.
fn last_words(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.lines().last().unwrap_or_default().to_owned()
}

fn list<'a>(status: &'a Value, name: &str) -> &'a [Value] {
    status[name].as_array().map_or(&[], Vec::as_slice)
}

fn shard_is_whole(shard: &Value) -> bool {
    let lags = list(shard, "lag");
    shard["leader"].is_u64()
        && lags.len() >= NODES - 1
        && lags
            .iter()
            .all(|lag| lag["entries"].as_u64().is_some_and(|n| n <= LAG_MAX))
        && list(shard, "replicas").len() == NODES
}

fn tag_of(client: &mut Client, slots: std::ops::RangeInclusive<i64>) -> Result<String> {
    for number in 0..=0xfff {
        let tag = format!("{{{number:03x}}}");
        let slot = client
            .call(&["CLUSTER", "KEYSLOT", &tag])?
            .integer()
            .context("KEYSLOT")?;
        if slots.contains(&slot) {
            return Ok(tag);
        }
    }
    bail!("no tag for the slots {slots:?}")
}

//! Nodes as they stand in a cluster: each a process, in a network of its own where the system allows that, so that
//! they can be killed, stopped and cut off from each other. Clients reach every node at all times: who is cut off from the
//! others still has its clients, which is when it could answer them wrongly.

pub mod faults;
pub mod growth;
pub mod network;
pub mod node;
pub mod replicas;
pub mod seeker;
mod suffer;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::certificates::{Authority, Folder};
use crate::resp::Value;
use crate::server::{self, binary, scratch_dir};
use network::Network;
use node::Node;
use seeker::{Answer, Seeker};

/// What the nodes are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: as one server each.
    Apart,
    Replicated,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub kind: Kind,
    pub nodes: usize,
    pub shards: usize,
    pub durability: &'static str,
    /// Each node has a disk of its own, of this size.
    pub disk_bytes: Option<u64>,
}

pub struct Cluster {
    pub nodes: Vec<Node>,
    /// None: the nodes have loopback addresses of their own, and no link can be cut.
    pub network: Option<Network>,
    pub plan: Plan,
    /// What nodes and clients prove themselves by, where all that is said goes by TLS.
    pub certificates: Option<Folder>,
    dir: PathBuf,
    /// The last byte of the first address, where there is no network.
    first: u8,
}

/// Addresses that clusters of this process have taken: nobody is to meet another's nodes.
static TAKEN: AtomicU8 = AtomicU8::new(1);

/// How long a cluster may take until it serves.
const PATIENCE: Duration = Duration::from_secs(60);

impl Cluster {
    /// Starts the nodes and waits until each shard is served.
    pub fn start(plan: &Plan) -> Result<Cluster> {
        Cluster::start_by(plan, None)
    }

    /// The same by TLS, with certificates that this authority signs: `node` for all of them, and `client`.
    pub fn start_secure(plan: &Plan, authority: &Authority) -> Result<Cluster> {
        Cluster::start_by(plan, Some(authority))
    }

    fn start_by(plan: &Plan, authority: Option<&Authority>) -> Result<Cluster> {
        let network = match plan.nodes {
            1 => None,
            nodes => Network::new(nodes)?,
        };
        let dir = scratch_dir()?;
        std::fs::write(dir.join("token"), "a-token-that-all-nodes-know\n")?;
        let mut cluster = Cluster {
            nodes: Vec::new(),
            network,
            plan: plan.clone(),
            certificates: None,
            dir,
            first: TAKEN.fetch_add(plan.nodes as u8, Ordering::Relaxed),
        };
        if let Some(authority) = authority {
            let folder = Folder::new()?;
            folder.put("ca.crt", &authority.pem())?;
            folder.put_pair("node", &authority.sign("a node", &cluster.hosts())?)?;
            folder.put_pair("client", &authority.sign("a client", &["client".to_owned()])?)?;
            cluster.certificates = Some(folder);
        }
        for number in 0..plan.nodes {
            let home = cluster.dir.join(format!("node-{}", number + 1));
            let prefix = cluster.network.as_ref().map(|network| network.prefix(number));
            let address = cluster.address(number);
            let flags = cluster.flags(address);
            let mut node = Node::new(
                number as u64 + 1,
                home,
                prefix.unwrap_or_default(),
                address,
                flags,
            );
            if let Some(bytes) = plan.disk_bytes {
                node = node.with_disk(bytes)?;
            }
            node.start()?;
            cluster.nodes.push(node);
        }
        if plan.kind == Kind::Replicated {
            cluster.bootstrap()?;
        }
        cluster.wait_until_served()?;
        Ok(cluster)
    }

    fn address(&self, number: usize) -> Ipv4Addr {
        match &self.network {
            Some(network) => network.address(number),
            None => {
                let [_, _, high, low] = std::process::id().to_be_bytes();
                Ipv4Addr::new(127, high.max(1), low, self.first + number as u8)
            }
        }
    }

    /// The addresses of all nodes.
    pub fn hosts(&self) -> Vec<String> {
        let all = 0..self.plan.nodes;
        all.map(|number| self.address(number).to_string()).collect()
    }

    fn flags(&self, address: Ipv4Addr) -> Vec<String> {
        let shards = self.plan.shards.to_string();
        let address = address.to_string();
        let mut flags = vec!["--bind", &address, "--port", "6379", "--shards", &shards];
        flags.extend(["--protected-mode", "no"]);
        flags.extend(["--durability", self.plan.durability]);
        let token = self.dir.join("token").display().to_string();
        if self.plan.kind == Kind::Replicated {
            flags.extend(["--cluster-enabled", "yes", "--cluster-token-file", &token]);
        }
        let mut flags: Vec<String> = flags.into_iter().map(str::to_owned).collect();
        if let Some(folder) = &self.certificates {
            let by_tls = [
                "--tls-port",
                "6390",
                "--routed-tls-port",
                "6391",
                "--tls-cluster",
                "yes",
            ];
            flags.extend(by_tls.map(str::to_owned));
            flags.extend(folder.flags("node"));
        }
        flags
    }

    /// Makes the nodes one cluster.
    fn bootstrap(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let shards = self.plan.shards.to_string();
        let factor = self.plan.nodes.min(3).to_string();
        loop {
            let words = ["bootstrap", "--shards", &shards, "--replication-factor", &factor];
            match self.administer(&words) {
                Ok(_) => return Ok(()),
                // They may not listen yet.
                Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(200)),
                Err(error) => return Err(error.context(self.last_words())),
            }
        }
    }

    /// What `ruvioctl` says to these words.
    pub fn administer(&self, words: &[&str]) -> Result<String> {
        let mut secure = Vec::new();
        if let Some(folder) = &self.certificates {
            secure.push("--tls".to_owned());
            secure.extend(folder.flags("client"));
        }
        self.administer_with(&secure, words)
    }

    /// The same with other certificates, or none.
    pub fn administer_with(&self, secure: &[String], words: &[&str]) -> Result<String> {
        let program = binary(server::Kind::Ruvio)?.with_file_name("ruvioctl");
        let ports = self.nodes.iter().map(|node| format!("{}:7380", node.address));
        let nodes = ports.collect::<Vec<_>>().join(",");
        let mut command = Command::new(&program);
        command
            .args(["--nodes", &nodes, "--token-file"])
            .arg(self.dir.join("token"));
        let done = command.args(secure).args(words).stdin(Stdio::null()).output();
        let done = done.with_context(|| format!("{} (`make test` builds it)", program.display()))?;
        if !done.status.success() {
            bail!("ruvioctl {words:?}: {}", String::from_utf8_lossy(&done.stderr));
        }
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// All places where a client can knock.
    pub fn doors(&self) -> Vec<SocketAddr> {
        let ports: &[u16] = match self.plan.kind {
            Kind::Apart => &[6379],
            Kind::Replicated => &[6379, 6380],
        };
        let addresses = self.nodes.iter().map(|node| node.address);
        let of_node = |address| ports.iter().map(move |port| SocketAddr::from((address, *port)));
        addresses.flat_map(of_node).collect()
    }

    /// A key for about each shard can be read.
    pub fn wait_until_served(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let mut seeker = Seeker::new(self.doors(), 0);
        for key in 0..self.plan.shards * 4 {
            let key = format!("served:{key}");
            loop {
                let answer = seeker.call(&key, &["GET", &key]);
                match answer {
                    Answer::Value(Value::NullBulk) => break,
                    _ if Instant::now() < deadline => {}
                    other => bail!("{key} is not served: {other:?}\n{}", self.last_words()),
                }
            }
        }
        Ok(())
    }

    /// The end of what each node said.
    pub fn last_words(&self) -> String {
        let of_node = |node: &Node| format!("{}:\n{}\n", node.address, node.last_words());
        self.nodes.iter().map(of_node).collect()
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.nodes.clear();
        self.network = None;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

//! A Valkey primary and two replicas, all of which sync their log before they go on.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;

use super::{Folder, NODES, Node, free_ports, local, wait_for};
use crate::client::Client;
use crate::cores::Cores;

pub struct Valkey {
    /// The primary first.
    pub nodes: Vec<Node>,
    pub primary: SocketAddr,
    _folder: Folder,
}

impl Valkey {
    pub fn start(binary: &Path, cores: Cores) -> Result<Self> {
        let folder = Folder::new("valkey")?;
        let ports = free_ports(NODES)?;
        let primary = local(ports[0]);
        let mut nodes = Vec::new();
        for (index, port) in ports.iter().enumerate() {
            let home = folder.text(&format!("node-{index}"));
            std::fs::create_dir_all(&home)?;
            let mut text = format!(
                "--port {port} --bind 127.0.0.1 --dir {home} --io-threads 1 \
                 --appendonly yes --appendfsync always --repl-diskless-sync-delay 0"
            );
            if index > 0 {
                text.push_str(&format!(" --replicaof 127.0.0.1 {}", ports[0]));
            }
            let mut arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            arguments.extend(["--save".to_owned(), String::new()]);
            let log = folder.file(&format!("log-{index}"));
            nodes.push(Node::start(binary, arguments, log, cores)?);
        }
        let valkey = Self {
            nodes,
            primary,
            _folder: folder,
        };
        wait_for("Valkey's replicas", || valkey.is_complete())?;
        Ok(valkey)
    }

    fn is_complete(&self) -> Result<Option<()>> {
        let mut client = Client::connect(self.primary)?;
        client.call(&["SET", "a", "b"])?;
        let replicas = client.call(&["WAIT", "2", "100"])?.integer();
        Ok((replicas == Some(2)).then_some(()))
    }
}

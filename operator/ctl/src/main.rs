//! `ruvioctl`: administers a cluster through its nodes' admin ports.
//!
//! `arguments` says what can be asked; `call` speaks with one node, by TLS if `secure` is told to, and turns what goes wrong into a sentence;
//! `cluster` is what all nodes said, put together. `founding`, `joining`, `leaders`, `replicas`, `recovery`, `configure` and `digest`
//! decide what to ask of whom, and `table` and `json` show it. What decides and what shows is pure: it is tested without a node.

mod address;
mod arguments;
mod call;
mod cluster;
mod configure;
mod digest;
mod founding;
mod joining;
mod json;
mod leaders;
mod recovery;
mod replicas;
#[cfg(test)]
mod samples;
mod secure;
mod table;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Ask, Output};
use call::Caller;
use cluster::Cluster;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(run(arguments)));
    match done {
        Ok(said) => {
            println!("{}", said.trim_end());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("ruvioctl: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be printed in the end.
async fn run(arguments: Arguments) -> anyhow::Result<String> {
    let caller = Caller::new(
        arguments.token_file.as_deref(),
        &arguments.files,
        arguments.timeout,
    )?;
    let nodes = arguments.nodes;
    match arguments.ask {
        Ask::Bootstrap(wish) => founding::bootstrap(&caller, &nodes, &wish).await,
        Ask::Join(wish) => joining::join(&caller, &nodes, &wish.node).await,
        Ask::Status { output } => {
            let cluster = Cluster::ask(&caller, &nodes).await?;
            Ok(match output {
                Output::Table => table::render(&cluster),
                Output::Json => json::render(&cluster),
            })
        }
        Ask::TransferLeader { shard, to } => leaders::transfer(&caller, &nodes, shard, to).await,
        Ask::Drain { node } => leaders::drain(&caller, &nodes, &node, true).await,
        Ask::Undrain { node } => leaders::drain(&caller, &nodes, &node, false).await,
        Ask::Digest { shard } => digest::compare(&caller, &nodes, shard).await,
        Ask::ChangeReplicas(wish) => replicas::change(&caller, &nodes, &wish).await,
        Ask::ApplyConfig(wish) => configure::apply(&caller, &nodes, &wish).await,
        Ask::Reload(wish) => configure::reload(&caller, &nodes, &wish).await,
        Ask::RecoverQuorum(wish) => recovery::recover(&caller, &nodes, &wish).await,
    }
}

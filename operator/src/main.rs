//! `ruvio-operator`: prints what it needs of Kubernetes.

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    version,
    about = "Makes Ruvio clusters on Kubernetes what their RuvioCluster says."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the definition of the custom resource.
    Crd,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Crd => print!("{}", ruvio_operator::crd::yaml()?),
    }
    Ok(())
}

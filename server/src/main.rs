//! `ruvio-server`: the life of a node. Configure (nothing is bound yet), bind, start the owner threads,
//! say so, wait for a signal, stop, say whether that was complete.

mod host;
mod owner;

use std::net::SocketAddr;

use anyhow::Context;
use ruvio_core::engine::Engine;
use ruvio_core::keyspace::Shard;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use host::Process;
use owner::{Listener, Owner};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let address: SocketAddr = std::env::args()
        .nth(1)
        .unwrap_or("127.0.0.1:6379".into())
        .parse()?;
    let listener = Listener::bind(address, 511).with_context(|| format!("cannot listen on {address}"))?;
    tracing::info!(address = %listener.address, "listening");
    let (stop, stopped) = watch::channel(false);
    let owner = std::thread::Builder::new()
        .name("owner-0".into())
        .spawn(move || -> anyhow::Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            let (seed, random) = (entropy()?, entropy()?);
            let engine = Engine::new(Shard::new(seed, random), Box::new(Process::new()?));
            runtime.block_on(Owner::new(engine, vec![listener], 10_000).run(stopped))?;
            Ok(())
        })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            _ = terminate.recv() => {}
            result = tokio::signal::ctrl_c() => result?,
        }
        anyhow::Ok(())
    })?;
    tracing::info!("stopping");
    stop.send(true)?;
    owner
        .join()
        .map_err(|_| anyhow::anyhow!("an owner thread panicked"))??;
    tracing::info!("stopped");
    Ok(())
}

/// Eight bytes of the system's randomness.
fn entropy() -> anyhow::Result<u64> {
    let mut bytes = [0u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

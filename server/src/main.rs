//! `ruvio-server`: the life of a node. Configure (nothing is bound yet), bind, start the owner threads,
//! load what was kept, wait for a signal, stop, say whether that was complete.

mod administration;
mod config;
mod host;
mod keeper;
mod known;
mod loading;
mod logging;
mod owner;
mod owners;
mod painter;
mod replicas;
mod runs;
mod storage;

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use ruvio_core::engine::Door;
use ruvio_core::options::text::{Directive, Origin};
use ruvio_core::options::{Durability, Id, Options};
use ruvio_server::admin::{self, Guard};
use ruvio_server::datadir::Refusal;
use ruvio_server::image::ImageError;
use ruvio_server::tls::{self, Tls};
use ruvio_server::wal::{self, disk::Folder};
use tokio::signal::unix::{Signal, SignalKind, signal};

use administration::Administration;
use config::Request;
use host::Node;
use keeper::{Claim, Keeper};
use owner::{Listener, Local};
use replicas::Membership;
use storage::{Claimed, ImageBehind};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ruvio-server: {}", sentence(&error));
            ExitCode::from(code_of(&error))
        }
    }
}

/// All that is known of an error, in one line; some say their cause themselves.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

/// What supervisors can tell apart: damaged data, a disk that fails, a directory that is not to be used.
fn code_of(error: &anyhow::Error) -> u8 {
    let of_cause = |cause: &(dyn std::error::Error + 'static)| {
        let refused = cause.downcast_ref::<Refusal>().map(Refusal::exit_code);
        let unread = cause
            .downcast_ref::<wal::RecoverError>()
            .map(wal::RecoverError::exit_code);
        let unstarted = cause
            .downcast_ref::<wal::StartError>()
            .map(wal::StartError::exit_code);
        let failed = cause.downcast_ref::<wal::Fatal>().map(|_| wal::EXIT_IO);
        let of_image = cause.downcast_ref::<ImageError>().map(ImageError::exit_code);
        let behind = cause.downcast_ref::<ImageBehind>().map(|_| wal::EXIT_CORRUPT);
        refused
            .or(unread)
            .or(unstarted)
            .or(failed)
            .or(of_image)
            .or(behind)
    };
    error.chain().find_map(of_cause).unwrap_or(1)
}

fn run() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut options = match config::read(&arguments)? {
        Request::Print(text) => {
            println!("{text}");
            return Ok(());
        }
        Request::DumpLog(directory) => return dump_log(&directory),
        Request::Serve(options) => *options,
    };
    logging::start(&options.shown_by(Id::LogLevel));
    config::warn(&options);
    config::enter_folder(&mut options)?;
    make_room_for_clients(&mut options)?;
    let ends = EndSignals::watch()?;
    let tls = start_tls(&options)?;
    let claim = claim(&options, tls.as_ref())?;
    let listeners = bind(&options)?;
    let member = claim.as_ref().and_then(Claim::membership);
    let leaver = member.clone();
    let admin = member.map(|member| Ok::<_, anyhow::Error>((member, administration::bind(&options)?)));
    let admin = admin.transpose()?;
    let node = Arc::new(describe(&listeners)?);
    if let Some(tls) = &tls {
        // Nobody has put one there before.
        let _ = node.tls.set(Arc::clone(tls));
    }
    let pid_file = write_pid_file(&options);

    let owners = owners::start(&options, listeners, &node, claim.is_some(), tls.as_ref())?;
    let keep = |claim| {
        Keeper::start(
            claim,
            &options,
            owners::topology(&options),
            owners.inboxes(),
            owners.noticer(),
            &node,
        )
    };
    let keeper = claim.map(keep).transpose()?;
    if let Some((member, listeners)) = admin {
        let shards = owners::topology(&options).shards;
        ends.administer(listeners, Administration::new(member, shards), &node);
    }
    ends.wait(&node);
    tracing::info!("stopping");
    if let Some(leaver) = leaver.filter(|_| node.trouble().is_none()) {
        leaver.hand_over();
    }
    // Owners may have ended by themselves; joining them tells why. If what is kept has failed, that says more
    // than what they noticed of it.
    let ended = owners.stop();
    keeper.map_or(Ok(()), Keeper::stop)?;
    ended.check()?;
    if let Some(trouble) = node.trouble() {
        anyhow::bail!("{trouble}");
    }
    let socket = options.shown_by(Id::UnixSocket);
    if !socket.is_empty() {
        std::fs::remove_file(&socket).with_context(|| format!("cannot remove {socket}"))?;
    }
    if let Some(path) = pid_file {
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {path}"))?;
    }
    tracing::info!("stopped");
    Ok(())
}

/// What the node keeps its data in. `None`: it keeps none.
fn claim(options: &Options, tls: Option<&Arc<Tls>>) -> anyhow::Result<Option<Claim>> {
    if !options.flag(Id::ClusterEnabled) {
        return Ok(Claimed::new(options)?.map(Claim::Alone));
    }
    anyhow::ensure!(
        options.durability() != Durability::Memory,
        "a node of a cluster keeps what it agreed to: durability memory is for one that stands alone"
    );
    let claimed = match Claimed::is_taken(options) {
        true => Claimed::new(options)?,
        false => None,
    };
    let membership = Membership::new(options, tls.cloned())?;
    Ok(Some(Claim::Member(claimed, Arc::new(membership))))
}

/// Reads the certificates, and has new ones taken in. `None`: no TLS is wanted.
fn start_tls(options: &Options) -> anyhow::Result<Option<Arc<Tls>>> {
    let Some(settings) = tls::Settings::read(options)? else {
        return Ok(None);
    };
    let tls = Arc::new(Tls::new(settings)?);
    tls.watch()
        .context("cannot start the thread that watches certificates")?;
    Ok(Some(tls))
}

/// Prints the log of a data directory, or of the folder of segments itself.
fn dump_log(directory: &Path) -> anyhow::Result<()> {
    let inside = directory.join("wal");
    let folder = if inside.is_dir() { &inside } else { directory };
    let out = &mut std::io::BufWriter::new(std::io::stdout().lock());
    let dumped = wal::dump(&Folder::read_only(folder), out).and_then(|()| out.flush());
    match dumped {
        // Whoever read it has seen enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.with_context(|| format!("cannot print the log in {}", folder.display())),
    }
}

/// Raises the limit of open files, or lowers `maxclients` to what the system allows.
fn make_room_for_clients(options: &mut Options) -> anyhow::Result<()> {
    let wanted = options.max_clients();
    if let Err(possible) = host::reserve_descriptors(wanted) {
        tracing::warn!(
            wanted,
            possible,
            "maxclients is lowered: the limit of open files allows no more"
        );
        options.load(&[Directive {
            name: "maxclients".into(),
            words: vec![possible.to_string().into_bytes()],
            origin: Origin::Flag,
        }])?;
    }
    Ok(())
}

/// Listens wherever the options say.
fn bind(options: &Options) -> anyhow::Result<Vec<Listener>> {
    let backlog = i32::try_from(options.number(Id::TcpBacklog)).unwrap_or(i32::MAX);
    let is_member = options.flag(Id::ClusterEnabled);
    let door = if is_member { Door::Cluster } else { Door::default() };
    let port = |id| options.number(id) as u16;
    let mut listeners = Vec::new();
    if options.port() != 0 || port(Id::TlsPort) == 0 {
        listeners.extend(bind_port(options, options.port(), (door, false), backlog)?);
    }
    let mut further = vec![(Id::TlsPort, door, true)];
    if is_member {
        further.extend([
            (Id::RoutedPort, Door::Routed, false),
            (Id::RoutedTlsPort, Door::Routed, true),
        ]);
    }
    for (id, door, is_tls) in further {
        if port(id) != 0 {
            listeners.extend(bind_port(options, port(id), (door, is_tls), backlog)?);
        }
    }
    anyhow::ensure!(
        !listeners.is_empty(),
        "none of the addresses of bind is there to listen on"
    );
    let path = options.shown_by(Id::UnixSocket);
    if !path.is_empty() {
        let permissions = options.number(Id::UnixSocketPerm) as u32;
        let listener = Listener::bind_unix(&path, permissions, backlog)
            .with_context(|| format!("cannot listen on {path}"))?;
        tracing::info!(path, "listening");
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Listens on a port of every address. Port 0 takes a free one, the same on all.
fn bind_port(
    options: &Options,
    port: u16,
    (door, is_tls): (Door, bool),
    backlog: i32,
) -> anyhow::Result<Vec<Listener>> {
    let mut listeners: Vec<Listener> = Vec::new();
    for mut address in config::addresses(options, port)? {
        if let (0, Some(port)) = (address.socket.port(), listeners.first().and_then(port_of)) {
            address.socket.set_port(port);
        }
        let bound =
            Listener::check_free(address.socket).and_then(|()| Listener::bind(address.socket, backlog));
        match bound {
            Ok(listener) => {
                tracing::info!(address = %listener.local, is_tls, "listening");
                listeners.push(listener.with_door(door, is_tls));
            }
            Err(error) if address.optional && is_missing(&error) => {
                tracing::info!(address = %address.socket, %error, "not listening");
            }
            Err(error) => {
                let way_out = match error.kind() {
                    std::io::ErrorKind::AddrInUse => ": stop who listens there, or take another port",
                    _ => "",
                };
                return Err(error).with_context(|| format!("cannot listen on {}{way_out}", address.socket));
            }
        }
    }
    Ok(listeners)
}

fn address_of(listener: &Listener) -> Option<String> {
    match &listener.local {
        Local::Tcp(address) => Some(address.ip().to_string()),
        Local::Unix(_) => None,
    }
}

fn port_of(listener: &Listener) -> Option<u16> {
    match &listener.local {
        Local::Tcp(address) => Some(address.port()),
        Local::Unix(_) => None,
    }
}

/// The machine does not have the address, or not its kind.
fn is_missing(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::ADDRNOTAVAIL | Errno::AFNOSUPPORT | Errno::PFNOSUPPORT)
    )
}

fn describe(listeners: &[Listener]) -> anyhow::Result<Node> {
    let port = listeners.first().and_then(port_of).unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    // All addresses of a port stand together.
    for group in listeners.chunk_by(|one, next| port_of(one) == port_of(next)) {
        let bound: Vec<String> = group.iter().filter_map(address_of).collect();
        match &group[0].local {
            Local::Tcp(address) => lines.push(format!(
                "name={},bind={},port={}",
                if group[0].is_tls { "tls" } else { "tcp" },
                bound.join(",bind="),
                address.port()
            )),
            Local::Unix(path) => lines.push(format!("name=unix,bind={path}")),
        }
    }
    let run_id = format!("{:016x}{:016x}{:08x}", entropy()?, entropy()?, entropy()? as u32);
    Ok(Node::new(port, lines, run_id))
}

/// Who looks for the file misses it; that is no reason not to serve.
fn write_pid_file(options: &Options) -> Option<String> {
    let path = String::from_utf8_lossy(options.text(Id::PidFile)).into_owned();
    if path.is_empty() {
        return None;
    }
    match std::fs::write(&path, format!("{}\n", std::process::id())) {
        Ok(()) => Some(path),
        Err(error) => {
            tracing::warn!(%error, "cannot write the pidfile {path}");
            None
        }
    }
}

/// Signals that ask for the end, watched from before the first client can come.
struct EndSignals {
    runtime: tokio::runtime::Runtime,
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    fn watch() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (terminate, interrupt) = {
            let _inside = runtime.enter();
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?)
        };
        Ok(Self {
            runtime,
            terminate,
            interrupt,
        })
    }

    /// Takes calls of administration while it waits.
    fn administer(&self, listeners: Vec<TcpListener>, administration: Administration, node: &Arc<Node>) {
        let acceptor = administration.acceptor();
        let guard = Guard::new(administration.token(), acceptor.is_tls());
        let (control, node) = (Arc::new(administration), Arc::clone(node));
        self.runtime.spawn(async move {
            if let Err(error) = admin::serve(listeners, acceptor, guard, control).await {
                node.end_with(format!("the admin port serves no longer: {error}"));
            }
        });
    }

    /// Until a signal, or a client's `SHUTDOWN`.
    fn wait(mut self, node: &Node) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
                () = node.stop.notified() => {}
            }
        });
    }
}

/// Eight bytes of the system's randomness.
fn entropy() -> anyhow::Result<u64> {
    let mut bytes = [0u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_le_bytes(bytes))
}

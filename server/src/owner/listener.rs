//! Where connections come from.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::SocketFlags;
use ruvio_core::engine::Door;
use ruvio_server::tls::Session;
use socket2::{Domain, Protocol, SockAddr, Socket, TcpKeepalive, Type};

use super::connection::Connection;
use super::poll::Poller;
use super::{LISTENERS, Owner, now};

/// Where one listens.
#[derive(Clone, Debug)]
pub enum Local {
    Tcp(SocketAddr),
    /// The file's path.
    Unix(String),
}

impl std::fmt::Display for Local {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(out),
            Self::Unix(path) => path.fmt(out),
        }
    }
}

/// A listening socket of one owner. With `SO_REUSEPORT` every owner has its own on the same address, and
/// the kernel spreads connections over them; a Unix socket is one that all of them look at.
pub struct Listener {
    pub fd: OwnedFd,
    pub local: Local,
    /// What a cluster looks like to those who come by it.
    pub door: Door,
    pub is_tls: bool,
}

impl Listener {
    pub fn bind(address: SocketAddr, backlog: i32) -> io::Result<Self> {
        let socket = Self::socket(address)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(backlog)?;
        let address = socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(Self {
            fd: socket.into(),
            local: Local::Tcp(address),
            door: Door::default(),
            is_tls: false,
        })
    }

    /// `SO_REUSEPORT`, by which owner threads share a port, would let a second server share it too.
    pub fn check_free(address: SocketAddr) -> io::Result<()> {
        if address.port() == 0 {
            return Ok(());
        }
        let socket = Self::socket(address)?;
        socket.bind(&address.into())?;
        socket.listen(1)
    }

    /// An address of IPv6 is of IPv6 alone: the same port of IPv4 is another.
    fn socket(address: SocketAddr) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        Ok(socket)
    }

    /// A Unix socket in the place of whatever has its name. `permissions`: 0 for those of the process.
    pub fn bind_unix(path: &str, permissions: u32, backlog: i32) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::unix(path)?)?;
        if permissions > 0 {
            std::fs::set_permissions(path, Permissions::from_mode(permissions))?;
        }
        socket.listen(backlog)?;
        Ok(Self {
            fd: socket.into(),
            local: Local::Unix(path.into()),
            door: Door::default(),
            is_tls: false,
        })
    }

    /// The same for another owner.
    pub fn again(&self, backlog: i32) -> io::Result<Self> {
        match &self.local {
            Local::Tcp(address) => Ok(Self::bind(*address, backlog)?.with_door(self.door, self.is_tls)),
            Local::Unix(_) => Ok(Self {
                fd: self.fd.try_clone()?,
                local: self.local.clone(),
                door: self.door,
                is_tls: self.is_tls,
            }),
        }
    }

    #[must_use]
    pub fn with_door(self, door: Door, is_tls: bool) -> Self {
        Self { door, is_tls, ..self }
    }
}

/// What a machine is told that may not come in as long as nobody needs a password.
const PROTECTED: &[u8] = b"-DENIED Running in protected mode because protected mode is enabled and no password \
is set for the default user. In this mode connections are only accepted from the loopback interface. To let other \
machines in, give the default user a password (requirepass, or ACL SETUSER), or set protected-mode to no where the \
network itself keeps strangers out.\r\n";

/// Accepted per look at a listener, so that a flood of connections does not starve those that are there.
const ACCEPTS: usize = 64;
/// How long nobody is accepted after that has failed.
const REST: Duration = Duration::from_millis(100);

impl Owner {
    pub(super) fn accept(&mut self, listener: usize, poller: &Poller) -> io::Result<()> {
        for _ in 0..ACCEPTS {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = match rustix::net::accept_with(&self.listeners[listener].fd, flags) {
                Ok(fd) => fd,
                Err(Errno::AGAIN) => {
                    self.is_short = false;
                    return Ok(());
                }
                Err(Errno::INTR | Errno::CONNABORTED) => return Ok(()),
                Err(error) => return self.rest_from_accepting(error, poller),
            };
            self.admit(fd, listener, poller)?;
        }
        Ok(())
    }

    /// Out of descriptors, or the like: who knocks is told of at every look until there is room, so nobody
    /// looks for a while. Those who are here are served on.
    fn rest_from_accepting(&mut self, error: Errno, poller: &Poller) -> io::Result<()> {
        if !self.is_short {
            tracing::warn!(%error, "connections cannot be accepted; tried again every {REST:?}");
        }
        self.is_short = true;
        if self.accept_again.is_none() {
            for listener in &self.listeners {
                poller.forget(&listener.fd)?;
            }
        }
        self.accept_again = Some(Instant::now() + REST);
        Ok(())
    }

    /// Looks at the listeners, from the start on and again after a rest.
    pub(super) fn watch_listeners(&mut self, poller: &Poller) -> io::Result<()> {
        self.accept_again = None;
        for (index, listener) in self.listeners.iter().enumerate() {
            poller.watch_level(&listener.fd, LISTENERS + index as u64)?;
        }
        Ok(())
    }

    fn admit(&mut self, fd: OwnedFd, listener: usize, poller: &Poller) -> io::Result<()> {
        let socket = Socket::from(fd);
        if self.crossing.clients() >= self.engine.world.options.max_clients() {
            self.turn_away(&socket, listener, b"-ERR max number of clients reached\r\n");
            return Ok(());
        }
        let peer = socket.peer_addr().ok().and_then(|a| a.as_socket());
        if self.engine.world.is_protected()
            && peer.is_some_and(|peer| !peer.ip().to_canonical().is_loopback())
        {
            self.turn_away(&socket, listener, PROTECTED);
            return Ok(());
        }
        let Ok(tls) = self.begin_tls(listener) else {
            return Ok(());
        };
        let (addr, laddr) = match &self.listeners[listener].local {
            Local::Tcp(address) => {
                self.tune(&socket);
                let local = socket.local_addr().ok().and_then(|a| a.as_socket());
                let text = |end: Option<SocketAddr>| end.unwrap_or(*address).to_string();
                (text(peer), text(local))
            }
            // As Valkey shows both ends.
            Local::Unix(path) => (format!("[{path}:0]:0"), format!("[{path}:0]:0")),
        };
        let fd: OwnedFd = socket.into();
        let client = self.engine.connect(addr, laddr, fd.as_raw_fd(), now());
        let Listener { door, is_tls, .. } = self.listeners[listener];
        self.engine.set_door(client, door, is_tls);
        let index = self.connections.insert(Connection::new(fd, client, tls));
        self.crossing.note_clients(self.connections.len());
        if let Some(connection) = self.connections.get(index)
            && let Err(error) = poller.watch_edges(&connection.fd, u64::from(index))
        {
            tracing::warn!(%error, "a connection could not be watched");
            self.close(index);
        }
        Ok(())
    }

    /// Whoever speaks TLS would not understand why.
    fn turn_away(&mut self, socket: &Socket, listener: usize, why: &[u8]) {
        self.engine.world.stats.connections_rejected += 1;
        if !self.listeners[listener].is_tls {
            let _ = socket.send(why);
        }
    }

    fn begin_tls(&self, listener: usize) -> io::Result<Option<Session>> {
        match &self.tls {
            Some(tls) if self.listeners[listener].is_tls => tls.serve().map(Some),
            _ => Ok(None),
        }
    }

    /// What only TCP has.
    fn tune(&self, socket: &Socket) {
        let _ = socket.set_tcp_nodelay(true);
        if let Some(seconds) = self.engine.keep_alive_seconds() {
            let every = std::time::Duration::from_secs(seconds);
            let _ = socket.set_tcp_keepalive(
                &TcpKeepalive::new()
                    .with_time(every)
                    .with_interval(every / 3)
                    .with_retries(3),
            );
        }
    }
}

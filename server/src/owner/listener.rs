//! Where connections come from.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SocketFlags;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};

use super::connection::Connection;
use super::poll::Poller;
use super::{Owner, now};

/// A listening socket of one owner. With `SO_REUSEPORT` every owner has its own on the same address, and
/// the kernel spreads connections over them.
pub struct Listener {
    pub fd: OwnedFd,
    pub address: SocketAddr,
}

impl Listener {
    pub fn bind(address: SocketAddr, backlog: i32) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(backlog)?;
        let address = socket.local_addr()?.as_socket().unwrap_or(address);
        Ok(Self {
            fd: socket.into(),
            address,
        })
    }
}

/// What a machine is told that may not come in as long as nobody needs a password.
const PROTECTED: &[u8] = b"-DENIED Running in protected mode because protected mode is enabled and no password \
is set for the default user. In this mode connections are only accepted from the loopback interface. To let other \
machines in, give the default user a password (requirepass, or ACL SETUSER), or set protected-mode to no where the \
network itself keeps strangers out.\r\n";

/// Accepted per look at a listener, so that a flood of connections does not starve those that are there.
const ACCEPTS: usize = 64;

impl Owner {
    pub(super) fn accept(&mut self, listener: usize, poller: &Poller) -> io::Result<()> {
        for _ in 0..ACCEPTS {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let fd = match rustix::net::accept_with(&self.listeners[listener].fd, flags) {
                Ok(fd) => fd,
                Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => return Ok(()),
                // Out of descriptors: those who are here are served on.
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    return Ok(());
                }
            };
            self.admit(fd, listener, poller)?;
        }
        Ok(())
    }

    fn admit(&mut self, fd: OwnedFd, listener: usize, poller: &Poller) -> io::Result<()> {
        let socket = Socket::from(fd);
        if self.crossing.clients() >= self.engine.world.options.max_clients() {
            self.engine.world.stats.connections_rejected += 1;
            let _ = socket.send(b"-ERR max number of clients reached\r\n");
            return Ok(());
        }
        let peer = socket.peer_addr().ok().and_then(|a| a.as_socket());
        if self.engine.world.is_protected()
            && peer.is_some_and(|peer| !peer.ip().to_canonical().is_loopback())
        {
            self.engine.world.stats.connections_rejected += 1;
            let _ = socket.send(PROTECTED);
            return Ok(());
        }
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
        let local = socket.local_addr().ok().and_then(|a| a.as_socket());
        let text =
            |address: Option<SocketAddr>| address.unwrap_or(self.listeners[listener].address).to_string();
        let (addr, laddr) = (text(peer), text(local));
        let fd: OwnedFd = socket.into();
        let client = self.engine.connect(addr, laddr, fd.as_raw_fd(), now());
        let index = self.connections.insert(Connection::new(fd, client));
        self.crossing.note_clients(self.connections.len());
        if let Some(connection) = self.connections.get(index)
            && let Err(error) = poller.watch_edges(&connection.fd, u64::from(index))
        {
            tracing::warn!(%error, "a connection could not be watched");
            self.close(index);
        }
        Ok(())
    }
}

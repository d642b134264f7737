//! One client socket of the load: what waits to be sent, and how many replies are still due.
//!
//! Invariant: more replies than requests is an error at once, so a miscounted stream cannot pass for a fast one.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::epoll;
use rustix::net::sockopt::set_socket_linger;

use super::replies::{Replies, Tally};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Connection {
    stream: TcpStream,
    id: u64,
    replies: Replies,
    due: usize,
    /// The part of a batch that the socket did not take.
    unsent: Vec<u8>,
    unsent_from: usize,
    pub(super) first_serial: u64,
    /// What the first leg of an exchange was answered so far.
    pub(super) captured: Option<Vec<u64>>,
}

impl Connection {
    /// Connects, waits until the server has answered a PING, and registers for reading under `id`.
    pub(super) fn open(address: SocketAddr, epoll: &OwnedFd, id: u64) -> Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).context("connect")?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        // Closing resets: thousands of connections in TIME_WAIT would disturb the next run.
        set_socket_linger(&stream, Some(Duration::ZERO))?;
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        let mut pong = [0; 7];
        stream.read_exact(&mut pong).context("no answer to PING")?;
        ensure!(
            &pong == b"+PONG\r\n",
            "PING was answered {:?}",
            String::from_utf8_lossy(&pong)
        );
        stream.set_nonblocking(true)?;
        epoll::add(
            epoll,
            &stream,
            epoll::EventData::new_u64(id),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            stream,
            id,
            replies: Replies::default(),
            due: 0,
            unsent: Vec::new(),
            unsent_from: 0,
            first_serial: 0,
            captured: None,
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.due == 0 && self.unsent.is_empty()
    }

    pub(super) fn send(&mut self, batch: &[u8], requests: usize, epoll: &OwnedFd) -> Result<()> {
        self.due += requests;
        let taken = self.write(batch)?;
        if taken < batch.len() {
            self.unsent.extend_from_slice(&batch[taken..]);
            self.watch(epoll, epoll::EventFlags::IN | epoll::EventFlags::OUT)?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self, epoll: &OwnedFd) -> Result<()> {
        let unsent = std::mem::take(&mut self.unsent);
        self.unsent_from += self.write(&unsent[self.unsent_from..])?;
        self.unsent = unsent;
        if self.unsent_from == self.unsent.len() {
            self.unsent.clear();
            self.unsent_from = 0;
            self.watch(epoll, epoll::EventFlags::IN)?;
        }
        Ok(())
    }

    /// Reads once and answers how many replies became complete.
    pub(super) fn receive(&mut self, buffer: &mut [u8], tally: &mut Tally) -> Result<usize> {
        let bytes = match self.stream.read(buffer) {
            Ok(0) => bail!("the server closed a connection with {} replies due", self.due),
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(0);
            }
            Err(error) => return Err(error).context("receive"),
        };
        let complete = self.replies.feed(&buffer[..bytes], tally)?;
        ensure!(
            complete <= self.due,
            "{complete} replies where {} were due",
            self.due
        );
        self.due -= complete;
        Ok(complete)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self.stream.write(bytes) {
            Ok(taken) => Ok(taken),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(error) => Err(error).context("send"),
        }
    }

    fn watch(&self, epoll: &OwnedFd, flags: epoll::EventFlags) -> Result<()> {
        epoll::modify(epoll, &self.stream, epoll::EventData::new_u64(self.id), flags).context("epoll_ctl")
    }
}

//! A blocking RESP connection that shows every byte: it can write raw bytes, wait a bounded time
//! for one reply, and tell a closed connection from a silent one.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::resp::{Value, parse};

/// How long a reply may take where the test does not say otherwise.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What a bounded wait for a reply ended with.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    Reply(Value),
    Closed,
    Nothing,
}

pub struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
    consumed: usize,
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(addr).with_context(|| format!("connect to {addr}"))?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Client {
            stream,
            unread: Vec::new(),
            consumed: 0,
        })
    }

    /// The door that it came by.
    pub fn peer(&self) -> Result<SocketAddr> {
        Ok(self.stream.peer_addr()?)
    }

    /// The sending side, for a thread that sends while this one reads. It waits for the server as long as that takes.
    pub fn sender(&self) -> Result<TcpStream> {
        let sender = self.stream.try_clone()?;
        sender.set_write_timeout(None)?;
        Ok(sender)
    }

    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("write")
    }

    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<()> {
        let mut request = Vec::new();
        encode(args, &mut request);
        self.send_raw(&request)
    }

    /// One command and its one reply.
    pub fn call<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value> {
        self.send(args)?;
        self.reply()
    }

    /// A command written as words separated by blanks.
    pub fn say(&mut self, line: &str) -> Result<Value> {
        self.call(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub fn reply(&mut self) -> Result<Value> {
        match self.receive(PATIENCE)? {
            Received::Reply(value) => Ok(value),
            Received::Closed => bail!("the server closed the connection instead of replying"),
            Received::Nothing => bail!("no reply within {PATIENCE:?}"),
        }
    }

    pub fn receive(&mut self, patience: Duration) -> Result<Received> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some((value, used)) = parse(&self.unread[self.consumed..])? {
                self.consumed += used;
                return Ok(Received::Reply(value));
            }
            self.unread.drain(..self.consumed);
            self.consumed = 0;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut chunk = [0; 64 << 10];
            match self.stream.read(&mut chunk) {
                Ok(0) => return self.closed(),
                Ok(n) => self.unread.extend_from_slice(&chunk[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return self.closed();
                }
                Err(e) => return Err(e).context("read"),
            }
        }
    }

    /// The server has ended the connection, or sent what nobody asked for.
    pub fn is_over(&self) -> bool {
        let looked = self.stream.set_nonblocking(true);
        let peeked = self.stream.peek(&mut [0]);
        let back = self.stream.set_nonblocking(false);
        let is_quiet = matches!(&peeked, Err(e) if e.kind() == ErrorKind::WouldBlock);
        !is_quiet || looked.is_err() || back.is_err()
    }

    /// Ends the sending side, so that the server sees the end of the stream.
    pub fn finish(&self) {
        // The server may have closed first; then there is nothing to end.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn closed(&self) -> Result<Received> {
        if self.unread.is_empty() {
            return Ok(Received::Closed);
        }
        bail!(
            "closed in the middle of a reply: {}",
            crate::resp::show(&self.unread)
        )
    }
}

/// Appends a command in the form that clients send.
pub fn encode<A: AsRef<[u8]>>(args: &[A], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("*{}\r\n", args.len()).as_bytes());
    for arg in args {
        let arg = arg.as_ref();
        out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        out.extend_from_slice(arg);
        out.extend_from_slice(b"\r\n");
    }
}

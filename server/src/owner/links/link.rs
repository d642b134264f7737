//! One connection to another node, over which commands are passed on: what is said, what is expected, and what has
//! become of each command if it breaks.
//!
//! Invariant: replies come in the order of what was said, so the front of `expected` is whose reply is read next. A
//! command was sent, as far as anybody can know here, if any of its bytes was.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use ruvio_core::cluster::NodeId;
use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::link::{self, WORD};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Entrance, Passport};
use ruvio_core::resp::{Frames, Protocol};
use ruvio_core::text::number::parse_u64;
use ruvio_server::tls::Session;
use socket2::{Domain, Socket, Type};

use super::parcel::{Parcel, write};

enum Expected {
    /// What the link is to prove itself by.
    Nonce,
    /// By which number the other node calls the link.
    Id,
    /// The other node has a message.
    Receipt,
    /// `OK` to what it said for itself.
    Assent,
    /// Replies that are to come for it, and where its bytes begin.
    Parcel {
        parcel: Box<Parcel>,
        left: usize,
        start: u64,
        refused: bool,
    },
}

/// What a link says of the commands behind it.
type Standing = (u16, Protocol, bool, Option<u16>, u64);

pub(super) struct Link {
    pub fd: OwnedFd,
    pub node: NodeId,
    pub address: SocketAddr,
    /// Whose own it is; `None`: all share it.
    pub client: Option<ClientId>,
    token: std::sync::Arc<[u8]>,
    /// Where nodes speak it to each other.
    tls: Option<Box<Session>>,
    pub is_ready: bool,
    /// Of one that a client has for itself: its client number at the other node.
    pub id: Option<u64>,
    out: Vec<u8>,
    sent: usize,
    /// Bytes that ever stood in `out`.
    said: u64,
    input: Vec<u8>,
    frames: Frames,
    expected: VecDeque<Expected>,
    standing: Option<Standing>,
    lap: u64,
    /// Commands that were refused in this lap, in order.
    pub refused: Vec<Parcel>,
    /// What is said once the link is ready.
    held: Vec<Parcel>,
    told: Vec<OwnedArgs>,
    /// Messages without a receipt.
    messages: usize,
    /// Commands and bytes under way.
    pub commands: usize,
    pub bytes: usize,
    /// The socket may have more to read.
    pub readable: bool,
    /// The other node will say no more: read until the end, since no further edge will come.
    pub peer_done: bool,
    pub heard: Instant,
}

/// What was under way when a link broke.
pub(super) enum Left {
    /// Nobody has seen it, or it changes nothing.
    Again(Parcel),
    Uncertain(Parcel),
}

/// Messages under way, and bytes unsent, above which further messages are let go.
const MESSAGES: usize = 8192;
const OUT_MAX: usize = 8 * 1024 * 1024;
/// One read.
const READ: usize = 64 * 1024;
/// Room that a quiet link may keep.
const KEPT: usize = 64 * 1024;

fn broken(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

impl Link {
    /// Begins to connect.
    pub fn open(
        node: NodeId,
        address: SocketAddr,
        token: std::sync::Arc<[u8]>,
        client: Option<ClientId>,
        tls: Option<Session>,
    ) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM.nonblocking().cloexec(),
            None,
        )?;
        socket.set_tcp_nodelay(true)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => {
                return Err(error);
            }
            _ => {}
        }
        let mut link = Self {
            fd: socket.into(),
            node,
            address,
            client,
            token,
            tls: tls.map(Box::new),
            is_ready: false,
            id: None,
            out: Vec::new(),
            sent: 0,
            said: 0,
            input: Vec::new(),
            frames: Frames::default(),
            expected: VecDeque::new(),
            standing: None,
            lap: 1,
            refused: Vec::new(),
            held: Vec::new(),
            told: Vec::new(),
            messages: 0,
            commands: 0,
            bytes: 0,
            readable: false,
            peer_done: false,
            heard: Instant::now(),
        };
        link.say(
            &OwnedArgs::from_words([WORD, b"HELLO"].into_iter()),
            Expected::Nonce,
        );
        Ok(link)
    }

    fn say(&mut self, words: &OwnedArgs, expected: Expected) {
        let before = self.out.len();
        write(words.view(), &mut self.out);
        self.said += (self.out.len() - before) as u64;
        self.expected.push_back(expected);
    }

    /// Since when what is under way has been without a sign of life.
    pub fn waits_since(&self) -> Option<Instant> {
        (!self.is_ready || self.commands + self.messages > 0).then_some(self.heard)
    }

    /// Commands were refused: nothing more is said until all that are under way are answered.
    pub fn is_drained(&self) -> bool {
        !self.refused.is_empty() && self.commands == 0
    }

    pub fn take_refused(&mut self) -> Vec<Parcel> {
        self.lap += 1;
        std::mem::take(&mut self.refused)
    }

    pub fn has_any_of(&self, client: ClientId) -> bool {
        let refused = self.refused.iter();
        self.parcels()
            .chain(refused)
            .any(|parcel| parcel.client() == client)
    }

    pub fn parcels(&self) -> impl Iterator<Item = &Parcel> {
        let said = self.expected.iter().filter_map(|expected| match expected {
            Expected::Parcel { parcel, .. } => Some(&**parcel),
            _ => None,
        });
        said.chain(&self.held)
    }

    /// Passes on a message to channels, unless too many are under way.
    pub fn tell(&mut self, words: Args<'_>) {
        if self.messages >= MESSAGES || self.out.len() >= OUT_MAX {
            return;
        }
        if self.commands == 0 && self.messages == 0 {
            self.heard = Instant::now();
        }
        self.messages += 1;
        match self.is_ready {
            true => self.say(&words.to_owned(), Expected::Receipt),
            false => self.told.push(words.to_owned()),
        }
    }

    pub fn pass_on(&mut self, parcel: Parcel) {
        if self.commands == 0 && self.messages == 0 {
            self.heard = Instant::now();
        }
        self.commands += 1;
        self.bytes += parcel.size();
        match self.is_ready {
            true => self.say_parcel(parcel),
            false => self.held.push(parcel),
        }
    }

    fn say_parcel(&mut self, mut parcel: Parcel) {
        parcel.was_said = true;
        let Passport {
            db,
            protocol,
            no_touch,
            entrance: Entrance { only, .. },
            ..
        } = parcel.passport;
        let standing = (db, protocol, no_touch, only, self.lap);
        if self.standing != Some(standing) {
            let words = link::standing(&parcel.passport, self.lap);
            self.say(&words, Expected::Assent);
        }
        self.standing = Some(standing).filter(|_| !parcel.selects());
        let (start, before) = (self.said, self.out.len());
        let left = parcel.write(&mut self.out);
        self.said += (self.out.len() - before) as u64;
        self.expected.push_back(Expected::Parcel {
            parcel: Box::new(parcel),
            left,
            start,
            refused: false,
        });
    }

    /// Sends what is to be sent, as far as the socket takes it.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            // What it has taken counts as sent, whether the socket has it or not.
            self.sent += tls.send(&self.fd, &self.out[self.sent..])?;
            if self.sent < self.out.len() {
                self.forget_sent();
                return Ok(());
            }
        }
        while self.sent < self.out.len() {
            match rustix::net::send(&self.fd, &self.out[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => self.sent += count,
                // It is not connected yet, or full.
                Err(Errno::AGAIN | Errno::INTR) => {
                    self.forget_sent();
                    return Ok(());
                }
                Err(Errno::NOTCONN) if !self.is_ready => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.sent = 0;
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
        }
        Ok(())
    }

    /// A link that is never quiet would keep all that it ever said.
    fn forget_sent(&mut self) {
        if self.sent > KEPT && self.sent > self.out.len() / 2 {
            self.out.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Takes in what is there, by so many reads at the most. On an error, too, the answers are those that came.
    pub fn hear(&mut self, reads: usize, answers: &mut Vec<(Box<Parcel>, Vec<u8>)>) -> io::Result<()> {
        for _ in 0..reads {
            if !self.readable || !self.receive()? {
                break;
            }
            self.take_replies(answers)?;
        }
        Ok(())
    }

    /// One read. `false`: there is nothing more for now.
    fn receive(&mut self) -> io::Result<bool> {
        if self.tls.is_some() {
            return self.receive_by_tls();
        }
        self.input.reserve(READ);
        let wanted = self.input.capacity() - self.input.len();
        let spare = rustix::buffer::spare_capacity(&mut self.input);
        match rustix::net::recv(&self.fd, spare, RecvFlags::empty()) {
            Ok((0, _)) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => {
                self.heard = Instant::now();
                self.readable = count == wanted || self.peer_done;
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.readable = false;
                Ok(false)
            }
            Err(Errno::NOTCONN) if !self.is_ready => {
                self.readable = false;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn receive_by_tls(&mut self) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else {
            return Ok(false);
        };
        let held = self.input.len();
        self.input.resize(held + READ, 0);
        let got = tls.receive(&self.fd, &mut self.input[held..]);
        self.input
            .truncate(held + got.as_ref().map_or(0, |got| got.bytes));
        let got = got?;
        if got.ended {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.readable = got.more || self.peer_done && got.bytes > 0;
        if got.bytes > 0 {
            self.heard = Instant::now();
        }
        Ok(got.bytes > 0)
    }

    /// Takes the replies that are here whole.
    fn take_replies(&mut self, answers: &mut Vec<(Box<Parcel>, Vec<u8>)>) -> io::Result<()> {
        let input = std::mem::take(&mut self.input);
        let mut at = 0;
        while at < input.len() {
            let next = self.frames.next(&input[at..]);
            let Some(len) = next.map_err(|_| broken("its answers make no sense"))? else {
                break;
            };
            answers.extend(self.take_reply(&input[at..at + len])?);
            at += len;
        }
        self.input = input;
        self.input.drain(..at);
        if self.input.is_empty() && self.input.capacity() > 4 * KEPT {
            self.input = Vec::new();
        }
        Ok(())
    }

    /// Whose answer it is, if anybody's.
    fn take_reply(&mut self, reply: &[u8]) -> io::Result<Option<(Box<Parcel>, Vec<u8>)>> {
        match self.expected.front_mut() {
            None => Err(broken("it answers what nobody asked")),
            Some(Expected::Nonce) => {
                self.expected.pop_front();
                let nonce = reply
                    .strip_prefix(b"$16\r\n")
                    .and_then(|rest| rest.strip_suffix(b"\r\n"));
                let nonce = nonce.ok_or_else(|| broken("it takes no links"))?;
                let proof = link::prove(&self.token, nonce, self.node);
                let words = OwnedArgs::from_words([WORD, b"PROVE", &proof].into_iter());
                self.say(&words, Expected::Assent);
                Ok(None)
            }
            Some(Expected::Id) => {
                self.expected.pop_front();
                let number = reply
                    .strip_prefix(b":")
                    .and_then(|rest| rest.strip_suffix(b"\r\n"));
                self.id = number.and_then(parse_u64);
                Ok(None)
            }
            Some(Expected::Receipt) => {
                self.expected.pop_front();
                self.messages -= 1;
                Ok(None)
            }
            Some(Expected::Assent) => {
                self.expected.pop_front();
                if reply != b"+OK\r\n" {
                    return Err(broken(&String::from_utf8_lossy(reply)));
                }
                if !self.is_ready && self.client.is_some() {
                    let words = OwnedArgs::from_words([&b"CLIENT"[..], b"ID"].into_iter());
                    self.say(&words, Expected::Id);
                }
                self.is_ready = true;
                for parcel in std::mem::take(&mut self.held) {
                    self.say_parcel(parcel);
                }
                for words in std::mem::take(&mut self.told) {
                    self.say(&words, Expected::Receipt);
                }
                Ok(None)
            }
            Some(Expected::Parcel { left, refused, .. }) if *left > 1 => {
                *left -= 1;
                *refused |= is_refusal(reply);
                Ok(None)
            }
            Some(Expected::Parcel { .. }) => {
                let Some(Expected::Parcel { parcel, refused, .. }) = self.expected.pop_front() else {
                    return Ok(None);
                };
                self.commands -= 1;
                self.bytes = self.bytes.saturating_sub(parcel.size());
                // A read that waited for what its leader lost told nothing, and says it as writes do.
                let told_nothing = !parcel.away.writes && reply.starts_with(b"-UNCERTAIN ");
                if refused || told_nothing || is_refusal(reply) {
                    self.refused.push(*parcel);
                    return Ok(None);
                }
                Ok(Some((parcel, reply.to_vec())))
            }
        }
    }

    /// What becomes of all that is under way, in order.
    pub fn break_up(mut self) -> (Vec<Left>, NodeId, Option<ClientId>) {
        let sent = self.said - (self.out.len() - self.sent) as u64;
        let refused = std::mem::take(&mut self.refused);
        let mut left: Vec<Left> = refused.into_iter().map(Left::Again).collect();
        for expected in std::mem::take(&mut self.expected) {
            if let Expected::Parcel {
                parcel,
                start,
                refused,
                ..
            } = expected
            {
                let is_uncertain = parcel.away.writes && start < sent && !refused;
                left.push(match is_uncertain {
                    true => Left::Uncertain(*parcel),
                    false => Left::Again(*parcel),
                });
            }
        }
        left.extend(std::mem::take(&mut self.held).into_iter().map(Left::Again));
        (left, self.node, self.client)
    }
}

/// The other node has not done it: it leads the shard no longer, or not yet.
fn is_refusal(reply: &[u8]) -> bool {
    let refusals: [&[u8]; 3] = [b"-CLUSTERDOWN ", b"-LOADING ", b"-UNBLOCKED force unblock"];
    refusals.iter().any(|refusal| reply.starts_with(refusal))
}

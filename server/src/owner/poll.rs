//! Readiness of this owner's sockets: an epoll set, edge-triggered. One task of a runtime per connection would
//! cost a fifth of the time of a small command, and a runtime between the owner and its set two system calls
//! a turn (docs, explanation/architecture).

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::time::Timespec;

/// What a descriptor is ready for.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The peer will send no more.
    pub peer_done: bool,
}

pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

const DONE: EventFlags = EventFlags::RDHUP.union(EventFlags::HUP).union(EventFlags::ERR);
/// Sockets taken per look: more than one turn's arena serves.
const EVENTS: usize = 256;

impl Poller {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
        })
    }

    /// Watches a connection: told once per change, for reading and writing.
    pub fn watch_edges(&self, fd: impl AsFd, token: u64) -> std::io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(token), flags)?)
    }

    /// Watches a listener: told as long as somebody waits to be accepted.
    pub fn watch_level(&self, fd: impl AsFd, token: u64) -> std::io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            fd,
            EventData::new_u64(token),
            EventFlags::IN,
        )?)
    }

    /// Watches it no more.
    pub fn forget(&self, fd: impl AsFd) -> std::io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// What is ready; waits for something to be, but no longer than `wait`.
    pub fn poll(&mut self, into: &mut Vec<Ready>, wait: Duration) -> std::io::Result<()> {
        into.clear();
        self.events.clear();
        let wait = Timespec {
            tv_sec: wait.as_secs().cast_signed(),
            tv_nsec: wait.subsec_nanos().into(),
        };
        match epoll::wait(
            &self.epoll,
            rustix::buffer::spare_capacity(&mut self.events),
            Some(&wait),
        ) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        into.extend(self.events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Ready {
                token: data.u64(),
                readable: flags.intersects(DONE | EventFlags::IN),
                writable: flags.contains(EventFlags::OUT),
                peer_done: flags.intersects(DONE),
            }
        }));
        Ok(())
    }
}

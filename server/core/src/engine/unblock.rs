//! `CLIENT UNBLOCK`: a wait that ends because another client says so.

use super::session::ClientId;
use super::{Engine, World};
use crate::error::Error;
use crate::exec::{Now, OnTimeout};
use crate::resp::{Protocol, Reply};

const UNBLOCKED: Error = Error::new("UNBLOCKED client unblocked via CLIENT UNBLOCK");

/// How the wait ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnblockAs {
    /// As if the time were up.
    Timeout,
    Error,
}

impl World {
    /// `false` if nobody of that number waits. The wait ends when the running command is done.
    pub fn request_unblock(&mut self, serial: u64, how: UnblockAs) -> bool {
        if self.awaited_away.remove(&serial) {
            self.unblock_away.push((serial, how));
            return true;
        }
        let waiting = self
            .sessions
            .find_serial(serial)
            .filter(|session| session.blocked.is_some());
        let Some(client) = waiting.map(|session| session.id) else {
            return false;
        };
        if self.unblock_requests.iter().any(|(known, _)| *known == client) {
            return false;
        }
        self.unblock_requests.push((client, how));
        true
    }

    pub(super) fn take_unblock_requests(&mut self) -> Vec<(ClientId, UnblockAs)> {
        std::mem::take(&mut self.unblock_requests)
    }
}

impl Engine {
    pub(super) fn serve_unblock_requests(&mut self, now: Now) {
        for (client, how) in self.world.take_unblock_requests() {
            let session = self.world.sessions.get(client);
            let Some(on_timeout) = session.and_then(|s| s.blocked.as_ref()).map(|b| b.on_timeout) else {
                continue;
            };
            match (how, on_timeout) {
                (UnblockAs::Error, _) => self.end_wait_with_error(client, UNBLOCKED),
                (UnblockAs::Timeout, OnTimeout::RunAgain) => self.try_again(client, now, false),
                (UnblockAs::Timeout, OnTimeout::Null) => drop(self.end_wait(client, Reply::null)),
                (UnblockAs::Timeout, _) => drop(self.end_wait(client, Reply::null_array)),
            }
        }
    }

    /// Counts among the errors, and as a call that was rejected besides being over: Valkey's figures.
    pub(super) fn end_wait_with_error(&mut self, client: ClientId, error: Error) {
        let session = self.world.sessions.get(client);
        let Some(command) = session.and_then(|s| s.blocked.as_ref()).map(|b| b.command) else {
            return;
        };
        let mut told = Reply::new(Protocol::Resp2);
        self.reject(error, &mut told);
        self.world.stats.commands[command as usize].rejected += 1;
        self.end_wait(client, |out| out.raw(told.as_slice()));
    }
}

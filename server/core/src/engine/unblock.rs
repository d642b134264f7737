//! `CLIENT UNBLOCK`: a wait that ends because another client says so.

use super::session::ClientId;
use super::{Engine, World};
use crate::exec::{Now, OnTimeout};
use crate::resp::Reply;

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
            let told = |out: &mut Reply| match (how, on_timeout) {
                (UnblockAs::Error, _) => out.error("UNBLOCKED client unblocked via CLIENT UNBLOCK"),
                (UnblockAs::Timeout, OnTimeout::Null) => out.null(),
                (UnblockAs::Timeout, _) => out.null_array(),
            };
            if how == UnblockAs::Timeout && on_timeout == OnTimeout::RunAgain {
                self.try_again(client, now, false);
            } else {
                self.end_wait(client, told);
            }
        }
    }
}

//! `MONITOR`: each command as a line, to those who asked for it.

use std::io::Write;

use super::secrets::{REDACTED, is_secret};
use crate::command::spec::Flags;
use crate::command::{Args, Entry};
use crate::engine::session::ClientId;
use crate::engine::world::World;
use crate::exec::Now;
use crate::text::escape::push_quoted;

impl World {
    /// From now on the client is sent what others do.
    pub fn start_monitor(&mut self, client: ClientId) {
        if let Some(session) = self.sessions.get_mut(client)
            && !session.monitors
        {
            session.monitors = true;
            self.observer.monitors.push(client);
        }
    }

    pub fn stop_monitor(&mut self, client: ClientId) {
        self.observer.monitors.retain(|known| *known != client);
        if let Some(session) = self.sessions.get_mut(client) {
            session.monitors = false;
        }
    }

    /// Shows a command to all who monitor, with the database that it ended in. Commands of administrators are
    /// not shown.
    #[cold]
    pub(in crate::engine) fn show_to_monitors(
        &mut self,
        entry: &Entry,
        args: Args<'_>,
        client: ClientId,
        now: Now,
    ) {
        if entry.flags.any(Flags::ADMIN | Flags::SKIP_MONITOR) {
            return;
        }
        let mut line = Vec::with_capacity(128);
        let (seconds, us) = (now.us / 1_000_000, now.us % 1_000_000);
        let session = self.sessions.get(client);
        let (db, addr) = session.map_or((0, ""), |session| (session.db, &session.addr));
        // Writing to a Vec cannot fail.
        let _ = write!(line, "+{seconds}.{us:06} [{db} {addr}]");
        for (at, word) in args.iter().enumerate() {
            line.push(b' ');
            push_quoted(
                if is_secret(entry, args, at) {
                    REDACTED
                } else {
                    word
                },
                &mut line,
            );
        }
        line.extend_from_slice(b"\r\n");
        for monitor in std::mem::take(&mut self.observer.monitors) {
            if self.sessions.get(monitor).is_some() {
                self.show_line(monitor, &line);
                self.observer.monitors.push(monitor);
            }
        }
    }
}

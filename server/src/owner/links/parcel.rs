//! What is passed on to where its shard is led: a command, or a transaction as a whole.

use std::time::Instant;

use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Away, Passport};
use ruvio_core::resp::{Protocol, Reply};

use super::super::crossing::{Kind, Ticket};

pub(in crate::owner) struct Parcel {
    pub kind: Kind,
    pub ticket: Ticket,
    pub passport: Passport,
    pub away: Away,
    /// One command, or what `MULTI` took in.
    pub commands: Vec<OwnedArgs>,
    pub is_transaction: bool,
    /// When nobody is looked for any longer who would run it.
    pub deadline: Instant,
}

impl Parcel {
    /// The one of this client that others wait for.
    pub fn client(&self) -> ClientId {
        self.ticket.client
    }

    /// What it counts against the bounds, bytes.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.commands.iter().map(OwnedArgs::size).sum::<usize>()
    }

    /// Appends it as clients send it; how many replies there will be, of which the last is the answer.
    pub fn write(&self, out: &mut Vec<u8>) -> usize {
        if !self.is_transaction {
            self.commands.iter().for_each(|words| write(words.view(), out));
            return self.commands.len();
        }
        out.extend_from_slice(b"*1\r\n$5\r\nMULTI\r\n");
        self.commands.iter().for_each(|words| write(words.view(), out));
        out.extend_from_slice(b"*1\r\n$4\r\nEXEC\r\n");
        self.commands.len() + 2
    }

    /// The database in which the session is after the answer.
    pub fn database_after(&self, answer: &[u8]) -> u16 {
        if !self.is_transaction || matches!(answer.first(), Some(b'-' | b'_')) || answer.starts_with(b"*-1") {
            return self.passport.db;
        }
        let selected = |words: &OwnedArgs| {
            let args = words.view();
            let is_select = args.len() == 2 && args.get(0).eq_ignore_ascii_case(b"select");
            let number = is_select.then(|| std::str::from_utf8(args.get(1)).ok()?.parse().ok());
            number.flatten()
        };
        let last = self.commands.iter().rev().find_map(selected);
        last.unwrap_or(self.passport.db)
    }

    /// Its commands change the database of whoever runs them.
    pub fn selects(&self) -> bool {
        let is_select = |words: &OwnedArgs| words.view().get(0).eq_ignore_ascii_case(b"select");
        self.is_transaction && self.commands.iter().any(is_select)
    }

    /// What `EXEC` answers where a watched key has changed.
    pub fn broken(&self) -> &'static [u8] {
        match self.passport.protocol {
            Protocol::Resp3 => b"_\r\n",
            Protocol::Resp2 => b"*-1\r\n",
        }
    }
}

/// A command as clients send it.
pub(super) fn write(args: Args<'_>, out: &mut Vec<u8>) {
    let mut request = Reply::with_buffer(std::mem::take(out), Protocol::Resp2);
    request.array(args.len());
    args.iter().for_each(|word| request.bulk(word));
    *out = request.take();
}

//! What is passed on to where its shard is led: a command, or a transaction as a whole.

use std::time::Instant;

use ruvio_core::command::{Args, OwnedArgs};
use ruvio_core::engine::session::ClientId;
use ruvio_core::engine::{Away, Passport};
use ruvio_core::resp::{Frames, Protocol, Reply};

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
    /// It was said to a node, and may have waited there for long.
    pub was_said: bool,
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

    /// The database in which the session is after the answer: that of the last `SELECT` which was done.
    pub fn database_after(&self, answer: &[u8]) -> u16 {
        let selected = self.selects().then(|| last_selected(&self.commands, answer));
        selected.flatten().unwrap_or(self.passport.db)
    }

    /// Its commands change the database of whoever runs them.
    pub fn selects(&self) -> bool {
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

fn is_select(words: &OwnedArgs) -> bool {
    words.view().get(0).eq_ignore_ascii_case(b"select")
}

/// `answer`: of the `EXEC` that ran the commands. What a `SELECT` names counts only if its own reply says so.
fn last_selected(commands: &[OwnedArgs], answer: &[u8]) -> Option<u16> {
    let mut replies = &answer[answer.windows(2).position(|end| end == b"\r\n")? + 2..];
    let mut selected = None;
    for words in commands {
        let (reply, rest) = replies.split_at(Frames::default().next(replies).ok()??);
        if is_select(words) && reply == b"+OK\r\n" {
            selected = std::str::from_utf8(words.view().try_get(1)?).ok()?.parse().ok();
        }
        replies = rest;
    }
    selected
}

/// A command as clients send it.
pub(super) fn write(args: Args<'_>, out: &mut Vec<u8>) {
    let mut request = Reply::with_buffer(std::mem::take(out), Protocol::Resp2);
    request.array(args.len());
    args.iter().for_each(|word| request.bulk(word));
    *out = request.take();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_select_that_was_done_changes_the_database() {
        let commands = ["SET k v", "SELECT 3", "GET k", "SELECT 99", "SELECT"].map(|line| {
            let words = line.split(' ').map(str::as_bytes);
            OwnedArgs::from_words(words)
        });
        let after = |answer: &str| last_selected(&commands, answer.as_bytes());
        let (none, out) = ("$-1\r\n", "-ERR DB index is out of range\r\n");
        assert_eq!(after(&format!("*5\r\n+OK\r\n+OK\r\n{none}{out}{out}")), Some(3));
        assert_eq!(after(&format!("*5\r\n+OK\r\n{out}{none}{out}{out}")), None);
        for answer in ["*-1\r\n", "_\r\n", "-EXECABORT x\r\n", ""] {
            assert_eq!(after(answer), None, "{answer}");
        }
    }
}

//! A client that finds who serves a key, and says of each request whether it was answered, never took place, or may have.
//!
//! It goes by the documented sentences alone. `MOVED`, `CLUSTERDOWN`, `LOADING` and `MISCONF`: not applied, so it goes
//! on looking. `UNCERTAIN`, and a connection that ends or stays silent after a request was sent: unknown.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::client::{Client, Received, encode};
use crate::resp::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Value(Value),
    /// Not applied, and never will be.
    Refused,
    Unknown,
}

pub struct Seeker {
    doors: Vec<SocketAddr>,
    connections: Vec<Option<Client>>,
    /// Which door last served a key.
    known: HashMap<String, usize>,
    rng: fastrand::Rng,
    /// Through which door the last answer came.
    pub last: usize,
}

/// How long one reply may take.
const REPLY_PATIENCE: Duration = Duration::from_millis(1500);
/// How long it looks for somebody who serves a key.
const SEEK_PATIENCE: Duration = Duration::from_secs(3);
const KNOWN_MAX: usize = 256;

/// What one try came to.
enum Try {
    Answered(Vec<Value>),
    /// Nothing was done; perhaps at another door.
    NotHere(Option<usize>),
    Unknown,
}

impl Seeker {
    pub fn new(doors: Vec<SocketAddr>, seed: u64) -> Seeker {
        Seeker {
            connections: doors.iter().map(|_| None).collect(),
            doors,
            known: HashMap::new(),
            rng: fastrand::Rng::with_seed(seed),
            last: 0,
        }
    }

    /// One command.
    pub fn call(&mut self, key: &str, words: &[&str]) -> Answer {
        self.call_all(key, &[words])
    }

    /// Commands that belong together, in one piece: the answer to the last counts.
    pub fn call_all(&mut self, key: &str, commands: &[&[&str]]) -> Answer {
        match self.seek(key, commands) {
            Ok(mut replies) => {
                let last = replies.pop().unwrap_or(Value::Null);
                // A transaction that was discarded says less than what discarded it.
                let is_discarded = error_of(&last).is_some_and(|text| text.starts_with("EXECABORT"));
                let why = replies.into_iter().find(|reply| reply.is_error() && is_discarded);
                Answer::Value(why.unwrap_or(last))
            }
            Err(answer) => answer,
        }
    }

    /// The replies of all, at the first door where the key is served.
    pub fn seek(&mut self, key: &str, commands: &[&[&str]]) -> Result<Vec<Value>, Answer> {
        let deadline = Instant::now() + SEEK_PATIENCE;
        let mut door = match self.known.get(key) {
            Some(door) => *door,
            None => self.rng.usize(..self.doors.len()),
        };
        loop {
            match self.attempt(door, commands, false) {
                Try::Answered(replies) => {
                    if self.known.len() > KNOWN_MAX {
                        self.known.clear();
                    }
                    self.known.insert(key.to_owned(), door);
                    // Now and then by another door, so that none is forgotten.
                    if self.rng.u8(..) < 8 {
                        self.known.remove(key);
                    }
                    self.last = door;
                    return Ok(replies);
                }
                Try::Unknown => {
                    self.known.remove(key);
                    return Err(Answer::Unknown);
                }
                Try::NotHere(_) if Instant::now() > deadline => {
                    self.known.remove(key);
                    return Err(Answer::Refused);
                }
                Try::NotHere(Some(elsewhere)) => door = elsewhere,
                Try::NotHere(None) => {
                    std::thread::sleep(Duration::from_millis(self.rng.u64(5..40)));
                    door = self.rng.usize(..self.doors.len());
                }
            }
        }
    }

    /// Commands at the door that answered last, where what was watched is known.
    pub fn go_on(&mut self, commands: &[&[&str]]) -> Result<Vec<Value>, Answer> {
        match self.attempt(self.last, commands, true) {
            Try::Answered(replies) => Ok(replies),
            Try::NotHere(_) => Err(Answer::Refused),
            Try::Unknown => Err(Answer::Unknown),
        }
    }

    /// With `goes_on` on the connection that is there, or not at all: on a new one nothing is watched.
    fn attempt(&mut self, door: usize, commands: &[&[&str]], goes_on: bool) -> Try {
        // On one that was ended in the meantime nothing is sent, so nothing is unknown.
        let mut client = match self.connections[door].take().filter(|client| !client.is_over()) {
            Some(client) => client,
            None if goes_on => return Try::NotHere(None),
            None => match Client::connect(self.doors[door]) {
                Ok(client) => client,
                Err(_) => return Try::NotHere(None),
            },
        };
        let mut bytes = Vec::new();
        for command in commands {
            encode(command, &mut bytes);
        }
        // Part of it may be on its way even if this fails.
        if client.send_raw(&bytes).is_err() {
            return Try::Unknown;
        }
        let mut replies = Vec::new();
        for _ in commands {
            match client.receive(REPLY_PATIENCE) {
                Ok(Received::Reply(reply)) => replies.push(reply),
                _ => return Try::Unknown,
            }
        }
        let outcome = self.judge(replies);
        // What was not done may have left something watched.
        if matches!(outcome, Try::Answered(_)) {
            self.connections[door] = Some(client);
        }
        outcome
    }

    fn judge(&self, replies: Vec<Value>) -> Try {
        let is_uncertain = |reply: &Value| error_of(reply).is_some_and(|text| text.starts_with("UNCERTAIN"));
        // One that says so inside of a transaction says it of the transaction.
        let within = |reply: &Value| match reply {
            Value::Array(items) => items.iter().any(is_uncertain),
            other => is_uncertain(other),
        };
        if replies.iter().any(within) {
            return Try::Unknown;
        }
        let Some(last) = replies.last().and_then(error_of) else {
            return Try::Answered(replies);
        };
        let refusal = replies
            .iter()
            .filter_map(error_of)
            .find_map(|text| self.refusal(&text));
        match refusal {
            Some(elsewhere) if is_refusal(&last) || last.starts_with("EXECABORT") => Try::NotHere(elsewhere),
            None if last.starts_with("EXECABORT") && aborts_for_refusal(&last) => Try::NotHere(None),
            _ => Try::Answered(replies),
        }
    }

    /// Whether the error says that nothing was done here, and where it would be.
    fn refusal(&self, text: &str) -> Option<Option<usize>> {
        if !is_refusal(text) {
            return None;
        }
        let target = text
            .strip_prefix("MOVED ")
            .and_then(|rest| rest.split(' ').nth(1))
            .and_then(|address| address.parse::<SocketAddr>().ok());
        Some(target.and_then(|target| self.doors.iter().position(|door| *door == target)))
    }
}

fn is_refusal(text: &str) -> bool {
    ["MOVED ", "CLUSTERDOWN ", "LOADING ", "MISCONF "]
        .iter()
        .any(|prefix| text.starts_with(prefix))
}

/// `EXECABORT Transaction discarded because of: MISCONF …`.
fn aborts_for_refusal(text: &str) -> bool {
    text.split_once(": ").is_some_and(|(_, why)| is_refusal(why))
}

pub fn error_of(reply: &Value) -> Option<String> {
    match reply {
        Value::Error(text) | Value::BulkError(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn error(text: &str) -> Value {
        Value::Error(text.as_bytes().to_vec())
    }

    fn judged(replies: Vec<Value>) -> String {
        let doors = [1, 2].map(|last| SocketAddr::from(([127, 0, 0, last], 6379)));
        match Seeker::new(doors.to_vec(), 1).judge(replies) {
            Try::Answered(replies) => format!("answered {}", replies.len()),
            Try::NotHere(door) => format!("not here, {door:?}"),
            Try::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn each_sentence_says_what_it_says() {
        let queued = || Value::Simple(b"QUEUED".to_vec());
        let moved = || error("MOVED 5 127.0.0.2:6379");
        assert_eq!(judged(vec![moved()]), "not here, Some(1)");
        assert_eq!(judged(vec![error("MOVED 5 127.0.0.9:6379")]), "not here, None");
        assert_eq!(judged(vec![error("CLUSTERDOWN No node")]), "not here, None");
        assert_eq!(judged(vec![error("LOADING Ruvio")]), "not here, None");
        assert_eq!(judged(vec![error("MISCONF The disk")]), "not here, None");
        assert_eq!(judged(vec![error("UNCERTAIN The shard's")]), "unknown");
        // Others are answers, and the caller's to judge.
        assert_eq!(judged(vec![error("OOM command")]), "answered 1");
        assert_eq!(judged(vec![error("STALE it is")]), "answered 1");
        // Transactions.
        let abort = || error("EXECABORT Transaction discarded because of previous errors.");
        assert_eq!(judged(vec![queued(), moved(), abort()]), "not here, Some(1)");
        assert_eq!(judged(vec![queued(), abort()]), "answered 2");
        let full = error("EXECABORT Transaction discarded because of: MISCONF The disk");
        assert_eq!(judged(vec![queued(), full]), "not here, None");
        assert_eq!(judged(vec![queued(), moved()]), "not here, Some(1)");
        assert_eq!(
            judged(vec![Value::Array(vec![error("UNCERTAIN The shard's")])]),
            "unknown"
        );
    }

    #[test]
    fn what_was_sent_and_not_answered_is_unknown_and_what_was_not_sent_goes_elsewhere() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = silent.local_addr().expect("an address");
        let thread = std::thread::spawn(move || drop(silent.accept()));
        assert_eq!(
            Seeker::new(vec![address], 1).call("k", &["INCR", "k"]),
            Answer::Unknown
        );
        thread.join().expect("it accepted");
        // Now nobody listens there.
        assert_eq!(
            Seeker::new(vec![address], 1).call("k", &["INCR", "k"]),
            Answer::Refused
        );
    }
}

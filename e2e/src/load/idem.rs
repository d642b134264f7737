//! Work that is to be done once: claimed, done or given up or forgotten, and claimed again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{History, Object, Time, Worker, is_ok, items, number, read};
use crate::cluster::seeker::error_of;
use crate::linear::history::Outcome;
use crate::linear::idem::{Action, Answer, check};
use crate::resp::Value;

struct Work {
    key: String,
    /// Keys of one slot, one after the other.
    keys: Vec<String>,
    next: AtomicU64,
    history: History<Action>,
}

/// Keys of an object.
const KEYS: u32 = 6;
/// How long a lease runs: short, so that some run out.
const LEASE_MS: u64 = 150;

pub fn new(name: String) -> Arc<dyn Object> {
    let key = |number: u32| format!("{{idem:{name}}}:{number}");
    Arc::new(Work {
        key: format!("idem:{name}"),
        keys: (0..KEYS).map(key).collect(),
        next: AtomicU64::new(1),
        history: History::new(),
    })
}

fn begun(reply: &Value) -> Option<Answer> {
    let [word, second, ..] = items(reply)? else {
        return None;
    };
    match word.text()? {
        b"NEW" => Some(Answer::New(number(second)? as u64)),
        b"BUSY" => Some(Answer::Busy(number(second)? as u64)),
        b"DONE" => Some(Answer::Finished(String::from_utf8(second.text()?.to_vec()).ok()?)),
        _ => None,
    }
}

/// Whether it was done; that it was too late for it is an answer too.
fn ended(reply: &Value) -> Option<bool> {
    match error_of(reply) {
        Some(error) => (error.starts_with("STALE") || error.starts_with("NOTFOUND")).then_some(false),
        None => is_ok(reply).map(|()| true),
    }
}

impl Work {
    fn begin(&self, worker: &mut Worker, key: u32, token: &str) -> Outcome {
        let name = &self.keys[key as usize];
        let lease = LEASE_MS.to_string();
        let from = worker.shared.now_us();
        let command = ["IDEM", "BEGIN", name, "print", "LEASE", &lease, "OWNER", token];
        let answer = worker.seeker.call(&self.key, &command);
        let (outcome, answer) = read(worker, name, answer, begun);
        let fence = match &answer {
            Some(Answer::New(fence)) => Some(*fence),
            _ => None,
        };
        let action = Action::Begin {
            key,
            token: token.to_owned(),
            lease_us: LEASE_MS * 1000,
            answer,
        };
        self.history.add(worker, from, outcome, action);
        if let Some(fence) = fence {
            self.own(worker, key, token, fence);
        }
        outcome
    }

    fn own(&self, worker: &mut Worker, key: u32, token: &str, fence: u64) {
        let name = &self.keys[key as usize];
        let number = fence.to_string();
        std::thread::sleep(Duration::from_millis(worker.rng.u64(..LEASE_MS / 4)));
        let what = worker.rng.u8(..10);
        // It forgets about it, or nearly.
        if what == 0 {
            return;
        }
        if what == 1 {
            std::thread::sleep(Duration::from_millis(LEASE_MS));
        }
        let from = worker.shared.now_us();
        if what <= 5 {
            let answer = worker
                .seeker
                .call(&self.key, &["IDEM", "ABORT", name, token, &number]);
            let (outcome, is_ok) = read(worker, name, answer, ended);
            let action = Action::Abort {
                key,
                token: token.to_owned(),
                fence,
                is_ok: is_ok == Some(true),
            };
            self.history.add(worker, from, outcome, action);
            return;
        }
        let result = format!("result of {token}");
        let command = ["IDEM", "COMPLETE", name, token, &number, &result];
        let answer = worker.seeker.call(&self.key, &command);
        let (outcome, is_ok) = read(worker, name, answer, ended);
        let action = Action::Complete {
            key,
            token: token.to_owned(),
            fence,
            result,
            is_ok: is_ok == Some(true),
        };
        self.history.add(worker, from, outcome, action);
    }
}

impl Object for Work {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let key = worker.rng.u32(..KEYS);
        let token = format!("t{number}");
        if self.begin(worker, key, &token) == Outcome::Unknown {
            // The same again, as somebody would who lost the reply.
            self.begin(worker, key, &token);
        }
    }

    fn look(&self, worker: &mut Worker) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (0..KEYS).all(|key| {
            let name = &self.keys[key as usize];
            let get = worker.seeker.call(&self.key, &["IDEM", "GET", name]);
            let (_, is_there) = read(worker, name, get, |reply| Some(items(reply).is_some()));
            match is_there {
                // Who asks for what is done is told so, for ever.
                Some(true) => self.begin(worker, key, &format!("look{number}")) == Outcome::Done,
                Some(false) => true,
                None => false,
            }
        })
    }

    fn has_had_enough(&self) -> bool {
        self.history
            .ops
            .lock()
            .is_ok_and(|ops| ops.len() >= super::OPS_MAX)
    }

    /// A clock that jumps ahead ends a lease before its time.
    fn check(&self, time: Time) -> Result<(), String> {
        check(&self.history.ops(), time == Time::Ours)
    }

    fn text(&self) -> String {
        self.history.text()
    }
}

//! A value that is read, set and swapped under `WATCH`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{History, Object, Time, Worker, is_ok, items, number, read};
use crate::cluster::seeker::Answer;
use crate::linear::history::Outcome;
use crate::linear::register::{Action, check};
use crate::linear::wgl::Verdict;
use crate::resp::Value;

struct Register {
    key: String,
    next: AtomicU64,
    history: History<Action>,
}

pub fn new(name: String) -> Arc<dyn Object> {
    Arc::new(Register {
        key: format!("register:{name}"),
        next: AtomicU64::new(1),
        history: History::new(),
    })
}

/// Nothing, or a number.
fn value(reply: &Value) -> Option<Option<u64>> {
    match reply {
        Value::NullBulk => Some(None),
        other => number(other).map(|number| Some(number as u64)),
    }
}

impl Register {
    fn set(&self, worker: &mut Worker) {
        let value = self.next.fetch_add(1, Ordering::Relaxed);
        let from = worker.shared.now_us();
        let answer = worker
            .seeker
            .call(&self.key, &["SET", &self.key, &value.to_string()]);
        let (outcome, _) = read(worker, &self.key, answer, is_ok);
        self.history.add(worker, from, outcome, Action::Set(value));
    }

    fn swap(&self, worker: &mut Worker) {
        let to = self.next.fetch_add(1, Ordering::Relaxed);
        let key = self.key.as_str();
        let from_us = worker.shared.now_us();
        let Ok(replies) = worker.seeker.seek(key, &[&["WATCH", key], &["GET", key]]) else {
            return;
        };
        let Some(found) = value(&replies[1]) else {
            worker.odd(key, &replies[1].to_string());
            return;
        };
        self.history
            .add(worker, from_us, Outcome::Done, Action::Get(found));
        if worker.rng.bool() {
            std::thread::sleep(std::time::Duration::from_micros(worker.rng.u64(..3000)));
        }
        let new = to.to_string();
        let commands: [&[&str]; 3] = [&["MULTI"], &["SET", key, &new], &["EXEC"]];
        let answer = match worker.seeker.go_on(&commands) {
            Ok(mut replies) => Answer::Value(replies.pop().unwrap_or(Value::NullArray)),
            Err(answer) => answer,
        };
        let form = |reply: &Value| match reply {
            Value::NullArray => Some(false),
            other => items(other)
                .filter(|items| items.len() == 1 && is_ok(&items[0]).is_some())
                .map(|_| true),
        };
        let (outcome, is_swapped) = read(worker, key, answer, form);
        // What was changed by another in between did not take place.
        let outcome = match is_swapped {
            Some(false) => Outcome::Refused,
            _ => outcome,
        };
        self.history
            .add(worker, from_us, outcome, Action::Swap(found, to));
    }
}

impl Object for Register {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        match worker.rng.u8(..10) {
            0..=3 => drop(self.look(worker)),
            4..=6 => self.set(worker),
            _ => self.swap(worker),
        }
    }

    fn look(&self, worker: &mut Worker) -> bool {
        let from = worker.shared.now_us();
        let answer = worker.seeker.call(&self.key, &["GET", &self.key]);
        let (_, found) = read(worker, &self.key, answer, value);
        if let Some(found) = found {
            self.history.add(worker, from, Outcome::Done, Action::Get(found));
        }
        found.is_some()
    }

    fn has_had_enough(&self) -> bool {
        self.history.has_had_enough()
    }

    fn check(&self, _time: Time) -> Result<(), String> {
        said(check(&self.history.ops()))
    }

    fn text(&self) -> String {
        self.history.text()
    }
}

/// A search that is given up shows nothing, and is to be noticed.
pub fn said(verdict: Verdict) -> Result<(), String> {
    match verdict {
        Verdict::Linearizable => Ok(()),
        Verdict::Violation(what) => Err(what),
        Verdict::Undecided => Err("the search for an order was given up".to_owned()),
    }
}

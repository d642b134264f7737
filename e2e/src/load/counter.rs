//! A number that is counted up.

use std::sync::Arc;

use super::register::said;
use super::{History, Object, Time, Worker, number, read};
use crate::linear::counter::{Action, check};
use crate::linear::history::Outcome;
use crate::resp::Value;

struct Counter {
    key: String,
    history: History<Action>,
}

pub fn new(name: String) -> Arc<dyn Object> {
    Arc::new(Counter {
        key: format!("counter:{name}"),
        history: History::new(),
    })
}

impl Object for Counter {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        if worker.rng.u8(..4) == 0 {
            self.look(worker);
            return;
        }
        let from = worker.shared.now_us();
        let answer = worker.seeker.call(&self.key, &["INCR", &self.key]);
        let (outcome, after) = read(worker, &self.key, answer, number);
        self.history.add(worker, from, outcome, Action::Add(after));
    }

    fn look(&self, worker: &mut Worker) -> bool {
        let from = worker.shared.now_us();
        let answer = worker.seeker.call(&self.key, &["GET", &self.key]);
        let form = |reply: &Value| match reply {
            Value::NullBulk => Some(0),
            other => number(other),
        };
        let (_, found) = read(worker, &self.key, answer, form);
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

//! A list that numbers are pushed to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{History, Object, Time, Worker, items, number, read};
use crate::linear::history::Outcome;
use crate::linear::list::{Action, check};
use crate::resp::Value;

struct List {
    key: String,
    next: AtomicU64,
    history: History<Action>,
}

pub fn new(name: String) -> Arc<dyn Object> {
    Arc::new(List {
        key: format!("list:{name}"),
        next: AtomicU64::new(1),
        history: History::new(),
    })
}

impl Object for List {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        if worker.rng.u8(..4) == 0 {
            self.look(worker);
            return;
        }
        let pushed = self.next.fetch_add(1, Ordering::Relaxed);
        let from = worker.shared.now_us();
        let answer = worker
            .seeker
            .call(&self.key, &["RPUSH", &self.key, &pushed.to_string()]);
        let (outcome, length) = read(worker, &self.key, answer, number);
        let length = length.map(|length| length as u64);
        self.history
            .add(worker, from, outcome, Action::Push(pushed, length));
    }

    fn look(&self, worker: &mut Worker) -> bool {
        let from = worker.shared.now_us();
        let answer = worker.seeker.call(&self.key, &["LRANGE", &self.key, "0", "-1"]);
        let form = |reply: &Value| -> Option<Vec<u64>> {
            let numbers = items(reply)?.iter().map(number);
            numbers.map(|number| number.map(|number| number as u64)).collect()
        };
        let (_, found) = read(worker, &self.key, answer, form);
        let is_answered = found.is_some();
        if let Some(found) = found {
            self.history.add(worker, from, Outcome::Done, Action::Get(found));
        }
        is_answered
    }

    fn has_had_enough(&self) -> bool {
        self.history.has_had_enough()
    }

    fn check(&self, _time: Time) -> Result<(), String> {
        check(&self.history.ops())
    }

    fn text(&self) -> String {
        self.history.text()
    }
}

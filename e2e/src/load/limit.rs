//! A bucket that more is asked of than it gives.

use std::sync::Arc;

use super::{History, Object, Time, Worker, items, number, read};
use crate::linear::limit::{Bound, Call, check};
use crate::resp::Value;

struct Bucket {
    key: String,
    history: History<Call>,
}

const BOUND: Bound = Bound {
    burst: 5,
    rate: 20,
    per_us: 1_000_000,
};

pub fn new(name: String) -> Arc<dyn Object> {
    Arc::new(Bucket {
        key: format!("limit:{name}"),
        history: History::new(),
    })
}

impl Object for Bucket {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        let from = worker.shared.now_us();
        let command = ["LIMIT", &self.key, "RATE", "20", "PER", "1000", "BURST", "5"];
        let answer = worker.seeker.call(&self.key, &command);
        let form = |reply: &Value| match items(reply)? {
            [allowed, _, _, _, _] => number(allowed),
            _ => None,
        };
        let (outcome, allowed) = read(worker, &self.key, answer, form);
        let is_allowed = allowed == Some(1);
        self.history.add(worker, from, outcome, Call { is_allowed });
    }

    /// What is left is worth nothing a moment later.
    fn look(&self, _worker: &mut Worker) -> bool {
        true
    }

    fn has_had_enough(&self) -> bool {
        // What has no outcome makes no search longer here.
        self.history
            .ops
            .lock()
            .is_ok_and(|ops| ops.len() >= 4 * super::OPS_MAX)
    }

    /// A clock that jumps ahead fills the bucket.
    fn check(&self, time: Time) -> Result<(), String> {
        match time {
            Time::Ours => check(&self.history.ops(), BOUND),
            Time::Stepped => Ok(()),
        }
    }

    fn text(&self) -> String {
        self.history.text()
    }
}

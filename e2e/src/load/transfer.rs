//! Two numbers of one slot, between which transactions move amounts.

use std::sync::Arc;

use super::register::said;
use super::{History, Object, Time, Worker, items, number, read};
use crate::linear::history::Outcome;
use crate::linear::transfer::{Action, check};
use crate::resp::Value;

struct Pair {
    key: String,
    both: [String; 2],
    history: History<Action>,
}

pub fn new(name: String) -> Arc<dyn Object> {
    Arc::new(Pair {
        key: format!("pair:{name}"),
        both: ["a", "b"].map(|one| format!("{one}:{{pair:{name}}}")),
        history: History::new(),
    })
}

/// The numbers of a reply of two; what is not there is 0.
fn two(reply: &Value) -> Option<(i64, i64)> {
    let one = |value: &Value| match value {
        Value::NullBulk => Some(0),
        other => number(other),
    };
    match items(reply)? {
        [first, second] => Some((one(first)?, one(second)?)),
        _ => None,
    }
}

impl Object for Pair {
    fn key(&self) -> &str {
        &self.key
    }

    fn act(&self, worker: &mut Worker) {
        if worker.rng.u8(..3) == 0 {
            self.look(worker);
            return;
        }
        let amount = worker.rng.i64(1..1000);
        let [a, b] = &self.both;
        let text = amount.to_string();
        let from = worker.shared.now_us();
        let commands: [&[&str]; 4] = [
            &["MULTI"],
            &["DECRBY", a, &text],
            &["INCRBY", b, &text],
            &["EXEC"],
        ];
        let answer = worker.seeker.call_all(&self.key, &commands);
        let (outcome, after) = read(worker, &self.key, answer, two);
        self.history
            .add(worker, from, outcome, Action::Move(amount, after));
    }

    fn look(&self, worker: &mut Worker) -> bool {
        let [a, b] = &self.both;
        let from = worker.shared.now_us();
        let answer = match worker.rng.bool() {
            true => worker.seeker.call(&self.key, &["MGET", a, b]),
            false => {
                let commands: [&[&str]; 4] = [&["MULTI"], &["GET", a], &["GET", b], &["EXEC"]];
                worker.seeker.call_all(&self.key, &commands)
            }
        };
        let (_, found) = read(worker, &self.key, answer, two);
        if let Some((first, second)) = found {
            self.history
                .add(worker, from, Outcome::Done, Action::Get(first, second));
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

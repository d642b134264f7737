//! Two numbers of one slot. A transaction moves an amount from one to the other and is answered both; another reads
//! both. Half of a transaction is no state of this model.

use super::history::Op;
use super::wgl::{self, Model, Verdict};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// So much from the first to the second, and both after it, where that was answered.
    Move(i64, Option<(i64, i64)>),
    Get(i64, i64),
}

struct Pair;

impl Model for Pair {
    type State = (i64, i64);
    type Action = Action;

    fn initial(&self) -> (i64, i64) {
        (0, 0)
    }

    fn step(&self, state: &(i64, i64), action: &Action, _is_known: bool) -> Option<(i64, i64)> {
        match action {
            Action::Get(first, second) => ((*first, *second) == *state).then_some(*state),
            Action::Move(amount, after) => {
                let next = (state.0 - amount, state.1 + amount);
                after.is_none_or(|after| after == next).then_some(next)
            }
        }
    }
}

pub fn check(history: &[Op<Action>]) -> Verdict {
    wgl::check(&Pair, history)
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, unknown};
    use super::Action::{Get, Move};
    use super::*;

    fn is_right(history: &[Op<Action>]) -> bool {
        check(history) == Verdict::Linearizable
    }

    #[test]
    fn a_transaction_is_seen_whole_or_not_at_all() {
        let moves = [done(0, 5, Move(3, Some((-3, 3)))), unknown(6, Move(2, None))];
        let with = |first, second| is_right(&[&moves[..], &[done(8, 9, Get(first, second))]].concat());
        assert!(with(-3, 3));
        assert!(with(-5, 5));
        assert!(!with(0, 0), "lost");
        assert!(!with(-5, 3), "half of it");
        assert!(!with(-3, 5), "the other half");
        assert!(!is_right(&[
            done(0, 1, Move(1, Some((-1, 1)))),
            done(2, 3, Move(1, Some((-1, 1))))
        ]));
    }
}

//! A number that is counted up by one and read. The reply of each tells where it stood.

use super::history::Op;
use super::wgl::{self, Model, Verdict};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// With the number after it, where one was answered.
    Add(Option<i64>),
    Get(i64),
}

struct Counter;

impl Model for Counter {
    type State = i64;
    type Action = Action;

    fn initial(&self) -> i64 {
        0
    }

    fn step(&self, state: &i64, action: &Action, _is_known: bool) -> Option<i64> {
        match action {
            Action::Add(None) => Some(state + 1),
            Action::Add(Some(after)) => (*after == state + 1).then_some(*after),
            Action::Get(found) => (found == state).then_some(*state),
        }
    }
}

pub fn check(history: &[Op<Action>]) -> Verdict {
    wgl::check(&Counter, history)
}

#[cfg(test)]
mod tests {
    use super::super::history::written::{done, refused, unknown};
    use super::Action::{Add, Get};
    use super::*;

    fn is_right(history: &[Op<Action>]) -> bool {
        check(history) == Verdict::Linearizable
    }

    #[test]
    fn a_count_without_gaps_is_right() {
        assert!(is_right(&[
            done(0, 5, Add(Some(2))),
            done(0, 5, Add(Some(1))),
            done(6, 7, Get(2))
        ]));
        let gap = [done(0, 1, Add(Some(1))), done(4, 5, Add(Some(3)))];
        assert!(!is_right(&gap), "nobody made it two");
        assert!(is_right(&[&gap[..], &[unknown(2, Add(None))]].concat()));
        assert!(!is_right(&[&gap[..], &[unknown(6, Add(None))]].concat()));
        assert!(!is_right(&[&gap[..], &[refused(2, 3, Add(None))]].concat()));
    }

    #[test]
    fn a_lost_or_doubled_count_is_wrong() {
        assert!(!is_right(&[done(0, 1, Add(Some(1))), done(2, 3, Add(Some(1)))]));
        assert!(!is_right(&[done(0, 1, Add(Some(1))), done(2, 3, Get(0))]));
        assert!(!is_right(&[done(0, 1, Add(Some(1))), done(2, 3, Get(2))]));
        // One that has no outcome counts once.
        assert!(!is_right(&[
            done(0, 1, Add(Some(1))),
            unknown(2, Add(None)),
            done(4, 5, Get(3))
        ]));
        // In time: two was there before one.
        assert!(!is_right(&[done(0, 1, Add(Some(2))), done(2, 3, Add(Some(1)))]));
    }

    #[test]
    fn many_without_outcome_do_not_make_the_search_long() {
        let mut history: Vec<_> = (0..40).map(|at| unknown(at, Add(None))).collect();
        history.push(done(100, 101, Get(25)));
        history.push(done(102, 103, Get(40)));
        assert!(is_right(&history));
        history.push(done(104, 105, Get(41)));
        assert!(!is_right(&history));
    }
}

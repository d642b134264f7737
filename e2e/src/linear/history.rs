//! One operation of a client, with the times around it and what is known of its outcome.

use std::fmt::Debug;

/// What the client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Done,
    /// It was not applied and never will be.
    Refused,
    /// It was applied, will be, or never is.
    Unknown,
}

/// `action` holds what was asked and what was answered.
#[derive(Clone, Debug)]
pub struct Op<A> {
    pub client: u32,
    pub invoked_us: u64,
    /// When its outcome was known; [`u64::MAX`] where it never was.
    pub returned_us: u64,
    pub outcome: Outcome,
    pub action: A,
}

impl<A> Op<A> {
    pub fn new(client: u32, invoked_us: u64, returned_us: u64, outcome: Outcome, action: A) -> Self {
        // What has no outcome can still happen after anything that was ever seen.
        let returned_us = match outcome {
            Outcome::Unknown => u64::MAX,
            _ => returned_us,
        };
        Self {
            client,
            invoked_us,
            returned_us,
            outcome,
            action,
        }
    }

    pub fn is_done(&self) -> bool {
        self.outcome == Outcome::Done
    }

    /// It may have changed something.
    pub fn may_have_been(&self) -> bool {
        self.outcome != Outcome::Refused
    }

    /// Its outcome was known before the other was asked for.
    pub fn precedes(&self, other: &Op<A>) -> bool {
        self.returned_us < other.invoked_us
    }
}

/// A line an operation, in the order in which they were asked for.
pub fn to_text<A: Debug>(ops: &[Op<A>]) -> String {
    let mut sorted: Vec<&Op<A>> = ops.iter().collect();
    sorted.sort_by_key(|op| (op.invoked_us, op.returned_us));
    sorted.into_iter().map(|op| line(op) + "\n").collect()
}

pub fn line<A: Debug>(op: &Op<A>) -> String {
    let returned = match op.outcome {
        Outcome::Unknown => "never".to_owned(),
        _ => format!("{:>10}", op.returned_us),
    };
    format!(
        "{:>10} {returned:>10} client {:<3} {:<8} {:?}",
        op.invoked_us,
        op.client,
        format!("{:?}", op.outcome),
        op.action
    )
}

/// Histories as tests write them: client, from, to, action.
#[cfg(test)]
pub mod written {
    use super::{Op, Outcome};

    pub fn done<A>(invoked_us: u64, returned_us: u64, action: A) -> Op<A> {
        Op::new(0, invoked_us, returned_us, Outcome::Done, action)
    }

    pub fn unknown<A>(invoked_us: u64, action: A) -> Op<A> {
        Op::new(0, invoked_us, u64::MAX, Outcome::Unknown, action)
    }

    pub fn refused<A>(invoked_us: u64, returned_us: u64, action: A) -> Op<A> {
        Op::new(0, invoked_us, returned_us, Outcome::Refused, action)
    }
}

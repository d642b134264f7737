//! What a group of keys holds, by a plain model.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use super::step::Step;

/// A value, by the family of its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    Text(String),
    List(VecDeque<String>),
    Hash(BTreeMap<String, String>),
    Set(BTreeSet<String>),
    Sorted(BTreeMap<String, i64>),
    /// What is left of the quota.
    Limit(i64),
    Idem {
        /// Not known while the answer is.
        fence: Option<i64>,
        result: Option<String>,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub data: Data,
    pub expires_ms: Option<u64>,
}

impl Entry {
    pub fn new(data: Data) -> Self {
        Self {
            data,
            expires_ms: None,
        }
    }
}

/// The keys of a group by their short names. The first letter says the family.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    pub keys: BTreeMap<&'static str, Entry>,
    /// The highest fence that was seen.
    pub fence_max: i64,
}

/// Every short name that is ever used: text, counters, a counter that only grows, values that expire, lists,
/// hashes, sets, sorted sets, quotas, and work that is done once.
pub const NAMES: [&str; 15] = [
    "s0", "s1", "s2", "c0", "c1", "m0", "t0", "t1", "l0", "l1", "h0", "e0", "z0", "q0", "i0",
];
pub const QUOTA: i64 = 1_000_000;
/// A limit's window, long enough to see no end.
pub const QUOTA_PER_MS: &str = "864000000";

/// A group: its state as far as it was acknowledged.
pub struct Group {
    /// The part of its keys in braces.
    pub name: String,
    pub state: State,
    /// What was acknowledged of late and may yet be lost, where the promise is no better.
    pub recent: Option<Recent>,
}

/// The last writes of a group and its state before them.
#[derive(Default)]
pub struct Recent {
    pub before: State,
    /// When each was acknowledged.
    pub units: VecDeque<(Instant, Vec<Step>)>,
}

impl Recent {
    /// What was acknowledged before that moment may not be lost any more.
    pub fn forget_before(&mut self, moment: Instant) {
        while let Some((_, steps)) = self.units.pop_front_if(|unit| unit.0 < moment) {
            for step in &steps {
                step.apply(&mut self.before);
            }
        }
    }
}

impl Group {
    pub fn new(name: String) -> Self {
        Self {
            name,
            state: State::default(),
            recent: None,
        }
    }

    pub fn key(&self, short: &str) -> String {
        format!("{{{}}}:{short}", self.name)
    }
}

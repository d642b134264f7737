//! The search of Wing and Gong, with what Lowe added: an order of operations in which each could have
//! happened at one moment between its call and its return, and after which a set of operations and a state that were met before are not
//! looked at again.
//!
//! An operation of unknown outcome has no return: it may take its place anywhere after its call, or nowhere.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

use super::history::{Op, line};

/// How one object behaves for one client.
pub trait Model {
    type State: Clone + Eq + Hash + Debug;
    type Action: PartialEq + Debug;

    fn initial(&self) -> Self::State;

    /// The state after the action, if what it was answered is what it would have been answered here. With
    /// `is_known` false it was answered nothing.
    fn step(&self, state: &Self::State, action: &Self::Action, is_known: bool) -> Option<Self::State>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Linearizable,
    /// With the longest order that was found and what stopped it.
    Violation(String),
    /// The search was given up; says nothing.
    Undecided,
}

/// Sets of operations and states that are remembered at the most.
const SEEN_MAX: usize = 2_000_000;
/// What is shown of an order that came to its end.
const SHOWN_MAX: usize = 12;

pub fn check<M: Model>(model: &M, history: &[Op<M::Action>]) -> Verdict {
    let mut ops: Vec<&Op<M::Action>> = history.iter().filter(|op| op.may_have_been()).collect();
    ops.sort_by_key(|op| (op.invoked_us, op.returned_us));
    Search::new(model, ops).run()
}

/// A call or a return in the list of those that have no place yet.
#[derive(Clone, Copy)]
struct Event {
    op: usize,
    is_call: bool,
    before: usize,
    after: usize,
}

struct Search<'a, M: Model> {
    model: &'a M,
    ops: Vec<&'a Op<M::Action>>,
    /// The first and the last are ends and no events.
    events: Vec<Event>,
    /// Where an operation's call and return are; 0 for the return that it never had.
    places: Vec<(usize, usize)>,
    /// Of operations without outcome that are the same, the earliest comes first: they differ in nothing.
    twin: Vec<Option<usize>>,
    placed: Vec<u64>,
    order: Vec<(usize, M::State)>,
    /// Operations with an outcome that have no place.
    left: usize,
    seen: HashSet<(Vec<u64>, M::State)>,
    longest: Vec<usize>,
    stopped_by: Option<usize>,
}

impl<'a, M: Model> Search<'a, M> {
    fn new(model: &'a M, ops: Vec<&'a Op<M::Action>>) -> Self {
        let mut times: Vec<(u64, bool, usize)> = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            // At the same moment a call is before a return: they may have overlapped.
            times.push((op.invoked_us, false, at));
            if op.is_done() {
                times.push((op.returned_us, true, at));
            }
        }
        times.sort();
        let mut places = vec![(0, 0); ops.len()];
        let end = times.len() + 1;
        let mut events = Vec::with_capacity(times.len() + 2);
        let edge = |after| Event {
            op: usize::MAX,
            is_call: false,
            before: 0,
            after,
        };
        events.push(edge(1));
        for (at, (_, is_return, op)) in times.into_iter().enumerate() {
            let place = if is_return {
                &mut places[op].1
            } else {
                &mut places[op].0
            };
            *place = at + 1;
            events.push(Event {
                op,
                is_call: !is_return,
                before: at,
                after: at + 2,
            });
        }
        events.push(edge(end));
        events[end].before = end - 1;
        let same = |at: usize| {
            (0..at)
                .rev()
                .find(|earlier| !ops[*earlier].is_done() && ops[*earlier].action == ops[at].action)
        };
        let twin = (0..ops.len())
            .map(|at| if ops[at].is_done() { None } else { same(at) })
            .collect();
        Search {
            model,
            events,
            places,
            twin,
            placed: vec![0; ops.len().div_ceil(64)],
            order: Vec::new(),
            left: ops.iter().filter(|op| op.is_done()).count(),
            seen: HashSet::new(),
            longest: Vec::new(),
            stopped_by: None,
            ops,
        }
    }

    fn run(mut self) -> Verdict {
        let mut state = self.model.initial();
        let mut at = self.events[0].after;
        while self.left > 0 {
            let event = self.events[at];
            if event.is_call {
                match self.place(event.op, &state) {
                    Some(next) => {
                        self.order.push((event.op, std::mem::replace(&mut state, next)));
                        at = self.events[0].after;
                    }
                    None => at = event.after,
                }
                if self.seen.len() > SEEN_MAX {
                    return Verdict::Undecided;
                }
                continue;
            }
            // Nothing else can be before this return: one of those that were placed has to go elsewhere.
            self.remember(event.op);
            let Some((op, before)) = self.order.pop() else {
                return Verdict::Violation(self.account());
            };
            self.displace(op);
            state = before;
            at = self.events[self.places[op].0].after;
        }
        Verdict::Linearizable
    }

    /// Gives the operation the next place, unless the model refuses it or it was tried.
    fn place(&mut self, op: usize, state: &M::State) -> Option<M::State> {
        if let Some(twin) = self.twin[op]
            && self.placed[twin / 64] & (1 << (twin % 64)) == 0
        {
            return None;
        }
        let is_known = self.ops[op].is_done();
        let next = self.model.step(state, &self.ops[op].action, is_known)?;
        self.placed[op / 64] |= 1 << (op % 64);
        if !self.seen.insert((self.placed.clone(), next.clone())) {
            self.placed[op / 64] &= !(1 << (op % 64));
            return None;
        }
        self.unlink(op, false);
        Some(next)
    }

    fn displace(&mut self, op: usize) {
        self.placed[op / 64] &= !(1 << (op % 64));
        self.unlink(op, true);
    }

    /// Takes an operation's events out of the list, or puts them back in the reverse order.
    fn unlink(&mut self, op: usize, is_back: bool) {
        let (call, end) = self.places[op];
        let mut both = [call, end];
        if is_back {
            both.reverse();
        }
        for place in both.into_iter().filter(|place| *place != 0) {
            let Event { before, after, .. } = self.events[place];
            self.events[before].after = if is_back { place } else { after };
            self.events[after].before = if is_back { place } else { before };
        }
        if end != 0 {
            self.left = if is_back { self.left + 1 } else { self.left - 1 };
        }
    }

    fn remember(&mut self, stopped_by: usize) {
        if self.stopped_by.is_none() || self.order.len() > self.longest.len() {
            self.longest = self.order.iter().map(|(op, _)| *op).collect();
            self.stopped_by = Some(stopped_by);
        }
    }

    fn account(&self) -> String {
        let mut text = format!(
            "no order of the {} operations explains all replies",
            self.ops.len()
        );
        if let Some(op) = self.stopped_by.and_then(|op| self.ops.get(op)) {
            text += &format!("; the longest has no place for\n  {}\nbehind", line(op));
        }
        let from = self.longest.len().saturating_sub(SHOWN_MAX);
        for op in &self.longest[from..] {
            text += &format!("\n  {}", line(self.ops[*op]));
        }
        text
    }
}

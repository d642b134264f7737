//! A model of what is ours in replication and not Raft's, small enough that every course of events is looked at.
//!
//! Three nodes have one shard with one key, the list of the writes to it. Commands are executed before they are
//! committed, replies wait at the gate, a leader answers while it has a lease by its clock, who loses its leadership
//! drops what is in no log, a leadership is moved after what was executed is committed, and nodes restart. Words are
//! those of `server/src/replica`; each function says what it stands for.
//!
//! `Rules` can be taken away one by one: then something goes wrong, and the model has to find it.

mod owner;
mod port;
mod raft;
mod state;
#[cfg(test)]
mod tests;

use stateright::{Model, Property};

use state::{Core, Entry, Epoch, Group, Node, Owner, Port, Standing};
pub use state::{Fault, Left, NODES, Outcome, State, TIMELESS};

/// What the server holds to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Before commands run.
    pub the_lease_is_looked_at: bool,
    /// So that a command that is sent after the lease is over does not run under it.
    pub the_lease_is_looked_at_after_receiving: bool,
    pub a_lease_is_shorter_by_the_drift: bool,
    /// It is told by a clock that goes on while the machine sleeps.
    pub a_lease_counts_sleep: bool,
    /// Also while the owner has yet to hear of the end.
    pub a_lease_ends_with_its_stint: bool,
    pub replies_wait: bool,
    pub reads_wait: bool,
    pub who_restarted_does_not_vote: bool,
    pub a_stint_begins_with_an_empty_entry: bool,
    pub proposals_of_an_ended_stint_are_dropped: bool,
    /// What is committed of the stint afterwards may be behind what was lost.
    pub a_lost_proposal_ends_its_stint_for_good: bool,
    pub an_entry_of_another_ends_the_stint: bool,
    pub a_keyspace_ahead_of_the_log_is_made_anew: bool,
    pub what_is_lost_is_uncertain: bool,
    pub a_move_holds_the_lease_back: bool,
    /// Whether or not the other node takes over.
    pub who_handed_over_executes_no_more: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            the_lease_is_looked_at: true,
            the_lease_is_looked_at_after_receiving: true,
            a_lease_is_shorter_by_the_drift: true,
            a_lease_counts_sleep: true,
            a_lease_ends_with_its_stint: true,
            replies_wait: true,
            reads_wait: true,
            who_restarted_does_not_vote: true,
            a_stint_begins_with_an_empty_entry: true,
            proposals_of_an_ended_stint_are_dropped: true,
            a_lost_proposal_ends_its_stint_for_good: true,
            an_entry_of_another_ends_the_stint: true,
            a_keyspace_ahead_of_the_log_is_made_anew: true,
            what_is_lost_is_uncertain: true,
            a_move_holds_the_lease_back: true,
            who_handed_over_executes_no_more: true,
        }
    }
}

/// How much happens at the most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// The highest term; the first leader has 1.
    pub terms: u8,
    pub left: Left,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replication {
    pub rules: Rules,
    pub bounds: Bounds,
}

/// What happens next. Numbers are nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Tick,
    Fast(usize),
    Slow(usize),
    Sleep(usize),
    Restart(usize),
    Elect { candidate: usize, voter: usize },
    HearLetter(usize),
    Grant { voter: usize, candidate: usize },
    Append { from: usize, to: usize, is_heard: bool },
    NoteLease(usize),
    Give(usize),
    Begin(usize),
    Look(usize),
    Submit(usize),
    Move { from: usize, to: usize },
    HandOver(usize),
    EndMove(usize),
    Round(usize),
    GiveUp(usize),
    Write(usize),
    LookForRead(usize),
    Read(usize),
}

const FIRST: Epoch = Epoch { term: 1, node: 0 };

impl Replication {
    pub fn new(rules: Rules, bounds: Bounds) -> Self {
        Self { rules, bounds }
    }

    /// Node 0 leads, and all have its first entry.
    fn begun(&self) -> State {
        let first = Entry {
            epoch: FIRST,
            write: 0,
        };
        let follower = Node {
            vote: FIRST,
            log: vec![first],
            committed: 1,
            vote_left: raft::ELECTION,
            port: Port {
                given: 1,
                ..Port::default()
            },
            owner: Owner {
                held: 1,
                ..Owner::default()
            },
            ..Node::default()
        };
        let mut nodes = std::array::from_fn(|_| follower.clone());
        let leader: &mut Node = &mut nodes[0];
        leader.vote_left = 0;
        leader.core = Core::Leads {
            acked_age: 0,
            hands_over: false,
        };
        leader.group = Group::Leads {
            epoch: FIRST,
            stint: 1,
        };
        leader.port.leads = Some((FIRST, 1));
        leader.port.stint = 1;
        leader.port.lease_left = raft::LEASE;
        leader.owner.standing = Standing::Leads(1);
        State {
            nodes,
            letter: None,
            agreed: vec![first],
            outcomes: Vec::new(),
            known: 0,
            left: self.bounds.left,
            fault: None,
        }
    }

    fn steps_of(&self, state: &State, at: usize, steps: &mut Vec<Step>) {
        let node = &state.nodes[at];
        let mut push = |may: bool, step: Step| {
            if may {
                steps.push(step);
            }
        };
        push(state.left.drifts > 0, Step::Fast(at));
        push(state.left.drifts > 0, Step::Slow(at));
        push(state.left.sleeps > 0, Step::Sleep(at));
        push(state.left.restarts > 0, Step::Restart(at));
        push(self.may_hear_letter(state, at), Step::HearLetter(at));
        push(self.may_note_lease(state, at), Step::NoteLease(at));
        push(node.given_is_behind(), Step::Give(at));
        push(Self::may_begin(state, at), Step::Begin(at));
        push(Self::may_look(state, at), Step::Look(at));
        push(Self::may_submit(state, at), Step::Submit(at));
        push(self.may_hand_over(state, at), Step::HandOver(at));
        push(node.moves.is_some(), Step::EndMove(at));
        push(Self::may_round(state, at), Step::Round(at));
        push(Self::may_give_up(state, at), Step::GiveUp(at));
        push(self.may_write(state, at), Step::Write(at));
        push(self.may_look_and_read(state, at), Step::LookForRead(at));
        push(node.owner.turn.is_some(), Step::Read(at));
        for other in (0..NODES).filter(|other| *other != at) {
            let elect = Step::Elect {
                candidate: at,
                voter: other,
            };
            push(self.may_elect(state, at, other), elect);
            let grant = Step::Grant {
                voter: other,
                candidate: at,
            };
            push(Self::may_grant(state, other, at), grant);
            for is_heard in [true, false] {
                let append = Step::Append {
                    from: at,
                    to: other,
                    is_heard,
                };
                push(Self::may_append(state, at, other, is_heard), append);
            }
            push(Self::may_move(state, at), Step::Move { from: at, to: other });
        }
    }

    /// What makes no difference when it happens, as nobody else can tell, happens at once: fewer orders to look at.
    fn settle_down(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        if node.group == Group::Follows && node.leader().is_none() {
            // Of stints that are over.
            node.port.proposals.clear();
        }
        if node.port.leads.is_none() && node.given_is_behind() && !matches!(node.group, Group::Begins { .. })
        {
            self.give_all(state, at);
        }
        if Self::only_follows(state, at) {
            self.round(state, at);
        }
    }

    /// States that differ in what matters no more are one.
    fn forget(&self, state: &mut State) {
        let last_term = |node: &&Node| node.vote.term == self.bounds.terms;
        if state.nodes.iter().filter(last_term).count() > NODES / 2 {
            // Nobody is elected any more.
            for node in &mut state.nodes {
                (node.vote_left, node.muted_left) = (0, 0);
            }
        }
        let has_all_asked = state.left.reads == 0;
        if has_all_asked
            && state
                .nodes
                .iter()
                .all(|node| node.owner.turn.is_none_or(|turn| turn.floor.is_some()))
        {
            state.known = 0;
        }
    }

    fn take(&self, state: &mut State, step: Step) {
        match step {
            Step::Tick => {
                let before = state.clone();
                Self::pass(state, |_| true);
                if *state != before && state.left.ticks < state::TIMELESS {
                    state.left.ticks -= 1;
                }
            }
            Step::Fast(fast) => {
                state.left.drifts -= 1;
                Self::pass(state, |at| at == fast);
            }
            Step::Slow(slow) => {
                state.left.drifts -= 1;
                Self::pass(state, |at| at != slow);
            }
            Step::Sleep(at) => Self::sleep(state, at),
            Step::Restart(at) => self.restart(state, at),
            Step::Elect { candidate, voter } => Self::elect(state, candidate, voter),
            Step::HearLetter(at) => Self::hear_letter(state, at),
            Step::Grant { voter, candidate } => Self::grant(state, voter, candidate),
            Step::Append { from, to, is_heard } => self.append(state, from, to, is_heard),
            Step::NoteLease(at) => self.note_lease(state, at),
            Step::Give(at) => self.give_all(state, at),
            Step::Begin(at) => self.begin(state, at),
            Step::Look(at) => Self::look(state, at),
            Step::Submit(at) => self.submit(state, at),
            Step::Move { from, to } => self.begin_move(state, from, to),
            Step::HandOver(at) => Self::hand_over(state, at),
            Step::EndMove(at) => self.end_move(state, at),
            Step::Round(at) => self.round(state, at),
            Step::GiveUp(at) => Self::give_up(state, at),
            Step::Write(at) => self.write(state, at),
            Step::LookForRead(at) => self.look_for_read(state, at),
            Step::Read(at) => self.read(state, at),
        }
    }
}

fn holds(state: &State, faults: &[Fault]) -> bool {
    state.fault.is_none_or(|fault| !faults.contains(&fault))
}

/// A client was told that nothing was done, and something was; or a write is there twice.
fn is_done_in_spite(state: &State) -> bool {
    let mut writes: Vec<_> = state::keyspace(&state.agreed);
    let is_denied = |write: &u8| state.outcomes[usize::from(*write) - 1] == Outcome::NotApplied;
    let denied = writes.iter().any(is_denied);
    let count = writes.len();
    writes.sort_unstable();
    writes.dedup();
    denied || writes.len() < count
}

impl Model for Replication {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.begun()]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.fault.is_some() {
            return;
        }
        if state.left.ticks > 0 {
            steps.push(Step::Tick);
        }
        (0..NODES).for_each(|at| self.steps_of(state, at, steps));
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        self.take(&mut state, step);
        (0..NODES).for_each(|at| self.settle_down(&mut state, at));
        self.forget(&mut state);
        // What changes nothing leads nowhere.
        (state != *last).then_some(state)
    }

    /// Once all reads are answered nothing can come of them, and what writes come to is seen where they are not made.
    fn within_boundary(&self, state: &State) -> bool {
        let is_answered = |node: &Node| node.owner.turn.is_none() && node.owner.read.is_none();
        state.left.reads > 0 || !state.nodes.iter().all(is_answered) || state.fault.is_some()
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("nothing uncommitted is shown", |_, state| {
                holds(state, &[Fault::ShownUncommitted])
            }),
            Property::always("no acknowledged write is lost", |_, state| {
                holds(state, &[Fault::AcknowledgedUncommitted, Fault::NotAgreed])
            }),
            Property::always("no read is stale", |_, state| holds(state, &[Fault::Stale])),
            Property::always("no outcome is two", |_, state| {
                holds(state, &[Fault::TwoAnswers]) && !is_done_in_spite(state)
            }),
            // Where time stands still no lease ends and nobody is elected but by a move.
            Property::always("a move costs nobody an error", |model: &Self, state: &State| {
                model.bounds.left.ticks > 0 || !state.outcomes.contains(&Outcome::Uncertain)
            }),
            Property::always("replicas are what the log says", |_, state| {
                holds(state, &[Fault::Diverged])
            }),
        ]
    }
}

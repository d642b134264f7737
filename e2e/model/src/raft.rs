//! Raft as it is taken for granted: a log a node, elections as one step that a majority allows, appends that arrive
//! whole or not at all; and the clocks.
//!
//! Not here, because it is Raft's own: terms that fail, pre-votes, conflicts found entry by entry, snapshots, changes of
//! membership, and what of a log is not yet durable. With three nodes one other node is a majority.

use super::Replication;
use super::state::{Core, Entry, Epoch, Fault, Group, Node, Outcome, Owner, Port, State, keyspace};

/// Ticks for which a node that heard of a leader votes for no other.
pub const ELECTION: u8 = 2;
/// Ticks for which a leader answers after what it sent to a majority: less by what clocks drift apart.
pub const LEASE: u8 = ELECTION - 1;

impl Node {
    /// The leadership that is this node's.
    pub fn leader(&self) -> Option<Epoch> {
        matches!(self.core, Core::Leads { .. }).then_some(self.vote)
    }

    /// The core has a lease of its own for entries, as long as an election.
    pub fn takes_entries(&self) -> bool {
        matches!(self.core, Core::Leads { acked_age, hands_over: false } if acked_age < ELECTION)
    }

    fn last(&self) -> (Option<Entry>, usize) {
        let last = self.log.last().map(|entry| Entry { write: 0, ..*entry });
        (last, self.log.len())
    }

    fn is_bound(&self) -> bool {
        let leads = matches!(self.core, Core::Leads { acked_age, .. } if acked_age < ELECTION);
        leads || self.vote_left > 0 || self.muted_left > 0
    }

    fn lose_leadership(&mut self, to: Epoch) {
        self.vote = to;
        self.core = Core::Follows;
        self.vote_left = 0;
    }

    fn pass(&mut self) {
        self.vote_left = self.vote_left.saturating_sub(1);
        self.muted_left = self.muted_left.saturating_sub(1);
        self.port.lease_left = self.port.lease_left.saturating_sub(1);
        if let Core::Leads { acked_age, .. } = &mut self.core {
            *acked_age = (*acked_age + 1).min(ELECTION);
        }
    }
}

impl Replication {
    fn lease(&self) -> u8 {
        match self.rules.a_lease_is_shorter_by_the_drift {
            true => LEASE,
            false => ELECTION,
        }
    }

    /// A node that misses its leader is elected by another one that misses it too.
    pub(super) fn may_elect(&self, state: &State, candidate: usize, voter: usize) -> bool {
        let (one, other) = (&state.nodes[candidate], &state.nodes[voter]);
        candidate != voter
            && one.leader().is_none()
            && !one.is_bound()
            && !other.is_bound()
            && one.last() >= other.last()
            && one.vote.term.max(other.vote.term) < self.bounds.terms
    }

    pub(super) fn elect(state: &mut State, candidate: usize, voter: usize) {
        let term = state.nodes[candidate].vote.term.max(state.nodes[voter].vote.term) + 1;
        let epoch = Epoch {
            term,
            node: candidate as u8,
        };
        Self::begin_term(state, candidate, voter, epoch);
    }

    fn begin_term(state: &mut State, leader: usize, voter: usize, epoch: Epoch) {
        state.nodes[voter].lose_leadership(epoch);
        state.nodes[leader].lose_leadership(epoch);
        state.nodes[leader].core = Core::Leads {
            acked_age: ELECTION,
            hands_over: false,
        };
    }

    /// Others learn that the leader gave its leadership away: they are not bound by it any more.
    pub(super) fn may_hear_letter(&self, state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        let is_of_it = state.letter.is_some_and(|letter| letter.epoch == node.vote);
        let is_news = state.letter.is_some_and(|letter| letter.to == at) || node.vote_left > 0;
        is_of_it && is_news && node.core == Core::Follows && node.vote.term < self.bounds.terms
    }

    pub(super) fn hear_letter(state: &mut State, at: usize) {
        let Some(letter) = state.letter else {
            return;
        };
        let node = &mut state.nodes[at];
        node.vote_left = 0;
        if letter.to == at && node.log.len() >= letter.last {
            node.core = Core::Stands;
            node.vote = Epoch {
                term: node.vote.term + 1,
                node: at as u8,
            };
        }
    }

    /// A vote that was asked for with a leader's leave arrives, maybe late: no lease counts against it.
    pub(super) fn may_grant(state: &State, voter: usize, candidate: usize) -> bool {
        let (one, other) = (&state.nodes[candidate], &state.nodes[voter]);
        candidate != voter
            && one.core == Core::Stands
            && one.vote > other.vote
            && one.last() >= other.last()
            && other.muted_left == 0
    }

    pub(super) fn grant(state: &mut State, voter: usize, candidate: usize) {
        let epoch = state.nodes[candidate].vote;
        Self::begin_term(state, candidate, voter, epoch);
    }

    /// An answer that is lost matters where there was something to take in.
    pub(super) fn may_append(state: &State, from: usize, to: usize, is_heard: bool) -> bool {
        let (one, other) = (&state.nodes[from], &state.nodes[to]);
        one.leader().is_some() && (is_heard || other.vote <= one.vote && other.log != one.log)
    }

    /// All that the leader has reaches another node; its answer may get lost.
    pub(super) fn append(&self, state: &mut State, from: usize, to: usize, is_heard: bool) {
        let (epoch, log, committed) = {
            let leader = &state.nodes[from];
            (leader.vote, leader.log.clone(), leader.committed)
        };
        if state.nodes[to].vote > epoch {
            let vote = state.nodes[to].vote;
            if is_heard {
                state.nodes[from].lose_leadership(vote);
            }
            return;
        }
        let count = log.len();
        self.take_in(&mut state.nodes[to], epoch, log);
        self.commit(state, to, committed);
        if !is_heard {
            return;
        }
        let lease = self.lease();
        let leader = &mut state.nodes[from];
        if let Core::Leads { acked_age, .. } = &mut leader.core {
            *acked_age = 0;
        }
        leader.port.lease_left = leader.port.lease_left.max(lease);
        if leader.log.last().is_some_and(|entry| entry.epoch == epoch) {
            self.commit(state, from, count);
        }
    }

    fn take_in(&self, node: &mut Node, epoch: Epoch, log: Vec<Entry>) {
        node.vote = epoch;
        node.core = Core::Follows;
        node.vote_left = ELECTION;
        let old = std::mem::replace(&mut node.log, log);
        let stays = |index: usize| node.log.get(index - 1) == Some(&old[index - 1]);
        let (kept, lost): (Vec<_>, Vec<_>) = node.responders.iter().partition(|waits| stays(waits.index));
        node.responders = kept;
        for waits in lost {
            Self::settle_lost(&mut node.port, waits.stint);
        }
    }

    fn commit(&self, state: &mut State, at: usize, up_to: usize) {
        let node = &mut state.nodes[at];
        if up_to <= node.committed {
            return;
        }
        node.committed = up_to;
        let (done, waiting): (Vec<_>, Vec<_>) =
            node.responders.iter().partition(|waits| waits.index <= up_to);
        node.responders = waiting;
        for waits in done {
            self.settle_committed(&mut node.port, waits);
        }
        let log = node.log[..up_to].to_vec();
        let count = state.agreed.len().min(up_to);
        if log[..count] != state.agreed[..count] {
            state.break_promise(Fault::NotAgreed);
        }
        if up_to > state.agreed.len() {
            state.agreed = log;
        }
    }

    /// A node ends and starts again at once; of what it knew there is what its disk keeps.
    pub(super) fn restart(&self, state: &mut State, at: usize) {
        state.left.restarts -= 1;
        for outcome in &mut state.outcomes {
            if *outcome == Outcome::Waits(at) {
                *outcome = Outcome::Broken;
            }
        }
        let node = &mut state.nodes[at];
        let committed = node.committed;
        *node = Node {
            vote: node.vote,
            committed,
            muted_left: if self.rules.who_restarted_does_not_vote {
                ELECTION
            } else {
                0
            },
            port: Port {
                given: committed,
                ..Port::default()
            },
            owner: Owner {
                keyspace: keyspace(&node.log[..committed]),
                held: committed,
                ..Owner::default()
            },
            log: std::mem::take(&mut node.log),
            group: Group::Follows,
            ..Node::default()
        };
    }

    /// Time passes: for all, for one alone whose clock is fast, for all but one whose clock is slow.
    pub(super) fn pass(state: &mut State, for_whom: impl Fn(usize) -> bool) {
        for (at, node) in state.nodes.iter_mut().enumerate() {
            if for_whom(at) {
                node.pass();
            }
        }
    }

    /// A machine sleeps for long: its timers stand still, and the clock that leases are told by goes on.
    pub(super) fn sleep(state: &mut State, sleeper: usize) {
        state.left.sleeps -= 1;
        for _ in 0..ELECTION {
            Self::pass(state, |at| at != sleeper);
        }
        state.nodes[sleeper].port.lease_left = 0;
    }

    /// The group looks again at how old the answer of the majority is, by the clock of timers.
    pub(super) fn may_note_lease(&self, state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        match node.core {
            Core::Leads { acked_age, .. } => {
                !self.rules.a_lease_counts_sleep && node.port.lease_left + acked_age < self.lease()
            }
            _ => false,
        }
    }

    pub(super) fn note_lease(&self, state: &mut State, at: usize) {
        let lease = self.lease();
        let node = &mut state.nodes[at];
        if let Core::Leads { acked_age, .. } = node.core {
            node.port.lease_left = lease.saturating_sub(acked_age);
        }
    }
}

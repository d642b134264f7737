//! The owner, as `server/src/owner/{seats,gate,turn}` have it: it executes before anything is committed, and holds
//! back what it must not tell yet.

use super::Replication;
use super::state::{Event, Fault, Held, Outcome, Owner, Proposal, Standing, State, Turn, keyspace};

/// Entries under way of an owner.
const UNDER_WAY_MAX: usize = 2;

impl Owner {
    fn is_clean(&self) -> bool {
        self.under_way.is_empty()
    }
}

impl Replication {
    /// Whether a round of the owner's loop would do anything.
    pub(super) fn may_round(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        let rests = node.port.is_held
            && !node.port.is_drained
            && matches!(node.owner.standing, Standing::Leads(_))
            && node.owner.is_clean();
        let first = node.owner.under_way.first();
        let is_let_out = first.is_some_and(|(number, _)| *number <= node.port.committed);
        node.owner.turn.is_none() && (!node.port.events.is_empty() || rests || is_let_out)
    }

    /// Nothing but entries of others awaits it.
    pub(super) fn only_follows(state: &State, at: usize) -> bool {
        let (owner, events) = (&state.nodes[at].owner, &state.nodes[at].port.events);
        let is_entry = |event: &Event| matches!(event, Event::Entry { .. });
        owner.standing == Standing::Follows && !events.is_empty() && events.iter().all(is_entry)
    }

    /// Heeds what has happened, looks at the lease, and lets out what is committed.
    pub(super) fn round(&self, state: &mut State, at: usize) {
        for event in std::mem::take(&mut state.nodes[at].port.events) {
            self.heed(state, at, event);
        }
        let node = &mut state.nodes[at];
        if let Standing::Leads(stint) = node.owner.standing
            && node.owner.is_clean()
            && !self.has_lease(&node.port, stint)
        {
            node.port.is_drained = true;
        }
        self.let_out(state, at);
    }

    fn heed(&self, state: &mut State, at: usize, event: Event) {
        match event {
            Event::Entry { index, write } => {
                let owner = &mut state.nodes[at].owner;
                if index <= owner.held {
                    return;
                }
                owner.held = index;
                if write > 0 {
                    owner.keyspace.push(write);
                }
                self.compare(state, at);
            }
            Event::Lead(stint) => state.nodes[at].owner.standing = Standing::Leads(stint),
            Event::Follow { given } => self.step_down(state, at, given),
        }
    }

    fn step_down(&self, state: &mut State, at: usize, given: usize) {
        if state.nodes[at].owner.is_clean() {
            let node = &mut state.nodes[at];
            node.owner.held = node.owner.held.max(given).max(node.port.committed_index);
            node.owner.standing = Standing::Follows;
            self.compare(state, at);
            return;
        }
        self.let_out(state, at);
        let owner = &mut state.nodes[at].owner;
        // Who waits for what is lost is told so as well.
        owner.read = None;
        let lost = std::mem::take(&mut owner.under_way);
        owner.standing = Standing::Follows;
        let outcome = match self.rules.what_is_lost_is_uncertain {
            true => Outcome::Uncertain,
            false => Outcome::NotApplied,
        };
        for (_, write) in lost {
            state.answer(write, outcome);
        }
        self.make_anew(state, at, given);
    }

    /// A follower's keyspace is what the log says.
    fn compare(&self, state: &mut State, at: usize) {
        let owner = &state.nodes[at].owner;
        let has_all =
            owner.held <= state.agreed.len() && owner.keyspace == keyspace(&state.agreed[..owner.held]);
        if !has_all && self.rules.a_keyspace_ahead_of_the_log_is_made_anew {
            state.break_promise(Fault::Diverged);
        }
    }

    fn let_out(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        let committed = node.port.committed;
        let is_out = |number: &u8| *number <= committed;
        let count = node
            .owner
            .under_way
            .iter()
            .take_while(|(number, _)| is_out(number))
            .count();
        let done: Vec<_> = node.owner.under_way.drain(..count).collect();
        let read = node.owner.read.take_if(|read| is_out(&read.number));
        for (_, write) in done {
            if self.rules.replies_wait {
                state.answer(write, Outcome::Acknowledged);
            }
        }
        if let Some(read) = read {
            state.show(&read.value, read.floor);
        }
    }

    /// From what its disk keeps. That takes a while, in which the owner heeds nothing and executes nothing: as if it
    /// were done at once.
    fn make_anew(&self, state: &mut State, at: usize, up_to: usize) {
        let node = &mut state.nodes[at];
        if self.rules.a_keyspace_ahead_of_the_log_is_made_anew {
            node.owner.keyspace = keyspace(&node.log[..up_to]);
        }
        node.owner.held = up_to;
        self.compare(state, at);
    }

    /// Its lease is over, and something of its stint waits: it gives up by itself.
    pub(super) fn may_give_up(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        match node.owner.standing {
            Standing::Leads(stint) => {
                node.port.lease_left == 0 && !node.owner.is_clean() && node.port.leads(stint)
            }
            _ => false,
        }
    }

    pub(super) fn give_up(state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        if let Standing::Leads(stint) = node.owner.standing {
            node.port.end(stint);
        }
    }

    /// It would execute a command now, by a look at its lease. What is refused changes nothing.
    fn executes(&self, state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        let Standing::Leads(stint) = node.owner.standing else {
            return false;
        };
        let has_leave = self.has_lease(&node.port, stint) || !self.rules.the_lease_is_looked_at;
        has_leave && node.owner.turn.is_none()
    }

    pub(super) fn may_write(&self, state: &State, at: usize) -> bool {
        state.left.writes > 0
            && self.executes(state, at)
            && state.nodes[at].owner.under_way.len() < UNDER_WAY_MAX
    }

    pub(super) fn write(&self, state: &mut State, at: usize) {
        state.left.writes -= 1;
        state.outcomes.push(Outcome::Waits(at));
        let write = state.outcomes.len() as u8;
        let node = &mut state.nodes[at];
        let Standing::Leads(stint) = node.owner.standing else {
            return;
        };
        node.owner.keyspace.push(write);
        node.owner.number += 1;
        let number = node.owner.number;
        node.owner.under_way.push((number, write));
        node.port.proposals.push(Proposal { stint, number, write });
        if !self.rules.replies_wait {
            state.answer(write, Outcome::Acknowledged);
        }
    }

    /// A read is received, and the lease looked at; the command may run much later.
    pub(super) fn may_look_and_read(&self, state: &State, at: usize) -> bool {
        state.left.reads > 0 && self.executes(state, at) && state.nodes[at].owner.read.is_none()
    }

    pub(super) fn look_for_read(&self, state: &mut State, at: usize) {
        state.left.reads -= 1;
        let known = state.known;
        let floor = self.rules.the_lease_is_looked_at_after_receiving.then_some(known);
        state.nodes[at].owner.turn = Some(Turn { floor });
    }

    pub(super) fn read(&self, state: &mut State, at: usize) {
        let known = state.known;
        let owner = &mut state.nodes[at].owner;
        let Some(turn) = owner.turn.take() else {
            return;
        };
        let (value, floor) = (owner.keyspace.clone(), turn.floor.unwrap_or(known));
        match owner.under_way.last() {
            Some((number, _)) if self.rules.reads_wait => {
                let number = *number;
                owner.read = Some(Held { value, number, floor });
            }
            _ => state.show(&value, floor),
        }
    }
}

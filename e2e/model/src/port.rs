//! The port, as `server/src/replica/port.rs` has it, and the group's task on its one side.

use super::Replication;
use super::state::{Core, Entry, Epoch, Event, Group, Letter, Move, Port, Responder, State};

impl Port {
    fn follow(&mut self) {
        if self.leads.take().is_some() {
            let given = self.given;
            self.events.push(Event::Follow { given });
        }
    }

    pub fn end(&mut self, stint: u8) {
        if self.leads(stint) {
            self.follow();
        }
    }

    fn close(&mut self, epoch: Epoch) {
        self.closed = self.closed.max(epoch);
        if self.leads.is_some_and(|(current, _)| current <= epoch) {
            self.follow();
        }
    }

    fn lead(&mut self, epoch: Epoch) -> Option<u8> {
        if epoch <= self.closed {
            return None;
        }
        self.follow();
        self.stint += 1;
        self.leads = Some((epoch, self.stint));
        self.events.push(Event::Lead(self.stint));
        Some(self.stint)
    }

    pub fn leads(&self, stint: u8) -> bool {
        self.leads.is_some_and(|(_, current)| current == stint)
    }
}

impl Replication {
    pub(super) fn has_lease(&self, port: &Port, stint: u8) -> bool {
        let is_of_it = port.leads(stint) || !self.rules.a_lease_ends_with_its_stint;
        is_of_it && port.lease_left > 0 && !port.is_held
    }

    fn give(&self, port: &mut Port, index: usize, entry: Entry) {
        port.given = index;
        match port.leads {
            Some((epoch, _)) if epoch == entry.epoch => return,
            Some(_) if self.rules.an_entry_of_another_ends_the_stint => {
                port.given -= 1;
                port.follow();
                port.given += 1;
            }
            _ => {}
        }
        let write = entry.write;
        port.events.push(Event::Entry { index, write });
    }

    /// What is committed is given.
    pub(super) fn give_all(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        while node.port.given < node.committed {
            let index = node.port.given + 1;
            self.give(&mut node.port, index, node.log[index - 1]);
        }
        if Self::may_lead(state, at) {
            Self::lead(state, at);
        }
    }

    pub(super) fn settle_committed(&self, port: &mut Port, waits: Responder) {
        if self.rules.a_lost_proposal_ends_its_stint_for_good && port.lost >= waits.stint {
            return;
        }
        port.committed_index = port.committed_index.max(waits.index);
        port.committed = port.committed.max(waits.number);
    }

    pub(super) fn settle_lost(port: &mut Port, stint: u8) {
        port.lost = port.lost.max(stint);
        port.end(stint);
    }

    /// The group sees that it leads and is to begin a stint.
    pub(super) fn may_begin(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        node.group == Group::Follows && node.takes_entries() && node.vote > node.port.closed
    }

    pub(super) fn begin(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        let epoch = node.vote;
        if !self.rules.a_stint_begins_with_an_empty_entry {
            if let Some(stint) = node.port.lead(epoch) {
                node.group = Group::Leads { epoch, stint };
            }
            return;
        }
        node.log.push(Entry { epoch, write: 0 });
        let index = node.log.len();
        node.group = Group::Begins { epoch, index };
    }

    fn may_lead(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        match node.group {
            Group::Begins { epoch, index } => node.port.given >= index && node.log[index - 1].epoch == epoch,
            _ => false,
        }
    }

    fn lead(state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        if let Group::Begins { epoch, .. } = node.group {
            node.group = match node.port.lead(epoch) {
                Some(stint) => Group::Leads { epoch, stint },
                None => Group::Follows,
            };
        }
    }

    /// The group learns that it leads no longer, or that the stint is over.
    pub(super) fn may_look(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        match node.group {
            Group::Follows => false,
            Group::Begins { epoch, .. } => node.leader() != Some(epoch),
            Group::Leads { epoch, stint } => node.leader() != Some(epoch) || !node.port.leads(stint),
        }
    }

    pub(super) fn look(state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        if let Group::Leads { stint, .. } = node.group {
            node.port.end(stint);
        }
        node.group = Group::Follows;
    }

    /// The first proposal reaches the core, or is dropped with its stint.
    pub(super) fn may_submit(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        !node.port.proposals.is_empty() && matches!(node.group, Group::Leads { .. })
    }

    pub(super) fn submit(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        let proposal = node.port.proposals.remove(0);
        let Group::Leads { epoch, stint } = node.group else {
            return;
        };
        if proposal.stint != stint && self.rules.proposals_of_an_ended_stint_are_dropped {
            return;
        }
        if node.leader() != Some(epoch) || !node.takes_entries() {
            Self::settle_lost(&mut node.port, proposal.stint);
            return;
        }
        let write = proposal.write;
        node.log.push(Entry { epoch, write });
        node.responders.push(Responder {
            index: node.log.len(),
            stint: proposal.stint,
            number: proposal.number,
        });
    }

    pub(super) fn may_move(state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        state.left.transfers > 0
            && node.moves.is_none()
            && node.port.leads.is_some()
            && matches!(
                node.core,
                Core::Leads {
                    hands_over: false,
                    ..
                }
            )
    }

    pub(super) fn begin_move(&self, state: &mut State, at: usize, to: usize) {
        state.left.transfers -= 1;
        let node = &mut state.nodes[at];
        node.moves = Some(Move::Drains { to });
        node.port.is_held = self.rules.a_move_holds_the_lease_back;
        node.port.is_drained = false;
    }

    /// The owner rests, and the other node has all.
    pub(super) fn may_hand_over(&self, state: &State, at: usize) -> bool {
        let node = &state.nodes[at];
        let is_at_rest = node.port.is_drained || !self.rules.a_move_holds_the_lease_back;
        match node.moves {
            Some(Move::Drains { to }) => {
                is_at_rest
                    && node
                        .port
                        .leads
                        .is_some_and(|(epoch, _)| node.leader() == Some(epoch))
                    && state.nodes[to].log == node.log
            }
            _ => false,
        }
    }

    pub(super) fn hand_over(state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        let (Some(Move::Drains { to }), Core::Leads { acked_age, .. }) = (node.moves, node.core) else {
            return;
        };
        let (epoch, last) = (node.vote, node.log.len());
        node.core = Core::Leads {
            acked_age,
            hands_over: true,
        };
        node.moves = Some(Move::HandedOver { epoch });
        state.letter = Some(Letter { epoch, to, last });
    }

    pub(super) fn end_move(&self, state: &mut State, at: usize) {
        let node = &mut state.nodes[at];
        if let Some(Move::HandedOver { epoch }) = node.moves.take()
            && self.rules.who_handed_over_executes_no_more
        {
            node.port.close(epoch);
        }
        node.port.is_held = false;
    }
}

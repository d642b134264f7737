//! One shard's group on this node: proposals go in, leadership and leases come out.
//!
//! One task does both, so a proposal is never taken for another stint than the one it was executed in. A stint
//! begins once an empty entry of the leader is applied: then nothing that was committed or under way before
//! is unknown to the owner.

use std::sync::Arc;
use std::time::Duration;

use openraft::async_runtime::watch::WatchReceiver;
use openraft::errors::Fatal;
use openraft::{Raft, ServerState};
use tokio::sync::mpsc;

use super::lease::{Clocks, Lease, Sleep};
use super::machine::Machine;
use super::types::{Batch, C, End, Outcomes, Release};
use super::wire;
use crate::replica::{Epoch, Outcome, Port, Proposal, Stint};

pub type Shard = Raft<C, Machine>;
type Leader = openraft::impls::leader_id_adv::LeaderId<u64, u64>;

/// What became of a stint's proposals goes to its port.
struct Settler {
    port: Arc<Port>,
    stint: Stint,
}

impl Outcomes for Settler {
    fn settle(&self, proposal: u64, end: End) {
        let outcome = match end {
            End::Committed(index) => Outcome::Committed(index.0),
            // The keyspace is ahead of the log either way.
            End::Refused(_) | End::Unknown => Outcome::Lost,
        };
        self.port.settle(self.stint, proposal, outcome);
    }
}

pub struct Group {
    raft: Shard,
    port: Arc<Port>,
    lease: Lease,
    sleep: Sleep,
    proposals: mpsc::Receiver<Proposal>,
}

/// A stint that is under way.
struct Leading {
    leader: Leader,
    stint: Stint,
    outcomes: Arc<dyn Outcomes>,
}

impl Group {
    pub fn new(raft: Shard, port: Arc<Port>, lease: Lease, proposals: mpsc::Receiver<Proposal>) -> Self {
        Self {
            raft,
            port,
            lease,
            sleep: Sleep::new(Clocks::read()),
            proposals,
        }
    }

    /// Runs until the core ends: what it says then, and the proposals for whatever comes after it.
    pub async fn run(mut self) -> (Fatal<C>, mpsc::Receiver<Proposal>) {
        loop {
            if let Err(fatal) = self.run_once().await {
                return (fatal, self.proposals);
            }
        }
    }

    async fn run_once(&mut self) -> Result<(), Fatal<C>> {
        self.follow().await?;
        match self.begin().await? {
            Some(leading) => self.lead(leading).await,
            None => Ok(()),
        }
    }

    /// Until this node is elected.
    async fn follow(&mut self) -> Result<(), Fatal<C>> {
        let mut metrics = self.raft.server_metrics();
        while self.leader().is_none() {
            tokio::select! {
                changed = metrics.changed() => changed.map_err(|_| Fatal::Stopped)?,
                // Of a stint that is over.
                proposal = self.proposals.recv() => drop(proposal.ok_or(Fatal::Stopped)?),
            }
        }
        Ok(())
    }

    /// The leader that this node is, by state and vote: a restarted node's vote may still name it.
    fn leader(&self) -> Option<Leader> {
        let metrics = self.raft.server_metrics();
        let metrics = metrics.borrow_watched();
        (metrics.state == ServerState::Leader).then_some(metrics.vote.leader_id)
    }

    /// Begins a stint. `None`: it leads no longer.
    async fn begin(&mut self) -> Result<Option<Leading>, Fatal<C>> {
        let Some(leader) = self.leader() else {
            return Ok(None);
        };
        let epoch = Epoch {
            term: leader.term,
            node: leader.node_id,
        };
        if self.port.is_closed(epoch) {
            // Until another node leads.
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        }
        let barrier = tokio::sync::oneshot::channel();
        let outcomes: Arc<dyn Outcomes> = Arc::new(Once(std::sync::Mutex::new(Some(barrier.0))));
        let write = self.raft.write(Batch::default()).with_leader(leader);
        write.responder(Release::new(0, outcomes)).await?;
        let Ok(End::Committed(index)) = barrier.1.await else {
            // Refused without a lease: a majority has yet to be heard of.
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        };
        let wait = self.raft.wait(None);
        let is_told = |m: &openraft::RaftMetrics<C>| {
            m.vote.leader_id != leader
                || m.last_applied
                    .is_some_and(|applied| wire::wal_id(&applied).index >= index)
        };
        wait.metrics(is_told, "what came before is applied")
            .await
            .map_err(|_| Fatal::Stopped)?;
        if self.leader() != Some(leader) {
            return Ok(None);
        }
        let Some(stint) = self.port.lead(epoch) else {
            return Ok(None);
        };
        tracing::info!(shard = self.port.shard().0, term = epoch.term, "leads");
        let outcomes = Arc::new(Settler {
            port: Arc::clone(&self.port),
            stint,
        });
        Ok(Some(Leading {
            leader,
            stint,
            outcomes,
        }))
    }

    /// Until the stint is over, whoever ends it.
    async fn lead(&mut self, leading: Leading) -> Result<(), Fatal<C>> {
        let (mut server, mut data) = (self.raft.server_metrics(), self.raft.data_metrics());
        let port = Arc::clone(&self.port);
        loop {
            self.note_lease();
            if self.leader() != Some(leading.leader) {
                break;
            }
            let ended = port.ended();
            if port.leads().is_none_or(|(_, stint)| stint != leading.stint) {
                break;
            }
            tokio::select! {
                changed = server.changed() => changed.map_err(|_| Fatal::Stopped)?,
                changed = data.changed() => changed.map_err(|_| Fatal::Stopped)?,
                () = ended => break,
                proposal = self.proposals.recv() => {
                    let proposal = proposal.ok_or(Fatal::Stopped)?;
                    self.propose(&leading, proposal).await?;
                }
            }
        }
        port.end(leading.stint);
        tracing::info!(
            shard = port.shard().0,
            term = leading.leader.term,
            "leads no longer"
        );
        Ok(())
    }

    async fn propose(&self, leading: &Leading, proposal: Proposal) -> Result<(), Fatal<C>> {
        if proposal.stint != leading.stint {
            return Ok(());
        }
        let release = Release::new(proposal.number, Arc::clone(&leading.outcomes));
        let write = self
            .raft
            .write(Batch(proposal.payload))
            .with_leader(leading.leader);
        write.responder(release).await
    }

    fn note_lease(&mut self) {
        let metrics = self.raft.data_metrics();
        let acked = metrics.borrow_watched().last_quorum_acked;
        if let Some(acked) = acked {
            let end = self
                .sleep
                .lease_end(Clocks::read(), acked.into_inner(), self.lease);
            if let Some(end) = end {
                self.port.note_lease(end);
            }
        }
    }
}

/// Between two attempts to begin.
const PAUSE: Duration = Duration::from_millis(5);

/// The outcome of one entry.
struct Once(std::sync::Mutex<Option<tokio::sync::oneshot::Sender<End>>>);

impl Outcomes for Once {
    fn settle(&self, _: u64, end: End) {
        let sender = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        if let Some(sender) = sender {
            let _ = sender.send(end);
        }
    }
}

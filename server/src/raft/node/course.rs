//! The course of one group: it is built over the shard's log and runs until the node ends. Where that log is to be
//! changed from outside, the group ends, the change is made, and another group is built over what came of it.
//!
//! Invariant: while a change is made nothing of the old group is alive that could write to the log or give to the owner.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use openraft::errors::Fatal;
use openraft::storage::RaftLogReader;
use openraft::{Config, Raft};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Replica, Timing, Watch};
use crate::raft::current::{Built, Current};
use crate::raft::group::{Group, Shard};
use crate::raft::machine::Machine;
use crate::raft::peers::{Factory, Peers};
use crate::raft::snapshot::Images;
use crate::raft::store::Store;
use crate::raft::types::C;
use crate::replica::{Port, Proposal};
use crate::wal::{LogId, NodeId};

/// What of an old group still runs ends within this.
const END_MAX: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(2);

/// What a change of a shard's log is made with.
pub(in crate::raft) struct Bench {
    pub store: Store,
    pub port: Arc<Port>,
    pub images: Arc<dyn Images>,
}

/// Why a change was not made.
pub(in crate::raft) enum Unmade {
    /// All is as it was.
    Refused(String),
    /// It stopped half-way: a start makes it whole.
    Broken(String),
}

/// Changes a shard's log while no group is at work on it.
pub(in crate::raft) type Change = Box<dyn FnOnce(Bench) -> BoxFuture<'static, Result<(), Unmade>> + Send>;

type Asked = (Change, oneshot::Sender<Result<(), String>>);

/// Asks for changes of one shard's log.
#[derive(Clone)]
pub(in crate::raft) struct Editor(mpsc::Sender<Asked>);

impl Editor {
    /// Waits until the change was made and the group is at work again.
    pub async fn change(&self, change: Change) -> Result<(), String> {
        let (done, outcome) = oneshot::channel();
        let asked = self.0.try_send((change, done));
        asked.map_err(|_| "another change of the shard is under way".to_owned())?;
        outcome
            .await
            .unwrap_or_else(|_| Err("the group has ended".to_owned()))
    }
}

/// What all groups of a node are built with.
#[derive(Clone)]
pub(super) struct Tools {
    pub node: NodeId,
    pub config: Arc<Config>,
    pub peers: Arc<Peers>,
    pub timing: Timing,
    pub watch: Watch,
}

/// One group that was built and does not run yet.
pub(super) struct Course {
    tools: Tools,
    store: Store,
    port: Arc<Port>,
    images: Arc<dyn Images>,
    built: watch::Sender<Built>,
    asked: mpsc::Receiver<Asked>,
    /// What runs next.
    group: Option<Group>,
    /// Gone when nothing of the group is alive.
    life: Weak<()>,
}

impl Course {
    pub async fn build(tools: Tools, replica: Replica) -> Result<(Self, Current, Editor), String> {
        let Replica {
            store,
            port,
            proposals,
            applied,
            images,
        } = replica;
        let (raft, life, muted_until) = build(&tools, &store, &port, &images, applied).await?;
        let group = Group::new(raft.clone(), Arc::clone(&port), tools.timing.lease(), proposals);
        let (built, current) = Current::new(Built { raft, muted_until });
        let (ask, asked) = mpsc::channel(1);
        let course = Self {
            tools,
            store,
            port,
            images,
            built,
            asked,
            group: Some(group),
            life,
        };
        Ok((course, current, Editor(ask)))
    }

    /// As long as the node: what ends the group ends the node.
    pub async fn run(mut self) {
        while let Some(group) = self.group.take() {
            let (raft, muted_until) = {
                let built = self.built.borrow();
                (built.raft.clone(), built.muted_until)
            };
            raft.run();
            unmute(raft.clone(), muted_until);
            // A task of its own, so that its panic is seen too.
            let mut running = tokio::spawn(group.run());
            let (change, done) = tokio::select! {
                ended = &mut running => return report(&self.tools.watch, &self.port, ended),
                Some(asked) = self.asked.recv() => asked,
            };
            let proposals = match end(&raft, &self.port, running, &self.life).await {
                Ok(proposals) => proposals,
                Err(why) => return self.fail(&why),
            };
            drop(raft);
            let bench = Bench {
                store: self.store.clone(),
                port: Arc::clone(&self.port),
                images: Arc::clone(&self.images),
            };
            let outcome = match change(bench).await {
                Ok(()) => Ok(()),
                Err(Unmade::Refused(why)) => Err(why),
                Err(Unmade::Broken(why)) => return self.fail(&why),
            };
            let given = self.port.given();
            let rebuilt = build(&self.tools, &self.store, &self.port, &self.images, given).await;
            let (raft, life, muted_until) = match rebuilt {
                Ok(rebuilt) => rebuilt,
                Err(why) => return self.fail(&why),
            };
            self.life = life;
            let lease = self.tools.timing.lease();
            self.group = Some(Group::new(raft.clone(), Arc::clone(&self.port), lease, proposals));
            self.built.send_replace(Built { raft, muted_until });
            // Whoever asked may have given up.
            let _ = done.send(outcome);
        }
    }

    fn fail(&self, why: &str) {
        let shard = self.port.shard().0;
        self.tools
            .watch
            .ended(&format!("the group of shard {shard} cannot go on: {why}"));
    }
}

type Ended = (Fatal<C>, mpsc::Receiver<Proposal>);

fn report(watch: &Watch, port: &Port, ended: Result<Ended, tokio::task::JoinError>) {
    let fatal = match ended {
        Ok((Fatal::Stopped, _)) => "it stopped".to_owned(),
        Ok((fatal, _)) => fatal.to_string(),
        Err(panic) => panic.to_string(),
    };
    leave_stint(port);
    watch.ended(&format!(
        "the group of shard {} has ended: {fatal}",
        port.shard().0
    ));
}

/// Who waits for something of it is told.
fn leave_stint(port: &Port) {
    if let Some((_, stint)) = port.leads() {
        port.end(stint);
    }
}

/// Ends a group, and waits until nothing of it is alive.
async fn end(
    raft: &Shard,
    port: &Port,
    running: JoinHandle<Ended>,
    life: &Weak<()>,
) -> Result<mpsc::Receiver<Proposal>, String> {
    let start = Instant::now();
    raft.shutdown().await.map_err(|panic| panic.to_string())?;
    let (_, proposals) = running.await.map_err(|panic| panic.to_string())?;
    leave_stint(port);
    while life.strong_count() > 0 {
        if start.elapsed() > END_MAX {
            return Err("its state machine does not end".to_owned());
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(proposals)
}

/// Also says until when it is to be asked for no vote: a replica that has ever voted may have forgotten a lease.
async fn build(
    tools: &Tools,
    store: &Store,
    port: &Arc<Port>,
    images: &Arc<dyn Images>,
    applied: LogId,
) -> Result<(Shard, Weak<()>, Option<Instant>), String> {
    let vote = store.clone().read_vote().await.map_err(|why| why.to_string())?;
    let machine = Machine::new(Arc::clone(port), Arc::clone(images), store.clone(), applied);
    let life = machine.life();
    let factory = Factory {
        shard: port.shard(),
        peers: Arc::clone(&tools.peers),
        images: Arc::clone(images),
    };
    let config = Arc::clone(&tools.config);
    let raft = Raft::build(tools.node.0, config, factory, store.clone(), machine)
        .await
        .map_err(|fatal| fatal.to_string())?;
    let muted_until = vote.map(|_| Instant::now() + tools.timing.election_max);
    raft.runtime_config().elect(muted_until.is_none());
    Ok((raft, life, muted_until))
}

fn unmute(raft: Shard, muted_until: Option<Instant>) {
    if let Some(until) = muted_until {
        tokio::spawn(async move {
            tokio::time::sleep_until(until).await;
            raft.runtime_config().elect(true);
        });
    }
}

//! The node as those who administer it see it: its part of `ruvio_server::admin`, over its membership and its groups.

mod configure;
mod recover;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use ruvio_core::cluster::Row;
use ruvio_core::options::{Id, Options};
use ruvio_server::admin::answers::{
    ApplyConfigRequest, ApplyConfigResponse, DigestResponse, KnownLeader, MemberProgress, NodePhase,
    RecoverQuorumResponse, ReloadResponse, ReplicaStatus, Role, StatusResponse,
};
use ruvio_server::admin::common::{self, Member, StoredMembership, VoterSet};
use ruvio_server::admin::{Control, Founding, RecoverQuorum, Refused, ReplicaChange};
use ruvio_server::datadir::Identity;
use ruvio_server::raft::{self, ChangeError, InitializeRefused, ShardStatus, TransferError, placement};
use ruvio_server::tls::Acceptor;
use ruvio_server::wal::{LogId, NodeId, ShardId};

use super::replicas::{Invitation, Membership};
use super::{config, entropy, is_missing};

/// A member that has to read its data first may take longer: it is asked again.
const START_MAX: Duration = Duration::from_secs(50);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

pub struct Administration {
    membership: Arc<Membership>,
    shards: u16,
    started: Instant,
    revision: Revision,
}

/// Of the options that were applied last, since the node began.
#[derive(Default)]
struct Revision(Mutex<String>);

impl Revision {
    fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, revision: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = revision;
    }
}

/// Listens on the admin port of every address of `bind`.
pub fn bind(options: &Options) -> anyhow::Result<Vec<TcpListener>> {
    let mut listeners = Vec::new();
    for address in config::addresses(options, options.number(Id::AdminPort) as u16)? {
        match TcpListener::bind(address.socket) {
            Ok(listener) => {
                tracing::info!(address = %address.socket, "listening for ruvioctl and the operator");
                listeners.push(listener);
            }
            Err(error) if address.optional && is_missing(&error) => {}
            Err(error) => {
                let address = address.socket;
                return Err(error).with_context(|| {
                    format!("cannot listen on {address}, the admin port: stop who listens there, or take another one")
                });
            }
        }
    }
    Ok(listeners)
}

impl Administration {
    pub fn new(membership: Arc<Membership>, shards: u16) -> Self {
        Self {
            membership,
            shards,
            started: Instant::now(),
            revision: Revision::default(),
        }
    }

    pub fn token(&self) -> Option<raft::Token> {
        self.membership.token().cloned()
    }

    /// For those who come to the admin port.
    pub fn acceptor(&self) -> Acceptor {
        Acceptor::new(self.membership.tls.clone())
    }

    fn identity(&self) -> Option<&Identity> {
        self.membership.identity.get()
    }

    fn groups(&self) -> Result<&Arc<raft::Node>, Refused> {
        self.membership.raft.get().ok_or_else(|| match self.identity() {
            Some(_) => Refused::Unavailable("the node still reads its data: try again in a while".to_owned()),
            None => Refused::Precondition(
                "the node is in no cluster yet: ruvioctl bootstrap makes one, ruvioctl join adds it to one"
                    .to_owned(),
            ),
        })
    }

    /// The groups, once they are at work.
    async fn await_groups(&self) -> Result<&Arc<raft::Node>, Refused> {
        let start = Instant::now();
        loop {
            if let Some(groups) = self.membership.raft.get() {
                return Ok(groups);
            }
            if start.elapsed() > START_MAX {
                let why = "the node is a member and still reads its data: the same call again waits on";
                return Err(Refused::Unavailable(why.to_owned()));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The node becomes a member, unless it is one.
    fn enter(&self, founding: &Founding) -> Result<bool, Refused> {
        if self.identity().is_some() {
            return Ok(true);
        }
        let drawn = entropy().map_err(|error| Refused::Internal(error.to_string()))?;
        let identity = Identity::new(founding.cluster, founding.callee, drawn, founding.shards);
        // If somebody else was faster, what is compared afterwards says who.
        self.membership.invite(Invitation { identity });
        Ok(false)
    }

    fn check(&self, founding: &Founding) -> Result<(), Refused> {
        let Some(identity) = self.identity() else {
            return Ok(());
        };
        if identity.cluster != founding.cluster {
            return Err(Refused::Precondition(format!(
                "this node is of cluster {} and stays with it: start it with an empty folder to make it another's",
                identity.cluster
            )));
        }
        if identity.node != founding.callee {
            return Err(Refused::Precondition(format!(
                "this is node {} of the cluster, not node {}: the nodes were named in another order",
                identity.node.0, founding.callee.0
            )));
        }
        Ok(())
    }

    /// Begins those shards that this node is to lead first, unless they have begun.
    async fn begin(&self, groups: &raft::Node, founding: &Founding) -> Result<(), Refused> {
        let nodes: Vec<NodeId> = founding.nodes.iter().map(|founder| founder.node).collect();
        let addresses: BTreeMap<NodeId, &str> = founding
            .nodes
            .iter()
            .map(|founder| (founder.node, &*founder.peer_address))
            .collect();
        let has_begun = |shard: ShardId| {
            let of_shard = |status: &ShardStatus| status.shard == shard && !status.voters.concat().is_empty();
            groups.status().iter().any(of_shard)
        };
        let places = placement::place(&nodes, founding.shards, founding.replication_factor);
        let mine = places
            .into_iter()
            .filter(|place| place.leader() == Some(founding.callee));
        for place in mine.filter(|place| !has_begun(place.shard)) {
            let member = |node: &NodeId| (*node, addresses.get(node).copied().unwrap_or_default().to_owned());
            let members = place.voters.iter().map(member).collect();
            match groups.initialize(place.shard, members).await {
                Ok(()) | Err(InitializeRefused::Done) => {}
                Err(refused) => {
                    let why = format!("shard {} cannot begin: {refused}", place.shard.0);
                    return Err(Refused::Internal(why));
                }
            }
        }
        Ok(())
    }

    fn status_of(&self, groups: &raft::Node, shard: u16) -> Result<ShardStatus, Refused> {
        let found = groups.status().into_iter().find(|status| status.shard.0 == shard);
        found.ok_or_else(|| Refused::Precondition(format!("this node has no replica of shard {shard}")))
    }
}

impl Control for Administration {
    fn shards(&self) -> u16 {
        self.shards
    }

    async fn bootstrap(&self, founding: Founding) -> Result<bool, Refused> {
        let existed = self.enter(&founding)?;
        self.check(&founding)?;
        let groups = self.await_groups().await?;
        self.check(&founding)?;
        if !founding.join_only {
            self.begin(groups, &founding).await?;
        }
        Ok(existed)
    }

    async fn status(&self, shards: &[u16]) -> StatusResponse {
        let port = |id| u32::try_from(self.membership.options.number(id)).unwrap_or(0);
        let groups = self.membership.raft.get();
        let all = groups.map(|groups| groups.status()).unwrap_or_default();
        let wanted = |status: &&ShardStatus| shards.is_empty() || shards.contains(&status.shard.0);
        let table = self.membership.tables.get().map(|tables| tables.table());
        let me = table.as_ref().and_then(|table| table.nodes.get(&table.me));
        let drains = me.is_some_and(|me| me.is_draining);
        let phase = match (self.identity(), groups) {
            (None, _) => NodePhase::New,
            (Some(_), None) => NodePhase::Loading,
            (Some(_), Some(_)) if drains => NodePhase::Draining,
            (Some(_), Some(_)) => NodePhase::Serving,
        };
        let identity = self.identity();
        let known = table.iter().flat_map(|table| (0..).zip(&table.rows));
        StatusResponse {
            cluster_id: identity
                .map(|identity| identity.cluster.0.to_vec().into())
                .unwrap_or_default(),
            node: identity.map_or(0, |identity| identity.node.0),
            incarnation: identity.map_or(0, |identity| identity.incarnation),
            release: env!("CARGO_PKG_VERSION").to_owned(),
            phase: phase.into(),
            shards_total: u32::from(self.shards),
            replicas: all.iter().filter(wanted).map(replica).collect(),
            leaders: known.map(leader).collect(),
            config_revision: self.revision.get(),
            uptime_ms: self.started.elapsed().as_millis() as u64,
            peer_port: port(Id::PeerPort),
            port: u32::from(self.membership.options.port()),
            routed_port: port(Id::RoutedPort),
        }
    }

    async fn change_replicas(&self, change: ReplicaChange) -> Result<StoredMembership, Refused> {
        let groups = self.groups()?;
        if change.learners_only {
            return Err(Refused::Unsupported(
                "new members vote as soon as they have caught up",
            ));
        }
        let added = change
            .add
            .into_iter()
            .map(|member| (NodeId(member.node), member.address));
        let (added, removed): (Vec<_>, Vec<_>) =
            (added.collect(), change.remove.into_iter().map(NodeId).collect());
        let at = change
            .if_membership
            .map(|id| LogId::new(id.term, id.node, id.index));
        let changed = groups.change_replicas(ShardId(change.shard), &added, &removed, at);
        match tokio::time::timeout(change.catch_up, changed).await {
            Ok(Ok(_)) => Ok(membership(&self.status_of(groups, change.shard)?)),
            Ok(Err(error)) => Err(unchanged(change.shard, error)),
            Err(_) => Err(Refused::TimedOut(format!(
                "the new members of shard {} have not caught up in time: they go on learning, and the same call again waits on",
                change.shard
            ))),
        }
    }

    async fn transfer_leader(
        &self,
        shard: u16,
        to: Option<u64>,
        within: Duration,
    ) -> Result<(u64, u64), Refused> {
        let groups = self.groups()?;
        let status = self.status_of(groups, shard)?;
        let to = to.map(NodeId).or_else(|| successor(&status));
        let Some(to) = to else {
            return Err(match status.role {
                raft::Role::Leader => Refused::Precondition(format!(
                    "shard {shard} has no other voter: add one with change-replicas"
                )),
                _ => not_leader(shard, status.leader),
            });
        };
        let transferred = groups.transfer_leader(ShardId(shard), to);
        match tokio::time::timeout(within, transferred).await {
            Ok(Ok(())) => Ok((to.0, self.status_of(groups, shard)?.term)),
            Ok(Err(error)) => Err(not_transferred(shard, error)),
            Err(_) => Err(Refused::TimedOut(format!(
                "node {} has not taken shard {shard} over in time",
                to.0
            ))),
        }
    }

    async fn drain(&self, drain: bool, within: Duration) -> Result<Vec<u16>, Refused> {
        let groups = self.groups()?;
        if let Some(tables) = self.membership.tables.get() {
            tables.set_draining(drain);
        }
        if !drain {
            return Ok(Vec::new());
        }
        let start = Instant::now();
        loop {
            let left = led(groups);
            if left.is_empty() || start.elapsed() > within {
                return Ok(left.iter().map(|status| status.shard.0).collect());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn apply_config(&self, request: ApplyConfigRequest) -> Result<ApplyConfigResponse, Refused> {
        self.apply(request).await
    }

    async fn reload(&self, acl: bool, tls: bool) -> Result<ReloadResponse, Refused> {
        self.read_again(acl, tls).await
    }

    async fn recover_quorum(&self, request: RecoverQuorum) -> Result<RecoverQuorumResponse, Refused> {
        self.recover(request).await
    }

    async fn digest(
        &self,
        shard: u16,
        index: Option<u64>,
        within: Duration,
    ) -> Result<DigestResponse, Refused> {
        let groups = self.groups()?;
        let start = Instant::now();
        loop {
            let left = within.saturating_sub(start.elapsed());
            let found = match tokio::time::timeout(left, groups.digest(ShardId(shard))).await {
                Ok(found) => {
                    found.ok_or_else(|| Refused::Unavailable("the replica is not served now".to_owned()))?
                }
                Err(_) => {
                    return Err(Refused::TimedOut(
                        "the replica is not at rest in that time".to_owned(),
                    ));
                }
            };
            if index.is_none_or(|index| index <= found.index) {
                if index.is_some_and(|index| index < found.index) {
                    return Err(Refused::Precondition(format!(
                        "the replica is at {} already",
                        found.index
                    )));
                }
                return Ok(DigestResponse {
                    log_id: Some(common::LogId {
                        term: 0,
                        node: 0,
                        index: found.index,
                    }),
                    digest: found.digest.to_vec().into(),
                    keys: found.keys,
                });
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn led(groups: &raft::Node) -> Vec<ShardStatus> {
    let all = groups.status().into_iter();
    all.filter(|status| status.role == raft::Role::Leader).collect()
}

/// The voter that is furthest, where this node leads.
fn successor(status: &ShardStatus) -> Option<NodeId> {
    let me = status.leader?;
    let votes = |node: &NodeId| status.voters.iter().all(|set| set.contains(node));
    let furthest = status
        .replication
        .iter()
        .filter(|(node, _)| **node != me && votes(node));
    furthest
        .max_by_key(|(node, at)| (**at, std::cmp::Reverse(**node)))
        .map(|(node, _)| *node)
}

fn not_leader(shard: u16, leader: Option<NodeId>) -> Refused {
    Refused::NotLeader {
        shard,
        leader: leader.map(|node| node.0),
    }
}

fn unchanged(shard: u16, error: ChangeError) -> Refused {
    let said = format!("the replicas of shard {shard} are not changed: {error}");
    match error {
        ChangeError::NotLeader { leader } => not_leader(shard, leader),
        ChangeError::Stale { .. } => Refused::Precondition(format!(
            "somebody else has changed the replicas of shard {shard} meanwhile: look at them, then ask again"
        )),
        ChangeError::NotCaughtUp(_) => Refused::TimedOut(said),
        ChangeError::Unknown(_) => Refused::Unavailable(format!(
            "whether the replicas of shard {shard} are changed is not known: look at them with ruvioctl status"
        )),
        _ => Refused::Precondition(said),
    }
}

fn not_transferred(shard: u16, error: TransferError) -> Refused {
    let said = format!("shard {shard} stays with its leader: {error}");
    match error {
        TransferError::NotLeader { leader } => not_leader(shard, leader),
        TransferError::Busy(_) | TransferError::NotTaken(_) => {
            Refused::Unavailable(format!("{said}. Try again"))
        }
        _ => Refused::Precondition(said),
    }
}

fn id(at: LogId) -> Option<common::LogId> {
    (at != LogId::default()).then_some(common::LogId {
        term: at.term.0,
        node: at.node.0,
        index: at.index.0,
    })
}

fn membership(status: &ShardStatus) -> StoredMembership {
    let set = |nodes: &Vec<NodeId>| VoterSet {
        nodes: nodes.iter().map(|node| node.0).collect(),
    };
    let member = |(node, address): (&NodeId, &String)| Member {
        node: node.0,
        address: address.clone(),
    };
    StoredMembership {
        log_id: id(status.membership),
        membership: Some(common::Membership {
            voters: status.voters.iter().map(set).collect(),
            members: status.addresses.iter().map(member).collect(),
        }),
    }
}

fn leader((shard, row): (u32, &Row)) -> KnownLeader {
    KnownLeader {
        shard,
        leader: row.leader.map_or(0, |node| node.0),
        term: row.term,
    }
}

fn replica(status: &ShardStatus) -> ReplicaStatus {
    let role = match status.role {
        raft::Role::Leader => Role::Leader,
        raft::Role::Follower => Role::Follower,
        raft::Role::Candidate => Role::Candidate,
        raft::Role::Learner => Role::Learner,
    };
    let me = status.leader.filter(|_| status.role == raft::Role::Leader);
    let others = status.replication.iter().filter(|(node, _)| Some(**node) != me);
    let progress = |(node, at): (&NodeId, &LogId)| MemberProgress {
        node: node.0,
        matched: id(*at),
        lag: status.last_log.index.0.saturating_sub(at.index.0),
        silent_ms: 0,
        snapshot_bytes: 0,
    };
    ReplicaStatus {
        shard: u32::from(status.shard.0),
        role: role.into(),
        vote: Some(common::Vote {
            term: status.vote.term.0,
            node: status.vote.node.0,
            committed: status.vote.committed,
        }),
        leader: status.leader.map_or(0, |node| node.0),
        last_log_id: id(status.last_log),
        committed: id(status.committed),
        applied: id(LogId {
            index: ruvio_server::wal::LogIndex(status.applied),
            ..status.given
        })
        .filter(|_| status.applied == status.given.index.0),
        image: None,
        purged: id(status.purged),
        membership: Some(membership(status)),
        members: others.map(progress).collect(),
        lease_left_ms: status.lease_left.as_millis() as u64,
        keys: Some(status.keys),
        memory_bytes: Some(status.memory_bytes),
        trouble: String::new(),
    }
}

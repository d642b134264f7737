//! A cluster as its nodes see it, put together from what each of them said of itself.
//!
//! Of a shard, the replica that leads in the highest term says how things are; the others may not know yet.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::bail;
use futures_util::future::join_all;
use ruvio_proto::admin::v1::{NodePhase, ReplicaStatus, Role, StatusRequest, StatusResponse};
use ruvio_proto::common::v1::StoredMembership;

use super::address::{Address, PEER_PORT};
use super::call::Caller;

/// A node that was asked.
pub struct Asked {
    pub address: Address,
    /// Or why there is no answer.
    pub answer: Result<StatusResponse, String>,
}

pub struct Cluster {
    pub asked: Vec<Asked>,
}

/// A shard, by the best that is known of it.
pub struct Shard {
    pub number: u32,
    /// 0: nobody leads it, or nobody who was asked knows.
    pub leader: u64,
    pub term: u64,
    pub voters: BTreeSet<u64>,
    pub learners: BTreeSet<u64>,
    pub committed: u64,
    /// Entries that a member lacks, by node; only a leader knows.
    pub lags: BTreeMap<u64, u64>,
    /// `None`: nobody who was asked knows.
    pub keys: Option<u64>,
    /// Of the keyspace in memory, likewise.
    pub memory_bytes: Option<u64>,
}

impl Cluster {
    /// Asks all at once. Fails if nobody answers, or if they are of several clusters.
    pub async fn ask(caller: &Caller, nodes: &[Address]) -> anyhow::Result<Self> {
        let answers = nodes.iter().map(|node| async {
            let answer = status_of(caller, node).await;
            Asked {
                address: node.clone(),
                answer: answer.map_err(|error| format!("{error:#}")),
            }
        });
        Self::of(join_all(answers).await)
    }

    pub fn of(asked: Vec<Asked>) -> anyhow::Result<Self> {
        let cluster = Self { asked };
        if cluster.answers().next().is_none() {
            let why: Vec<&str> = cluster
                .asked
                .iter()
                .filter_map(|asked| asked.answer.as_ref().err().map(String::as_str))
                .collect();
            bail!("{}", why.join("\n  "));
        }
        let mut ids = BTreeMap::new();
        for (address, status) in cluster.members() {
            ids.entry(&status.cluster_id).or_insert(address);
        }
        if ids.len() > 1 {
            let of: Vec<String> = ids
                .iter()
                .map(|(id, node)| format!("{node} of {}", hex(id)))
                .collect();
            bail!("these nodes are of several clusters: {}", of.join(", "));
        }
        Ok(cluster)
    }

    pub fn answers(&self) -> impl Iterator<Item = (&Address, &StatusResponse)> {
        let answered = |asked: &'_ Asked| asked.answer.is_ok();
        self.asked
            .iter()
            .filter(move |asked| answered(asked))
            .filter_map(|asked| asked.answer.as_ref().ok().map(|status| (&asked.address, status)))
    }

    /// Those that answer and are in a cluster.
    pub fn members(&self) -> impl Iterator<Item = (&Address, &StatusResponse)> {
        self.answers().filter(|(_, status)| !status.cluster_id.is_empty())
    }

    pub fn id(&self) -> Option<&[u8]> {
        self.members().next().map(|(_, status)| &*status.cluster_id)
    }

    pub fn address_of(&self, node: u64) -> Option<&Address> {
        self.members()
            .find(|(_, status)| status.node == node)
            .map(|(address, _)| address)
    }

    pub fn shards(&self) -> Vec<Shard> {
        let total = self.members().map(|(_, status)| status.shards_total).max();
        (0..total.unwrap_or(0)).map(|number| self.shard(number)).collect()
    }

    /// The best that is known of a shard.
    pub fn shard(&self, number: u32) -> Shard {
        let replicas: Vec<(u64, &ReplicaStatus)> = self.replicas(number).collect();
        let leads = |(_, replica): &&(u64, &ReplicaStatus)| replica.role() == Role::Leader;
        let leading = replicas
            .iter()
            .filter(leads)
            .max_by_key(|(_, replica)| term_of(replica));
        let known = self
            .members()
            .flat_map(|(_, status)| &status.leaders)
            .filter(|known| known.shard == number);
        let heard = known
            .map(|known| (known.term, known.leader))
            .chain(
                replicas
                    .iter()
                    .map(|(_, replica)| (term_of(replica), replica.leader)),
            )
            .max()
            .unwrap_or_default();
        let led = leading.map(|(node, replica)| (term_of(replica), *node));
        let (term, leader) = led
            .into_iter()
            .chain([heard])
            .max_by_key(|(term, _)| *term)
            .unwrap_or_default();
        let best = leading.or_else(|| replicas.iter().max_by_key(|(_, replica)| committed(replica)));
        let (voters, learners) = best
            .and_then(|(_, replica)| replica.membership.as_ref())
            .map(members_of)
            .unwrap_or_default();
        Shard {
            number,
            leader,
            term,
            voters,
            learners,
            committed: best.map_or(0, |(_, replica)| committed(replica)),
            lags: leading
                .map(|(_, replica)| {
                    replica
                        .members
                        .iter()
                        .map(|member| (member.node, member.lag))
                        .collect()
                })
                .unwrap_or_default(),
            keys: best.and_then(|(_, replica)| replica.keys),
            memory_bytes: best.and_then(|(_, replica)| replica.memory_bytes),
        }
    }

    /// Every replica of a shard that was heard of, and its node.
    pub fn replicas(&self, shard: u32) -> impl Iterator<Item = (u64, &ReplicaStatus)> {
        self.members().flat_map(move |(_, status)| {
            let of_shard = status
                .replicas
                .iter()
                .filter(move |replica| replica.shard == shard);
            of_shard.map(|replica| (status.node, replica))
        })
    }

    /// The node's address for peers, as whoever asked it would reach it.
    pub fn peer_address(address: &Address, status: &StatusResponse) -> Address {
        let port = u16::try_from(status.peer_port).unwrap_or(0);
        address.with_port(if port == 0 { PEER_PORT } else { port })
    }
}

pub async fn status_of(caller: &Caller, node: &Address) -> anyhow::Result<StatusResponse> {
    caller
        .call(
            node,
            StatusRequest::default(),
            Duration::ZERO,
            |mut client, request| async move { client.status(request).await },
        )
        .await
}

/// Whether somebody holds the shard by the log of its group.
pub fn has_begun(replica: &ReplicaStatus) -> bool {
    replica
        .membership
        .as_ref()
        .is_some_and(|membership| !members_of(membership).0.is_empty())
}

/// Voters and learners.
pub fn members_of(membership: &StoredMembership) -> (BTreeSet<u64>, BTreeSet<u64>) {
    let membership = membership.membership.clone().unwrap_or_default();
    let voters: BTreeSet<u64> = membership.voters.into_iter().flat_map(|set| set.nodes).collect();
    let learners = membership.members.iter().map(|member| member.node);
    let learners = learners.filter(|node| !voters.contains(node)).collect();
    (voters, learners)
}

pub fn phase(status: &StatusResponse) -> &'static str {
    match status.phase() {
        NodePhase::New => "new",
        NodePhase::Loading => "loading",
        NodePhase::Serving => "serving",
        NodePhase::Draining => "draining",
        NodePhase::Unspecified => "unknown",
    }
}

pub fn role(replica: &ReplicaStatus) -> &'static str {
    match replica.role() {
        Role::Learner => "learner",
        Role::Follower => "follower",
        Role::Candidate => "candidate",
        Role::Leader => "leader",
        Role::Stopped => "stopped",
        Role::Unspecified => "unknown",
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn term_of(replica: &ReplicaStatus) -> u64 {
    replica.vote.as_ref().map_or(0, |vote| vote.term)
}

fn committed(replica: &ReplicaStatus) -> u64 {
    replica.committed.as_ref().map_or(0, |id| id.index)
}

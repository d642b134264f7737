//! Shards whose majority is lost for good: what this node holds of them, and that it goes on alone with it.
//!
//! What a dry run said is its own confirmation: the same survivors, of the same node, without the same lost ones. So
//! what was looked at is what is done, or nothing is.

use std::collections::BTreeSet;

use ruvio_server::admin::answers::{RecoverQuorumResponse, Survivor};
use ruvio_server::admin::{self, RecoverQuorum, Refused, common};
use ruvio_server::raft::{self, RecoverError, ShardStatus};
use ruvio_server::wal::{NodeId, ShardId};

use super::{Administration, id, membership};

impl Administration {
    pub(super) async fn recover(&self, request: RecoverQuorum) -> Result<RecoverQuorumResponse, Refused> {
        let groups = self.groups()?;
        let lost: BTreeSet<NodeId> = request.lost.iter().copied().map(NodeId).collect();
        if lost.is_empty() || lost.contains(&NodeId(0)) {
            let why = "say which nodes are lost for good, by their ids: those that nobody can bring back";
            return Err(Refused::Invalid(why.to_owned()));
        }
        let shards: Vec<ShardId> = request.shards.iter().copied().map(ShardId).collect();
        let found = groups.survey(&shards, &lost).await.map_err(refused)?;
        let survivors: Vec<Survivor> = found.iter().map(|status| self.survivor(status)).collect();
        let confirmation = match survivors.is_empty() {
            true => Vec::new(),
            false => self.confirmation(&survivors, &lost),
        };
        let Some(confirmed) = request.confirmation else {
            return Ok(RecoverQuorumResponse {
                survivors,
                confirmation: confirmation.into(),
                recovered: false,
            });
        };
        if survivors.is_empty() {
            let why =
                "every shard of this node has its majority without those nodes: there is nothing to recover";
            return Err(Refused::Precondition(why.to_owned()));
        }
        if confirmed != confirmation {
            let why =
                "what this node holds is not what it was when it was looked at: look again, and confirm that";
            return Err(Refused::Precondition(why.to_owned()));
        }
        self.remove_nodes(groups, &lost).await?;
        for status in found {
            groups.recover(status).await.map_err(refused)?;
        }
        Ok(RecoverQuorumResponse {
            survivors,
            confirmation: Vec::new().into(),
            recovered: true,
        })
    }

    /// Before anything else: whatever comes of the shards, these nodes are heard no longer.
    async fn remove_nodes(&self, groups: &raft::Node, lost: &BTreeSet<NodeId>) -> Result<(), Refused> {
        let starting = || Refused::Unavailable("the node still starts: try again".to_owned());
        let tables = self.membership.tables.get().cloned().ok_or_else(starting)?;
        let nodes: Vec<NodeId> = lost.iter().copied().collect();
        let removed = groups
            .handle()
            .spawn_blocking(move || tables.remove(&nodes))
            .await;
        let removed = removed.map_err(|panic| Refused::Internal(panic.to_string()))?;
        removed.map_err(|why| {
            Refused::Internal(format!(
                "nothing was done: the lost nodes cannot be written down ({why})"
            ))
        })
    }

    fn survivor(&self, status: &ShardStatus) -> Survivor {
        Survivor {
            shard: u32::from(status.shard.0),
            node: self.identity().map_or(0, |identity| identity.node.0),
            vote: Some(common::Vote {
                term: status.vote.term.0,
                node: status.vote.node.0,
                committed: status.vote.committed,
            }),
            last_log_id: id(status.last_log),
            committed: id(status.committed),
            membership: Some(membership(status)),
            keys: status.keys,
        }
    }

    fn confirmation(&self, survivors: &[Survivor], lost: &BTreeSet<NodeId>) -> Vec<u8> {
        let incarnation = self.identity().map_or(0, |identity| identity.incarnation);
        admin::confirmation(survivors, incarnation, lost.iter().map(|node| node.0))
    }
}

fn refused(error: RecoverError) -> Refused {
    let said = error.to_string();
    match error {
        RecoverError::Failed { .. } => {
            Refused::Unavailable(format!("{said}. The same command again goes on"))
        }
        _ => Refused::Precondition(said),
    }
}

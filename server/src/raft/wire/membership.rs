//! Memberships, and what goes with them: who holds a shard, as of which entry.

use std::collections::{BTreeMap, BTreeSet};

use openraft::SnapshotMeta;
use openraft::alias::{SnapshotMetaOf, StoredMembershipOf};
use openraft::impls::BasicNode;
use openraft::raft::SnapshotResponse;
use ruvio_proto::common::v1 as common;
use ruvio_proto::peer::v1 as peer;

use super::{Malformed, Wire, optional, required};
use crate::raft::types::{C, Membership};

/// Members of one shard: its voters, and whoever learns to become one.
pub const MEMBERS_MAX: usize = 32;
/// A DNS name and a port.
pub const ADDRESS_BYTES_MAX: usize = 253 + 1 + 5;

impl Wire for Membership {
    type Sent = common::Membership;

    fn to_wire(self) -> common::Membership {
        let voters = self.get_joint_config().iter().map(|set| common::VoterSet {
            nodes: set.iter().copied().collect(),
        });
        let members = self.nodes().map(|(node, at)| common::Member {
            node: *node,
            address: at.addr.clone(),
        });
        common::Membership {
            voters: voters.collect(),
            members: members.collect(),
        }
    }

    fn from_wire(sent: common::Membership) -> Result<Self, Malformed> {
        let crowded = sent.voters.len() > 2
            || sent.members.len() > MEMBERS_MAX
            || sent.voters.iter().any(|set| set.nodes.len() > MEMBERS_MAX);
        if crowded {
            return Err(Malformed::TooLarge("membership"));
        }
        let mut nodes = BTreeMap::new();
        for member in sent.members {
            if member.address.len() > ADDRESS_BYTES_MAX {
                return Err(Malformed::TooLarge("address"));
            }
            nodes.insert(member.node, BasicNode { addr: member.address });
        }
        let sets: Vec<BTreeSet<u64>> = sent
            .voters
            .into_iter()
            .map(|set| set.nodes.into_iter().collect())
            .collect();
        Self::new(sets, nodes).map_err(|_| Malformed::Membership)
    }
}

impl Wire for StoredMembershipOf<C> {
    type Sent = common::StoredMembership;

    fn to_wire(self) -> common::StoredMembership {
        common::StoredMembership {
            log_id: self.log_id().map(Wire::to_wire),
            membership: Some(self.membership().clone().to_wire()),
        }
    }

    fn from_wire(sent: common::StoredMembership) -> Result<Self, Malformed> {
        // One that holds nothing is sent as nothing.
        let membership = Membership::from_wire(sent.membership.unwrap_or_default())?;
        Ok(Self::new(optional(sent.log_id)?, membership))
    }
}

/// A membership that can decide something.
pub(super) fn quorate(sent: common::Membership) -> Result<Membership, Malformed> {
    let membership = Membership::from_wire(sent)?;
    if membership.get_joint_config().is_empty() {
        return Err(Malformed::Membership);
    }
    Ok(membership)
}

impl Wire for SnapshotResponse<C> {
    type Sent = peer::SnapshotResponse;

    fn to_wire(self) -> peer::SnapshotResponse {
        peer::SnapshotResponse {
            vote: Some(self.vote.to_wire()),
        }
    }

    fn from_wire(sent: peer::SnapshotResponse) -> Result<Self, Malformed> {
        Ok(Self::new(required(sent.vote, "vote")?))
    }
}

impl Wire for SnapshotMetaOf<C> {
    type Sent = peer::SnapshotMeta;

    fn to_wire(self) -> peer::SnapshotMeta {
        peer::SnapshotMeta {
            last_log_id: self.last_log_id.map(Wire::to_wire),
            last_membership: Some(self.last_membership.to_wire()),
        }
    }

    fn from_wire(sent: peer::SnapshotMeta) -> Result<Self, Malformed> {
        let meta = SnapshotMeta {
            last_log_id: optional(sent.last_log_id)?,
            last_membership: required(sent.last_membership, "last_membership")?,
        };
        let of_membership = meta.last_membership.log_id().map(|id| id.index);
        if of_membership > meta.last_log_id.map(|id| id.index) {
            return Err(Malformed::Gap);
        }
        Ok(meta)
    }
}

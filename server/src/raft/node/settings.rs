//! What a node's groups are told, and what the library is told of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use openraft::{Config, SnapshotPolicy};

use crate::raft::identity::{Me, Roster};
use crate::raft::lease::Lease;
use crate::raft::members::LAG_MAX;
use crate::tls::Tls;

/// When a leader is missed. A failover takes the longest election timeout, a random one, and a little.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    pub heartbeat: Duration,
    pub election_min: Duration,
    /// A follower that heard of a leader votes for no other for so long.
    pub election_max: Duration,
    /// How long a leader may answer without having heard of a majority.
    pub lease: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_millis(150),
            election_min: Duration::from_millis(300),
            election_max: Duration::from_millis(600),
            lease: Duration::from_millis(500),
        }
    }
}

impl Timing {
    /// Shorter by what two clocks may drift apart meanwhile: a hundredth, far more than any does.
    pub(super) fn lease(&self) -> Lease {
        Lease(self.lease - self.lease / 100)
    }
}

/// Entries that the image holds and the log keeps all the same.
const KEPT_MAX: u64 = 64;

pub struct Settings {
    pub me: Me,
    /// The nodes that are known.
    pub roster: Arc<Roster>,
    /// What peers say to each other goes by it.
    pub tls: Option<Arc<Tls>>,
    /// For peers. Not in the range from which the system takes the ports of connections.
    pub listen: SocketAddr,
    pub timing: Timing,
    /// One is best on few cores.
    pub threads: usize,
    /// Entries count as stored before they are durable, so a power cut may take some of what a node had.
    pub may_lose_tail: bool,
}

impl Settings {
    pub(super) fn config(&self) -> Result<Config, String> {
        let Timing {
            heartbeat,
            election_min,
            election_max,
            lease,
        } = self.timing;
        if lease >= election_max {
            return Err("a lease has to be shorter than the election timeout".to_owned());
        }
        let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        let config = Config {
            cluster_name: format!("node {}", self.me.node.0),
            heartbeat_interval: millis(heartbeat),
            // All shards' come from one clock.
            enable_heartbeat: false,
            election_timeout_min: millis(election_min),
            election_timeout_max: millis(election_max),
            // Their bytes are bounded by the log's reads.
            max_payload_entries: 4096,
            replication_lag_threshold: LAG_MAX,
            snapshot_policy: SnapshotPolicy::Never,
            // Who is no further behind than this finds the log.
            max_in_snapshot_log_to_keep: KEPT_MAX,
            api_channel_size: Some(4096),
            notification_channel_size: Some(4096),
            enable_pre_vote: Some(true),
            // Its lease may have been another's since.
            enable_leader_restore: Some(false),
            allow_log_reversion: Some(self.may_lose_tail),
            backoff: "50ms 100ms ...500ms".to_owned(),
            ..Config::default()
        };
        config.validate().map_err(|why| why.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wal::{ClusterId, NodeId};

    #[test]
    fn a_lease_ends_before_others_may_vote() {
        let settings = |timing| Settings {
            me: Me {
                cluster: ClusterId([1; 16]),
                node: NodeId(1),
                incarnation: 1,
                token: None,
                shards: 1,
            },
            roster: Arc::default(),
            tls: None,
            listen: ([127, 0, 0, 1], 0).into(),
            timing,
            threads: 1,
            may_lose_tail: false,
        };
        let timing = Timing::default();
        assert!(timing.lease().0 < timing.lease && timing.lease < timing.election_max);
        assert!(settings(timing).config().is_ok());
        let too_long = Timing {
            lease: timing.election_max,
            ..timing
        };
        assert!(settings(too_long).config().is_err());
        let too_slow = Timing {
            heartbeat: timing.election_min,
            ..timing
        };
        assert!(settings(too_slow).config().is_err());
    }
}

//! The beginning of a cluster. All nodes join before any begins: then one that is empty when a shard has begun
//! has lost what it had, and is not given its old id.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use ruvio_proto::admin::v1::{BootstrapNode, BootstrapRequest, NodePhase, StatusResponse};

use super::address::Address;
use super::arguments::Founding;
use super::call::Caller;
use super::cluster::{Cluster, has_begun, hex, status_of};

/// Shards begin within it, or the nodes cannot reach each other.
const BEGIN: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// What every node is told.
#[derive(Debug)]
pub struct Plan {
    pub cluster: Vec<u8>,
    pub nodes: Vec<BootstrapNode>,
    /// Whom to tell, in the order of `nodes`. Empty: all is done.
    pub tell: Vec<Address>,
}

pub async fn bootstrap(caller: &Caller, nodes: &[Address], wish: &Founding) -> anyhow::Result<String> {
    let mut answers = Vec::new();
    for node in nodes {
        answers.push((node.clone(), status_of(caller, node).await?));
    }
    let plan = plan(&answers, wish, draw()?)?;
    let id = hex(&plan.cluster);
    if plan.tell.is_empty() {
        return Ok(format!("cluster {id} is there already: nothing was changed"));
    }
    for join_only in [true, false] {
        for (node, address) in plan.nodes.iter().zip(&plan.tell) {
            let request = BootstrapRequest {
                cluster_id: plan.cluster.clone().into(),
                shards: u32::from(wish.shards),
                replication_factor: wish.replication_factor,
                nodes: plan.nodes.clone(),
                callee: node.node,
                join_only,
            };
            caller
                .call(address, request, BEGIN, |mut client, request| async move {
                    client.bootstrap(request).await
                })
                .await
                .context("the cluster is not complete: the same command again finishes it")?;
        }
    }
    all_led(caller, nodes).await?;
    Ok(format!(
        "cluster {id}: {} nodes, {} shards of {} replicas",
        plan.nodes.len(),
        wish.shards,
        wish.replication_factor
    ))
}

/// Until every shard has a leader.
async fn all_led(caller: &Caller, nodes: &[Address]) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let shards = Cluster::ask(caller, nodes).await?.shards();
        let without = shards.iter().find(|shard| shard.leader == 0);
        let Some(without) = without else {
            return Ok(());
        };
        ensure!(
            start.elapsed() < BEGIN,
            "the cluster is made, and shard {} still has no leader: can the nodes reach each other at their peer ports? \
             What they know is in their logs and in ruvioctl status",
            without.number
        );
        tokio::time::sleep(LOOK).await;
    }
}

/// `fresh` is the id of a cluster that is yet to be made.
pub fn plan(answers: &[(Address, StatusResponse)], wish: &Founding, fresh: [u8; 16]) -> anyhow::Result<Plan> {
    let count = answers.len();
    ensure!(
        count >= wish.replication_factor as usize,
        "{} replicas of a shard need as many nodes, and --nodes names {count}: name more, or choose another \
         --replication-factor",
        wish.replication_factor,
    );
    let distinct: BTreeSet<&Address> = answers.iter().map(|(address, _)| address).collect();
    ensure!(distinct.len() == count, "--nodes names a node twice");
    for (address, status) in answers {
        ensure!(
            status.shards_total == u32::from(wish.shards),
            "{address} is set up for {} shards, not for {}: start it with --shards {}",
            status.shards_total,
            wish.shards,
            wish.shards
        );
    }
    let cluster = cluster_of(answers, fresh)?;
    check_empty_nodes(answers)?;
    if is_complete(answers) {
        return Ok(Plan {
            cluster,
            nodes: Vec::new(),
            tell: Vec::new(),
        });
    }
    let ids = ids_of(answers)?;
    let node = |((address, status), id): (&(Address, StatusResponse), &u64)| BootstrapNode {
        node: *id,
        peer_address: Cluster::peer_address(address, status).to_string(),
        admin_address: address.to_string(),
    };
    Ok(Plan {
        cluster,
        nodes: answers.iter().zip(&ids).map(node).collect(),
        tell: answers.iter().map(|(address, _)| address.clone()).collect(),
    })
}

/// The one that some are of, or a new one.
fn cluster_of(answers: &[(Address, StatusResponse)], fresh: [u8; 16]) -> anyhow::Result<Vec<u8>> {
    let mut found = BTreeMap::new();
    for (address, status) in answers.iter().filter(|(_, status)| !status.cluster_id.is_empty()) {
        found.entry(status.cluster_id.to_vec()).or_insert(address);
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Ok(fresh.to_vec()),
        (Some((id, _)), None) => Ok(id),
        (Some((one, a)), Some((other, b))) => bail!(
            "{a} is of cluster {} and {b} of cluster {}: a node stays with its cluster as long as it has its data",
            hex(&one),
            hex(&other)
        ),
    }
}

fn check_empty_nodes(answers: &[(Address, StatusResponse)]) -> anyhow::Result<()> {
    let empty = answers.iter().find(|(_, status)| status.cluster_id.is_empty());
    let Some((empty, _)) = empty else {
        return Ok(());
    };
    let is_loading = |status: &StatusResponse| status.phase() == NodePhase::Loading;
    if let Some((loading, _)) = answers.iter().find(|(_, status)| is_loading(status)) {
        bail!(
            "{loading} reads its data, and cannot say yet whether the cluster has begun: try again in a while"
        );
    }
    let has_begun = |status: &StatusResponse| status.replicas.iter().any(has_begun);
    if let Some((begun, _)) = answers.iter().find(|(_, status)| has_begun(status)) {
        bail!(
            "{empty} is empty, and the cluster of {begun} has begun: it is a new node, whatever it was before. Make it a \
             member with ruvioctl join, then give it shards with ruvioctl change-replicas"
        );
    }
    Ok(())
}

/// Every shard is somewhere, and everybody is a member.
fn is_complete(answers: &[(Address, StatusResponse)]) -> bool {
    let all = answers.iter().map(|(_, status)| status);
    let shards: BTreeSet<u32> = all
        .clone()
        .flat_map(|status| &status.replicas)
        .filter(|replica| has_begun(replica))
        .map(|replica| replica.shard)
        .collect();
    all.clone().all(|status| !status.cluster_id.is_empty())
        && all
            .clone()
            .all(|status| shards.len() == status.shards_total as usize)
}

/// From 1 in the order of the nodes; those that were told theirs before an interruption keep them.
fn ids_of(answers: &[(Address, StatusResponse)]) -> anyhow::Result<Vec<u64>> {
    let kept: BTreeMap<u64, &Address> = answers
        .iter()
        .filter(|(_, status)| !status.cluster_id.is_empty())
        .map(|(address, status)| (status.node, address))
        .collect();
    if let Some((id, stranger)) = kept
        .iter()
        .find(|(id, _)| !(1..=answers.len() as u64).contains(id))
    {
        bail!(
            "{stranger} is node {id} of a cluster that was begun with other nodes: name those that it was begun with"
        );
    }
    let members = answers.iter().filter(|(_, status)| !status.cluster_id.is_empty());
    ensure!(
        kept.len() == members.count(),
        "two of these nodes have the same id: one is a copy of the other's data"
    );
    let mut free = (1..).filter(|id| !kept.contains_key(id));
    let id = |(_, status): &(Address, StatusResponse)| match status.cluster_id.is_empty() {
        true => free.next().unwrap_or_default(),
        false => status.node,
    };
    Ok(answers.iter().map(id).collect())
}

pub fn draw<const N: usize>() -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    let drawn = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    ensure!(drawn == Ok(N), "the system has no random numbers");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{at, member, new, replica};
    use super::*;

    const FRESH: [u8; 16] = [7; 16];

    fn wish(shards: u16, replication_factor: u32) -> Founding {
        Founding {
            shards,
            replication_factor,
        }
    }

    fn refusal(answers: &[(Address, StatusResponse)], wish: &Founding) -> String {
        plan(answers, wish, FRESH).expect_err("it is refused").to_string()
    }

    #[test]
    fn new_nodes_are_numbered_in_their_order() {
        let nodes = [
            (at("b:7482"), new(6, 7582)),
            (at("a"), new(6, 0)),
            (at("[::1]"), new(6, 7)),
        ];
        let plan = plan(&nodes, &wish(6, 3), FRESH).expect("a plan");
        assert_eq!(plan.cluster, FRESH);
        let told: Vec<_> = plan
            .nodes
            .iter()
            .map(|node| (node.node, &*node.peer_address))
            .collect();
        assert_eq!(told, [(1, "b:7582"), (2, "a:7379"), (3, "[::1]:7")]);
        assert_eq!(plan.tell, [at("b:7482"), at("a"), at("[::1]")]);
    }

    #[test]
    fn what_was_interrupted_goes_on_with_the_ids_that_were_given() {
        let nodes = [
            (at("a"), new(2, 0)),
            (at("b"), member(1, 2, vec![])),
            (at("c"), new(2, 0)),
        ];
        let plan = plan(&nodes, &wish(2, 1), FRESH).expect("a plan");
        assert_eq!(plan.cluster, member(1, 2, vec![]).cluster_id);
        assert_eq!(
            plan.nodes.iter().map(|node| node.node).collect::<Vec<_>>(),
            [2, 1, 3]
        );
    }

    #[test]
    fn a_cluster_that_is_there_is_left_alone() {
        let half = [(at("a"), member(1, 2, vec![replica(0, 1, 1, &[1])]))];
        assert_eq!(plan(&half, &wish(2, 1), FRESH).expect("a plan").tell.len(), 1);
        let whole = member(1, 2, vec![replica(0, 1, 1, &[1]), replica(1, 1, 1, &[1])]);
        assert!(
            plan(&[(at("a"), whole)], &wish(2, 1), FRESH)
                .expect("a plan")
                .tell
                .is_empty()
        );
    }

    #[test]
    fn an_empty_node_does_not_get_its_old_id() {
        let begun = member(1, 1, vec![replica(0, 1, 1, &[1, 2, 3])]);
        let nodes = [
            (at("a"), begun),
            (at("b"), member(2, 1, vec![])),
            (at("c"), new(1, 0)),
        ];
        assert_eq!(
            refusal(&nodes, &wish(1, 3)),
            "c:7380 is empty, and the cluster of a:7380 has begun: it is a new node, whatever it was before. Make it a \
             member with ruvioctl join, then give it shards with ruvioctl change-replicas"
        );
    }

    #[test]
    fn who_still_reads_its_data_may_know_of_a_beginning() {
        let mut loading = member(1, 1, vec![]);
        loading.phase = NodePhase::Loading.into();
        let nodes = [(at("a"), loading), (at("b"), new(1, 0))];
        assert!(refusal(&nodes, &wish(1, 1)).starts_with("a:7380 reads its data"));
    }

    #[test]
    fn what_does_not_fit_is_said_before_anybody_is_told() {
        let three = || [(at("a"), new(6, 0)), (at("b"), new(6, 0)), (at("c"), new(1, 0))];
        assert_eq!(
            refusal(&three(), &wish(6, 3)),
            "c:7380 is set up for 1 shards, not for 6: start it with --shards 6"
        );
        assert_eq!(
            refusal(&three()[..2], &wish(6, 3)),
            "3 replicas of a shard need as many nodes, and --nodes names 2: name more, or choose another \
             --replication-factor"
        );
        let twice = [(at("a"), new(6, 0)), (at("a"), new(6, 0))];
        assert_eq!(refusal(&twice, &wish(6, 1)), "--nodes names a node twice");
        let mut other = member(2, 1, vec![]);
        other.cluster_id = vec![0xee; 16].into();
        let two = [(at("a"), member(1, 1, vec![])), (at("b"), other)];
        assert!(refusal(&two, &wish(1, 1)).contains("b:7380 of cluster eeeeeeee"));
        let copies = [(at("a"), member(1, 1, vec![])), (at("b"), member(1, 1, vec![]))];
        assert!(refusal(&copies, &wish(1, 1)).contains("the same id"));
        let joined = [(at("a"), member(9, 1, vec![])), (at("b"), new(1, 0))];
        assert!(refusal(&joined, &wish(1, 1)).contains("begun with other nodes"));
    }
}

//! A new node becomes a member of a cluster that is there. Its id was never another's: it is drawn, since nobody
//! remembers all that there were.

use anyhow::{bail, ensure};
use std::time::Duration;

use ruvio_proto::admin::v1::{BootstrapNode, BootstrapRequest, StatusResponse};

use super::address::Address;
use super::call::Caller;
use super::cluster::{Cluster, hex, status_of};
use super::founding::draw;

/// Above those of a cluster's first nodes; short enough to be typed.
const IDS: std::ops::Range<u64> = 10_000..1_000_000_000;
/// It reads nothing: there is nothing.
const BEGIN: Duration = Duration::from_secs(60);

pub async fn join(caller: &Caller, nodes: &[Address], new: &Address) -> anyhow::Result<String> {
    let members: Vec<Address> = nodes.iter().filter(|node| *node != new).cloned().collect();
    ensure!(!members.is_empty(), "--nodes has to name a member of the cluster");
    let cluster = Cluster::ask(caller, &members).await?;
    let status = status_of(caller, new).await?;
    let drawn = u64::from_le_bytes(draw()?);
    let request = request(&cluster, new, &status, drawn)?;
    let (node, id) = (request.callee, hex(&request.cluster_id));
    caller
        .call(new, request, BEGIN, |mut client, request| async move {
            client.bootstrap(request).await
        })
        .await?;
    Ok(format!(
        "{new} is node {node} of cluster {id}. It holds no shard yet: ruvioctl change-replicas SHARD --add {node}"
    ))
}

fn request(
    cluster: &Cluster,
    new: &Address,
    status: &StatusResponse,
    drawn: u64,
) -> anyhow::Result<BootstrapRequest> {
    let Some((_, member)) = cluster.members().next() else {
        bail!("the nodes of --nodes are in no cluster: make one with ruvioctl bootstrap");
    };
    ensure!(
        status.cluster_id.is_empty(),
        "{new} is node {} of cluster {} already",
        status.node,
        hex(&status.cluster_id)
    );
    ensure!(
        status.shards_total == member.shards_total,
        "{new} is set up for {} shards, not for the cluster's {}: start it with --shards {}",
        status.shards_total,
        member.shards_total,
        member.shards_total
    );
    let node = BootstrapNode {
        node: IDS.start + drawn % (IDS.end - IDS.start),
        peer_address: Cluster::peer_address(new, status).to_string(),
        admin_address: new.to_string(),
    };
    Ok(BootstrapRequest {
        cluster_id: member.cluster_id.clone(),
        shards: member.shards_total,
        replication_factor: 1,
        callee: node.node,
        nodes: vec![node],
        join_only: true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{at, cluster, member, new};
    use super::*;

    #[test]
    fn who_joins_is_told_of_itself_alone_and_begins_nothing() {
        let cluster = cluster(vec![("a", Ok(member(1, 6, vec![])))]);
        let request = request(&cluster, &at("d"), &new(6, 7390), u64::MAX).expect("a request");
        assert!(request.join_only);
        assert_eq!(request.cluster_id, member(1, 6, vec![]).cluster_id);
        assert!(IDS.contains(&request.callee));
        assert_eq!(request.nodes.len(), 1);
        assert_eq!(request.nodes[0].peer_address, "d:7390");
    }

    #[test]
    fn who_cannot_join_is_told_why() {
        let cluster = |status| cluster(vec![("a", Ok(status))]);
        let refusal = |cluster: &Cluster, status: &StatusResponse| {
            let refused = request(cluster, &at("d"), status, 0);
            refused.expect_err("it is refused").to_string()
        };
        let six = cluster(member(1, 6, vec![]));
        assert_eq!(
            refusal(&six, &new(1, 0)),
            "d:7380 is set up for 1 shards, not for the cluster's 6: start it with --shards 6"
        );
        assert!(refusal(&six, &member(4, 6, vec![])).contains("is node 4 of cluster"));
        assert!(refusal(&cluster(new(6, 0)), &new(6, 0)).contains("ruvioctl bootstrap"));
    }
}

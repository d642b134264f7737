//! Leaderships are moved: one, or all of a node.

use std::time::Duration;

use anyhow::{anyhow, bail};
use ruvio_proto::admin::v1::{DrainRequest, TransferLeaderRequest};

use super::address::Address;
use super::arguments::Named;
use super::call::Caller;
use super::cluster::Cluster;

pub async fn transfer(
    caller: &Caller,
    nodes: &[Address],
    shard: u16,
    to: Option<u64>,
) -> anyhow::Result<String> {
    let cluster = Cluster::ask(caller, nodes).await?;
    let (leader, address) = leader_of(&cluster, shard)?;
    if to == Some(leader) {
        return Ok(format!("node {leader} leads shard {shard} already"));
    }
    let request = TransferLeaderRequest {
        shard: u32::from(shard),
        to_node: to.unwrap_or(0),
        timeout_ms: millis(caller.timeout),
    };
    // The node gives up first, and says how it stands.
    let done = caller
        .call(address, request, MARGIN, |mut client, request| async move {
            client.transfer_leader(request).await
        })
        .await?;
    Ok(format!(
        "node {} leads shard {shard} in term {}",
        done.leader, done.term
    ))
}

pub async fn drain(caller: &Caller, nodes: &[Address], node: &Named, drain: bool) -> anyhow::Result<String> {
    let address = match node {
        Named::At(address) => address.clone(),
        Named::Id(id) => {
            let cluster = Cluster::ask(caller, nodes).await?;
            let found = cluster.address_of(*id).cloned();
            found.ok_or_else(|| anyhow!(unknown(*id)))?
        }
    };
    let request = DrainRequest {
        drain,
        timeout_ms: millis(caller.timeout),
    };
    let done = caller
        .call(&address, request, MARGIN, |mut client, request| async move {
            client.drain(request).await
        })
        .await?;
    if !drain {
        return Ok(format!("{address} may lead again"));
    }
    if done.left.is_empty() {
        return Ok(format!("{address} leads no shard, and takes none"));
    }
    let left: Vec<String> = done.left.iter().map(ToString::to_string).collect();
    bail!(
        "{address} still leads {}: {}. It goes on giving them away; wait longer with --timeout, or look whether the \
         others follow with ruvioctl status",
        if left.len() == 1 { "a shard" } else { "shards" },
        left.join(", ")
    )
}

/// How much later than a node gives up the caller does.
const MARGIN: Duration = Duration::from_secs(2);

/// Who leads a shard, and where it is.
pub fn leader_of(cluster: &Cluster, shard: u16) -> anyhow::Result<(u64, &Address)> {
    let total = cluster.shards().len();
    if usize::from(shard) >= total {
        bail!(
            "there is no shard {shard}: {}",
            match total {
                0 => "the nodes are in no cluster".to_owned(),
                total => format!("the cluster has {total}, counted from 0"),
            }
        );
    }
    match cluster.shard(u32::from(shard)).leader {
        0 => bail!("nobody leads shard {shard} at the moment: ruvioctl status shows who holds it"),
        leader => Ok((
            leader,
            cluster.address_of(leader).ok_or_else(|| {
                anyhow!("node {leader} leads shard {shard}, and --nodes does not have it: name it too")
            })?,
        )),
    }
}

pub fn unknown(node: u64) -> String {
    format!("there is no node {node} among those of --nodes that answer: name its admin port too")
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{at, cluster, member, replica};
    use super::*;

    #[test]
    fn a_shard_is_asked_for_at_its_leader() {
        let cluster = cluster(vec![
            (
                "a",
                Ok(member(
                    1,
                    2,
                    vec![replica(0, 3, 2, &[1, 2]), replica(1, 1, 3, &[1, 3])],
                )),
            ),
            ("b", Ok(member(2, 2, vec![replica(0, 3, 2, &[1, 2])]))),
        ]);
        assert_eq!(leader_of(&cluster, 0).expect("it is there"), (2, &at("b")));
        let said = |shard| {
            leader_of(&cluster, shard)
                .expect_err("it is not there")
                .to_string()
        };
        assert_eq!(
            said(1),
            "node 3 leads shard 1, and --nodes does not have it: name it too"
        );
        assert_eq!(said(2), "there is no shard 2: the cluster has 2, counted from 0");
    }

    #[test]
    fn a_shard_without_a_leader_is_not_asked_for() {
        let cluster = cluster(vec![("a", Ok(member(1, 1, vec![replica(0, 3, 0, &[1, 2])])))]);
        let said = leader_of(&cluster, 0).expect_err("nobody leads").to_string();
        assert_eq!(
            said,
            "nobody leads shard 0 at the moment: ruvioctl status shows who holds it"
        );
    }
}
